//! The configuration of a demo: its ports, its folder, and the copy of a file.

use super::*;

#[test]
fn a_copy_has_the_paths_of_its_file() {
    let mut document = json!({
        "rank": {"by": "files", "path": "queue"}, "tls": {"ca": "tls/ca.pem"}, "name": "a/b", "admin_token_file": "t",
        "health": {"command": ["./check", "a/b"]}, "hooks": {"on_change": ["logger", "x"]},
        "members": [{"name": "a", "rank": {"path": "queue/a"}}, {"tls": {"key": "a.key", "cert": "a.pem"}}],
    });
    make_absolute(&mut document, Path::new("/etc"));
    let expected = json!({
        "rank": {"by": "files", "path": "/etc/queue"}, "tls": {"ca": "/etc/tls/ca.pem"}, "name": "a/b",
        "admin_token_file": "/etc/t",
        "health": {"command": ["/etc/./check", "a/b"]}, "hooks": {"on_change": ["logger", "x"]},
        "members": [{"name": "a", "rank": {"path": "/etc/queue/a"}}, {"tls": {"key": "/etc/a.key", "cert": "/etc/a.pem"}}],
    });
    assert_eq!(document, expected);
}

/// Also a file that is named by a relative path.
#[test]
fn a_copy_is_its_file_with_the_changes_and_a_state_apart_comments_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.json");
    let text = include_str!("../../../../conf/cluster.json");
    let text = text.replacen('{', r#"{"admin_token_file": "token","#, 1);
    fs::write(&file, format!("// of a trial\n{text}")).unwrap();
    let above = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
    let relative = [above, file.strip_prefix("/").unwrap().to_owned()].iter().collect::<PathBuf>();
    for file in [file, relative] {
        let config = config::load(&file).unwrap();
        let changes = ClusterOptions { algorithm: Some("ring"), quorum: Some(Quorum::Majority) };
        let copy = copy(&config, &file, "ring-majority", changes).unwrap();
        let copied = config::load(&copy).unwrap();
        assert_eq!((copied.algorithm.name(), copied.quorum), ("ring", Quorum::Majority));
        let absolute = |path: &Path| std::path::absolute(path).unwrap();
        assert_eq!(copied.data_dir, absolute(&config.data_dir).join("ring-majority"));
        assert_eq!(copied.admin_token_file, config.admin_token_file.as_deref().map(absolute));
        assert_eq!(copied.members, config.members);
    }
}

#[test]
fn two_demos_have_ports_of_their_own() {
    let (_one, first) = free_block(3).unwrap();
    let (_two, second) = free_block(3).unwrap();
    assert!(first.abs_diff(second) >= 200);
    for first in [first, second] {
        assert!((7100..=29_900).contains(&first) && (first - 7100) % 200 == 0, "{first}");
    }
}

/// One that is taken might be of a node of this demo or its page.
#[test]
fn a_block_with_a_port_that_is_taken_is_passed_over() {
    for above in [0, 1, 3, 101, 103] {
        let (block, first) = free_block(3).unwrap();
        drop(block);
        // Another demo may have taken it meanwhile: then it is taken as well.
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, first + above));
        assert_ne!(free_block(3).unwrap().1, first, "{above}");
    }
    let (_block, first) = free_block(3).unwrap();
    let error = first_free([first], 3).err().unwrap();
    let words = "no free ports from 7100 to 29900 on 127.0.0.1: name a file with --config";
    assert_eq!((error.exit, error.message.as_str()), (Exit::Listen, words));
}

/// The ids of the members, which are taken out of the document.
fn ids(document: &mut Value) -> Vec<String> {
    let members = document["members"].as_array_mut().unwrap();
    let id = |member: &mut Value| member.as_object_mut().unwrap().remove("id").unwrap();
    members.iter_mut().map(|member| id(member).as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_demo_of_its_own_has_a_private_folder_and_needs_a_majority_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (ClusterOptions::default(), json!({ "quorum": "majority" })),
        (
            ClusterOptions { quorum: Some(Quorum::None), ..ClusterOptions::default() },
            json!({ "quorum": "none" }),
        ),
        (
            ClusterOptions { algorithm: Some("ring"), quorum: None },
            json!({ "quorum": "majority", "algorithm": "ring" }),
        ),
    ];
    for (at, (changes, keys)) in cases.into_iter().enumerate() {
        let place = folder.path().join(at.to_string());
        let cluster = Cluster::temporary(&place, 2, changes).unwrap();
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&place).unwrap());
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(cluster.file, place.join("cluster.json"));
        assert_eq!(cluster.config, config::load(&cluster.file).unwrap());
        let text = fs::read_to_string(&cluster.file).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(text, format!("{document:#}\n"));
        let ids = ids(&mut document);
        assert!(ids[0] < ids[1], "a later node ranks higher: {ids:?}");
        let block = cluster._block.as_ref().unwrap().local_addr().unwrap().port();
        let at = |above| format!("127.0.0.1:{}", block + above);
        let mut expected = json!({ "cluster": "demo", "data_dir": "data", "members": [
            { "name": "node-1", "address": at(1), "admin": at(101) },
            { "name": "node-2", "address": at(2), "admin": at(102) },
        ]});
        expected.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        assert_eq!(document, expected);
    }
    let taken = folder.path().join("0");
    let error = Cluster::temporary(&taken, 2, ClusterOptions::default()).err().unwrap();
    let words = format!("{} cannot be written: File exists (os error 17)", taken.display());
    assert_eq!((error.exit, error.message), (Exit::DataDir, words));
}

#[test]
fn the_folder_of_a_demo_has_a_name_that_is_drawn() {
    let (one, two) = (new_folder(), new_folder());
    assert_ne!(one, two);
    let name = one.strip_prefix(std::env::temp_dir()).unwrap().to_str().unwrap();
    let drawn = name.strip_prefix("electd-demo-").unwrap();
    assert!(drawn.len() == 8 && u32::from_str_radix(drawn, 16).is_ok(), "{name}");
}

/// A file of one member at new addresses, whose data_dir is `data`: the file, and these addresses.
fn file_of_one(folder: &Path) -> (PathBuf, [String; 2]) {
    // On a host of its own of this machine: a program that another test starts keeps a listener for a moment.
    let (drawn, ..) = Uuid::new_v4().as_fields();
    let [_, one, two, three] = drawn.to_be_bytes();
    let host = Ipv4Addr::new(127, one | 64, two, three);
    let [address, admin] = [7101, 7201].map(|port| format!("{host}:{port}"));
    let id = Uuid::new_v4();
    let member = json!({ "name": "a", "id": id, "address": address, "admin": admin });
    let document =
        json!({ "cluster": "hc", "data_dir": "data", "quorum": "none", "members": [member] });
    let file = folder.join("cluster.json");
    write(&file, &document).unwrap();
    (file, [address, admin])
}

#[test]
fn a_file_runs_as_it_is_or_with_changes_in_a_copy_that_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _) = file_of_one(folder.path());
    let own = Cluster::of_file(&file, ClusterOptions::default()).unwrap();
    assert_eq!((own.file, own.config), (file.clone(), config::load(&file).unwrap()));
    let majority = Some(Quorum::Majority);
    for (changes, name) in [
        (ClusterOptions { algorithm: Some("ring"), quorum: majority }, "ring-majority"),
        (ClusterOptions { algorithm: Some("ring"), quorum: None }, "ring"),
        (ClusterOptions { algorithm: None, quorum: majority }, "majority"),
    ] {
        let (file, _) = file_of_one(folder.path());
        let copy = Cluster::of_file(&file, changes).unwrap();
        assert_eq!(copy.file, folder.path().join("data").join(name).join("cluster.json"));
        assert_eq!(copy.config, config::load(&copy.file).unwrap());
        assert_eq!(copy.config.algorithm.name(), changes.algorithm.unwrap_or("bully"));
        assert_eq!(copy.config.quorum, changes.quorum.unwrap_or(Quorum::None));
    }
    fs::write(folder.path().join("data/none"), "").unwrap();
    let changes = ClusterOptions { quorum: Some(Quorum::None), ..ClusterOptions::default() };
    let error = Cluster::of_file(&file, changes).err().unwrap();
    let shown = folder.path().join("data/none").display().to_string();
    let words = format!("{shown} cannot be written: File exists (os error 17)");
    assert_eq!((error.exit, error.message), (Exit::DataDir, words));
}

#[test]
fn a_demo_of_a_file_needs_the_addresses_and_the_state_of_all_members() {
    let folder = tempfile::tempdir().unwrap();
    for which in [0, 1] {
        let (file, addresses) = file_of_one(folder.path());
        let address = &addresses[which];
        let _held = TcpListener::bind(address).unwrap();
        let error = Cluster::of_file(&file, ClusterOptions::default()).err().unwrap();
        let words = format!(
            "cannot listen on {address}, an address of a: bind {address}: Address already in use (os error 98); another \
             process listens there: ss -ltnp shows it; a demo runs all members on this host, so give a file whose addresses are free here"
        );
        assert_eq!((error.exit, error.message), (Exit::Listen, words));
    }
    let error = unreadable(Path::new("/c.json"), &io::ErrorKind::NotFound.into());
    let words = "/c.json cannot be copied: entity not found";
    assert_eq!(error, CliError::new(Exit::Config, words));
}
