//! Server-sent events: bytes in, the data of whole events out.

/// Longer than any event of an honest provider.
const EVENT_BYTES_MAX: usize = 1 << 20;

#[derive(Default)]
pub(crate) struct Reader {
    line: Vec<u8>,
    data: Vec<u8>,
}

/// An event that is longer than any honest one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overlong;

impl Reader {
    /// The data of each event that is whole now.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, Overlong> {
        let mut events = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                if self.line.len() + self.data.len() > EVENT_BYTES_MAX {
                    return Err(Overlong);
                }
                continue;
            }
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
            if self.line.is_empty() {
                if !self.data.is_empty() {
                    events.push(String::from_utf8_lossy(&self.data).into_owned());
                    self.data.clear();
                }
            } else if let Some(data) = self.line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
            self.line.clear();
        }
        Ok(events)
    }
}
