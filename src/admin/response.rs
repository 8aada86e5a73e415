//! An answer, and its bytes.

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use serde::Serialize;
use serde_json::json;

/// The content type of electd's own documents.
const JSON: &str = "application/json";

/// The answer to one request: a code and a JSON document, or bytes that others gave electd to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub code: u16,
    /// The methods of the path, if the client should know them.
    pub allow: Option<&'static str>,
    /// Where the client is sent, which is a URL that a header can hold.
    pub location: Option<String>,
    /// The content type.
    pub content: &'static str,
    /// What a browser may do with it (Content-Security-Policy), if it is a page.
    pub policy: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// How an answer is sent; depends on the request, not on the answer.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// For HEAD: the header alone.
    pub head_only: bool,
    /// Whether no further request is taken.
    pub close: bool,
    /// Whether the client speaks HTTP/1.0, in which the answer has to say that the connection stays open.
    pub old: bool,
}

impl Response {
    /// An answer with this document.
    pub fn json(code: u16, document: &impl Serialize) -> Response {
        let (code, mut body) = match serde_json::to_vec(document) {
            Ok(body) => (code, body),
            // Documents consist of strings and numbers, so this is a defect; but there is still an answer.
            Err(error) => (500, json!({ "error": error.to_string() }).to_string().into_bytes()),
        };
        body.push(b'\n');
        Response { code, allow: None, location: None, content: JSON, policy: None, body }
    }

    /// An answer with bytes that mean nothing to electd.
    pub fn bytes(body: Vec<u8>) -> Response {
        Response::of("application/octet-stream", body)
    }

    /// An answer with a body of this kind.
    pub fn of(content: &'static str, body: Vec<u8>) -> Response {
        Response { code: 200, allow: None, location: None, content, policy: None, body }
    }

    /// A page for a browser, which may do with it what the policy says.
    pub fn page(body: String, policy: String) -> Response {
        let page = Response::of("text/html; charset=utf-8", body.into_bytes());
        Response { policy: Some(policy), ..page }
    }

    /// A refusal: what is wrong, and what to do about it.
    pub fn error(code: u16, sentence: impl AsRef<str>) -> Response {
        Response::json(code, &json!({ "error": sentence.as_ref() }))
    }

    /// A refusal that passes: the same request may succeed later.
    pub fn not_now(code: u16, sentence: impl AsRef<str>) -> Response {
        Response::json(code, &json!({ "error": sentence.as_ref(), "try_again": true }))
    }

    /// Sends the client to this URL.
    pub fn redirect(url: String) -> Response {
        let answer = Response::json(307, &json!({ "url": url }));
        Response { location: Some(url), ..answer }
    }

    /// The same answer, naming the methods of the path.
    pub fn allowing(self, methods: &'static str) -> Response {
        Response { allow: Some(methods), ..self }
    }

    /// The answer as bytes.
    pub fn encode(&self, delivery: Delivery) -> Vec<u8> {
        let mut text = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\n",
            self.code,
            reason(self.code),
            self.content,
            self.body.len()
        );
        // This fails only for years that HTTP cannot write.
        if let Ok(date) = DateTimePrinter::new().timestamp_to_rfc9110_string(&Timestamp::now()) {
            text += &format!("Date: {date}\r\n");
        }
        if let Some(methods) = self.allow {
            text += &format!("Allow: {methods}\r\n");
        }
        if let Some(url) = &self.location {
            text += &format!("Location: {url}\r\n");
        }
        if let Some(policy) = &self.policy {
            text += &format!(
                "Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\n\
                 Referrer-Policy: no-referrer\r\n"
            );
        }
        if delivery.close {
            text += "Connection: close\r\n";
        } else if delivery.old {
            text += "Connection: keep-alive\r\n";
        }
        text += "\r\n";
        let mut bytes = text.into_bytes();
        if !delivery.head_only {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        417 => "Expectation Failed",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Delivery = Delivery { head_only: false, close: false, old: false };

    /// The answer without its date, which is the one line that differs each time.
    fn sent(response: &Response, delivery: Delivery) -> String {
        let text = String::from_utf8(response.encode(delivery)).unwrap();
        let (dates, rest): (Vec<&str>, Vec<&str>) =
            text.split_inclusive("\r\n").partition(|line| line.starts_with("Date: "));
        let date = dates.concat().trim().strip_prefix("Date: ").map(str::to_owned).unwrap();
        let told = jiff::fmt::rfc2822::parse(&date).unwrap().timestamp();
        let age = Timestamp::now().duration_since(told).as_secs();
        assert!(date.ends_with(" GMT") && (0..60).contains(&age), "{date}");
        rest.concat()
    }

    #[test]
    fn each_code_is_sent_with_the_words_of_http() {
        for (code, words) in [
            (200, "OK"),
            (307, "Temporary Redirect"),
            (400, "Bad Request"),
            (403, "Forbidden"),
            (404, "Not Found"),
            (405, "Method Not Allowed"),
            (408, "Request Timeout"),
            (409, "Conflict"),
            (413, "Content Too Large"),
            (417, "Expectation Failed"),
            (431, "Request Header Fields Too Large"),
            (500, "Internal Server Error"),
            (501, "Not Implemented"),
            (502, "Bad Gateway"),
            (503, "Service Unavailable"),
            (505, "HTTP Version Not Supported"),
        ] {
            let text = sent(&Response::error(code, "why"), NEXT);
            assert_eq!(text.lines().next(), Some(&*format!("HTTP/1.1 {code} {words}")));
        }
    }

    #[test]
    fn an_answer_is_sent_as_the_request_asks() {
        let refusal = Response::error(405, "why").allowing("GET");
        let head = "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/json\r\n\
                    Content-Length: 16\r\nCache-Control: no-store\r\nAllow: GET\r\n";
        let body = "{\"error\":\"why\"}\n";
        assert_eq!(sent(&refusal, NEXT), format!("{head}\r\n{body}"));
        let last = Delivery { close: true, old: true, ..NEXT };
        assert_eq!(sent(&refusal, last), format!("{head}Connection: close\r\n\r\n{body}"));
        let old = Delivery { head_only: true, old: true, ..NEXT };
        assert_eq!(sent(&refusal, old), format!("{head}Connection: keep-alive\r\n\r\n"));
        let page = Response::page("<p>".to_owned(), "default-src 'none'".to_owned());
        let expected = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 3\r\n\
                        Cache-Control: no-store\r\nContent-Security-Policy: default-src 'none'\r\n\
                        X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\r\n<p>";
        assert_eq!(sent(&page, NEXT), expected);
        let bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 1\r\n\
                     Cache-Control: no-store\r\n\r\na";
        assert_eq!(sent(&Response::bytes(b"a".to_vec()), NEXT), bytes);
    }

    #[test]
    fn a_document_that_cannot_be_written_is_a_defect_that_is_told() {
        let odd = std::collections::BTreeMap::from([([1], 2)]);
        let expected = Response::error(500, "key must be a string");
        assert_eq!(Response::json(200, &odd), expected);
    }
}
