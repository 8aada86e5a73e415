//! Passwords: of the environment or of a file that others cannot read, and never of a command line.

use std::env;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::EngineError;
use super::url::EnginePlace;

/// The largest file of passwords.
const LARGEST: u64 = 1 << 20;

/// The user in whose name PostgreSQL is asked, if the URL names none.
pub(crate) fn user_of_postgres() -> Option<String> {
    ["PGUSER", "USER", "LOGNAME"].iter().find_map(|name| variable(name))
}

/// The password for PostgreSQL, where libpq would find it.
pub(crate) fn of_postgres(
    passfile: Option<&Path>,
    place: &EnginePlace,
    (database, user): (&str, &str),
) -> Result<Option<String>, EngineError> {
    if let Some(password) = variable("PGPASSWORD") {
        return Ok(Some(password));
    }
    let named = passfile.map(Path::to_owned).or_else(|| variable("PGPASSFILE").map(PathBuf::from));
    let usual = || variable("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let Some(path) = named.clone().or_else(|| usual().filter(|path| path.exists())) else {
        return Ok(None);
    };
    let port = place.port.to_string();
    Ok(of_line(&read(&path)?, [&place.host, &port, database, user]))
}

/// The password for etcd.
pub(crate) fn of_etcd(passfile: Option<&Path>) -> Result<Option<String>, EngineError> {
    let from_file = |path| read(path).map(|text| text.lines().next().unwrap_or("").to_owned());
    match variable("ETCDCTL_PASSWORD") {
        None => passfile.map(from_file).transpose(),
        password => Ok(password),
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn read(path: &Path) -> Result<String, EngineError> {
    let refused = |why: &dyn std::fmt::Display| {
        EngineError::Refused(format!("the passwords in {}: {why}", path.display()))
    };
    let file = File::open(path).map_err(|error| refused(&error))?;
    let meta = file.metadata().map_err(|error| refused(&error))?;
    if !meta.is_file() {
        return Err(refused(&"it is no regular file"));
    }
    if meta.mode() & 0o077 != 0 {
        return Err(refused(&"other users may read them: chmod 600"));
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).map_err(|error| refused(&error))?;
    Ok(text)
}

/// The password of the first line of a .pgpass that fits.
fn of_line(text: &str, wanted: [&str; 4]) -> Option<String> {
    let fits = |line: &str| {
        let fields = fields(line);
        let (keys, password) = (fields.get(..4)?, fields.get(4)?);
        let all = keys.iter().zip(wanted).all(|(key, wanted)| key == "*" || key == wanted);
        all.then(|| password.clone())
    };
    text.lines().filter(|line| !line.starts_with('#')).find_map(fits)
}

/// What is between the colons of a line. A backslash takes the meaning from the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut rest = line.chars();
    while let Some(letter) = rest.next() {
        let last = fields.len() - 1;
        match letter {
            ':' => fields.push(String::new()),
            '\\' => fields[last].extend(rest.next()),
            letter => fields[last].push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_password_is_that_of_the_first_line_that_fits() {
        let text = "# a:1:*:*:no\nh:5432:d:me:one\nh\\:x:*:*:*:t\\\\w\\:o\n*:*:*:*:any\n";
        let of = |host, port, database, user| of_line(text, [host, port, database, user]);
        assert_eq!(of("h", "5432", "d", "me").as_deref(), Some("one"));
        assert_eq!(of("h:x", "1", "d", "me").as_deref(), Some("t\\w:o"));
        assert_eq!(of("h", "5433", "d", "me").as_deref(), Some("any"));
        assert_eq!(of_line("h:1:d:me", ["h", "1", "d", "me"]), None);
    }

    #[test]
    fn a_file_of_passwords_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pass");
        fs::write(&path, "*:*:*:*:x\n").unwrap();
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o640);
        let told = read(&path).unwrap_err().to_string();
        assert!(told.contains("other users may read them: chmod 600"), "{told}");
        mode(0o600);
        assert_eq!(read(&path).unwrap(), "*:*:*:*:x\n");
        assert!(read(folder.path()).is_err() && read(&folder.path().join("none")).is_err());
    }
}
