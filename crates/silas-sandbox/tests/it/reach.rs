//! What a plan grants beyond its directory, through a real workshop: hosts to steps, to checks only where they say so,
//! secrets to steps alone, and everything told to the front while it happens.

use crate::runner::Case;
use crate::world::{World, approve, speaking};
use silas_core::check::Ended;
use silas_core::event::Phase;
use silas_core::host::HostGrant;
use silas_core::outside::{Connection, NotRecorded, Outside, Reached};
use silas_core::secret::{Secret, SecretRef};
use silas_core::work::{Definition, WorkItem};
use silas_sandbox::{Error, Workshop};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub(crate) const CASES: &[Case] = &[
    ("hosts_are_for_steps", hosts_are_for_steps),
    ("checks_with_network_have_the_plans_hosts", checks_with_network_have_the_plans_hosts),
    ("secrets_are_for_steps", secrets_are_for_steps),
    ("nobody_listens", nobody_listens),
    ("no_byte_goes_before_it_is_written_down", no_byte_goes_before_it_is_written_down),
];

/// Reads one line from a port, as every system can.
fn reading(port: u16) -> String {
    format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && head -n 1 <&3'")
}

/// A server on this machine that greets everyone, in a process of its own.
struct Greeter {
    port: u16,
    pid: libc::pid_t,
}

impl Greeter {
    fn start() -> Greeter {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // SAFETY: this process has one thread.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            for stream in listener.incoming() {
                // A visitor that is gone needs no greeting.
                let _ = stream.unwrap().write_all(b"hello from outside\n");
            }
        }
        Greeter { port, pid }
    }
}

impl Drop for Greeter {
    fn drop(&mut self) {
        // SAFETY: our own child, which is waited for here and nowhere else.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Outside for Log {
    fn connected(&mut self, connection: &Connection) -> Result<(), NotRecorded> {
        assert_eq!(connection.outcome, Reached::Opened);
        self.0.lock().unwrap().push(format!("{} at {}", connection.to, connection.address.unwrap()));
        Ok(())
    }

    fn secret(&mut self, reference: &SecretRef) -> Result<Option<Secret>, NotRecorded> {
        self.0.lock().unwrap().push(format!("secret {reference}"));
        Ok((reference.as_str() == "github").then(|| Secret::new(b"s3cret".to_vec())))
    }
}

fn plan(definition: Definition) -> WorkItem {
    WorkItem::new(definition).unwrap()
}

fn to_port(port: u16) -> Vec<HostGrant> {
    vec![HostGrant::parse(&format!("127.0.0.1:{port}")).unwrap()]
}

/// Everything before the checks after: what the first check said, and what each step printed.
fn begin(workshop: &mut Workshop, n_steps: usize) -> (String, Vec<String>) {
    workshop.copy().unwrap();
    let check = workshop.checks(Phase::Before).unwrap().remove(0);
    let steps = (0..n_steps).map(|n| workshop.step(n).unwrap().output()).collect();
    (check.output, steps)
}

fn hosts_are_for_steps() {
    let (world, greeter, log) = (World::new(), Greeter::start(), Log::default());
    let launcher = world.launcher();
    let read = reading(greeter.port);
    let steps = [format!("{read} > app.txt; cat app.txt"), format!("{read}; {read}")];
    let mut definition =
        world.definition(&[&steps[0], &steps[1]], &[&speaking(&format!("{read}; grep -q outside app.txt"))]);
    definition.hosts = to_port(greeter.port);
    let evidence = approve(&plan(definition));
    let mut workshop = launcher.open(&evidence).unwrap().telling(Box::new(log.clone()));
    let (check, steps) = begin(&mut workshop, 2);
    assert!(!check.contains("hello"), "a check has no network unless it says so: {check}");
    assert_eq!(steps, ["hello from outside\n", "hello from outside\nhello from outside\n"]);
    let after = workshop.checks(Phase::After).unwrap().remove(0);
    assert!(after.passed && !after.output.contains("hello"), "{after:?}");
    workshop.apply().unwrap();
    assert_eq!(world.read("app.txt"), "hello from outside\n");
    let to = format!("127.0.0.1:{} at 127.0.0.1", greeter.port);
    assert_eq!(log.lines(), vec![to; 3]);
}

fn checks_with_network_have_the_plans_hosts() {
    let (world, greeter, log) = (World::new(), Greeter::start(), Log::default());
    let launcher = world.launcher();
    let read = reading(greeter.port);
    let check = format!("{read}; command -v silas-secret && echo has-secrets; grep -q new app.txt");
    let mut definition = world.definition(&["echo new > app.txt"], &[&check]);
    definition.hosts = to_port(greeter.port);
    definition.secrets = vec![SecretRef::parse("github").unwrap()];
    definition.verify[0].network = true;
    let evidence = approve(&plan(definition));
    let mut workshop = launcher.open(&evidence).unwrap().telling(Box::new(log.clone()));
    let (check, _) = begin(&mut workshop, 1);
    assert_eq!(check, "hello from outside\n");
    assert!(workshop.checks(Phase::After).unwrap().remove(0).passed);
    // Before, after, and once more on the untouched directory: it was the work that turned it green.
    assert_eq!(log.lines().len(), 3);
}

fn secrets_are_for_steps() {
    let (world, log) = (World::new(), Log::default());
    let launcher = world.launcher();
    let steps = [
        "test $(silas-secret get github) = s3cret && echo right; silas-secret get github",
        "silas-secret get gitlab",
        "silas-secret get other; env",
    ];
    let mut definition = world.definition(&steps, &["command -v silas-secret; ls /run; grep -q new app.txt"]);
    definition.secrets = ["github", "gitlab"].map(|name| SecretRef::parse(name).unwrap()).to_vec();
    let evidence = approve(&plan(definition));
    let mut workshop = launcher.open(&evidence).unwrap().telling(Box::new(log.clone()));
    let (check, steps) = begin(&mut workshop, 3);
    assert!(!check.contains("silas"), "{check}");
    assert_eq!(steps[0], "right\n[secret]", "it is there, and it is not told");
    assert_eq!(steps[1], "silas-secret: Silas has no secret called gitlab that it can open now.\n");
    assert!(
        steps[2].contains("The plan does not name the secret other") && !steps[2].contains("s3cret"),
        "{}",
        steps[2]
    );
    assert_eq!(log.lines(), ["secret github", "secret github", "secret gitlab"]);
}

/// A front that writes nothing down gets nothing reached.
fn nobody_listens() {
    let (world, greeter) = (World::new(), Greeter::start());
    let launcher = world.launcher();
    let read = reading(greeter.port);
    let mut definition = world.definition(&[&format!("{read} > app.txt; sleep 60")], &["grep -q outside app.txt"]);
    definition.hosts = to_port(greeter.port);
    let evidence = approve(&plan(definition));
    let mut workshop = launcher.open(&evidence).unwrap();
    workshop.copy().unwrap();
    workshop.checks(Phase::Before).unwrap().remove(0);
    let ended = workshop.step(0).map(|step| step.metadata.ended);
    assert_eq!(ended, Err::<Ended, _>(Error::Unrecorded));
}

/// Sits at the other end of the connection that it is told of, looks what came, and writes nothing down.
struct Doorkeeper {
    listener: TcpListener,
    arrived: Arc<Mutex<Option<TcpStream>>>,
}

impl Outside for Doorkeeper {
    fn connected(&mut self, _: &Connection) -> Result<(), NotRecorded> {
        let (mut stream, _) = self.listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        assert_eq!(stream.read(&mut [0; 16]).unwrap_err().kind(), ErrorKind::WouldBlock, "nothing may be here yet");
        *self.arrived.lock().unwrap() = Some(stream);
        Err(NotRecorded)
    }

    fn secret(&mut self, _: &SecretRef) -> Result<Option<Secret>, NotRecorded> {
        Err(NotRecorded)
    }
}

fn no_byte_goes_before_it_is_written_down() {
    let world = World::new();
    let launcher = world.launcher();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sends = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo sent >&3 && cat <&3'");
    let mut definition = world.definition(&[&sends], &["grep -q outside app.txt"]);
    definition.hosts = to_port(port);
    let evidence = approve(&plan(definition));
    let arrived = Arc::new(Mutex::new(None));
    let keeper = Doorkeeper { listener, arrived: arrived.clone() };
    let mut workshop = launcher.open(&evidence).unwrap().telling(Box::new(keeper));
    workshop.copy().unwrap();
    workshop.checks(Phase::Before).unwrap();
    assert_eq!(workshop.step(0).map(|step| step.metadata.ended), Err::<Ended, _>(Error::Unrecorded));
    let mut stream = arrived.lock().unwrap().take().unwrap();
    stream.set_nonblocking(false).unwrap();
    let mut came = Vec::new();
    // It may be closed or reset; either way nothing came before.
    let _closed = stream.read_to_end(&mut came);
    assert_eq!(came, b"");
}
