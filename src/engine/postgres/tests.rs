//! Rows that another program wrote, or a server that has no such table.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::*;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind][..], &length, body].concat()
}

fn of_row(row: &[&str]) -> Vec<u8> {
    let count = u16::try_from(row.len()).unwrap().to_be_bytes();
    let fields = row.iter().flat_map(|field| {
        [&u32::try_from(field.len()).unwrap().to_be_bytes()[..], field.as_bytes()].concat()
    });
    message(b'D', &count.into_iter().chain(fields).collect::<Vec<_>>())
}

/// Lets anybody in, and answers the first question with this row.
fn serve(mut stream: TcpStream, row: &[&str]) {
    let (ready, mut question) = (message(b'Z', b"I"), [0; 4096]);
    for answer in [message(b'R', &[0; 4]), of_row(row)] {
        let _ = stream.read(&mut question);
        let _ = stream.write_all(&[answer, ready.clone()].concat());
    }
    while stream.read(&mut question).is_ok_and(|count| count > 0) {}
}

/// Who holds the lock, where the server answers this row.
fn holder(row: &[&str]) -> Result<Option<EngineHolder>, EngineError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| serve(listener.accept().unwrap().0, row));
        let url = format!("postgres://u@{place}/d?lock=a").parse().unwrap();
        open(&url, Duration::from_secs(10), Duration::from_secs(5)).unwrap().watch()
    })
}

#[test]
fn a_lock_is_held_until_the_server_says_that_its_time_is_over() {
    let left = |text: &str| holder(&["7", "me", text]).unwrap().map(|holder| holder.left.unwrap());
    assert_eq!(left("2.5"), Some(Duration::from_millis(2500)));
    assert_eq!(left("0.000000"), None);
    assert_eq!(left("-Infinity"), None);
    let century = Some(Duration::from_secs_f64(FOR_EVER));
    assert_eq!(left("Infinity"), century, "an operator wrote this, so that nobody takes it");
}

#[test]
fn a_row_of_another_table_is_no_holder() {
    for row in [&["x", "me", "1"][..], &["-1", "me", "1"], &["7", "me", "soon"], &["7"], &[]] {
        let told = holder(row).unwrap_err().to_string();
        assert_eq!(told, "PostgreSQL answers what is no row of electd_lock", "{row:?}");
    }
}
