//! The encrypted door: who opens it, who gets in, and what a device that is paired there has to show.

use crate::harness::{Device, Silas, proof};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use silas_core::token::{Offer, Verdict};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const NAME: &str = "silas.test";
const OPEN: [(&str, &str); 4] = [
    // Every machine's loopback is more than one address; this one is not ours alone by the rules.
    ("SILAS__CHANNELS__WEB__HOST", "0.0.0.0"),
    ("SILAS__CHANNELS__WEB__AUTH_TOKEN", TOKEN),
    ("SILAS__CHANNELS__WEB__TLS__NAME", NAME),
    ("SILAS__CHANNELS__WEB__TLS__PORT", "0"),
];

fn silas(data: &Path, args: &[&str], env: &[(&str, &str)]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_silas"))
        .arg("--data-dir")
        .arg(data)
        .args(args)
        .envs(env.iter().copied())
        .current_dir("/")
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), text)
}

/// A Silas that has a certificate of its own making.
fn with_network() -> Silas {
    Silas::prepared(&OPEN, |data| {
        let (code, text) = silas(data, &["tls", "make", NAME], &[]);
        assert_eq!(code, 0, "{text}");
    })
}

struct Phone {
    port: u16,
    tls: Arc<ClientConfig>,
}

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

impl Phone {
    /// A device that trusts the authority, and nobody else.
    fn new(silas: &Silas) -> Phone {
        let address = std::fs::read_to_string(silas.data().join("run/network-address")).unwrap();
        let port = address.strip_prefix(&format!("https://{NAME}:")).unwrap().parse().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(silas.data().join("tls/ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        Phone { port, tls: Arc::new(builder.with_root_certificates(roots).with_no_client_auth()) }
    }

    fn connect(&self, name: &str) -> Encrypted {
        let tcp = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        tcp.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        StreamOwned::new(ClientConnection::new(self.tls.clone(), name).unwrap(), tcp)
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut socket = self.connect(NAME);
        let port = self.port;
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nHost: {NAME}:{port}\r\nOrigin: https://{NAME}:{port}\r\nConnection: close\r\n\
             {headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = Vec::new();
        let _unclean_end = socket.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        (status, text.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned())
    }

    /// Opens the socket with this token, as a message or as a subprotocol; gives the first word after the answer.
    fn greet(&self, device: &Device, token: Option<&str>, protocol: Option<&str>) -> Value {
        let mut socket = self.connect(NAME);
        let port = self.port;
        let protocol = protocol.map_or(String::new(), |name| format!("Sec-WebSocket-Protocol: silas.v1, {name}\r\n"));
        write!(
            socket,
            "GET /ws HTTP/1.1\r\nHost: {NAME}:{port}\r\nOrigin: https://{NAME}:{port}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\n{protocol}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap() == 1 {
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        let hello: Value = serde_json::from_slice(&frame(&mut socket).1).unwrap();
        let (challenge, installation, key) = (&hello["challenge"], &hello["installation"], device.id());
        let proof = json!({ "kind": "session", "challenge": challenge, "installation": installation, "key": key });
        let signature = device.sign(&silas_core::canonical::text(&proof).unwrap());
        let auth = json!({ "type": "auth", "key": key, "signature": signature, "token": token }).to_string();
        let mut bytes = vec![0x81, 0x80 | 126];
        bytes.extend(u16::try_from(auth.len()).unwrap().to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(auth.as_bytes());
        socket.write_all(&bytes).unwrap();
        match frame(&mut socket) {
            (1, text) => serde_json::from_slice(&text).unwrap(),
            (8, close) => json!({ "type": "close", "code": u16::from_be_bytes([close[0], close[1]]) }),
            other => panic!("{other:?}"),
        }
    }
}

fn frame(socket: &mut Encrypted) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    socket.read_exact(&mut head).unwrap();
    let length = match head[1] & 0x7f {
        126 => {
            let mut long = [0; 2];
            socket.read_exact(&mut long).unwrap();
            usize::from(u16::from_be_bytes(long))
        }
        127 => {
            let mut long = [0; 8];
            socket.read_exact(&mut long).unwrap();
            usize::try_from(u64::from_be_bytes(long)).unwrap()
        }
        short => usize::from(short),
    };
    let mut payload = vec![0; length];
    socket.read_exact(&mut payload).unwrap();
    (head[0] & 0x0f, payload)
}

#[test]
fn a_phone_pairs_and_then_shows_what_it_was_given() {
    let silas = with_network();
    let phone = Phone::new(&silas);
    assert_eq!(phone.ask("GET", "/health", "", "").0, 200);
    assert_eq!(
        phone.ask("GET", "/ca.pem", "", "").1,
        std::fs::read_to_string(silas.data().join("tls/ca.pem")).unwrap()
    );

    let device = Device::new();
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    let screen: Value = serde_json::from_str(&phone.ask("GET", "/pair", "", "").1).unwrap();
    let offer: Offer = serde_json::from_value(screen["house_rules"]["offer"].clone()).unwrap();
    let public = String::from(device.public());
    let body = json!({ "public": public, "name": "phone", "proof": proof(&code, &public),
        "house_rules": device.answer(&offer, Verdict::Approved) });
    let (status, paired) = phone.ask("POST", "/pair", "Content-Type: application/json\r\n", &body.to_string());
    assert_eq!(status, 200, "{paired}");
    let paired: Value = serde_json::from_str(&paired).unwrap();
    assert_eq!(paired["access"], TOKEN);

    // A signature alone is not enough here; with the token, either way, it is.
    let close = json!({ "type": "close", "code": 4001 });
    assert_eq!(phone.greet(&device, None, None), close);
    assert_eq!(phone.greet(&device, Some("0123456789abcdef0123456789abcdee"), None), close);
    assert_eq!(phone.greet(&device, Some(TOKEN), None)["type"], "welcome");
    assert_eq!(phone.greet(&device, None, Some(&format!("silas.token.{TOKEN}")))["type"], "welcome");
    // And the token alone is nothing.
    assert_eq!(phone.greet(&Device::new(), Some(TOKEN), None), close);
}

#[test]
fn the_door_is_for_its_name_and_never_in_the_clear() {
    let silas = with_network();
    let phone = Phone::new(&silas);
    // Plain HTTP gets no answer that a program could take for one.
    let mut plain = TcpStream::connect(("127.0.0.1", phone.port)).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(plain, "GET /pair HTTP/1.1\r\nHost: {NAME}:{}\r\nConnection: close\r\n\r\n", phone.port).unwrap();
    let mut answer = Vec::new();
    let _reset = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "{answer:?}");
    // Another name: the certificate is not for it, and neither is the door.
    assert!(phone.connect("other.test").write_all(b"GET /").is_err());
    let mut socket = phone.connect(NAME);
    write!(socket, "GET /pair HTTP/1.1\r\nHost: evil.test:{}\r\nConnection: close\r\n\r\n", phone.port).unwrap();
    let mut answer = Vec::new();
    let _unclean_end = socket.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 421"), "{}", String::from_utf8_lossy(&answer));
    // The loopback door is what it always was, and hands out no token.
    let device = Device::new();
    let code = silas_sandbox::terminal_pairing_code(&silas.data()).unwrap();
    let (status, paired) = device.pair(silas.port(), &code);
    assert_eq!((status, serde_json::from_str::<Value>(&paired).unwrap()["access"].clone()), (200, Value::Null));
}

#[test]
fn without_a_certificate_or_with_a_wrong_one_it_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let start = |env: &[(&str, &str)]| {
        let (code, text) = silas(&data, &["start", "--port", "0", "--quiet"], env);
        assert_ne!(code, 0, "{text}");
        text
    };
    let text = start(&OPEN[..1]);
    assert!(text.contains("E_CFG_NETWORK") && text.contains("silas tls token") && text.contains("tls.name"), "{text}");
    let text = start(&OPEN);
    assert!(text.contains("E_CFG_TLS") && text.contains("silas tls make"), "{text}");

    let (code, text) = silas(&data, &["tls", "make", "other.test"], &[]);
    assert_eq!(code, 0, "{text}");
    let text = start(&OPEN);
    assert!(text.contains("other.test") && text.contains(&format!("silas tls make {NAME} --replace")), "{text}");
    // Twice is a mistake unless it is meant.
    let (code, text) = silas(&data, &["tls", "make", NAME], &[]);
    assert!(code != 0 && text.contains("--replace"), "{text}");
    let (code, text) = silas(&data, &["tls", "make", NAME, "--replace"], &[]);
    assert!(code == 0 && text.contains("fingerprint") && text.contains("/ca.pem"), "{text}");
    // A key that others can read is no secret.
    let key = data.join("tls/server.key");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let text = start(&OPEN);
    assert!(text.contains("E_CFG_TLS") && text.contains("chmod 600"), "{text}");
}

/// What somebody with a phone in the hand has to know: which file, that its fingerprint is compared first and with what, and
/// where both kinds of phones hide the switch.
#[test]
fn the_terminal_says_how_a_phone_comes_to_trust_the_authority() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let port = [("SILAS__CHANNELS__WEB__TLS__PORT", "8443")];
    let (_, text) = silas(&data, &["tls"], &port);
    assert!(text.contains("There is no certificate yet.") && text.contains("silas tls make silas.lan"), "{text}");
    let (code, made) = silas(&data, &["tls", "make", NAME], &port);
    let (shown, text) = silas(&data, &["tls"], &port);
    assert_eq!((code, shown), (0, 0), "{made}\n{text}");
    let authority = CertificateDer::from_pem_file(data.join("tls/ca.pem")).unwrap();
    let pairs: Vec<String> = Sha256::digest(&authority).iter().map(|byte| format!("{byte:02X}")).collect();
    for text in [made, text] {
        // In reading order: the file, the comparison before anything is installed, both systems, and what comes after.
        let compared = format!("{}\n       {}", pairs[..16].join(":"), pairs[16..].join(":"));
        let said = [
            "On the phone, once:",
            &format!("1. Open https://{NAME}:8443/ca.pem."),
            "2. Before you install it, compare its SHA-256 fingerprint with this one. If one pair differs, stop:",
            &compared,
            "iPhone: Settings, General, VPN & Device Management, install; then General, About, Certificate Trust",
            "Settings, switch it on.",
            "Android: Settings, Security, More security settings, Install from storage, CA certificate.",
            "3. On this machine: `silas pair`, and open the address for other devices that it prints.",
        ];
        let mut rest = text.as_str();
        for part in said {
            let (_, after) =
                rest.split_once(part).unwrap_or_else(|| panic!("{part}\nis not, or not there, in\n{text}"));
            rest = after;
        }
    }
}

/// Certificate files of the owner's own, wherever they lie.
#[test]
fn a_certificate_of_the_owners_own_is_taken() {
    let elsewhere = tempfile::tempdir().unwrap();
    let (code, text) = silas(elsewhere.path(), &["tls", "make", NAME], &[]);
    assert_eq!(code, 0, "{text}");
    let file = |name: &str| elsewhere.path().join("tls").join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (file("server.pem"), file("server.key"));
    let mut env = OPEN.to_vec();
    env.push(("SILAS__CHANNELS__WEB__TLS__CERTIFICATE", &certificate));
    env.push(("SILAS__CHANNELS__WEB__TLS__KEY", &key));
    let silas = Silas::prepared(&env, |data| {
        std::fs::create_dir_all(data.join("tls")).unwrap();
        std::fs::copy(file("ca.pem"), data.join("tls/ca.pem")).unwrap();
    });
    let phone = Phone::new(&silas);
    assert_eq!(phone.ask("GET", "/health", "", "").0, 200);
    // Whoever vouches for it is not ours to hand out.
    assert_eq!(phone.ask("GET", "/ca.pem", "", "").0, 404);
}
