//! The launcher's own process: one thread, one loop, nothing secret. It answers the front and terminals of the owner, and
//! forks for everything that takes time or touches something ([`crate::helpers`]).
//!
//! Architecture invariant: nothing in this loop waits for anybody, and once it is sealed it reads nothing from a disk. Each
//! request brings a channel for its answer, so none stands behind another, and what takes something back has places that
//! nothing else can take.
//!
//! It lives exactly as long as the front: when the socket between them closes, it is gone.

use crate::bench::Bench;
use crate::callers::Callers;
use crate::cell;
use crate::clock;
use crate::error::Doing;
use crate::ground::{self, Ground};
use crate::helpers::{Answer, Helpers, Work, reply};
use crate::key_use::{self, Armed, use_key, use_root};
use crate::pairing::{self, PairingCode};
use crate::permit::Permit;
use crate::process;
use crate::protocol::{LauncherAsk, TerminalAsk};
use crate::rest;
use crate::step::{Solo, StepPermit};
use crate::{
    Error, Seal, Sealed, door, durable, fd_passing, forget, frame, later_edits, look, merges, passkeys, recover,
    revoke, sample, syscall, toolchains, undo, waiting,
};
use serde::Serialize;
use silas_core::Clock;
use silas_core::checkpoint::{ServerCertificate, ServerCertificateBody};
use silas_core::device::Certificate;
use silas_core::evidence::Evidence;
use silas_core::key_service::{KeyHelper, KeyReply, KeyRequest, SignBody};
use silas_core::revocation::{RevocationList, Withdrawal};
use silas_core::token::{Kind, TokenBody};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

struct Serve {
    front: UnixStream,
    key_helper: KeyHelper,
    ground: Option<Ground>,
    door: Option<UnixListener>,
    pairing: Option<PairingCode>,
    /// Waits with the passphrase, if a terminal asked for that.
    armed: Option<Armed>,
    /// Whether the other end is the owner's own command and not a server.
    is_for_command: bool,
    helpers: Helpers,
    callers: Callers,
}

/// Is the launcher, until the front at the other end is gone; gives the exit code. This process must have one thread, and
/// nothing that the launcher should not have.
pub fn serve(front: UnixStream, key_helper: KeyHelper, clock: Arc<dyn Clock>) -> i32 {
    clock::keep(clock);
    Serve::new(front, key_helper).run()
}

impl Serve {
    fn new(front: UnixStream, key_helper: KeyHelper) -> Self {
        Serve {
            front,
            key_helper,
            ground: None,
            door: None,
            pairing: None,
            armed: None,
            is_for_command: false,
            helpers: Helpers::default(),
            callers: Callers::default(),
        }
    }

    /// Until the front is gone.
    fn run(mut self) -> i32 {
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
        let (n_helpers, n_callers) = (self.helpers.len(), self.callers.len());
        let mut fds = vec![(self.front.as_fd(), libc::POLLIN)];
        fds.extend(self.helpers.fds().chain(self.callers.fds()).map(|fd| (fd, libc::POLLIN)));
        fds.extend(self.door.iter().map(|door| (door.as_fd(), libc::POLLIN)));
        let events = syscall::poll(&fds, self.callers.patience()).doing(doing)?;
        if events[0] & (libc::POLLHUP | libc::POLLERR) != 0 {
            return Ok(false);
        }
        // From the back, so that removing one leaves the numbers of the others.
        for n in (0..n_helpers).rev().filter(|n| events[1 + n] != 0) {
            if self.helpers.take_leave(n) == Work::Workshop {
                // One that was killed could not tidy up.
                cell::sweep();
            }
        }
        for n in (0..n_callers).rev().filter(|n| events[1 + n_helpers + n] != 0) {
            if let Some((client, ask)) = self.callers.hear(n) {
                self.answer_terminal(client, ask);
            }
        }
        self.callers.drop_the_slow();
        if events.get(1 + n_helpers + n_callers).is_some_and(|event| *event != 0)
            && let Some(client) = self.door.as_ref().and_then(door::accept)
        {
            self.callers.enter(client);
        }
        if events[0] & libc::POLLIN != 0 { self.answer_front() } else { Ok(true) }
    }

    fn answer_front(&mut self) -> Result<bool, Error> {
        let Some(ask) = frame::receive::<LauncherAsk>(&mut self.front)? else { return Ok(false) };
        let channel = fd_passing::receive(&self.front).doing(|| "Taking a request".to_owned())?;
        let mut channel = UnixStream::from(channel);
        let answer = match self.take(ask, &channel) {
            Ok(Answer::Now(bytes)) => frame::send_bytes(&mut channel, &bytes),
            Ok(Answer::Later) => Ok(()),
            Err(why) => frame::send(&mut channel, &Err::<(), Error>(why)),
        };
        // Whoever went away needs no answer.
        let _ = answer;
        Ok(true)
    }

    fn take(&mut self, ask: LauncherAsk, channel: &UnixStream) -> Result<Answer, Error> {
        match ask {
            LauncherAsk::InitKeys { data_dir, at, terminal_name, keyring } => {
                self.init_keys(channel, &data_dir, KeyRequest::Init { at, terminal_name, keyring })
            }
            LauncherAsk::CertifyServer { data_dir, body } => self.certify_server(channel, &data_dir, body),
            LauncherAsk::Seal(seal) => self.seal(seal).and_then(|sealed| now(&sealed)),
            LauncherAsk::Certify { body, proof } => self.certify(channel, body, &proof),
            LauncherAsk::CertifyPasskey(evidence) => self.certify_passkey(channel, *evidence),
            LauncherAsk::Passkeys(known) => self.later(channel, move |ground| passkeys::compare(ground, known)),
            LauncherAsk::Withdraw { withdrawal, certificate } => self.withdraw(channel, *withdrawal, *certificate),
            LauncherAsk::Revocations(known) => self.compare_revocations(channel, known),
            LauncherAsk::SealForCommand(seal) => self.seal_for_command(seal).and_then(|()| now(&())),
            LauncherAsk::SignStep(body) => self.sign_step(channel, *body),
            LauncherAsk::Toolchains { project } => {
                self.later(channel, move |ground| Ok(toolchains::find(ground, project.as_deref())))
            }
            LauncherAsk::Look { allowance, path, look } => {
                self.later(channel, move |ground| look::look(ground, &allowance, &path, look))
            }
            LauncherAsk::LayOutSample(order) => self.later(channel, move |ground| sample::lay_out(ground, &order)),
            LauncherAsk::Open(evidence) => self.open(channel, *evidence),
            LauncherAsk::Rest(execution) => self.later(channel, move |ground| rest::begin(&ground.memory, &execution)),
            LauncherAsk::GoOn(execution) => self.later(channel, move |ground| rest::end(&ground.memory, &execution)),
            LauncherAsk::Begin(evidence) => self.begin(channel, &evidence),
            LauncherAsk::Undo(evidence) => self.later(channel, move |ground| undo::undo(ground, &evidence)),
            LauncherAsk::LaterEdits(execution) => {
                self.later(channel, move |ground| later_edits::find(ground, &execution))
            }
            LauncherAsk::Recover { held } => {
                self.later(channel, move |ground| recover::recover(ground, held.as_deref()))
            }
            LauncherAsk::Forget(execution) => self.later(channel, move |ground| forget::forget(ground, &execution)),
            LauncherAsk::DropMerge(execution) => {
                self.later(channel, move |ground| merges::drop_one(&ground.memory, &execution))
            }
            LauncherAsk::Discard(execution) => self.later(channel, move |ground| waiting::discard(ground, &execution)),
        }
    }

    fn init_keys(&mut self, channel: &UnixStream, data_dir: &Path, request: KeyRequest) -> Result<Answer, Error> {
        if self.ground.is_some() {
            return Err(Error::AlreadySealed);
        }
        let keys = ground::keys(data_dir);
        durable::private_dir(&keys).doing(|| "Making the directory of keys".to_owned())?;
        let key_helper = self.key_helper;
        self.helpers.answer(Work::Errand, channel, &[], move || {
            use_key(key_helper, &keys, &request, &mut || None, |reply| {
                matches!(reply, KeyReply::Ready { .. }).then_some(reply)
            })
        })
    }

    /// Architecture invariant (INV-01): what comes out is no device's certificate, and only the first lines of a start can
    /// ask for it; a front that was taken over later cannot.
    fn certify_server(
        &mut self,
        channel: &UnixStream,
        data_dir: &Path,
        body: ServerCertificateBody,
    ) -> Result<Answer, Error> {
        if self.ground.is_some() {
            return Err(Error::AlreadySealed);
        }
        let (key_helper, keys) = (self.key_helper, ground::keys(data_dir));
        self.helpers.answer(Work::Errand, channel, &[], move || {
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
    fn sign_step(&mut self, channel: &UnixStream, body: TokenBody) -> Result<Answer, Error> {
        let ground = self.ground.as_ref().ok_or(Error::NotSealed)?;
        if !self.is_for_command || body.offer.kind != Kind::Step {
            return Err(Error::Terminal("only a command of the owner's own is signed here.".to_owned()));
        }
        let (key_helper, keys) = (self.key_helper, ground.keys());
        self.helpers.answer(Work::Errand, channel, &[], move || {
            key_use::signature(key_helper, &keys, SignBody::Token(body), &mut || key_use::take_passphrase(channel))
        })
    }

    /// The child answers whether the command may begin, and then serves it over the same channel.
    fn begin(&mut self, channel: &UnixStream, evidence: &Evidence) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        let socket = channel.try_clone().doing(|| "Starting a command".to_owned())?;
        self.helpers.start(Work::Workshop, &[socket.as_raw_fd()], || {
            let (permit, answer) = parted(StepPermit::from_evidence(&ground, evidence));
            match (permit, reply(&socket, &answer)) {
                (Some(permit), 0) => Solo { ground, permit, socket }.serve(),
                _ => 1,
            }
        })
    }

    fn certify(
        &mut self,
        channel: &UnixStream,
        body: silas_core::device::CertificateBody,
        proof: &str,
    ) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        // The code is this process's to spend, and spent with whatever key it was shown; what is revoked the child looks up.
        let shown = pairing::take(&mut self.pairing, &body, proof, &ground.anchor);
        let (key_helper, armed) = (self.key_helper, self.armed.take_if(|_| shown.is_ok()));
        let keep: Vec<RawFd> = armed.iter().map(Armed::descriptor).collect();
        self.helpers.answer(Work::Errand, channel, &keep, move || {
            if ground.memory.revocations(&ground.anchor)?.has_device(&body.key) {
                return Err(Error::Pairing("this key was revoked. Make a new one".to_owned()));
            }
            shown?;
            use_root(armed, key_helper, &ground.keys(), &KeyRequest::Certify { body }, certified)
        })
    }

    fn certify_passkey(&mut self, channel: &UnixStream, evidence: Evidence) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        let (key_helper, armed) = (self.key_helper, self.armed.take());
        let keep: Vec<RawFd> = armed.iter().map(Armed::descriptor).collect();
        self.helpers.answer(Work::Errand, channel, &keep, move || {
            passkeys::certify(&ground, &evidence, |body| {
                use_root(armed, key_helper, &ground.keys(), &KeyRequest::Certify { body }, certified)
            })
        })
    }

    fn withdraw(
        &mut self,
        channel: &UnixStream,
        withdrawal: Withdrawal,
        certificate: Certificate,
    ) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        let (key_helper, armed) = (self.key_helper, self.armed.take());
        let keep: Vec<RawFd> = armed.iter().map(Armed::descriptor).collect();
        self.helpers.answer(Work::Revocation, channel, &keep, move || {
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

    /// The child answers whether the work may begin, and then serves it over the same channel.
    fn open(&mut self, channel: &UnixStream, evidence: Evidence) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        let socket = channel.try_clone().doing(|| "Starting a workshop".to_owned())?;
        self.helpers.start(Work::Workshop, &[socket.as_raw_fd()], || {
            syscall::name_process(c"silas-workshop");
            let (permit, answer) = parted(Permit::from_evidence(&ground, evidence));
            match (permit, reply(&socket, &answer)) {
                (Some(permit), 0) => Bench::new(ground, permit, socket).serve(),
                _ => 1,
            }
        })
    }

    fn answer_terminal(&mut self, mut client: UnixStream, ask: Result<TerminalAsk, Error>) {
        let answer = match ask {
            Ok(TerminalAsk::PairingCode) => self.new_code(),
            Ok(TerminalAsk::Arm) => self.arm(&client),
            Ok(TerminalAsk::Sign(body)) => self.sign(&client, *body),
            Err(why) => Err(why),
        };
        // A terminal that went away needs no answer.
        let _ = match answer {
            Ok(Answer::Now(bytes)) => frame::send_bytes(&mut client, &bytes),
            Ok(Answer::Later) => Ok(()),
            Err(why) => frame::send(&mut client, &Err::<(), Error>(why)),
        };
    }

    fn new_code(&mut self) -> Result<Answer, Error> {
        let code = PairingCode::new()?;
        let answer = now(&code.text());
        self.pairing = Some(code);
        answer
    }

    fn sign(&mut self, client: &UnixStream, body: SignBody) -> Result<Answer, Error> {
        let keys = self.ground.as_ref().ok_or(Error::NotSealed)?.keys();
        let key_helper = self.key_helper;
        self.helpers.answer(Work::Signature, client, &[], move || {
            key_use::signature(key_helper, &keys, body, &mut || key_use::ask_terminal(client))
        })
    }

    /// One that was waiting already ends; there is one owner, who asks for one thing at a time.
    fn arm(&mut self, client: &UnixStream) -> Result<Answer, Error> {
        let doing = || "Starting a key helper".to_owned();
        let keys = self.ground.as_ref().ok_or(Error::NotSealed)?.keys();
        self.armed = None;
        let (child, armed) = Armed::wait_for_one(self.key_helper, keys, client).doing(doing)?;
        self.armed = Some(armed);
        self.helpers.watch(Work::Signature, child)
    }

    fn compare_revocations(&mut self, channel: &UnixStream, known: Option<RevocationList>) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        self.helpers.answer(Work::Revocation, channel, &[], move || revoke::compare(&ground, known))
    }

    fn later<T: Serialize>(
        &mut self,
        channel: &UnixStream,
        body: impl FnOnce(&Ground) -> Result<T, Error>,
    ) -> Result<Answer, Error> {
        let ground = self.ground.clone().ok_or(Error::NotSealed)?;
        self.helpers.answer(Work::Errand, channel, &[], move || body(&ground))
    }
}

/// What was made, and the answer whether it was.
fn parted<T>(made: Result<T, Error>) -> (Option<T>, Result<(), Error>) {
    match made {
        Ok(made) => (Some(made), Ok(())),
        Err(why) => (None, Err(why)),
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
