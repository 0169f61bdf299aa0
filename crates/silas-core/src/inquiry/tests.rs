//! What can be asked, and whose words an answer is in.

use super::*;

fn options(all: &[&str]) -> Vec<String> {
    all.iter().map(|option| (*option).to_owned()).collect()
}

fn inquiry(taint: Taint) -> Inquiry {
    Inquiry {
        by: ModelName::parse("ollama:small").unwrap(),
        to: ModelName::parse("ollama:small").unwrap(),
        wish: "tidy it up".to_owned(),
        question: "Which one?".to_owned(),
        options: options(&["The first", "Über alles"]),
        taint,
        expires_at: Timestamp::EPOCH,
    }
}

#[test]
fn a_question_has_two_to_four_short_answers_that_differ() {
    assert_eq!(check("Which?", &options(&["a", "b"])), Ok(()));
    assert_eq!(check("Which?", &options(&["a", "b", "c", "d"])), Ok(()));
    assert_eq!(check("Which?", &options(&["a"])), Err(Unaskable::Count));
    assert_eq!(check("Which?", &options(&["a", "b", "c", "d", "e"])), Err(Unaskable::Count));
    assert_eq!(check("Which?", &options(&["a", " A "])), Err(Unaskable::Options));
    assert_eq!(check("Which?", &options(&["a", "  "])), Err(Unaskable::Options));
    assert_eq!(check("Which?", &options(&["a", &"b".repeat(OPTION_CHARS_MAX + 1)])), Err(Unaskable::Options));
    assert_eq!(check(" ", &options(&["a", "b"])), Err(Unaskable::Question));
    assert_eq!(check(&"x".repeat(QUESTION_CHARS_MAX + 1), &options(&["a", "b"])), Err(Unaskable::Question));
}

#[test]
fn what_a_model_proposed_stays_its_own_words_however_they_are_given() {
    for said in ["The first", " the FIRST ", "über alles"] {
        let answered = inquiry(Taint::External).answered(said);
        assert!(answered.is_chosen, "{said}");
        assert_eq!(answered.answer_taint(Taint::Owner), Taint::External);
    }
    let typed = inquiry(Taint::External).answered("Neither: the third");
    assert!(!typed.is_chosen);
    assert_eq!(typed.answer_taint(Taint::Owner), Taint::Owner);
}

#[test]
fn only_what_was_typed_counts_among_the_owners_words_and_questions_end() {
    let inquiry = inquiry(Taint::Auth);
    let mut handed = Handed {
        reason: String::new(),
        taint: Taint::Owner,
        interaction_register: InteractionRegister::Execution,
        interaction_mode: InteractionMode::ActAndReport,
        continuation_of: None,
        answered: Vec::new(),
        tokens_used: 0,
    };
    for said in ["The first", "my own", "The first"] {
        assert!(handed.may_be_asked_about());
        handed.answered.push(inquiry.answered(said));
    }
    assert!(!handed.may_be_asked_about());
    assert_eq!(handed.typed().collect::<Vec<_>>(), ["my own"]);
}

#[test]
fn every_card_about_a_wish_is_found_by_it_and_leads_back_to_it() {
    let wish = crate::MessageId::parse("msg-1-2").unwrap();
    let subjects: Vec<String> = Inquiry::subjects_of(&wish).collect();
    let asked: Vec<String> = (0..QUESTIONS_MAX).map(|n| Inquiry::subject_of(&wish, n)).collect();
    assert_eq!((subjects.len(), &subjects), (QUESTIONS_MAX, &asked));
    for subject in &subjects {
        assert_eq!(Inquiry::wish_of(subject).as_ref(), Some(&wish));
    }
    for other in ["task-1", "/srv/inquiry:msg-1:0", "inquiry:", "inquiry:msg-1", "inquiry:task-1:0", "secret:a:b"] {
        assert_eq!(Inquiry::wish_of(other), None, "{other}");
    }
}
