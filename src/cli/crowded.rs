//! Whether more members share a host than it was shown to carry.

use std::collections::BTreeMap;

/// With the default timings 50 members on two cores agreed within a second, and 64 within five; 80 never did, as each was
/// so short of the processor that it counted itself as stalled, and began anew.
const SHOWN: usize = 50;

/// A warning, if more members share a host than that, by their addresses.
pub fn words<'a>(addresses: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for address in addresses {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        *hosts.entry(host).or_default() += 1;
    }
    let (host, members) = hosts.into_iter().max_by_key(|(_, members)| *members)?;
    (members > SHOWN).then(|| {
        format!(
            "WARNING: {members} members share the host {host}; with the default timings two cores carried \
             {SHOWN} with ease, and 80 never agreed on a leader: use more hosts, or give a longer timing.failure"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_members_on_one_host_are_warned_of() {
        let shared = |members: usize| {
            let addresses: Vec<_> =
                (0..members).map(|at| format!("10.0.0.1:{}", 7000 + at)).collect();
            words(addresses.iter().map(String::as_str).chain(["10.0.0.2:7000"]))
        };
        assert_eq!(shared(50), None);
        let warning = "WARNING: 51 members share the host 10.0.0.1; with the default timings two cores carried 50 with \
                       ease, and 80 never agreed on a leader: use more hosts, or give a longer timing.failure";
        assert_eq!(shared(51).as_deref(), Some(warning));
        assert_eq!(words([].into_iter()), None);
    }
}
