//! Searching the web by way of a server that speaks SearXNG's JSON: one question out, titles, addresses and excerpts back.
//!
//! Only the question leaves. No page is fetched, no redirect followed, and what comes back is cut and counted. Whether a
//! question may leave is decided elsewhere.

use crate::client::Connection;
use crate::{Error, Timeouts, client};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Method, StatusCode, header};
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where and how to search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchOptions {
    /// As `https://search.example/search`.
    pub url: String,
    /// Only results from these, and from what lies below them. Empty: from everywhere.
    pub domains: Vec<String>,
    pub results_max: usize,
}

/// One thing that was found. All of it is from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub title: String,
    pub url: String,
    pub excerpt: String,
}

pub struct Search {
    options: SearchOptions,
    connection: Mutex<Option<Connection>>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    title: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    content: String,
}

const TIME_MAX: Duration = Duration::from_secs(20);
const BODY_BYTES_MAX: usize = 1 << 20;
const TITLE_CHARS_MAX: usize = 200;
const URL_CHARS_MAX: usize = 500;
const EXCERPT_CHARS_MAX: usize = 600;
/// Longer than anybody asks; much longer is something that is being carried out.
pub const QUERY_CHARS_MAX: usize = 200;

impl Search {
    pub fn new(options: SearchOptions) -> Self {
        Search { options, connection: Mutex::new(None) }
    }

    /// To whom questions go.
    pub fn host(&self) -> &str {
        let rest = self.options.url.split_once("://").map_or(self.options.url.as_str(), |(_, rest)| rest);
        rest.split('/').next().unwrap_or(rest)
    }

    pub async fn find(&self, query: &str) -> Result<Vec<Found>, Error> {
        let timeout = || Error::Timeout { host: self.host().to_owned() };
        let body = tokio::time::timeout(TIME_MAX, self.fetch(query)).await.map_err(|_| timeout())??;
        let page: Page = serde_json::from_slice(&body).map_err(|_| Error::Garbled { host: self.host().to_owned() })?;
        let cut = |text: &str, max: usize| text.chars().take(max).collect::<String>();
        let allowed = page.results.into_iter().filter(|row| self.is_allowed(&row.url));
        let found = allowed.take(self.options.results_max).map(|row| Found {
            title: cut(&row.title, TITLE_CHARS_MAX),
            url: cut(&row.url, URL_CHARS_MAX),
            excerpt: cut(&row.content, EXCERPT_CHARS_MAX),
        });
        Ok(found.collect())
    }

    fn is_allowed(&self, url: &str) -> bool {
        let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")) else { return false };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // What stands before an @ is there to be mistaken for the host.
        let host = authority.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
        let host = host.to_ascii_lowercase();
        let is_below = |domain: &String| host == *domain || host.ends_with(&format!(".{domain}"));
        self.options.domains.is_empty() || self.options.domains.iter().any(is_below)
    }

    async fn fetch(&self, query: &str) -> Result<Vec<u8>, Error> {
        let host = || self.host().to_owned();
        let connection = {
            let mut kept = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
            match kept.as_ref() {
                Some(connection) => connection.clone(),
                None => kept.insert(client::connection(Timeouts::default())?).clone(),
            }
        };
        let request = hyper::Request::builder()
            .method(Method::GET)
            .uri(format!("{}?format=json&q={}", self.options.url, escaped(query)))
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, concat!("silas/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::new()))
            .map_err(|_| Error::Unreachable { host: host() })?;
        let response = connection.request(request).await.map_err(|_| Error::Unreachable { host: host() })?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::TOO_MANY_REQUESTS => return Err(Error::Busy { host: host(), retry_after: None }),
            status => return Err(Error::Failed { host: host(), status: status.as_u16(), retry_after: None }),
        }
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Error::Cut { host: host() })?;
            let Some(data) = frame.data_ref() else { continue };
            if bytes.len() + data.len() > BODY_BYTES_MAX {
                return Err(Error::TooLong { host: host(), max_kib: BODY_BYTES_MAX >> 10 });
            }
            bytes.extend_from_slice(data);
        }
        Ok(bytes)
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_an_allowed_domain_counts() {
        let options = SearchOptions {
            url: "https://s.example/search".to_owned(),
            domains: vec!["docs.rs".to_owned(), "python.org".to_owned()],
            results_max: 3,
        };
        let search = Search::new(options);
        assert_eq!(search.host(), "s.example");
        for url in ["https://docs.rs/x", "http://www.python.org", "https://PYTHON.org:443/?q=1"] {
            assert!(search.is_allowed(url), "{url}");
        }
        for url in [
            "https://evildocs.rs/",
            "ftp://docs.rs/",
            "https://docs.rs@evil.example/",
            "docs.rs",
            "https://docs.rs.evil/",
        ] {
            assert!(!search.is_allowed(url), "{url}");
        }
    }

    #[test]
    fn a_question_cannot_become_another_parameter() {
        assert_eq!(escaped("a b&q=ü#"), "a%20b%26q%3D%C3%BC%23");
    }
}
