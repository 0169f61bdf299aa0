//! A search engine on this machine, for stories: finds what it was given, and remembers every question.

use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A search engine in the form of SearXNG that writes down what it is asked.
pub(crate) struct Search {
    pub(crate) url: String,
    shared: Arc<Mutex<(String, Vec<String>)>>,
}

impl Search {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/search", listener.local_addr().unwrap());
        let shared: Arc<Mutex<(String, Vec<String>)>> = Arc::default();
        let serving = shared.clone();
        // Ends with the test.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || serve_search(&connection, &serving));
            }
        });
        Search { url, shared }
    }

    /// From here on every search finds this. Gives how many there were before.
    pub(crate) fn now_finds(&self, text: &str) -> usize {
        let mut shared = self.shared.lock().unwrap();
        text.clone_into(&mut shared.0);
        shared.1.len()
    }

    pub(crate) fn queries_since(&self, n: usize) -> Vec<String> {
        self.shared.lock().unwrap().1[n..].to_vec()
    }
}

fn serve_search(connection: &TcpStream, shared: &Mutex<(String, Vec<String>)>) {
    let mut reader = BufReader::new(connection);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 || header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut sent = vec![0; length];
        reader.read_exact(&mut sent).unwrap();
        let asked = format!("{}&{}", line.split(' ').nth(1).unwrap_or_default(), String::from_utf8_lossy(&sent));
        let query = asked.split(['?', '&']).find_map(|part| part.strip_prefix("q=")).unwrap_or_default();
        let finds = {
            let mut shared = shared.lock().unwrap();
            shared.1.push(decoded(query));
            shared.0.clone()
        };
        let found = json!({ "results": [{ "title": "Tides", "url": "http://tides.example/", "content": finds }] });
        let body = found.to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        let mut writer = connection;
        if writer.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}
