//! What the names of agents and runs are made of.

use super::*;
use crate::canonical;

#[test]
fn names_are_hashes_of_canonical_arrays() {
    let installation = InstallationId::parse("inst-1").unwrap();
    let message = MessageId::parse("msg-1").unwrap();
    let customer = Scope::parse("customer:ada+b@example.org").unwrap();
    let agent = AgentId::of(&installation, &customer);
    assert_eq!(agent.0, canonical::digest(&("v1", "agent", &installation, &customer)).unwrap());
    assert_ne!(AgentId::of(&installation, &Scope::Owner), agent);
    let run = RunKey::said(&agent, &message);
    assert_eq!(run.0, canonical::digest(&("v1", "run", agent, "said", &message)).unwrap());
    assert_eq!(RunKey::try_from(run.to_string()).unwrap(), run);
}
