//! Answers that do not come: what the commands say of them.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use electd::admin::client::{Client, Order, Recipient};
use serde_json::json;

use super::cli::{code, electd, run, stderr};

#[test]
fn the_outcome_of_a_command_that_is_not_answered_is_not_known() {
    // It accepts connections, and says nothing.
    let node = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = node.local_addr().unwrap().to_string();
    let client = Client::within(Some(Duration::from_millis(50)), None);
    let to = Recipient { address: &address, cluster: "demo", id: "x" };
    let told = |order: Order| client.command(to, &order).unwrap_err().to_string();
    let pause = told(Order::post("pause", &json!({})));
    assert!(pause.contains("whether it carried the command out is not known"), "{pause}");
    let drain = told(Order::post("drain", &json!({})).ending_a_leadership());
    assert!(drain.contains("may still be waiting for the leader's job to end"), "{drain}");
    assert!(drain.contains("the outcome is not known"), "{drain}");
    let asked = client.status(&address).unwrap_err().to_string();
    assert!(asked.contains("silent for too long; it may be frozen"), "{asked}");
}

#[test]
fn an_address_that_hangs_up_may_be_that_of_a_peer() {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = peer.local_addr().unwrap().to_string();
    thread::spawn(move || peer.incoming().for_each(drop));
    let output = run(electd(&["--admin", &address], "status"));
    assert_eq!(code(&output), Some(69), "{output:?}");
    let said = "is it the `address` of a member? give its `admin`";
    assert!(stderr(&output).contains(said), "{output:?}");
}
