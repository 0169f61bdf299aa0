//! Taking back in the launcher: a withdrawal becomes the next list of revocations, signed by the root key and remembered
//! where the front cannot write.
//!
//! Nothing here stops work that is under way: the front does that, and the workshop asks again before it applies.

use crate::Error;
use crate::clock;
use crate::ground::Ground;
use silas_core::KeyId;
use silas_core::device::Certificate;
use silas_core::passkey;
use silas_core::revocation::{RevocationBody, RevocationList, Withdrawal};

/// Checks the withdrawal, has the next list signed and remembers it. What is revoked already is revoked once.
pub(crate) fn withdraw(
    ground: &Ground,
    withdrawal: &Withdrawal,
    certificate: &Certificate,
    sign: impl FnOnce(RevocationBody) -> Result<RevocationList, Error>,
) -> Result<RevocationList, Error> {
    let _turn = ground.memory.turn_to_revoke()?;
    let known = ground.memory.revocations(&ground.anchor)?;
    let now = clock::now();
    withdrawal.verify(certificate, &ground.anchor, &known, now)?;
    let what = &withdrawal.body.what;
    let passkeys = ground.memory.passkeys()?;
    let is_passkey = |key: &KeyId| passkeys.iter().any(|passkey| passkey.body.key == *key);
    passkey::may_withdraw(certificate.body.kind, what, is_passkey)?;
    if let Some(list) = known.list().filter(|_| known.has(what)) {
        return Ok(list.clone());
    }
    let list = sign(known.next(what, &ground.anchor.installation, now))?;
    ground.memory.adopt(list.clone(), &ground.anchor)?;
    Ok(list)
}

/// Compares with what the front knows. Its list counts only if it is newer, as after a restored memory; then it is
/// remembered here. An older one is refused by giving the newer one back.
pub(crate) fn compare(ground: &Ground, known: Option<RevocationList>) -> Result<Option<RevocationList>, Error> {
    let _turn = ground.memory.turn_to_revoke()?;
    let ours = ground.memory.revocations(&ground.anchor)?;
    let newer = known.filter(|theirs| theirs.body.number > ours.number());
    let in_force = match newer {
        Some(theirs) => ground.memory.adopt(theirs, &ground.anchor)?,
        None => ours,
    };
    Ok(in_force.list().cloned())
}
