//! The members: first each entry alone, then the values that no two of them may share.

use std::collections::BTreeMap;
use std::path::Path;

use uuid::Uuid;

use super::choices;
use super::rank::{self, ClusterRank};
use super::report::{Object, Report, Spot};
use super::types::MemberConfig;
use super::{health, hooks, tls};
use electd_election::core::address::{BadAddress, HostPort};
use electd_election::core::membership::MOST_MEMBERS;
use electd_election::core::types::{NodeId, Role};
use electd_election::limits::{NAME_RULE, is_id, is_name};

const KEYS: &[&str] = &[
    "name",
    "id",
    "address",
    "listen",
    "admin",
    "admin_listen",
    "role",
    "rank",
    "hooks",
    "health",
    "tls",
];

/// Reads `members`. Without a valid `rank` of the cluster, those of its members are not looked at.
/// Paths are relative to `folder`.
pub(super) fn read<'t>(
    spot: &Spot<'t>,
    rank: Option<&ClusterRank<'t>>,
    folder: &Path,
    report: &mut Report<'t>,
) -> Option<Vec<MemberConfig>> {
    let spots = report.list(spot)?;
    if spots.is_empty() {
        report.wrong(spot, "has no members", "list at least one, or let `electd init` write them");
    }
    if spots.len() > MOST_MEMBERS {
        let remedy = format!("list at most {MOST_MEMBERS}: each is connected to each");
        report.wrong(spot, format!("has {} members", spots.len()), remedy);
        return None;
    }
    let alone = !spots.iter().any(|spot| spot.has("rank"));
    let rank = rank.map(|cluster| (cluster, alone));
    let mut taken = MemberClaims::default();
    let members: Vec<Option<MemberConfig>> =
        spots.iter().map(|spot| member(spot, rank, folder, &mut taken, report)).collect();
    taken.check(report);
    let members: Vec<MemberConfig> = members.into_iter().collect::<Option<_>>()?;
    if !members.is_empty() && members.iter().all(|member| member.role != Role::Member) {
        report.wrong(spot, "has nobody who may lead", "give at least one the role \"member\"");
    }
    Some(members)
}

fn member<'t>(
    spot: &Spot<'t>,
    rank: Option<(&ClusterRank<'t>, bool)>,
    folder: &Path,
    taken: &mut MemberClaims<'t>,
    report: &mut Report<'t>,
) -> Option<MemberConfig> {
    let object = Object::open(spot, KEYS, report)?;
    let name = object.require("name", "give it one, such as \"node-1\"", report);
    let name = name.and_then(|spot| {
        let name = self::name(spot, report)?;
        taken.names.push((name.clone(), spot.clone()));
        Some(name)
    });
    let id = object.require("id", "give it a version 4 UUID, as `uuidgen -r` prints", report);
    let id = id.and_then(|spot| {
        let id = self::id(spot, report)?;
        taken.ids.push((id, spot.clone()));
        Some(id)
    });
    let sockets = sockets(&object, taken, report);
    let role = match object.get("role") {
        Some(spot) => report.choice(spot, &choices::all()),
        None => Some(Role::default()),
    };
    let rank = rank.and_then(|(cluster, alone)| rank::member(&object, cluster, alone, report));
    let hooks = match object.get("hooks") {
        Some(spot) => hooks::read(spot, folder, report).map(Some),
        None => Some(None),
    };
    let health = match object.get("health") {
        Some(spot) => health::read(spot, folder, report).map(Some),
        None => Some(None),
    };
    let tls = match object.get("tls") {
        Some(spot) => tls::read(spot, folder, report).map(Some),
        None => Some(None),
    };
    let MemberAddresses { address, listen, admin, admin_listen } = sockets?;
    let (name, id) = (name?, NodeId(id?));
    let (role, rank, hooks, health, tls) = (role?, rank?, hooks?, health?, tls?);
    Some(MemberConfig {
        name,
        id,
        address,
        listen,
        admin,
        admin_listen,
        role,
        rank,
        hooks,
        health,
        tls,
    })
}

/// The addresses of a member, as they are written or follow from each other.
struct MemberAddresses {
    address: String,
    listen: String,
    admin: Option<String>,
    admin_listen: Option<String>,
}

fn sockets<'t>(
    object: &Object<'t>,
    taken: &mut MemberClaims<'t>,
    report: &mut Report<'t>,
) -> Option<MemberAddresses> {
    let address = object.require("address", "give host:port that the others dial", report);
    let address = address.and_then(|spot| dialled(spot, taken, report));
    let mut optional = |key, taken: &mut Vec<(HostPort, Spot<'t>)>| match object.get(key) {
        Some(spot) => {
            let (text, parsed) = socket(spot, report)?;
            taken.push((parsed, spot.clone()));
            Some(Some(text))
        }
        None => Some(None),
    };
    let listen = optional("listen", &mut taken.listens);
    let admin = optional("admin", &mut taken.admins);
    let admin_listen = optional("admin_listen", &mut taken.admin_listens);
    if let (Some(spot), None) = (object.get("admin_listen"), object.get("admin")) {
        let remedy = "give `admin` too: host:port that the others reach it at";
        report.wrong(spot, "is where HTTP listens, and nobody is told of it", remedy);
        return None;
    }
    let (address, listen) = (address?, listen?);
    let (admin, admin_listen) = (admin?, admin_listen?);
    let listen = listen.unwrap_or_else(|| address.clone());
    Some(MemberAddresses {
        address,
        listen,
        admin_listen: admin_listen.or_else(|| admin.clone()),
        admin,
    })
}

fn dialled<'t>(
    spot: &Spot<'t>,
    taken: &mut MemberClaims<'t>,
    report: &mut Report<'t>,
) -> Option<String> {
    let (text, parsed) = socket(spot, report)?;
    if parsed.is_wildcard() {
        let remedy = "give the address that the others dial, and this one as `listen`";
        report.wrong(spot, "is every address of a host, which nobody can dial", remedy);
        return None;
    }
    taken.addresses.push((parsed, spot.clone()));
    Some(text)
}

fn socket<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<(String, HostPort)> {
    let text = report.string(spot)?;
    match HostPort::parse(&text) {
        Ok(parsed) => Some((text, parsed)),
        Err(BadAddress { what, remedy }) => {
            report.wrong(spot, what, remedy);
            None
        }
    }
}

/// A member's name, which is a folder too.
fn name<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<String> {
    let name = report.string(spot)?;
    if is_name(&name) {
        return Some(name);
    }
    report.wrong(spot, "is not a name", NAME_RULE);
    None
}

fn id<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<Uuid> {
    let text = report.string(spot)?;
    let remedy = "give a fresh one, as `uuidgen -r` or `electd init` prints";
    match Uuid::parse_str(&text) {
        Ok(id) if is_id(id) => Some(id),
        Ok(_) => {
            report.wrong(spot, "is a UUID, but not of version 4", remedy);
            None
        }
        Err(_) => {
            report.wrong(spot, "is not a version 4 UUID", remedy);
            None
        }
    }
}

/// The names, ids and addresses that members claimed, each with its place.
#[derive(Default)]
struct MemberClaims<'t> {
    names: Vec<(String, Spot<'t>)>,
    ids: Vec<(Uuid, Spot<'t>)>,
    addresses: Vec<(HostPort, Spot<'t>)>,
    listens: Vec<(HostPort, Spot<'t>)>,
    admins: Vec<(HostPort, Spot<'t>)>,
    admin_listens: Vec<(HostPort, Spot<'t>)>,
}

impl<'t> MemberClaims<'t> {
    fn check(&self, report: &mut Report<'t>) {
        distinct(&self.names, "give every member a name of its own", report);
        distinct(&self.ids, "give every member a fresh id, as `uuidgen -r` prints", report);
        distinct(&self.addresses, "give every member an address of its own", report);
        distinct(&self.admins, "give every member an admin address of its own", report);
        self.admins_apart(report);
    }

    /// No admin address is one that peers dial, and HTTP binds none that is bound for peers: the two speak different
    /// protocols. (Two members may `listen` on the same address, though: they are on different hosts.)
    fn admins_apart(&self, report: &mut Report<'t>) {
        let binds_another =
            |of: &Spot| self.admin_listens.iter().any(|(_, at)| at.parent() == of.parent());
        let dialed =
            self.admins.iter().map(|(admin, spot)| (admin, spot, true, !binds_another(spot)));
        let bound = self.admin_listens.iter().map(|(admin, spot)| (admin, spot, false, true));
        for (admin, spot, is_dialed, is_bound) in dialed.chain(bound) {
            let clash = self.addresses.iter().chain(&self.listens).find(|(peers, at)| {
                let of_same = spot.parent() == at.parent();
                (is_dialed && admin == peers) || (is_bound && of_same && admin.clashes(peers))
            });
            if let Some((_, at)) = clash {
                let what = format!("is taken by {} on line {}", at.key, report.line(at));
                report.wrong(spot, what, "give admin a port of its own");
            }
        }
    }
}

/// Reports every value that an earlier member has too.
fn distinct<'t, T: Ord + Clone>(claims: &[(T, Spot<'t>)], remedy: &str, report: &mut Report<'t>) {
    let mut seen: BTreeMap<&T, &Spot<'t>> = BTreeMap::new();
    for (value, spot) in claims {
        match seen.get(value) {
            Some(first) => {
                let what = format!("is taken by {} on line {}", first.key, report.line(first));
                report.wrong(spot, what, remedy);
            }
            None => {
                seen.insert(value, spot);
            }
        }
    }
}
