//! The input of a client that is not answered yet: bytes in, one request after the other out.

use super::limits;
use super::request::Request;
use super::response::Response;

/// The input of a client.
#[derive(Default)]
pub struct ClientInput {
    bytes: Vec<u8>,
    /// How many of the bytes have been searched already.
    seen: usize,
    /// The header of the request whose body is being read.
    head: Option<Box<Request>>,
}

/// A request with its body.
#[derive(Debug)]
pub struct ClientRequest {
    /// The header.
    pub request: Request,
    /// The body.
    pub body: Vec<u8>,
}

/// The result of looking for a request.
#[derive(Debug)]
pub enum RequestRead {
    /// Nothing that is complete.
    Part,
    /// A header, whose client waits for "100 Continue" before it sends the body.
    BodyWanted,
    /// A request.
    Asked(Box<ClientRequest>),
    /// Something that is no valid request, and the answer to it.
    Refused(Response),
}

/// Where a client is in its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStage {
    /// It has not begun.
    Before,
    /// In the header.
    Head,
    /// In the body.
    Body,
}

impl ClientInput {
    /// How many more bytes may be read now.
    pub fn room(&self) -> usize {
        let most = self.head.as_ref().map_or(0, |head| head.body_length).max(limits::HEAD_BYTES);
        most.saturating_sub(self.bytes.len())
    }

    /// Adds bytes that were read.
    pub fn hear(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether there are bytes that may be a request.
    pub fn has_more(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Where the client is.
    pub fn stage(&self) -> RequestStage {
        match self.head {
            Some(_) => RequestStage::Body,
            None if self.bytes.is_empty() => RequestStage::Before,
            None => RequestStage::Head,
        }
    }

    /// The next request, or why there is none.
    pub fn next(&mut self) -> RequestRead {
        let Some(head) = self.head.take() else { return self.next_head() };
        if self.bytes.len() < head.body_length {
            self.head = Some(head);
            return RequestRead::Part;
        }
        let body = self.drain(head.body_length);
        RequestRead::Asked(Box::new(ClientRequest { request: *head, body }))
    }

    fn next_head(&mut self) -> RequestRead {
        // Skips empty lines before a request, as HTTP asks. A header ends with a line end, so if a client sends byte
        // by byte, not every byte makes us read its header from the start.
        let blank = self.bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        drop(self.drain(blank));
        let is_full = self.bytes.len() >= limits::HEAD_BYTES;
        if !is_full && !self.bytes[self.seen..].contains(&b'\n') {
            self.seen = self.bytes.len();
            return RequestRead::Part;
        }
        match Request::parse(&self.bytes) {
            Err(refusal) => RequestRead::Refused(refusal),
            Ok(None) => {
                self.seen = self.bytes.len();
                RequestRead::Part
            }
            Ok(Some((request, length))) => {
                drop(self.drain(length));
                let wants_body =
                    request.awaits_continue() && self.bytes.len() < request.body_length;
                self.head = Some(Box::new(request));
                if wants_body { RequestRead::BodyWanted } else { self.next() }
            }
        }
    }

    /// Takes bytes from the front. Frees the memory with the last of them.
    fn drain(&mut self, count: usize) -> Vec<u8> {
        if count == 0 {
            return Vec::new();
        }
        self.seen = 0;
        if count == self.bytes.len() {
            return std::mem::take(&mut self.bytes);
        }
        self.bytes.drain(..count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &str = "GET /livez HTTP/1.1\r\nHost: n\r\n\r\n";

    fn asked(inbound: &mut ClientInput) -> (String, Vec<u8>) {
        match inbound.next() {
            RequestRead::Asked(asked) => (asked.request.path, asked.body),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_is_heard_however_it_is_cut() {
        let text =
            format!("\r\n\n{GET}POST /resign HTTP/1.1\r\nHost: n\r\nContent-Length: 2\r\n\r\n{{}}");
        let mut inbound = ClientInput::default();
        let mut found = Vec::new();
        for byte in text.as_bytes() {
            inbound.hear(&[*byte]);
            if let RequestRead::Asked(asked) = inbound.next() {
                found.push((asked.request.path, asked.body));
            }
        }
        let expected = [("/livez".to_owned(), vec![]), ("/resign".to_owned(), b"{}".to_vec())];
        assert_eq!(found, expected);
        assert_eq!((inbound.stage(), inbound.has_more()), (RequestStage::Before, false));
    }

    #[test]
    fn requests_in_one_go_come_one_by_one() {
        let mut inbound = ClientInput::default();
        inbound.hear(GET.repeat(3).as_bytes());
        for left in [2, 1, 0] {
            assert_eq!(asked(&mut inbound).0, "/livez");
            assert_eq!(inbound.bytes.len(), left * GET.len());
        }
        assert!(!inbound.has_more() && matches!(inbound.next(), RequestRead::Part));
    }

    #[test]
    fn a_client_is_asked_for_its_body_once() {
        let mut inbound = ClientInput::default();
        inbound.hear(b"POST /resign HTTP/1.1\r\nHost: n\r\nExpect: 100-continue\r\n");
        inbound.hear(b"Content-Length: 2\r\n\r\n");
        assert!(matches!(inbound.next(), RequestRead::BodyWanted));
        assert!(matches!(inbound.next(), RequestRead::Part));
        assert_eq!(inbound.stage(), RequestStage::Body);
        inbound.hear(b"{}");
        assert_eq!(asked(&mut inbound).1, b"{}");
    }

    #[test]
    fn no_more_is_read_than_may_be_kept() {
        let mut inbound = ClientInput::default();
        assert_eq!(inbound.room(), limits::HEAD_BYTES);
        inbound.hear(&vec![b'x'; limits::HEAD_BYTES]);
        assert_eq!(inbound.room(), 0);
        assert!(matches!(inbound.next(), RequestRead::Refused(_)));
        for (length, room) in [(20_000, 19_999), (10, limits::HEAD_BYTES - 1)] {
            let mut inbound = ClientInput::default();
            let head = format!("POST / HTTP/1.1\r\nHost: n\r\nContent-Length: {length}\r\n\r\nx");
            inbound.hear(head.as_bytes());
            assert!(matches!(inbound.next(), RequestRead::Part));
            assert_eq!(inbound.room(), room);
        }
    }

    #[test]
    fn a_client_is_before_or_in_a_header_or_in_a_body() {
        let mut inbound = ClientInput::default();
        assert_eq!((inbound.stage(), inbound.has_more()), (RequestStage::Before, false));
        inbound.hear(b"POST / HTTP/1.1\r\n");
        assert!(matches!(inbound.next(), RequestRead::Part));
        assert_eq!((inbound.stage(), inbound.has_more()), (RequestStage::Head, true));
        inbound.hear(b"Host: n\r\nContent-Length: 1\r\n\r\n");
        assert!(
            matches!(inbound.next(), RequestRead::Part),
            "it waits for nothing but sends the body"
        );
        assert_eq!((inbound.stage(), inbound.has_more()), (RequestStage::Body, false));
        inbound.hear(b"aGET");
        assert_eq!(asked(&mut inbound), ("/".to_owned(), b"a".to_vec()));
        assert_eq!((inbound.stage(), inbound.has_more()), (RequestStage::Head, true));
    }

    /// The client expects to be asked, and has perhaps sent the body all the same.
    #[test]
    fn a_client_whose_body_is_there_is_not_asked_for_it() {
        let head =
            "POST /a HTTP/1.1\r\nHost: n\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
        let mut inbound = ClientInput::default();
        inbound.hear(format!("{head}{{}}").as_bytes());
        assert_eq!(asked(&mut inbound), ("/a".to_owned(), b"{}".to_vec()));
        let mut part = ClientInput::default();
        part.hear(format!("{head}{{").as_bytes());
        assert!(matches!(part.next(), RequestRead::BodyWanted));
    }
}
