"""Boots systemd as the first process of a host of hosts.py: in a cgroup of its own, with a /dev and a /tmp of its own, a
/proc/sys that it cannot write, and with no unit and no generator of this machine."""

import os

SYSTEMD = "/lib/systemd/systemd"
# What other units wait for. All of it is there at once.
TARGETS = ["sysinit", "basic", "network", "network-online", "time-sync", "multi-user", "shutdown"]
UNITS = "/run/units:/etc/systemd/system:/usr/local/lib/systemd/system"
READY = ["systemctl", "is-active", "multi-user.target"]
DEVICES = ["null", "zero", "full", "random", "urandom", "tty"]


def boot(name, folder, here, group):
    """The commands that mount all that, and become systemd. `here` and `folder` stay what they are, wherever they are."""
    os.makedirs(f"{folder}/units", exist_ok=True)
    steps = [f"echo {name} >/etc/hostname", "install -d /etc/systemd/system", f"mount --bind {folder}/units /etc/systemd/system",
             "install -d /run/units /run/dev /run/tmp /run/groups"]
    steps += [f"printf '[Unit]\\nDefaultDependencies=no\\n' >/run/units/{target}.target" for target in TARGETS]
    steps += ["mount -t tmpfs -o mode=755 none /run/dev"]
    steps += [f"touch /run/dev/{device} && mount --bind /dev/{device} /run/dev/{device}" for device in DEVICES]
    steps += ["ln -s /proc/self/fd /run/dev/fd && ln -s pts/ptmx /run/dev/ptmx", "mount --move /run/dev /dev"]
    # Units with a /tmp of their own leave folders there.
    steps += ["mount -t tmpfs -o mode=1777 none /run/tmp"]
    for kept in {here, os.path.dirname(folder)}:
        if kept.startswith("/tmp/"):
            steps += [f"mkdir -p /run{kept}", f"mount --rbind {kept} /run{kept}"]
    steps += ["mount --move /run/tmp /tmp", "mount --bind /proc/sys /proc/sys", "mount -o remount,bind,ro /proc/sys"]
    steps += ["mount -t cgroup2 none /run/groups", f"mkdir -p /run/groups/{group}", f"echo 0 >/run/groups/{group}/cgroup.procs",
              "umount /run/groups"]
    start = (f"mount -t cgroup2 none /sys/fs/cgroup && exec env -i container=electd PATH={os.environ['PATH']} SYSTEMD_UNIT_PATH={UNITS}"
             f" SYSTEMD_GENERATOR_PATH=/none SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/none {SYSTEMD} --system --unit=multi-user.target"
             f" --log-target=console --log-level=warning --show-status=0 --dump-core=0 --crash-reboot=0")
    return " && ".join(steps) + f" && exec unshare --cgroup sh -c '{start}'"


def removed(group):
    """Removes the cgroup of a host that is off. False while something in it has not ended."""
    with open("/proc/mounts") as mounts:
        places = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]
    for place in places:
        for folder, _, _ in os.walk(f"{place}/{group}", topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                return False
    return True


def can():
    """Whether this machine has what a host boots with."""
    with open("/proc/mounts") as mounts:
        has_groups = any(line.split()[2] == "cgroup2" for line in mounts)
    return has_groups and os.path.exists(SYSTEMD)
