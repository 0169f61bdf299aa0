//! The front's handle on the launcher. Everything here is a question; the launcher decides.

use crate::error::Doing;
use crate::process::{self, Child};
use crate::protocol::{LauncherAsk, Passphrase};
use crate::serve::Serve;
use crate::workshop::Workshop;
use crate::{Error, Hand, LaidOut, Look, Looked, Recovered, Seal, Sealed, Undone, fd_passing, frame, syscall};
use serde::de::DeserializeOwned;
use silas_core::changeset::FileDiff;
use silas_core::checkpoint::{ServerCertificate, ServerCertificateBody};
use silas_core::device::{Certificate, CertificateBody};
use silas_core::evidence::{Allowance, Evidence};
use silas_core::key_service::{KeyHelper, KeyReply};
use silas_core::revocation::{RevocationList, Withdrawal};
use silas_core::secret::Secret;
use silas_core::signature::Signature;
use silas_core::token::TokenBody;
use silas_core::toolchain::Toolchain;
use silas_core::{ExecutionId, Timestamp};
use std::os::fd::AsFd;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

#[derive(Debug)]
pub struct Launcher {
    /// One question at a time.
    socket: Mutex<UnixStream>,
    child: Child,
}

impl Launcher {
    /// Forks the launcher. Must be called in the first lines of `main`: before threads, because only the calling one is
    /// forked, and before secrets, because the launcher gets a copy of everything.
    pub fn fork(key_helper: KeyHelper) -> Result<Launcher, Error> {
        let doing = || "Starting the launcher".to_owned();
        if !process::is_single_threaded().doing(doing)? {
            return Err(Error::NotAvailable("The launcher must be started before any thread.".to_owned()));
        }
        let (ours, theirs) = UnixStream::pair().doing(doing)?;
        let child = process::fork(&[theirs.as_raw_fd()], || Serve::new(theirs, key_helper).run()).doing(doing)?;
        Ok(Launcher { socket: Mutex::new(ours), child })
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
        self.ask(&LauncherAsk::Withdraw { withdrawal, certificate })
    }

    /// The list that is in force, once both sides have compared theirs. One with a lower number than the launcher
    /// remembers changes nothing.
    pub fn revocations(&self, known: Option<RevocationList>) -> Result<Option<RevocationList>, Error> {
        self.ask(&LauncherAsk::Revocations(known))
    }

    /// A look at a file or at names, below a directory that the owner allowed.
    pub fn look(&self, allowance: &Allowance, path: &str, look: Look) -> Result<Looked, Error> {
        self.ask(&LauncherAsk::Look { allowance: Box::new(allowance.clone()), path: path.to_owned(), look })
    }

    /// Has the built-in sample project laid out in the owner's home, or says where it lies already.
    pub fn lay_out_sample(&self) -> Result<LaidOut, Error> {
        self.ask(&LauncherAsk::LayOutSample)
    }

    /// Starts or resumes an approved execution, or opens again what a decision to apply names.
    pub fn open(&self, evidence: &Evidence) -> Result<Workshop, Error> {
        let mut socket = self.socket()?;
        exchange::<()>(&mut socket, &LauncherAsk::Open(Box::new(evidence.clone())))?;
        let workshop = fd_passing::receive(&socket).doing(|| "Taking over a workshop".to_owned())?;
        Ok(Workshop::new(UnixStream::from(workshop)))
    }

    /// Like [`Launcher::seal`], for a command of the owner's own instead of a server.
    pub fn seal_for_command(&self, seal: Seal) -> Result<(), Error> {
        self.ask(&LauncherAsk::SealForCommand(seal))
    }

    /// Has the terminal key sign one command. Possible only after [`Launcher::seal_for_command`]. The passphrase, where
    /// there is one, goes to the key helper alone.
    pub fn sign_step(&self, body: &TokenBody, passphrase: Option<&Secret>) -> Result<Signature, Error> {
        let doing = || "Signing a command".to_owned();
        let said = passphrase.map(|said| String::from_utf8_lossy(said.expose()).into_owned());
        let (mut ours, theirs) = UnixStream::pair().doing(doing)?;
        frame::send(&mut ours, &Passphrase(said))?;
        let mut socket = self.socket()?;
        send(&mut socket, &LauncherAsk::SignStep(Box::new(body.clone())))?;
        fd_passing::send(&socket, theirs.as_fd()).doing(doing)?;
        frame::receive::<Result<Signature, Error>>(&mut *socket)?.unwrap_or(Err(Error::Lost))
    }

    /// Tools outside `/usr` that work in this directory would use.
    pub fn toolchains(&self, project: Option<&Path>) -> Result<Vec<Toolchain>, Error> {
        self.ask(&LauncherAsk::Toolchains { project: project.map(Path::to_owned) })
    }

    /// Begins one signed command; it starts when its streams are handed over.
    pub fn begin(&self, evidence: &Evidence) -> Result<Hand, Error> {
        let mut socket = self.socket()?;
        exchange::<()>(&mut socket, &LauncherAsk::Begin(Box::new(evidence.clone())))?;
        let hand = fd_passing::receive(&socket).doing(|| "Taking over a command".to_owned())?;
        Ok(Hand::new(UnixStream::from(hand)))
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
        self.ask(&LauncherAsk::Recover)
    }

    /// Drops what an apply replaced. Refused while it can still be undone.
    pub fn forget(&self, execution: &ExecutionId) -> Result<(), Error> {
        self.ask(&LauncherAsk::Forget(execution.clone()))
    }

    /// Throws away a result that waits for a decision, with its copy. Whatever else it is stays.
    pub fn discard(&self, execution: &ExecutionId) -> Result<(), Error> {
        self.ask(&LauncherAsk::Discard(execution.clone()))
    }

    /// Whether the launcher has ended. Without it nothing can be done any more, and the front should go too.
    pub fn is_gone(&self) -> bool {
        // Whoever holds the socket is talking to it, and will notice by itself.
        let Ok(socket) = self.socket.try_lock() else { return false };
        let events = syscall::poll(&[(socket.as_fd(), 0)], Some(std::time::Duration::ZERO));
        events.is_ok_and(|events| events[0] & (libc::POLLHUP | libc::POLLERR) != 0)
    }

    fn ask<T: DeserializeOwned>(&self, ask: &LauncherAsk) -> Result<T, Error> {
        exchange(&mut *self.socket()?, ask)
    }

    fn socket(&self) -> Result<MutexGuard<'_, UnixStream>, Error> {
        // Poisoned means that a thread died between a question and its answer: the next answer would be the wrong one.
        self.socket.lock().map_err(|_| Error::Lost)
    }
}

pub(crate) fn exchange<T: DeserializeOwned>(socket: &mut UnixStream, ask: &impl serde::Serialize) -> Result<T, Error> {
    send(socket, ask)?;
    frame::receive::<Result<T, Error>>(socket)?.unwrap_or(Err(Error::Lost))
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
        self.child.wait();
    }
}
