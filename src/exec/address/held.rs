//! The addresses of one leadership, as its guard holds them.

use std::io::{self, ErrorKind};
use std::time::Duration;

use thiserror::Error;

use super::announce;
use super::netlink::{LIFETIME, Netlink};
use super::spec::Address;
use crate::core::types::Time;
use crate::exec::stderr::say;
use crate::node::now;

/// Between two renewals of the lifetime: two may fail before the kernel removes the address. With each goes an
/// announcement, since neighbours may have lost the last, or have heard another leader's when the members were parted.
const RENEWAL: Duration = Duration::from_millis(LIFETIME.as_millis() as u64 / 3);

/// The address is announced immediately, and again after this time, as a switch or a neighbour may lose
/// a frame.
const ANNOUNCED_AFTER: Duration = Duration::from_millis(200);

/// Why an address cannot be held, or not any more.
#[derive(Debug, Error)]
#[error("cannot {verb} the address {address}: {why}")]
pub struct NotHeld {
    verb: &'static str,
    address: Address,
    why: String,
    is_left: bool,
}

impl NotHeld {
    /// Whether an address that had been added could not be removed.
    pub fn is_left(&self) -> bool {
        self.is_left
    }

    /// Of some address.
    #[cfg(test)]
    pub fn in_a_test(is_left: bool) -> NotHeld {
        let address = "10.0.0.9/24%eth0".parse().unwrap();
        NotHeld { is_left, ..not_held("add", &address, &ErrorKind::Other.into()) }
    }
}

/// Addresses that this host has, until this is dropped.
pub struct Held {
    netlink: Netlink,
    /// With the numbers of their interfaces.
    addresses: Vec<(Address, u32)>,
    renewal: Time,
    /// When they are announced for the second time.
    announcement: Option<Time>,
    /// The last announcement failed, and that was said.
    unheard: bool,
}

impl Held {
    /// Adds all of these, and announces them.
    ///
    /// # Errors
    /// If one cannot be added; none of them is there then.
    pub fn begin(addresses: &[Address]) -> io::Result<Result<Held, NotHeld>> {
        let netlink = Netlink::open()?;
        let (renewal, announcement) = (now() + RENEWAL, Some(now() + ANNOUNCED_AFTER));
        let mut held =
            Held { netlink, addresses: Vec::new(), renewal, announcement, unheard: false };
        let added = addresses.iter().try_for_each(|address| {
            held.add(address).map_err(|error| not_held("add", address, &error))
        });
        Ok(match added.and_then(|()| held.announce()) {
            Ok(()) => Ok(held),
            Err(why) => Err(held.give_up(why)),
        })
    }

    /// None, of which the second announcement is due.
    #[cfg(test)]
    pub fn overdue() -> Held {
        let mut held = Held::begin(&[]).unwrap().unwrap();
        held.announcement = Some(Time(0));
        held
    }

    fn give_up(self, why: NotHeld) -> NotHeld {
        NotHeld { is_left: !self.end(), ..why }
    }

    fn add(&mut self, address: &Address) -> io::Result<()> {
        let index = self.netlink.index(&address.interface)?;
        let index = index.ok_or_else(|| io::Error::other("the interface is gone"))?;
        self.netlink.add(address, index)?;
        self.addresses.push((address.clone(), index));
        Ok(())
    }

    /// A failure is reported once, until an announcement succeeds. If the interface is down, no host
    /// reaches the address.
    fn announce(&mut self) -> Result<(), NotHeld> {
        let mut failed = false;
        for (address, index) in &self.addresses {
            if let Err(error) = announce::announce(address, *index) {
                if error.kind() == ErrorKind::NetworkDown {
                    return Err(not_held("keep", address, &error));
                }
                if !self.unheard {
                    say(&format!("cannot announce the address {address}: {error}"));
                }
                failed = true;
            }
        }
        self.unheard = failed;
        Ok(())
    }

    /// When [`Held::tend`] is due.
    pub fn due(&self) -> Time {
        self.announcement.map_or(self.renewal, |at| at.min(self.renewal))
    }

    /// Renews and announces the addresses, where that is due.
    ///
    /// # Errors
    /// If one cannot be renewed, as when its interface has gone, or is down.
    pub fn tend(&mut self) -> Result<(), NotHeld> {
        let now = now();
        if self.renewal <= now {
            self.renewal = now + RENEWAL;
            for (address, index) in &self.addresses {
                let was_there = self.netlink.renew(address, *index);
                if !was_there.map_err(|error| not_held("keep", address, &error))? {
                    say(&format!("somebody removed the address {address}: it is added again"));
                }
            }
            self.announce()?;
        }
        if self.announcement.is_some_and(|at| at <= now) {
            self.announcement = None;
            self.announce()?;
        }
        Ok(())
    }

    /// Removes them all. Tells whether none is left.
    pub fn end(mut self) -> bool {
        self.release()
    }

    fn release(&mut self) -> bool {
        let mut is_done = true;
        for (address, index) in self.addresses.drain(..) {
            if let Err(error) = self.netlink.remove(&address, index) {
                is_done = false;
                say(&format!(
                    "cannot remove the address {address}: {error}; the kernel removes what electd added within {LIFETIME:?}"
                ));
            }
        }
        is_done
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

fn not_held(verb: &'static str, address: &Address, error: &io::Error) -> NotHeld {
    NotHeld { verb, address: address.clone(), why: error.to_string(), is_left: false }
}

#[cfg(test)]
mod tests {
    use nix::ifaddrs::getifaddrs;
    use nix::sys::socket::LinkAddr;
    use rustix::io::Errno;
    use rustix::thread::{CapabilitySet, capabilities};

    use super::super::netlink::tests::in_own_network;
    use super::*;
    use crate::testing::alone::alone;

    /// A switch may lose the first, as when it has yet to learn that the host is there.
    #[test]
    fn addresses_are_announced_again_before_they_are_renewed() {
        let millis = Duration::from_millis;
        let before = now();
        let mut held = Held::begin(&[]).unwrap().unwrap();
        let after = now();
        assert!((before + millis(200)..=after + millis(200)).contains(&held.due()));
        assert!((before + millis(1000)..=after + millis(1000)).contains(&held.renewal));
        held.announcement = Some(Time(0));
        held.renewal = after + Duration::from_secs(1000);
        held.tend().unwrap();
        assert_eq!(held.due(), after + Duration::from_secs(1000), "and once");
        held.renewal = Time(0);
        let before = now();
        held.tend().unwrap();
        assert!((before + millis(1000)..=now() + millis(1000)).contains(&held.renewal));
        held.announcement = Some(held.renewal + millis(1));
        assert_eq!(held.due(), held.renewal, "whichever comes first");
        assert!(held.end());
    }

    #[test]
    fn an_address_that_cannot_be_added_is_told_and_leaves_nothing() {
        let address = "10.0.0.9/24%no-such".parse().unwrap();
        let Err(refused) = Held::begin(&[address]).unwrap() else {
            panic!("there is no such interface")
        };
        assert_eq!(
            refused.to_string(),
            "cannot add the address 10.0.0.9/24%no-such: the interface is gone"
        );
        assert!(!refused.is_left());
    }

    /// Neighbours find the address later; to end the job for that would be worse.
    #[test]
    fn an_announcement_that_fails_is_told_once_and_no_reason_to_give_the_address_up() {
        let this = "an_announcement_that_fails_is_told_once_and_no_reason_to_give_the_address_up";
        if let Some(output) = alone(&format!("exec::address::held::tests::{this}")) {
            let told = String::from_utf8_lossy(&output.stderr);
            let words = "electd: cannot announce the address fd00:9::9/128%it: ";
            let is_skipped = String::from_utf8_lossy(&output.stdout).contains("skipped: ");
            return assert!(is_skipped || told.matches(words).count() == 1, "{told}");
        }
        let hardware = |of: &LinkAddr| of.addr().is_some_and(|addr| addr != [0; 6]);
        let mut links =
            getifaddrs().unwrap().filter_map(|found| found.address?.as_link_addr().copied());
        let Some(link) = links.find(hardware) else {
            return println!("skipped: this host has no interface with a hardware address");
        };
        let mut held = Held::begin(&[]).unwrap().unwrap();
        let index = u32::try_from(link.ifindex()).unwrap();
        // This host does not have the address, so that nothing can be sent from it.
        held.addresses.push(("fd00:9::9/128%it".parse().unwrap(), index));
        for _ in 0..3 {
            held.announce().unwrap();
            assert!(held.unheard, "and that was said");
        }
        held.addresses.clear();
        held.announce().unwrap();
        assert!(!held.unheard);
    }

    /// And when it is dropped, whatever was not done.
    #[test]
    fn addresses_are_there_while_they_are_held_and_all_or_none() {
        in_own_network(|| {
            let mut netlink = Netlink::open().unwrap();
            let addresses: Vec<Address> = ["10.0.0.9/24%lo", "fd00:9::9/64%lo", "10.0.0.8/24%lo"]
                .map(|text| text.parse().unwrap())
                .into();
            let mut are_there = |expected: bool| {
                for address in &addresses {
                    assert_eq!(netlink.find(address.ip).unwrap().is_some(), expected, "{address}");
                }
            };
            let held = Held::begin(&addresses).unwrap().unwrap();
            are_there(true);
            assert!(held.end());
            are_there(false);
            drop(Held::begin(&addresses).unwrap().unwrap());
            are_there(false);
            let nowhere = ["10.0.0.7/24%no-such".parse().unwrap()];
            let all = [&addresses[..], &nowhere].concat();
            let refused = Held::begin(&all).unwrap().err().unwrap();
            assert!(!refused.is_left());
            are_there(false);
        });
    }

    #[test]
    fn an_address_that_somebody_removed_is_added_again_and_that_is_told() {
        let this = "an_address_that_somebody_removed_is_added_again_and_that_is_told";
        if let Some(output) = alone(&format!("exec::address::held::tests::{this}")) {
            let told = String::from_utf8_lossy(&output.stderr);
            let words = "electd: somebody removed the address 10.0.0.9/24%lo: it is added again\n";
            let is_skipped = String::from_utf8_lossy(&output.stdout).contains("skipped: ");
            return assert!(is_skipped || told == words, "{told}");
        }
        in_own_network(|| {
            let address: Address = "10.0.0.9/24%lo".parse().unwrap();
            let mut held = Held::begin(std::slice::from_ref(&address)).unwrap().unwrap();
            let mut netlink = Netlink::open().unwrap();
            let lo = netlink.index("lo").unwrap().unwrap();
            let mut is_there_when_due = |netlink: &mut Netlink| {
                held.renewal = Time(0);
                held.tend().unwrap();
                netlink.find(address.ip).unwrap().is_some()
            };
            assert!(is_there_when_due(&mut netlink));
            netlink.remove(&address, lo).unwrap();
            assert!(is_there_when_due(&mut netlink));
        });
    }

    /// The kernel removes nothing for a process that may not.
    #[test]
    fn an_address_that_cannot_be_removed_is_told() {
        let this = "an_address_that_cannot_be_removed_is_told";
        if let Some(output) = alone(&format!("exec::address::held::tests::{this}")) {
            let told = String::from_utf8_lossy(&output.stderr);
            let words = "electd: cannot remove the address fd00:9::9/64%lo: Operation not permitted (os error 1)";
            assert!(told.starts_with(words), "{told}");
            let end = "; the kernel removes what electd added within 3s\n";
            assert!(told.ends_with(end), "{told}");
            return assert_eq!(told.lines().count(), 1, "{told}");
        }
        let mut held = Held::begin(&[]).unwrap().unwrap();
        let index = held.netlink.index("lo").unwrap().unwrap();
        let address: Address = "fd00:9::9/64%lo".parse().unwrap();
        let mut own = capabilities(None).unwrap();
        own.effective -= CapabilitySet::NET_ADMIN;
        rustix::thread::set_capabilities(None, own).unwrap();
        held.addresses.push((address.clone(), index));
        let why = held.give_up(not_held("add", &address, &Errno::NODEV.into()));
        assert!(why.is_left());
        let words = "cannot add the address fd00:9::9/64%lo: No such device (os error 19)";
        assert_eq!(why.to_string(), words);
    }
}
