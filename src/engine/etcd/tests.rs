//! What etcd's keys say.

use super::*;

#[test]
fn a_key_says_who_put_it_and_when() {
    let key = |value: &str| json!({"key": BASE64.encode("a/7f"), "value": BASE64.encode(value), "create_revision": "12"});
    let holder = |name: &str| EngineHolder { name: name.to_owned(), token: 12, left: None };
    assert_eq!(key_holder(&key("h pid 7 x")), Ok(Some(holder("h pid 7 x"))));
    assert_eq!(key_holder(&key("")), Ok(Some(holder("a/7f"))), "of etcdctl");
    assert_eq!(key_holder(&Value::Null), Ok(None));
    assert!(key_holder(&json!({"create_revision": "many"})).is_err());
}
