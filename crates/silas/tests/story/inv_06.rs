//! INV-06: a skill needs validation, approval and a version bound by its hash. This version has no skills, so the one road
//! to break it is a plan that names some and is carried out without any of that. Such a plan is refused by name.

use crate::harness::plan_check;

#[test]
fn a_plan_that_names_skills_is_refused() {
    for skills in ["skills: [coding]", "skills: coding", "skills: ['../../etc']"] {
        let (sound, text) = plan_check(skills);
        assert!(!sound && text.contains("skills"), "{skills}: {text}");
    }
    let (sound, text) = plan_check("skills: []");
    assert!(sound, "no skills are no promise: {text}");
}
