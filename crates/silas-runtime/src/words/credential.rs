//! Why a secret was not given, as the ledger has it and as it is told.

pub(crate) const NO_SUCH: &str = "no_such_secret";
pub(crate) const LOCKED: &str = "vault_locked";
pub(crate) const DAMAGED: &str = "damaged";

pub(crate) fn refusal_words(reason: &str) -> &'static str {
    match reason {
        LOCKED => "The vault was locked",
        DAMAGED => "What the vault holds of it is damaged",
        _ => "There is no such secret",
    }
}
