//! A ledger that left its machine: a file of lines that anybody can check with nothing but the public root key.
//!
//! ```text
//! header       whose ledger it is, by which keys it is to be judged
//! checkpoint   each signed head, before the entries
//! entry        each entry, with the decision or instruction that it names, and perhaps its text
//! end          how many of each: a file that was cut short has none
//! ```
//!
//! Words of people and programs are left out unless they are asked for; the chain holds without them. Payloads of
//! decisions are in, because their hashes are what was signed. Nothing here reads files: lines come in, a report or the
//! first thing that is wrong comes out.

use crate::books::{self, Beside, Books, Summary};
use crate::chain::{self, Broken, Chain, Link};
use crate::checkpoint::{Claim, Head, ServerCertificate, Statement};
use crate::device::Mismatch;
use crate::event::{AuditEvent, Text};
use crate::handover::{Handover, Handovers};
use crate::server_keys::{ServerKeys, Unfit};
use crate::signature::PublicKey;
use crate::{Digest, InstallationId, Timestamp, canonical};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const FORMAT: &str = "silas-ledger";
pub const VERSION: u32 = 2;
/// Files of before keys could be exchanged for new ones: the key of their checkpoints is taken at its word.
const VERSION_WITHOUT_CERTIFICATES: u32 = 1;
/// Longest line: a plan and a text at their largest, with room for escapes.
pub const LINE_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub format: String,
    pub v: u32,
    pub installation: InstallationId,
    pub epoch: u64,
    /// Vouches for the devices whose decisions are here. Whoever checks the file must know it from elsewhere.
    pub root: PublicKey,
    /// Signs the checkpoints.
    pub server: PublicKey,
    /// By which the root key vouches for that key and for those before it, oldest first. None where it has not yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerCertificate>,
    /// By which earlier root keys handed over to this one, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handovers: Vec<Handover>,
    pub exported_at: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    Header(Header),
    Checkpoint(Statement),
    Entry(Box<Entry>),
    End(End),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub link: Link,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<SaltedText>,
}

/// A text with the salt of its digest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaltedText {
    pub salt: String,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    pub entries: u64,
    pub checkpoints: u64,
}

/// The first thing that is wrong with the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    #[error("The file is not a ledger that this version of Silas can read")]
    NotALedger,
    #[error("Line {0} of the file cannot be read")]
    Line(u64),
    #[error("Line {0} of the file is not where it belongs")]
    Order(u64),
    #[error("The file was cut short: it has no end")]
    NoEnd,
    #[error("The file says how much is in it, and that is not what is in it")]
    Counts,
    #[error("The ledger was signed for by root key {found}, not by the one that was asked for")]
    OtherRoot { found: String },
    #[error("{0}")]
    Chain(String),
    #[error("The certificates of its server keys do not count: {0}")]
    Server(Mismatch),
    #[error("The hand-overs of its root key do not count: {0}")]
    Handover(Mismatch),
    #[error("The checkpoint at entry {0} was not signed by this installation")]
    Checkpoint(u64),
    #[error("The checkpoint at entry {seq} was signed by a server key that had been replaced at entry {at}")]
    OldKey { seq: u64, at: u64 },
    #[error("Entry {0} of the ledger is not the one that was signed")]
    OtherEntry(u64),
    #[error("The ledger ends before entry {0}, which was there: its end was cut off")]
    Cut(u64),
    #[error("{0}")]
    Books(String),
}

impl From<Broken> for Problem {
    fn from(broken: Broken) -> Self {
        Problem::Chain(broken.to_string())
    }
}

impl From<books::Fault> for Problem {
    fn from(fault: books::Fault) -> Self {
        Problem::Books(fault.to_string())
    }
}

/// What a sound file comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    pub header: Header,
    pub head: Option<Head>,
    pub n_checkpoints: u64,
    /// Whether the root key stands behind the keys that signed them.
    pub is_vouched: bool,
    pub n_texts: u64,
    pub books: Summary,
}

/// Reads an export line by line. What it holds on to grows with decisions and checkpoints, not with entries.
pub struct Reader {
    header: Header,
    servers: ServerKeys,
    chain: Chain,
    books: Books,
    /// Heads that must turn up: of the checkpoints, and any that were kept elsewhere.
    expected: BTreeMap<u64, Digest>,
    n_lines: u64,
    n_checkpoints: u64,
    n_texts: u64,
    end: Option<End>,
}

impl Reader {
    /// Reads the first line. `root` is the key that the reader trusts; without one the file's own is taken at its word.
    pub fn open(first_line: &str, root: Option<&PublicKey>) -> Result<Self, Problem> {
        let Ok(Line::Header(header)) = canonical::read::<Line>(first_line) else { return Err(Problem::NotALedger) };
        let is_old = header.v == VERSION_WITHOUT_CERTIFICATES;
        let is_known = header.v == VERSION || is_old && header.servers.is_empty() && header.handovers.is_empty();
        if header.format != FORMAT || !is_known {
            return Err(Problem::NotALedger);
        }
        if root.is_some_and(|root| *root != header.root) {
            return Err(Problem::OtherRoot { found: String::from(header.root) });
        }
        let handovers = Handovers::checked(header.handovers.clone(), &header.root, &header.installation);
        let handovers = handovers.map_err(Problem::Handover)?;
        let mut reader = Reader {
            servers: servers(&header).map_err(Problem::Server)?,
            chain: Chain::start(),
            books: Books::open(header.root, header.installation.clone()).after(handovers),
            header,
            expected: BTreeMap::new(),
            n_lines: 1,
            n_checkpoints: 0,
            n_texts: 0,
            end: None,
        };
        let pinned: Vec<Head> = reader.servers.pinned().collect();
        pinned.into_iter().try_for_each(|head| reader.expect(head))?;
        Ok(reader)
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// A head that was seen earlier: the ledger must hold exactly this entry.
    pub fn expect(&mut self, head: Head) -> Result<(), Problem> {
        match self.expected.insert(head.seq, head.hash) {
            Some(other) if other != head.hash => Err(Problem::OtherEntry(head.seq)),
            _ => Ok(()),
        }
    }

    pub fn read(&mut self, line: &str) -> Result<(), Problem> {
        self.n_lines += 1;
        let out_of_order = Problem::Order(self.n_lines);
        if self.end.is_some() {
            return Err(out_of_order);
        }
        match canonical::read::<Line>(line).map_err(|_| Problem::Line(self.n_lines))? {
            Line::Header(_) => Err(out_of_order),
            Line::Checkpoint(_) if self.chain.entries() > 0 => Err(out_of_order),
            Line::Checkpoint(statement) => self.checkpoint(&statement),
            Line::Entry(entry) => self.entry(&entry),
            Line::End(end) => {
                self.end = Some(end);
                Ok(())
            }
        }
    }

    fn checkpoint(&mut self, statement: &Statement) -> Result<(), Problem> {
        let head = statement.body.head;
        match self.servers.judge(statement, Claim::Checkpoint, &self.header.installation) {
            Ok(()) => {}
            Err(Unfit::NotOurs) => return Err(Problem::Checkpoint(head.seq)),
            Err(Unfit::Replaced { at }) => return Err(Problem::OldKey { seq: head.seq, at }),
        }
        self.n_checkpoints += 1;
        self.expect(head)
    }

    fn entry(&mut self, entry: &Entry) -> Result<(), Problem> {
        let Entry { link, beside, text } = entry;
        let body = self.chain.extend(link)?;
        if self.expected.remove(&link.seq).is_some_and(|hash| hash != link.hash) {
            return Err(Problem::OtherEntry(link.seq));
        }
        // None for an event of another version; the chain does not need to understand it.
        let event: Option<AuditEvent> = serde_json::from_value(body).ok();
        if let Some(SaltedText { salt, text }) = text {
            let named = event.as_ref().and_then(AuditEvent::text);
            let fits = Text::read_salt(salt).is_some_and(|salt| Some(&Text::of(&salt, text)) == named);
            if !fits {
                return Err(Broken { seq: link.seq, reason: chain::Reason::TextAltered }.into());
            }
            self.n_texts += 1;
        }
        Ok(self.books.enter(link.seq, link.at, event.as_ref(), beside.as_ref())?)
    }

    /// After the last line.
    pub fn close(self) -> Result<Report, Problem> {
        let end = self.end.ok_or(Problem::NoEnd)?;
        if let Some((seq, _)) = self.expected.first_key_value() {
            return Err(Problem::Cut(*seq));
        }
        if (end.entries, end.checkpoints) != (self.chain.entries(), self.n_checkpoints) {
            return Err(Problem::Counts);
        }
        Ok(Report {
            head: self.chain.head(),
            n_checkpoints: self.n_checkpoints,
            is_vouched: self.servers.is_vouched(),
            n_texts: self.n_texts,
            books: self.books.close(self.chain.entries())?,
            header: self.header,
        })
    }
}

/// The keys of the checkpoints, as far as the root key vouches for them.
fn servers(header: &Header) -> Result<ServerKeys, Mismatch> {
    if header.servers.is_empty() {
        return Ok(ServerKeys::only(header.server));
    }
    let keys = ServerKeys::checked(&header.servers, &header.root, &header.installation)?;
    if keys.current() == header.server { Ok(keys) } else { Err(Mismatch::Key) }
}
