//! What a new configuration holds, and the rows in which its members are given.

use super::*;

#[test]
fn a_member_is_a_name_and_a_host_with_or_without_port() {
    let parse = |text| parse_member(text).map(|m| (m.address.to_string(), m.admin.to_string()));
    let pair = |a: &str, b: &str| Ok((a.to_owned(), b.to_owned()));
    assert_eq!(parse("a=10.0.0.1"), pair("10.0.0.1:7101", "10.0.0.1:7201"));
    assert_eq!(parse("a=db1:9000"), pair("db1:9000", "db1:9100"));
    assert_eq!(parse("a=[::1]"), pair("[::1]:7101", "[::1]:7201"));
    assert_eq!(parse("a=[::1]:9000"), pair("[::1]:9000", "[::1]:9100"));
    for text in ["a", "=h", "a=", "a/b=h", "a=h:0", "a=::1", "a=h:65500"] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_folder_that_is_missing_is_to_be_created() {
    let error = io::ErrorKind::NotFound.into();
    let message = refused(Path::new("/no/such/cluster.json"), &error).message;
    assert!(message.ends_with("there is no folder /no/such: create the folder"), "{message}");
}

#[test]
fn local_members_stay_below_the_last_port() {
    assert_eq!(local_members(100, 7101).unwrap().len(), 100);
    assert!(local_members(1, 65435).is_ok());
    assert_eq!(local_members(2, 65435).unwrap_err().exit, Exit::Usage);
    assert_eq!(local_members(2, 65535).unwrap_err().exit, Exit::Usage);
}

#[test]
fn a_row_names_the_role_of_all_but_members_and_the_files_of_tls() {
    let id = Uuid::nil();
    let begin = format!(
        "    {{\"name\": \"a\", \"id\": \"{id}\", \"address\": \"h:1\", \"admin\": \"h:101\""
    );
    for (role, words) in [
        (Role::Member, ""),
        (Role::Witness, ", \"role\": \"witness\""),
        (Role::Observer, ", \"role\": \"observer\""),
    ] {
        let member = super::parse("a=h:1", role).unwrap();
        assert_eq!(member.row(id, false), format!("{begin}{words}}}"));
        let files = certificates::entry("a");
        assert_eq!(member.row(id, true), format!("{begin}{words},\n     \"tls\": {files}}}"));
    }
    let files = r#"{"ca": "tls/a/ca.pem", "cert": "tls/a/cert.pem", "key": "tls/a/key.pem"}"#;
    assert_eq!(certificates::entry("a"), files);
}
