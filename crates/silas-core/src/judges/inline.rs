//! Tests that are written into the sources that they test, as Rust has them. Their text can be told from the rest, so a
//! change beside them is no change of them.
//!
//! Read as tokens and brackets, not as a grammar: a source is somebody else's text, and whoever nests it deep enough would
//! have a parser of the whole language run out of stack.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::str::FromStr;

/// Groups inside groups; more than anyone writes.
const DEPTH_MAX: usize = 100;

/// Everything in a Rust source that decides how it is tested: items that an attribute makes a test or keeps from one, what
/// macros are made of and make, code in documentation, and what asks whether it is being tested. Two sources with the same text
/// here have the same tests. Of a source that is no Rust, or that nobody could have written, that is all of it.
pub fn rust_tests(source: &str) -> String {
    let Some(tokens) = TokenStream::from_str(source).ok().filter(is_shallow) else { return source.to_owned() };
    let mut parts = Parts::default();
    parts.read(tokens, Level::Items);
    let has_tests = !parts.tests.is_empty();
    let macros = parts.macros.into_iter().filter(|(_, is_always)| has_tests || *is_always).map(|(text, _)| text);
    parts.tests.into_iter().chain(macros).collect::<Vec<_>>().join("\n")
}

fn is_shallow(tokens: &TokenStream) -> bool {
    let mut open = vec![tokens.clone().into_iter()];
    while let Some(last) = open.last_mut() {
        match last.next() {
            Some(TokenTree::Group(group)) => open.push(group.stream().into_iter()),
            Some(TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_)) => {}
            None => drop(open.pop()),
        }
        if open.len() > DEPTH_MAX {
            return false;
        }
    }
    true
}

/// What the tokens of a group can be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// Of a file or a module: a macro here may make tests.
    Items,
    /// Anything else.
    Inner,
}

#[derive(Default)]
struct Parts {
    tests: Vec<String>,
    /// Definitions of macros, and whether they count where no test is seen.
    macros: Vec<(String, bool)>,
}

impl Parts {
    fn read(&mut self, tokens: TokenStream, level: Level) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let attributes = attributes_at(&tokens[at..]);
            let begin = at + attributes.length;
            let end = begin + item_length(&tokens[begin..]);
            self.item(&attributes, &tokens[at..begin], &tokens[begin..end], level);
            at = end.max(at + 1);
        }
    }

    fn item(&mut self, attributes: &Attributes, marks: &[TokenTree], item: &[TokenTree], level: Level) {
        self.tests.extend(attributes.code.clone());
        self.tests.extend(attributes.inner.clone());
        if attributes.says_test {
            return self.tests.push(format!("{} {}", text(marks), text(item)));
        }
        match kind(item) {
            Kind::Definition(name) => {
                self.macros.push((text(item), is_of_the_library(&name) || says_test(&text(item))))
            }
            Kind::Invocation if level == Level::Items => self.tests.push(text(item)),
            Kind::Use if words(&text(item)).any(is_of_the_library) => self.macros.push((text(item), true)),
            Kind::Module => self.groups(item, Level::Items),
            Kind::Invocation | Kind::Use | Kind::Ended | Kind::Other => {
                self.asked(item);
                self.groups(item, Level::Inner);
            }
        }
    }

    fn groups(&mut self, item: &[TokenTree], level: Level) {
        for token in item {
            if let TokenTree::Group(group) = token {
                self.read(group.stream(), level);
            }
        }
    }

    /// `cfg!(test)`, with what follows from it.
    fn asked(&mut self, item: &[TokenTree]) {
        for at in 0..item.len() {
            let [TokenTree::Ident(name), mark, TokenTree::Group(group), ..] = &item[at..] else { continue };
            if name == "cfg" && is_mark(mark, '!') && says_test(&group.to_string()) {
                self.tests.push(text(&item[at..]));
            }
        }
    }
}

/// What stands before an item.
#[derive(Default)]
struct Attributes {
    length: usize,
    says_test: bool,
    /// Documentation, from the first line of code in it on.
    code: Vec<String>,
    /// Those of the file or the module itself, if they are about tests.
    inner: Vec<String>,
}

fn attributes_at(tokens: &[TokenTree]) -> Attributes {
    let mut found = Attributes::default();
    loop {
        let rest = &tokens[found.length..];
        let (is_inner, group) = match rest {
            [mark, TokenTree::Group(group), ..] if is_mark(mark, '#') => (false, group),
            [mark, bang, TokenTree::Group(group), ..] if is_mark(mark, '#') && is_mark(bang, '!') => (true, group),
            _ => return found,
        };
        if group.delimiter() != Delimiter::Bracket {
            return found;
        }
        found.length += if is_inner { 3 } else { 2 };
        let says = group.stream().to_string();
        if let Some(line) = documentation(group.stream()) {
            let is_code =
                line.contains("```") || line.contains("~~~") || line.starts_with("     ") || line.contains('\t');
            if is_code || !found.code.is_empty() {
                found.code.push(line);
            }
        } else if says_test(&says) {
            found.says_test |= !is_inner;
            found.inner.extend(is_inner.then_some(says));
        }
    }
}

/// `/// text` is `#[doc = "text"]`.
fn documentation(stream: TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let [TokenTree::Ident(name), mark, TokenTree::Literal(text)] = tokens.as_slice() else { return None };
    let inner = text.to_string();
    let inner =
        inner.trim_start_matches(['r', '#']).trim_start_matches('"').trim_end_matches('#').trim_end_matches('"');
    (name == "doc" && is_mark(mark, '=')).then(|| inner.to_owned())
}

enum Kind {
    /// Of a macro, by its name.
    Definition(String),
    /// Of a macro.
    Invocation,
    Use,
    Module,
    /// Ends with a semicolon, whatever brackets come before it.
    Ended,
    Other,
}

fn kind(item: &[TokenTree]) -> Kind {
    let mut words = item.iter().filter(|token| !matches!(token, TokenTree::Group(_) | TokenTree::Literal(_)));
    loop {
        let Some(TokenTree::Ident(word)) = words.next() else { return Kind::Other };
        match word.to_string().as_str() {
            "pub" | "default" | "async" | "extern" => {}
            // `const NAME: …`; otherwise it is one of a function.
            "const" if words.clone().nth(1).is_some_and(|token| is_mark(token, ':')) => return Kind::Ended,
            "const" => {}
            "static" | "type" | "let" => return Kind::Ended,
            "use" => return Kind::Use,
            "mod" => return Kind::Module,
            "macro_rules" | "macro" => {
                let name = words.find_map(|word| if let TokenTree::Ident(name) = word { Some(name) } else { None });
                return Kind::Definition(name.map_or_else(String::new, ToString::to_string));
            }
            "fn" | "struct" | "enum" | "union" | "trait" | "impl" => return Kind::Other,
            // One word more before what it is.
            _ if matches!(words.clone().next(), Some(TokenTree::Ident(_))) => {}
            _ => {
                // `a::b!(…)`.
                let mut after = words.skip_while(|token| matches!(token, TokenTree::Ident(_)) || is_mark(token, ':'));
                let is_macro = after.next().is_some_and(|token| is_mark(token, '!'));
                return if is_macro { Kind::Invocation } else { Kind::Other };
            }
        }
    }
}

/// To its semicolon, or to the end of its block.
fn item_length(tokens: &[TokenTree]) -> usize {
    let ends_with_a_mark = matches!(kind(tokens), Kind::Ended | Kind::Use);
    let (mut open, mut before) = (0i32, ' ');
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(mark) => {
                match mark.as_char() {
                    ';' => return at + 1,
                    '<' => open += 1,
                    '>' if !matches!(before, '-' | '=') => open = (open - 1).max(0),
                    _ => {}
                }
                before = mark.as_char();
            }
            // `impl Of<{ 3 }> for X {}`: what stands between these is no block.
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && open == 0 && !ends_with_a_mark => {
                return at + 1;
            }
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => before = ' ',
        }
    }
    tokens.len()
}

fn is_mark(token: &TokenTree, is: char) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == is)
}

fn text(tokens: &[TokenTree]) -> String {
    tokens.iter().cloned().collect::<TokenStream>().to_string()
}

/// Macros that tests are written with: one of this name in the project stands in for the library's.
fn is_of_the_library(name: &str) -> bool {
    const OTHERS: [&str; 7] = ["panic", "unreachable", "todo", "unimplemented", "matches", "vec", "format"];
    name.starts_with("assert") || name.starts_with("debug_assert") || OTHERS.contains(&name)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// `test` as a word, or as the end of one: `#[tokio::test]`, `#[rstest]`, `#[cfg(not(test))]`.
fn says_test(text: &str) -> bool {
    words(text).any(|word| {
        word.ends_with("test")
            || word.starts_with("test_")
            || matches!(word, "ignore" | "should_panic" | "path" | "macro_use")
    })
}
