//! From bytes to a request, or to the answer that refuses them.
//!
//! We refuse whatever could be read in two ways: two lengths, a length that is not a plain number, a chunked body,
//! two hosts. A proxy in front may have read it the other way.

use httparse::Status;

use super::limits;
use super::response::Response;

/// The header of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method, as sent.
    pub method: String,
    /// The path, without host and query.
    pub path: String,
    /// The part after the question mark.
    pub query: String,
    /// Whether it is HTTP/1.0, which closes the connection unless told otherwise.
    pub old: bool,
    /// The length of the body that follows.
    pub body_length: usize,
    /// Whether it came by TLS to this address itself: in front of it may be a proxy that speaks TLS.
    pub came_by_tls: bool,
    headers: Vec<(String, String)>,
}

impl Request {
    /// Reads a request from the start of `bytes`; returns it with its length there, or nothing while it is
    /// incomplete.
    ///
    /// # Errors
    /// The answer to a request that is malformed, ambiguous or too large.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Response> {
        let mut slots = [httparse::EMPTY_HEADER; limits::HEADERS];
        let mut parsed = httparse::Request::new(&mut slots);
        match parsed.parse(bytes) {
            Ok(Status::Complete(used)) => Ok(Some((Request::checked(&parsed)?, used))),
            Ok(Status::Partial) if bytes.len() >= limits::HEAD_BYTES => Err(too_large()),
            Ok(Status::Partial) => Ok(None),
            Err(httparse::Error::TooManyHeaders) => Err(too_large()),
            Err(httparse::Error::Version) => Err(Response::error(
                505,
                "this address speaks HTTP/1.0 and HTTP/1.1; ask with one of them",
            )),
            Err(error) => Err(malformed(&error.to_string())),
        }
    }

    fn checked(parsed: &httparse::Request<'_, '_>) -> Result<Request, Response> {
        let headers = parsed
            .headers
            .iter()
            .map(|header| {
                let value = String::from_utf8_lossy(header.value).trim().to_owned();
                (header.name.to_ascii_lowercase(), value)
            })
            .collect();
        let mut request = Request {
            method: parsed.method.unwrap_or_default().to_owned(),
            path: path_of(parsed.path.unwrap_or_default()).to_owned(),
            query: query_of(parsed.path.unwrap_or_default()).to_owned(),
            old: parsed.version == Some(0),
            body_length: 0,
            came_by_tls: false, // the connection knows
            headers,
        };
        request.body_length = request.checked_length()?;
        request.check_host()?;
        request.check_expectation()?;
        Ok(request)
    }

    fn checked_length(&self) -> Result<usize, Response> {
        let lengths: Vec<&str> = self.all("content-length").collect();
        let chunked = self.all("transfer-encoding").next().is_some();
        match lengths.as_slice() {
            [] if chunked => Err(Response::error(
                501,
                "Transfer-Encoding is not taken here; send the body with a Content-Length",
            )),
            [] => Ok(0),
            [length] if !chunked => parse_length(length),
            _ => Err(malformed("the length of the body is given twice")),
        }
    }

    /// Checks that there is one host in HTTP/1.1, as its rules ask; the guard relies on there being no second.
    fn check_host(&self) -> Result<(), Response> {
        match self.all("host").count() {
            1 => Ok(()),
            0 if self.old => Ok(()),
            0 => Err(malformed("HTTP/1.1 needs a Host header")),
            _ => Err(malformed("more than one Host header")),
        }
    }

    fn check_expectation(&self) -> Result<(), Response> {
        let met = self.all("expect").all(|value| value.eq_ignore_ascii_case("100-continue"));
        if met {
            Ok(())
        } else {
            Err(Response::error(417, "of all expectations only 100-continue is met; leave it out"))
        }
    }

    /// Whether the client waits for "100 Continue" before it sends the body.
    pub fn awaits_continue(&self) -> bool {
        !self.old && self.body_length > 0 && self.all("expect").next().is_some()
    }

    /// Whether the client wants the connection closed after the answer.
    pub fn wants_close(&self) -> bool {
        let said = |word: &str| {
            self.all("connection")
                .flat_map(|value| value.split(','))
                .any(|token| token.trim().eq_ignore_ascii_case(word))
        };
        said("close") || (self.old && !said("keep-alive"))
    }

    /// The value of a header that is there exactly once; two of a kind count as none.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.all(name);
        values.next().filter(|_| values.next().is_none())
    }

    /// Whether the client names this media type among those that it accepts. One that accepts all of them does not.
    pub fn accepts(&self, media: &str) -> bool {
        let ranges = self.all("accept").flat_map(|value| value.split(','));
        let named = |range: &str| range.split(';').next().unwrap_or_default().trim().to_owned();
        ranges.map(named).any(|range| range.eq_ignore_ascii_case(media))
    }

    /// Whether a header of this name is there at all.
    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// All values of a header, named in lower case.
    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Digits alone: no sign, no list, no blank.
fn parse_length(text: &str) -> Result<usize, Response> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed(&format!("Content-Length {text:?} is not a number")));
    }
    // Digits that do not fit a usize are too large for the limit as well.
    match text.parse() {
        Ok(length) if length <= limits::BODY_BYTES => Ok(length),
        _ => Err(Response::error(
            413,
            format!("the body is longer than {} bytes; no command takes more", limits::BODY_BYTES),
        )),
    }
}

/// `/status` of `/status?x=1` and of `http://host/status`.
fn path_of(target: &str) -> &str {
    let path = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    };
    path.split(['?', '#']).next().unwrap_or(path)
}

/// `x=1` of `/status?x=1`.
fn query_of(target: &str) -> &str {
    let target = target.split('#').next().unwrap_or_default();
    target.split_once('?').map_or("", |(_, query)| query)
}

fn malformed(what: &str) -> Response {
    Response::error(
        400,
        format!("not a request that can be read: {what}; try GET /status HTTP/1.1"),
    )
}

fn too_large() -> Response {
    Response::error(
        431,
        format!(
            "the header is larger than {} bytes or {} fields; send less",
            limits::HEAD_BYTES,
            limits::HEADERS
        ),
    )
}

#[cfg(test)]
mod tests;
