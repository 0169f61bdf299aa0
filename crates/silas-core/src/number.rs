//! How many, as people read it: "1,284". Whatever counts something is written so, in every room.
//!
//! Deliberately not for names: the number of an entry, a port, a year. They are typed again as they stand.

/// A whole number with a comma before every three digits.
pub fn grouped(n: impl std::fmt::Display) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (n, c) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    //! Three digits each.

    use super::grouped;

    #[test]
    fn numbers_have_separators() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")];
        for (n, text) in cases {
            assert_eq!(grouped(n), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }
}
