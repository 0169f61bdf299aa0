//! The front's handle on the launcher. Everything here is a question; the launcher decides.

use crate::error::Doing;
use crate::process::{self, Child};
use crate::protocol::{LauncherAsk, Passphrase};
use crate::serve::serve;
use crate::workshop::Workshop;
use crate::{Error, Hand, LaidOut, Look, Looked, Recovered, Seal, Sealed, Undone, fd_passing, frame, syscall};
use serde::de::DeserializeOwned;
use silas_core::changeset::FileDiff;
use silas_core::checkpoint::{ServerCertificate, ServerCertificateBody};
use silas_core::device::{Certificate, CertificateBody};
use silas_core::evidence::{Allowance, Evidence};
use silas_core::instruction::SampleOrder;
use silas_core::key_service::{KeyHelper, KeyReply};
use silas_core::revocation::{RevocationList, Withdrawal};
use silas_core::secret::Secret;
use silas_core::signature::Signature;
use silas_core::token::TokenBody;
use silas_core::toolchain::Toolchain;
use silas_core::{Clock, ExecutionId, Timestamp};
use std::os::fd::AsFd;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub struct Launcher {
    /// Held while a request is sent, never while its answer is waited for: that comes over a channel of its own.
    socket: Mutex<UnixStream>,
    /// Requests under way that may take long. Written by whoever waits for one.
    under_way: Mutex<usize>,
    one_ended: Condvar,
    /// Waited for at the end, if it is this process's own child.
    child: Option<Child>,
}

/// Requests that may be under way at once; the next waits here for one of them to end. What takes something back does not
/// count and does not wait. Fewer than the launcher bears, so that it never has to say so.
const UNDER_WAY_MAX: usize = 8;

impl Launcher {
    /// Forks the launcher. Must be called in the first lines of `main`: before threads, because only the calling one is
    /// forked, and before secrets, because the launcher gets a copy of everything.
    pub fn fork(key_helper: KeyHelper, clock: Arc<dyn Clock>) -> Result<Launcher, Error> {
        let doing = || "Starting the launcher".to_owned();
        if !process::is_single_threaded().doing(doing)? {
            return Err(Error::NotAvailable("The launcher must be started before any thread.".to_owned()));
        }
        let (ours, theirs) = UnixStream::pair().doing(doing)?;
        let child = process::fork(&[theirs.as_raw_fd()], || serve(theirs, key_helper, clock)).doing(doing)?;
        Ok(Launcher::new(ours, Some(child)))
    }

    /// One that serves at the other end of this socket already, in a process that somebody else started.
    pub fn at(socket: UnixStream) -> Launcher {
        Launcher::new(socket, None)
    }

    fn new(socket: UnixStream, child: Option<Child>) -> Launcher {
        Launcher { socket: Mutex::new(socket), under_way: Mutex::new(0), one_ended: Condvar::new(), child }
    }

    /// The first run's keys, in `data_dir/keys`. Existing ones stay. Refused after the seal.
    /// `keyring` says whether new ones may be sealed with a key that the system's keyring keeps.
    pub fn init_keys(
        &self,
        data_dir: &Path,
        at: Timestamp,
        terminal_name: &str,
        keyring: bool,
    ) -> Result<KeyReply, Error> {
        let (data_dir, terminal_name) = (data_dir.to_owned(), terminal_name.to_owned());
        self.ask(&LauncherAsk::InitKeys { data_dir, at, terminal_name, keyring })
    }

    /// Has the root key say that this key vouches for the ledger. Refused after the seal.
    pub fn certify_server(&self, data_dir: &Path, body: ServerCertificateBody) -> Result<ServerCertificate, Error> {
        self.ask(&LauncherAsk::CertifyServer { data_dir: data_dir.to_owned(), body })
    }

    /// Tells the launcher what it stands on. Accepted once.
    pub fn seal(&self, seal: Seal) -> Result<Sealed, Error> {
        self.ask(&LauncherAsk::Seal(seal))
    }

    /// Has a browser's key certified, if the proof shows that it saw the pairing code.
    pub fn certify(&self, body: CertificateBody, proof: &str) -> Result<Certificate, Error> {
        self.ask(&LauncherAsk::Certify { body, proof: proof.to_owned() })
    }

    /// Has a passkey certified that the owner's decision names; from then on it alone decides what cannot be undone.
    pub fn certify_passkey(&self, evidence: &Evidence) -> Result<Certificate, Error> {
        self.ask(&LauncherAsk::CertifyPasskey(Box::new(evidence.clone())))
    }

    /// All passkeys that there are, once both sides have compared theirs.
    pub fn passkeys(&self, known: Vec<Certificate>) -> Result<Vec<Certificate>, Error> {
        self.ask(&LauncherAsk::Passkeys(known))
    }

    /// Has something taken back that a device withdrew: the root key signs the next list, and this launcher and every
    /// later one refuses what is in it. Gives the list that is in force.
    pub fn withdraw(&self, withdrawal: &Withdrawal, certificate: &Certificate) -> Result<RevocationList, Error> {
        let (withdrawal, certificate) = (Box::new(withdrawal.clone()), Box::new(certificate.clone()));
        self.ask_at_once(&LauncherAsk::Withdraw { withdrawal, certificate })
    }

    /// The list that is in force, once both sides have compared theirs. One with a lower number than the launcher
    /// remembers changes nothing.
    pub fn revocations(&self, known: Option<RevocationList>) -> Result<Option<RevocationList>, Error> {
        self.ask_at_once(&LauncherAsk::Revocations(known))
    }

    /// A look at a file or at names, below a directory that the owner allowed.
    pub fn look(&self, allowance: &Allowance, path: &str, look: Look) -> Result<Looked, Error> {
        self.ask(&LauncherAsk::Look { allowance: Box::new(allowance.clone()), path: path.to_owned(), look })
    }

    /// Has the built-in sample project laid out in the owner's home, or says where it lies already.
    pub fn lay_out_sample(&self, order: SampleOrder) -> Result<LaidOut, Error> {
        self.ask(&LauncherAsk::LayOutSample(Box::new(order)))
    }

    /// Starts or resumes an approved execution, or opens again what a decision to apply names.
    pub fn open(&self, evidence: &Evidence) -> Result<Workshop, Error> {
        let mut channel = self.send(&LauncherAsk::Open(Box::new(evidence.clone())))?;
        answer::<()>(&mut channel)?;
        Ok(Workshop::new(channel))
    }

    /// From now on an execution waits for a provider or its owner: its plan's wall clock stands still, for a day at most.
    pub fn rest(&self, execution: &ExecutionId) -> Result<(), Error> {
        self.ask(&LauncherAsk::Rest(execution.clone()))
    }

    /// It waits no longer, if it did. Gives all that it has waited so far.
    pub fn go_on(&self, execution: &ExecutionId) -> Result<Duration, Error> {
        self.ask(&LauncherAsk::GoOn(execution.clone())).map(Duration::from_micros)
    }

    /// Like [`Launcher::seal`], for a command of the owner's own instead of a server.
    pub fn seal_for_command(&self, seal: Seal) -> Result<(), Error> {
        self.ask(&LauncherAsk::SealForCommand(seal))
    }

    /// Has the terminal key sign one command. Possible only after [`Launcher::seal_for_command`]. The passphrase, where
    /// there is one, goes to the key helper alone.
    pub fn sign_step(&self, body: &TokenBody, passphrase: Option<&Secret>) -> Result<Signature, Error> {
        let said = passphrase.map(|said| String::from_utf8_lossy(said.expose()).into_owned());
        let mut channel = self.send(&LauncherAsk::SignStep(Box::new(body.clone())))?;
        // Whoever refuses does not read it; the answer says so.
        let _ = send(&mut channel, &Passphrase(said));
        answer(&mut channel)
    }

    /// Tools outside `/usr` that work in this directory would use.
    pub fn toolchains(&self, project: Option<&Path>) -> Result<Vec<Toolchain>, Error> {
        self.ask(&LauncherAsk::Toolchains { project: project.map(Path::to_owned) })
    }

    /// Begins one signed command; it starts when its streams are handed over.
    pub fn begin(&self, evidence: &Evidence) -> Result<Hand, Error> {
        let mut channel = self.send(&LauncherAsk::Begin(Box::new(evidence.clone())))?;
        answer::<()>(&mut channel)?;
        Ok(Hand::new(channel))
    }

    /// Takes back what an execution applied.
    pub fn undo(&self, evidence: &Evidence) -> Result<Undone, Error> {
        self.ask(&LauncherAsk::Undo(Box::new(evidence.clone())))
    }

    /// What somebody has changed since an execution was applied, against what its undo would put there. Only a hint: the
    /// undo looks again.
    pub fn later_edits(&self, execution: &ExecutionId) -> Result<Vec<FileDiff>, Error> {
        self.ask(&LauncherAsk::LaterEdits(execution.clone()))
    }

    /// Finishes what was committed before a crash, removes what was not, and tells what is now true of each execution.
    pub fn recover(&self) -> Result<Vec<Recovered>, Error> {
        self.ask(&LauncherAsk::Recover { held: None })
    }

    /// The same, but nothing is moved for an apply or an undo unless its execution is among these: whoever asks says of all
    /// others that they have ended, and what was told about them stays true.
    pub fn recover_held(&self, held: Vec<ExecutionId>) -> Result<Vec<Recovered>, Error> {
        self.ask(&LauncherAsk::Recover { held: Some(held) })
    }

    /// Drops what an apply replaced. Refused while it can still be undone.
    pub fn forget(&self, execution: &ExecutionId) -> Result<(), Error> {
        self.ask(&LauncherAsk::Forget(execution.clone()))
    }

    /// Throws away a result that waits for a decision, with its copy. Whatever else it is stays.
    pub fn discard(&self, execution: &ExecutionId) -> Result<(), Error> {
        self.ask(&LauncherAsk::Discard(execution.clone()))
    }

    /// Throws away both versions of files that were kept to be brought together.
    pub fn drop_merge(&self, execution: &ExecutionId) -> Result<(), Error> {
        self.ask(&LauncherAsk::DropMerge(execution.clone()))
    }

    /// Whether the launcher has ended. Without it nothing can be done any more, and the front should go too.
    pub fn is_gone(&self) -> bool {
        // Whoever holds the socket is sending, and will notice by itself.
        let Ok(socket) = self.socket.try_lock() else { return false };
        let events = syscall::poll(&[(socket.as_fd(), 0)], Some(Duration::ZERO));
        events.is_ok_and(|events| events[0] & (libc::POLLHUP | libc::POLLERR) != 0)
    }

    /// Waits for a place among those that are under way, then for the answer.
    fn ask<T: DeserializeOwned>(&self, ask: &LauncherAsk) -> Result<T, Error> {
        let _place = self.place();
        self.ask_at_once(ask)
    }

    fn ask_at_once<T: DeserializeOwned>(&self, ask: &LauncherAsk) -> Result<T, Error> {
        answer(&mut self.send(ask)?)
    }

    /// Sends a request with one end of a new channel; whoever carries it out answers over that, and nobody else has it.
    fn send(&self, ask: &LauncherAsk) -> Result<UnixStream, Error> {
        let doing = || "Asking the launcher".to_owned();
        let (ours, theirs) = UnixStream::pair().doing(doing)?;
        let mut socket = self.socket()?;
        send(&mut socket, ask)?;
        fd_passing::send(&socket, theirs.as_fd()).map_err(|_| Error::Lost)?;
        Ok(ours)
    }

    fn socket(&self) -> Result<MutexGuard<'_, UnixStream>, Error> {
        // Poisoned means that a thread died within a request: the next one would be read as the rest of it.
        self.socket.lock().map_err(|_| Error::Lost)
    }

    fn place(&self) -> Place<'_> {
        // A number is whole whatever happened to whoever changed it.
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |n: &mut usize| *n >= UNDER_WAY_MAX;
        let mut under_way = self.one_ended.wait_while(under_way, is_full).unwrap_or_else(PoisonError::into_inner);
        *under_way += 1;
        Place { launcher: self }
    }
}

/// One of the requests that are under way.
struct Place<'l> {
    launcher: &'l Launcher,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.launcher.under_way.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.launcher.one_ended.notify_one();
    }
}

fn answer<T: DeserializeOwned>(channel: &mut UnixStream) -> Result<T, Error> {
    frame::receive::<Result<T, Error>>(channel)?.unwrap_or(Err(Error::Lost))
}

pub(crate) fn send(socket: &mut UnixStream, what: &impl serde::Serialize) -> Result<(), Error> {
    frame::send(socket, what).map_err(|e| match e {
        Error::Io { .. } => Error::Lost,
        other => other,
    })
}

impl Drop for Launcher {
    /// The launcher ends because its socket does; waiting leaves no zombie behind.
    fn drop(&mut self) {
        let socket = self.socket.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        // It cannot fail for a socket that we own, and the launcher's end is what we want either way.
        let _ = socket.shutdown(std::net::Shutdown::Both);
        if let Some(child) = &self.child {
            child.wait();
        }
    }
}
