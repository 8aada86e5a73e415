//! Whether this host can hold addresses, asked before the node starts.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CapabilitySet, capabilities};
use thiserror::Error;

use super::netlink::{LIFETIME, Netlink, PresentAddress};
use super::spec::Address;

/// The kernel may keep an address for this long after its lifetime, as it checks once a second.
const SLACK: Duration = Duration::from_secs(2);

/// Between two looks whether an address has gone.
const LOOK: Duration = Duration::from_millis(100);

/// Why this host cannot hold an address.
#[derive(Debug, Error)]
pub enum AddressRefusal {
    /// It was given more than once.
    #[error("--address {0} is given twice: give it once")]
    Twice(IpAddr),
    /// This process may not.
    #[error(
        "--address needs the capability {0}: run electd as root, or give its unit AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW"
    )]
    Capability(&'static str),
    /// The interface is not there.
    #[error("--address {0}: this host has no interface \"{name}\" (see `ip link`)", name = .0.interface)]
    NoInterface(Address),
    /// The interface carries no IPv6.
    #[error("--address {0}: IPv6 is disabled on {name} ({file} is not 0)", name = .0.interface, file = .1.display())]
    NoIpv6(Address, PathBuf),
    /// The host has it already.
    #[error(
        "--address {0}: this host has {ip} already, on {1}; electd adds and removes it itself: take it from the \
         host's own configuration, or end what renews it", ip = .0.ip
    )]
    Exists(Address, String),
    /// The node of this host holds it.
    #[error(
        "--address {0}: the node that runs on this host has {ip} itself while it leads: leave it out here, or end \
         `electd run --address {1}`", ip = .0.ip
    )]
    OfNode(Address, Address),
    /// The kernel could not be asked.
    #[error("--address: cannot ask the kernel for the addresses of this host: {0}")]
    Kernel(#[from] io::Error),
}

/// Whether none of these addresses is held by the node of this host, which has those.
///
/// # Errors
/// With the first that is.
pub fn differ(addresses: &[Address], of_node: &[Address]) -> Result<(), AddressRefusal> {
    let both = addresses.iter().find_map(|own| {
        let same = of_node.iter().find(|other| other.ip == own.ip)?;
        Some(AddressRefusal::OfNode(own.clone(), same.clone()))
    });
    both.map_or(Ok(()), Err)
}

/// Whether this host can hold these addresses, before anybody relies on that. Waits for an address that another
/// process of electd left here when it was killed together with its guard: the kernel removes it soon.
///
/// # Errors
/// With the first reason why not.
pub fn check(addresses: &[Address]) -> Result<(), AddressRefusal> {
    if addresses.is_empty() {
        return Ok(());
    }
    let twice = |at: usize| addresses[..at].iter().any(|before| before.ip == addresses[at].ip);
    if let Some(at) = (0..addresses.len()).find(|at| twice(*at)) {
        return Err(AddressRefusal::Twice(addresses[at].ip));
    }
    let own = capabilities(None).map_err(io::Error::from)?.effective;
    for (capability, name) in
        [(CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"), (CapabilitySet::NET_RAW, "CAP_NET_RAW")]
    {
        if !own.contains(capability) {
            return Err(AddressRefusal::Capability(name));
        }
    }
    let mut netlink = Netlink::open()?;
    addresses.iter().try_for_each(|address| check_one(&mut netlink, address))
}

fn check_one(netlink: &mut Netlink, address: &Address) -> Result<(), AddressRefusal> {
    let index = netlink
        .index(&address.interface)?
        .ok_or_else(|| AddressRefusal::NoInterface(address.clone()))?;
    if address.ip.is_ipv6() {
        let file = Path::new("/proc/sys/net/ipv6/conf").join(&address.interface);
        let file = file.join("disable_ipv6");
        if !fs::read_to_string(&file).is_ok_and(|text| text.trim() == "0") {
            return Err(AddressRefusal::NoIpv6(address.clone(), file));
        }
    }
    let begin = Instant::now();
    while let Some(found) = netlink.find(address.ip)? {
        if !may_go(&found, index, begin.elapsed()) {
            let name = netlink.name(found.index).unwrap_or_else(|_| found.index.to_string());
            return Err(AddressRefusal::Exists(address.clone(), name));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Whether an address that has been found for so long, and that is to be held on this interface, is one that a killed
/// electd left.
fn may_go(found: &PresentAddress, index: u32, after: Duration) -> bool {
    // Nothing else gives an address so short a life; while another process renews it, it does not go. The kernel of a busy
    // host may be late to remove one whose life is over.
    let is_over = found.valid_seconds == Some(0);
    found.index == index && found.is_mortal() && (is_over || after <= LIFETIME + SLACK)
}

#[cfg(test)]
mod tests {
    use super::super::netlink::tests::in_own_network;
    use super::*;

    #[test]
    fn the_same_address_is_refused_twice() {
        let twice = ["10.0.0.9/24%lo", "10.0.0.9/32%eth0"].map(|text| text.parse().unwrap());
        let refused = check(&twice).unwrap_err().to_string();
        assert_eq!(refused, "--address 10.0.0.9 is given twice: give it once");
    }

    /// The capabilities of a thread are its own.
    #[test]
    fn a_process_that_may_not_hold_addresses_is_told_what_it_lacks() {
        let address = ["10.0.0.9/24%no-such".parse().unwrap()];
        let told = |dropped: CapabilitySet| {
            let address = address.clone();
            let asked = move || {
                let mut own = capabilities(None).unwrap();
                own.effective -= dropped;
                rustix::thread::set_capabilities(None, own).unwrap();
                check(&address).unwrap_err().to_string()
            };
            thread::spawn(asked).join().unwrap()
        };
        let (admin, raw) = (CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW);
        let lacks = |name: &'static str| AddressRefusal::Capability(name).to_string();
        assert_eq!(told(admin), lacks("CAP_NET_ADMIN"));
        if !capabilities(None).unwrap().effective.contains(admin | raw) {
            return println!("skipped: this process may not hold addresses");
        }
        assert_eq!(told(raw), lacks("CAP_NET_RAW"));
        let nowhere = told(CapabilitySet::empty());
        assert!(nowhere.contains("no interface \"no-such\""), "it may: {nowhere}");
    }

    #[test]
    fn an_ipv6_address_needs_an_interface_that_carries_ipv6() {
        in_own_network(|| {
            let v6: Address = "fd00:9::9/64%lo".parse().unwrap();
            let mut netlink = Netlink::open().unwrap();
            let file = "/proc/sys/net/ipv6/conf/lo/disable_ipv6";
            for (disabled, is_refused) in [("1", true), ("0", false)] {
                if fs::write(file, disabled).is_err() {
                    return println!("skipped: {file} cannot be written");
                }
                let told = check_one(&mut netlink, &v6).map_err(|error| error.to_string());
                let why = AddressRefusal::NoIpv6(v6.clone(), file.into()).to_string();
                assert_eq!(told, if is_refused { Err(why) } else { Ok(()) });
            }
        });
    }

    /// By a killed electd. The kernel removes it from this interface, and on another one it would be somebody else's.
    #[test]
    fn an_address_that_is_left_here_is_waited_for_and_one_elsewhere_is_not() {
        in_own_network(|| {
            let mut netlink = Netlink::open().unwrap();
            let lo = netlink.index("lo").unwrap().unwrap();
            let here: Address = "10.0.0.9/24%lo".parse().unwrap();
            netlink.add(&here, lo).unwrap();
            let elsewhere: Address = "10.0.0.8/24%peer".parse().unwrap();
            let pair = ["link", "add", "other", "type", "veth", "peer", "name", "peer"];
            let made = std::process::Command::new("ip").args(pair).status();
            if made.is_ok_and(|status| status.success()) {
                let other = netlink.index("other").unwrap().unwrap();
                netlink.add(&elsewhere, other).unwrap();
                let told = check_one(&mut netlink, &elsewhere).unwrap_err().to_string();
                let why = AddressRefusal::Exists(elsewhere, "other".to_owned()).to_string();
                assert_eq!(told, why);
            }
            let others = Address { interface: "elsewhere".to_owned(), ..here.clone() };
            let why = AddressRefusal::NoInterface(others.clone()).to_string();
            assert_eq!(check_one(&mut netlink, &others).unwrap_err().to_string(), why);
            let begun = Instant::now();
            check_one(&mut netlink, &here).unwrap();
            assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
            assert!(netlink.find(here.ip).unwrap().is_none());
        });
    }

    #[test]
    fn an_address_is_waited_for_until_the_kernel_must_have_removed_it() {
        for (index, valid_seconds, millis, goes) in [
            (7, Some(3), 5000, true),
            (7, Some(3), 5001, false), // somebody renews it
            (7, Some(1), 5001, false),
            (7, Some(0), 60_000, true),
            (7, Some(4), 0, false),
            (7, None, 0, false),
            (8, Some(3), 0, false),
            (8, Some(0), 0, false),
        ] {
            let found = PresentAddress { index, valid_seconds };
            let after = Duration::from_millis(millis);
            assert_eq!(may_go(&found, 7, after), goes, "{index} {valid_seconds:?} {millis}");
        }
    }

    #[test]
    fn an_address_of_the_node_of_this_host_is_refused_whatever_its_prefix() {
        let [own, same, other] = ["10.0.0.9/24%eth0", "10.0.0.9/32%lo", "10.0.0.10/24%eth0"]
            .map(|text| [text.parse::<Address>().unwrap()]);
        assert!(differ(&own, &other).is_ok());
        let error = differ(&own, &same).unwrap_err().to_string();
        let words = "--address 10.0.0.9/24%eth0: the node that runs on this host has 10.0.0.9 itself while it leads: \
                     leave it out here, or end `electd run --address 10.0.0.9/32%lo`";
        assert_eq!(error, words);
    }

    /// What anybody may ask, whether this process may add an address or not.
    #[test]
    fn an_interface_that_is_not_there_and_an_address_that_is_are_refused() {
        let mut netlink = Netlink::open().unwrap();
        let mut refused =
            |address: &Address| check_one(&mut netlink, address).map_err(|error| error.to_string());
        let nowhere = "10.0.0.9/24%no-such".parse().unwrap();
        let why =
            "--address 10.0.0.9/24%no-such: this host has no interface \"no-such\" (see `ip link`)";
        assert_eq!(refused(&nowhere), Err(why.to_owned()));
        let there = Address { ip: [127, 0, 0, 1].into(), prefix: 8, interface: "lo".to_owned() };
        let why = "--address 127.0.0.1/8%lo: this host has 127.0.0.1 already, on lo; electd adds and removes \
                   it itself: take it from the host's own configuration, or end what renews it";
        assert_eq!(refused(&there), Err(why.to_owned()));
        let free = Address { ip: [127, 9, 9, 9].into(), ..there };
        assert_eq!(refused(&free), Ok(()), "no address of this host");
        assert!(check(&[]).is_ok(), "nothing is needed for none");
    }

    #[test]
    fn what_is_missing_is_named_with_its_remedy() {
        let address: Address = "fd00::9/64%eth0".parse().unwrap();
        let file = PathBuf::from("/proc/sys/net/ipv6/conf/eth0/disable_ipv6");
        for (refused, words) in [
            (AddressRefusal::Twice(address.ip), "--address fd00::9 is given twice: give it once"),
            (
                AddressRefusal::Capability("CAP_NET_RAW"),
                "--address needs the capability CAP_NET_RAW: run electd as root, or give its unit \
                 AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW",
            ),
            (
                AddressRefusal::NoIpv6(address, file),
                "--address fd00::9/64%eth0: IPv6 is disabled on eth0 \
                 (/proc/sys/net/ipv6/conf/eth0/disable_ipv6 is not 0)",
            ),
            (
                AddressRefusal::Kernel(io::Error::other("so")),
                "--address: cannot ask the kernel for the addresses of this host: so",
            ),
        ] {
            assert_eq!(refused.to_string(), words);
        }
    }
}
