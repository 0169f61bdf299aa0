//! The launcher's own process: one thread, one loop, nothing secret. It answers the front and terminals of the owner, and
//! forks for everything that takes time or touches something.
//!
//! It lives exactly as long as the front: when the socket between them closes, it is gone.

use crate::bench::Bench;
use crate::cell;
use crate::errand::Errand;
use crate::error::Doing;
use crate::ground::{self, Ground};
use crate::key_use::{self, Armed, use_key, use_root};
use crate::pairing::{self, PairingCode};
use crate::permit::Permit;
use crate::process::{self, Child};
use crate::protocol::{LauncherAsk, TerminalAsk};
use crate::step::{Solo, StepPermit};
use crate::{
    Error, Seal, Sealed, door, durable, fd_passing, forget, frame, later_edits, look, passkeys, recover, revoke,
    sample, syscall, toolchains, undo, waiting,
};
use serde::Serialize;
use silas_core::checkpoint::{ServerCertificate, ServerCertificateBody};
use silas_core::device::Certificate;
use silas_core::evidence::Evidence;
use silas_core::key_service::{KeyHelper, KeyReply, KeyRequest, SignBody};
use silas_core::revocation::{RevocationList, Withdrawal};
use silas_core::token::{Kind, TokenBody};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

pub(crate) struct Serve {
    front: UnixStream,
    key_helper: KeyHelper,
    ground: Option<Ground>,
    door: Option<UnixListener>,
    pairing: Option<PairingCode>,
    /// Waits with the passphrase, if a terminal asked for that.
    armed: Option<Armed>,
    /// Whether the other end is the owner's own command and not a server.
    is_for_command: bool,
    errands: Vec<Errand<Asker>>,
    /// Children that work for the front; kept to be waited for when they end.
    workshops: Vec<(Child, OwnedFd)>,
}

enum Asker {
    Front,
    Terminal(UnixStream),
}

/// Whether the answer is there or a child brings it later.
enum Answer {
    Now(Vec<u8>),
    Later,
    /// The answer, and then this end of a new workshop's socket.
    WithSocket(Vec<u8>, UnixStream),
}

/// Terminals that may wait for a signature at once; there is one owner.
const ERRANDS_MAX: usize = 16;
/// Workshops at once; each may use a whole machine.
const WORKSHOPS_MAX: usize = 16;

impl Serve {
    pub(crate) fn new(front: UnixStream, key_helper: KeyHelper) -> Self {
        Serve {
            front,
            key_helper,
            ground: None,
            door: None,
            pairing: None,
            armed: None,
            is_for_command: false,
            errands: Vec::new(),
            workshops: Vec::new(),
        }
    }

    /// Until the front is gone.
    pub(crate) fn run(mut self) -> i32 {
        syscall::name_process(c"silas-launcher");
        process::outlive_signals();
        loop {
            match self.turn() {
                Ok(true) => {}
                Ok(false) => return 0,
                Err(_) => return 1,
            }
        }
    }

    fn turn(&mut self) -> Result<bool, Error> {
        let doing = || "Waiting for requests".to_owned();
        // One request of the front at a time; that it is gone is reported in any case.
        let is_front_waiting = self.errands.iter().any(|errand| matches!(errand.to(), Asker::Front));
        let mut fds = vec![(self.front.as_fd(), if is_front_waiting { 0 } else { libc::POLLIN })];
        fds.extend(self.errands.iter().map(|errand| (errand.fd(), libc::POLLIN)));
        fds.extend(self.workshops.iter().map(|(_, ended)| (ended.as_fd(), libc::POLLIN)));
        fds.extend(self.door.iter().map(|door| (door.as_fd(), libc::POLLIN)));
        let events = syscall::poll(&fds, None).doing(doing)?;
        let (n_errands, n_workshops) = (self.errands.len(), self.workshops.len());
        if events[0] & (libc::POLLHUP | libc::POLLERR) != 0 {
            return Ok(false);
        }
        // From the back, so that removing one leaves the numbers of the others.
        for n in (0..n_errands).rev().filter(|n| events[1 + n] != 0) {
            if self.errands[n].read_some() {
                self.deliver(n)?;
            }
        }
        for n in (0..n_workshops).rev().filter(|n| events[1 + n_errands + n] != 0) {
            self.workshops.remove(n).0.wait();
            // One that was killed could not tidy up.
            cell::sweep();
        }
        if events.get(1 + n_errands + n_workshops).is_some_and(|event| *event != 0) {
            self.answer_terminal();
        }
        if events[0] & libc::POLLIN != 0 { self.answer_front() } else { Ok(true) }
    }

    fn deliver(&mut self, n: usize) -> Result<(), Error> {
        match self.errands.remove(n).end() {
            (Asker::Front, answer) => frame::send_bytes(&mut self.front, &answer?),
            (Asker::Terminal(mut client), answer) => {
                // A terminal that went away needs no answer.
                let _ = frame::send_bytes(&mut client, &answer?);
                Ok(())
            }
        }
    }

    fn answer_front(&mut self) -> Result<bool, Error> {
        let Some(ask) = frame::receive::<LauncherAsk>(&mut self.front)? else { return Ok(false) };
        let answer = match ask {
            LauncherAsk::InitKeys { data_dir, at, terminal_name, keyring } => {
                self.init_keys(&data_dir, KeyRequest::Init { at, terminal_name, keyring })
            }
            LauncherAsk::CertifyServer { data_dir, body } => self.certify_server(&data_dir, body),
            LauncherAsk::Seal(seal) => self.seal(seal).and_then(|sealed| now(&sealed)),
            LauncherAsk::Certify { body, proof } => self.certify(body, &proof),
            LauncherAsk::CertifyPasskey(evidence) => self.certify_passkey(*evidence),
            LauncherAsk::Passkeys(known) => self.later(move |ground| passkeys::compare(ground, known)),
            LauncherAsk::Withdraw { withdrawal, certificate } => self.withdraw(*withdrawal, *certificate),
            LauncherAsk::Revocations(known) => self.later(move |ground| revoke::compare(ground, known)),
            LauncherAsk::SealForCommand(seal) => self.seal_for_command(seal).and_then(|()| now(&())),
            LauncherAsk::SignStep(body) => {
                let from = fd_passing::receive(&self.front).doing(|| "Signing a command".to_owned())?;
                self.sign_step(*body, UnixStream::from(from))
            }
            LauncherAsk::Toolchains { project } => self.toolchains(project),
            LauncherAsk::Look { allowance, path, look } => {
                self.later(move |ground| look::look(ground, &allowance, &path, look))
            }
            LauncherAsk::LayOutSample => self.later(sample::lay_out),
            LauncherAsk::Open(evidence) => self.open(*evidence),
            LauncherAsk::Begin(evidence) => self.begin(&evidence),
            LauncherAsk::Undo(evidence) => self.later(move |ground| undo::undo(ground, &evidence)),
            LauncherAsk::LaterEdits(execution) => self.later(move |ground| later_edits::find(ground, &execution)),
            LauncherAsk::Recover => self.later(recover::recover),
            LauncherAsk::Forget(execution) => self.later(move |ground| forget::forget(ground, &execution)),
            LauncherAsk::Discard(execution) => self.later(move |ground| waiting::discard(ground, &execution)),
        };
        match answer {
            Ok(Answer::Now(bytes)) => frame::send_bytes(&mut self.front, &bytes)?,
            Ok(Answer::Later) => {}
            Ok(Answer::WithSocket(bytes, socket)) => {
                frame::send_bytes(&mut self.front, &bytes)?;
                fd_passing::send(&self.front, socket.as_fd()).doing(|| "Handing over a workshop".to_owned())?;
            }
            Err(why) => frame::send(&mut self.front, &Err::<(), Error>(why))?,
        }
        Ok(true)
    }

    fn init_keys(&mut self, data_dir: &Path, request: KeyRequest) -> Result<Answer, Error> {
        if self.ground.is_some() {
            return Err(Error::AlreadySealed);
        }
        let keys = ground::keys(data_dir);
        durable::private_dir(&keys).doing(|| "Making the directory of keys".to_owned())?;
        let key_helper = self.key_helper;
        self.start(Asker::Front, &[], move || {
            use_key(key_helper, &keys, &request, &mut || None, |reply| {
                matches!(reply, KeyReply::Ready { .. }).then_some(reply)
            })
        })
    }

    /// Architecture invariant (INV-01): what comes out is no device's certificate, and only the first lines of a start can
    /// ask for it; a front that was taken over later cannot.
    fn certify_server(&mut self, data_dir: &Path, body: ServerCertificateBody) -> Result<Answer, Error> {
        if self.ground.is_some() {
            return Err(Error::AlreadySealed);
        }
        let (key_helper, keys) = (self.key_helper, ground::keys(data_dir));
        self.start(Asker::Front, &[], move || {
            use_key(key_helper, &keys, &KeyRequest::CertifyServer { body }, &mut || None, |reply| match reply {
                KeyReply::ServerCertified { certificate } => Some::<ServerCertificate>(certificate),
                KeyReply::Ready { .. }
                | KeyReply::Checked
                | KeyReply::Certified { .. }
                | KeyReply::Revoked { .. }
                | KeyReply::Signed { .. }
                | KeyReply::Locked
                | KeyReply::Refused { .. } => None,
            })
        })
    }

    fn seal(&mut self, seal: Seal) -> Result<Sealed, Error> {
        if self.ground.is_some() {
            return Err(Error::AlreadySealed);
        }
        let ground = Ground::new(seal)?;
        ground.memory.revocations(&ground.anchor)?;
        let door = door::open(&ground.data_dir)?;
        let code = PairingCode::new()?;
        let sealed = Sealed { pairing_code: code.text().to_owned(), limits: cell::settle() };
        self.ground = Some(ground);
        self.door = Some(door);
        self.pairing = Some(code);
        Ok(sealed)
    }

    /// Whoever asks holds the owner's keys in the same hand as this process: it was forked from the owner's own command.
    fn seal_for_command(&mut self, seal: Seal) -> Result<(), Error> {
        if self.ground.is_some() {
            return Err(Error::AlreadySealed);
        }
        self.ground = Some(Ground::new(seal)?);
        self.is_for_command = true;
        Ok(())
    }

    /// Architecture invariant (INV-01): a front that serves people can have nothing signed; its launcher was sealed the
    /// other way, and that cannot be changed.
    fn sign_step(&mut self, body: TokenBody, from: UnixStream) -> Result<Answer, Error> {
        let ground = self.ground.as_ref().ok_or(Error::NotSealed)?;
        if !self.is_for_command || body.offer.kind != Kind::Step {
            return Err(Error::Terminal("only a command of the owner's own is signed here.".to_owned()));
        }
        let (key_helper, keys) = (self.key_helper, ground.keys());
        let keep = from.as_raw_fd();
        self.start(Asker::Front, &[keep], move || {
            key_use::signature(key_helper, &keys, SignBody::Token(body), &mut || key_use::take_passphrase(&from))
        })
    }

    /// A slow disk must not hold up a server; a command waits for the answer either way.
    fn toolchains(&mut self, project: Option<PathBuf>) -> Result<Answer, Error> {
        match &self.ground {
            Some(ground) if self.is_for_command => now(&toolchains::find(ground, project.as_deref())),
            _ => self.later(move |ground| Ok(toolchains::find(ground, project.as_deref()))),
        }
    }

    fn begin(&mut self, evidence: &Evidence) -> Result<Answer, Error> {
        let ground = self.ground.as_ref().ok_or(Error::NotSealed)?;
        if self.workshops.len() >= WORKSHOPS_MAX {
            return Err(Error::Busy);
        }
        let permit = StepPermit::from_evidence(ground, evidence)?;
        let doing = || "Starting a command".to_owned();
        let (theirs, ours) = UnixStream::pair().doing(doing)?;
        let mut keep = permit.descriptors();
        keep.push(ours.as_raw_fd());
        let ground = ground.clone();
        let child = process::fork(&keep, || Solo { ground, permit, socket: ours }.serve()).doing(doing)?;
        let ended = child.watch().doing(doing)?;
        self.workshops.push((child, ended));
        Ok(Answer::WithSocket(frame::encode(&Ok::<(), Error>(()))?, theirs))
    }

    fn certify(&mut self, body: silas_core::device::CertificateBody, proof: &str) -> Result<Answer, Error> {
        let ground = self.ground.as_ref().ok_or(Error::NotSealed)?;
        if ground.memory.revocations(&ground.anchor)?.has_device(&body.key) {
            return Err(Error::Pairing("this key was revoked. Make a new one".to_owned()));
        }
        pairing::take(&mut self.pairing, &body, proof, &ground.anchor)?;
        let (key_helper, keys, armed) = (self.key_helper, ground.keys(), self.armed.take());
        let keep: Vec<RawFd> = armed.iter().map(Armed::descriptor).collect();
        self.start(Asker::Front, &keep, move || {
            use_root(armed, key_helper, &keys, &KeyRequest::Certify { body }, certified)
        })
    }

    fn certify_passkey(&mut self, evidence: Evidence) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        let (key_helper, armed) = (self.key_helper, self.armed.take());
        let keep: Vec<RawFd> = armed.iter().map(Armed::descriptor).collect();
        self.start(Asker::Front, &keep, move || {
            passkeys::certify(&ground, &evidence, |body| {
                use_root(armed, key_helper, &ground.keys(), &KeyRequest::Certify { body }, certified)
            })
        })
    }

    fn withdraw(&mut self, withdrawal: Withdrawal, certificate: Certificate) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        let (key_helper, armed) = (self.key_helper, self.armed.take());
        let keep: Vec<RawFd> = armed.iter().map(Armed::descriptor).collect();
        self.start(Asker::Front, &keep, move || {
            revoke::withdraw(&ground, &withdrawal, &certificate, |body| {
                use_root(armed, key_helper, &ground.keys(), &KeyRequest::Revoke { body }, |reply| match reply {
                    KeyReply::Revoked { list } => Some::<RevocationList>(list),
                    KeyReply::Ready { .. }
                    | KeyReply::Checked
                    | KeyReply::Certified { .. }
                    | KeyReply::ServerCertified { .. }
                    | KeyReply::Signed { .. }
                    | KeyReply::Locked
                    | KeyReply::Refused { .. } => None,
                })
            })
        })
    }

    fn open(&mut self, evidence: Evidence) -> Result<Answer, Error> {
        let ground = self.ground.as_ref().ok_or(Error::NotSealed)?;
        if self.workshops.len() >= WORKSHOPS_MAX {
            return Err(Error::Busy);
        }
        let permit = Permit::from_evidence(ground, evidence)?;
        let doing = || "Starting a workshop".to_owned();
        let (theirs, ours) = UnixStream::pair().doing(doing)?;
        let mut keep = vec![ours.as_raw_fd(), permit.lock.as_raw_fd()];
        keep.extend(permit.roots.iter().map(|root| root.granted.dir.as_fd().as_raw_fd()));
        keep.extend(permit.reads.iter().map(|read| read.dir.as_fd().as_raw_fd()));
        let ground = ground.clone();
        let child = process::fork(&keep, || {
            syscall::name_process(c"silas-workshop");
            Bench::new(ground, permit, ours).serve()
        })
        .doing(doing)?;
        let ended = child.watch().doing(doing)?;
        self.workshops.push((child, ended));
        Ok(Answer::WithSocket(frame::encode(&Ok::<(), Error>(()))?, theirs))
    }

    fn answer_terminal(&mut self) {
        let Some(mut client) = self.door.as_ref().and_then(door::accept) else { return };
        let answer = match frame::receive::<TerminalAsk>(&mut client) {
            Ok(Some(TerminalAsk::PairingCode)) => self.new_code(),
            Ok(Some(TerminalAsk::Arm)) => self.arm(&client),
            Ok(Some(TerminalAsk::Sign(body))) => match client.try_clone() {
                Ok(waiting) => self.sign(waiting, *body),
                Err(e) => Err(Error::io("Answering a terminal", &e)),
            },
            Ok(None) => return,
            Err(why) => Err(why),
        };
        // A terminal that went away needs no answer.
        let _ = match answer {
            Ok(Answer::Now(bytes)) => frame::send_bytes(&mut client, &bytes),
            Ok(Answer::Later | Answer::WithSocket(..)) => Ok(()),
            Err(why) => frame::send(&mut client, &Err::<(), Error>(why)),
        };
    }

    fn new_code(&mut self) -> Result<Answer, Error> {
        let code = PairingCode::new()?;
        let answer = now(&code.text());
        self.pairing = Some(code);
        answer
    }

    fn sign(&mut self, client: UnixStream, body: SignBody) -> Result<Answer, Error> {
        let keys = self.ground.as_ref().ok_or(Error::NotSealed)?.keys();
        let key_helper = self.key_helper;
        let asked = client.try_clone().doing(|| "Answering a terminal".to_owned())?;
        let keep = asked.as_raw_fd();
        self.start(Asker::Terminal(client), &[keep], move || {
            key_use::signature(key_helper, &keys, body, &mut || key_use::ask_terminal(&asked))
        })
    }

    /// One that was waiting already ends; there is one owner, who asks for one thing at a time.
    fn arm(&mut self, client: &UnixStream) -> Result<Answer, Error> {
        let doing = || "Starting a key helper".to_owned();
        let keys = self.ground.as_ref().ok_or(Error::NotSealed)?.keys();
        self.armed = None;
        let (child, armed) = Armed::wait_for_one(self.key_helper, keys, client).doing(doing)?;
        let ended = child.watch().doing(doing)?;
        self.workshops.push((child, ended));
        self.armed = Some(armed);
        Ok(Answer::Later)
    }

    fn later<T: Serialize>(&mut self, body: impl FnOnce(&Ground) -> Result<T, Error>) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        self.start(Asker::Front, &[], move || body(&ground))
    }

    fn start<T: Serialize>(
        &mut self,
        to: Asker,
        keep: &[RawFd],
        body: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Answer, Error> {
        if self.errands.len() >= ERRANDS_MAX {
            return Err(Error::Busy);
        }
        self.errands.push(Errand::run(to, keep, body)?);
        Ok(Answer::Later)
    }
}

fn certified(reply: KeyReply) -> Option<Certificate> {
    match reply {
        KeyReply::Certified { certificate } => Some(certificate),
        KeyReply::Ready { .. }
        | KeyReply::ServerCertified { .. }
        | KeyReply::Checked
        | KeyReply::Revoked { .. }
        | KeyReply::Signed { .. }
        | KeyReply::Locked
        | KeyReply::Refused { .. } => None,
    }
}

fn now<T: Serialize>(value: &T) -> Result<Answer, Error> {
    frame::encode(&Ok::<&T, Error>(value)).map(Answer::Now)
}
