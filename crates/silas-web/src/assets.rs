//! The page's files, built into the binary.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

pub(crate) async fn serve(request: Request) -> Response {
    match request.uri().path().trim_start_matches('/') {
        "" => file("index.html"),
        path => file(path),
    }
}

/// Where the page's own service worker is.
pub(crate) const WORKER_PATH: &str = "/sw.js";

pub(crate) fn worker() -> Response {
    file(WORKER_PATH.trim_start_matches('/'))
}

fn file(path: &str) -> Response {
    let Some((_, content)) = PAGE_FILES.iter().find(|(name, _)| *name == path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    // Always asked again: the page and the server must be of one version.
    ([(header::CONTENT_TYPE, content_type(path)), (header::CACHE_CONTROL, "no-cache")], *content).into_response()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webmanifest" => "application/manifest+json",
        _ => "text/plain; charset=utf-8",
    }
}
