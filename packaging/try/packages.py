"""The packages in roots of their own: installed, upgraded under a running cluster, removed and purged."""

import hashlib
import os
import platform
import re
import shutil

from base import ROOT, Cluster, check, need, overlay, run, wait

# A version that comes before every other: the same program under another number.
BEFORE = "0.0.1~before"
NODES = ["node-1", "node-2", "node-3"]


def debian(work):
    """A root of Debian, without a network: the one that DEBIAN names, or a new one. Called where there is a network."""
    given = os.environ.get("DEBIAN")
    if given:
        return given
    need("a root of Debian to install in", "debootstrap")
    run("debootstrap", "--variant=minbase", os.environ.get("SUITE", "bookworm"), work / "debian")
    return work / "debian"


def pack(kind, dist, work, version, arch):
    """Packs the program of `make dist` once more, under another version."""
    program = next(dist.glob(f"electd-*-{platform.machine()}-linux"))
    made = run("sh", f"packaging/{kind}.sh", program, version, work, arch, program, cwd=ROOT,
               env={**os.environ, "LICENSES": str(dist / "LICENSES.txt"), "SOURCE_DATE_EPOCH": "1700000000"})
    return work / made.splitlines()[-1]


class Host:
    """A root where three nodes of the installed program run, as the user of the package."""

    def __init__(self, root, work):
        self.root, self.work = root, work
        run("ip", "link", "set", "lo", "up")

    def do(self, *words):
        return run("chroot", self.root, "env", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", *words)

    def begin(self, title):
        user = self.do("getent", "passwd", "electd").strip()
        check("/var/lib/electd" in user and "nologin" in user, f"{title}: the user is there: {user}")
        check((self.root / "etc/electd").is_dir(), f"{title}: /etc/electd is there")
        for unit in ["electd@.service", "electd-cluster@.service", "electd-exec@.service"]:
            check("/usr/bin/electd" in (self.root / "usr/lib/systemd/system" / unit).read_text(), f"{title}: {unit} is there")
        # The unit has systemd make this folder. Here the nodes are started by hand.
        self.do("install", "-d", "-m", "700", "-o", "electd", "-g", "electd", "/var/lib/electd")
        self.do("electd", "init", "--nodes", len(NODES), "--quorum", "majority", "--data-dir", "/var/lib/electd",
                "--out", "/etc/electd/cluster.json")
        self.do("chown", "-R", "electd:electd", "/etc/electd")

        def command(node):
            return ["chroot", "--userspec=electd:electd", self.root, "electd", "run", "--config", "/etc/electd/cluster.json", "--node", node]
        self.cluster = Cluster(self.root / "etc/electd/cluster.json", command, self.work / "nodes.log")
        leader, took = self.cluster.leads(self.cluster.start())
        wait("all are well", self.cluster.all_well)
        check(True, f"{title}: three nodes run as the user electd; {leader} leads after {took} ms")

    def epochs(self):
        return {node: self.cluster.status(node)["epoch"] for node in self.cluster.processes}

    def runs_the_installed_one(self, node):
        """Whether a node runs the program that is installed now: the file of one that was replaced is gone."""
        return not os.readlink(f"/proc/{self.cluster.processes[node].pid}/exe").endswith("(deleted)")

    def upgrade(self, title, install):
        before = self.epochs(), self.cluster.leader()
        install()
        check(all(process.poll() is None for process in self.cluster.processes.values()) and (self.epochs(), self.cluster.leader()) == before,
              f"{title}: the nodes run on, {before[1]} leads in the same epoch")
        check(not any(map(self.runs_the_installed_one, NODES)), f"{title}: they still run the program of before")
        for node in NODES:
            code = self.cluster.stop(node)
            check(code == 0, f"{title}: {node} is restarted (it ended with {code})")
            self.cluster.start(node)
            wait("all are well", self.cluster.all_well)
        leader = wait("a leader", self.cluster.leader)
        check(all(map(self.runs_the_installed_one, NODES)), f"{title}: restarted one after the other, all run the new program, and {leader} leads")

    def left(self, title, remove):
        """What a removal leaves: the nodes (without systemd nobody stops them), their file and their state."""
        remove()
        check(not (self.root / "usr/bin/electd").exists(), f"{title}: the program is gone")
        check((self.root / "etc/electd/cluster.json").exists() and os.listdir(self.root / "var/lib/electd"), f"{title}: file and state stay")

    def end(self):
        for node in list(self.cluster.processes):
            self.cluster.stop(node)


def publish(repository, packages):
    """Writes the index of a flat repository."""
    entries = []
    for package in packages:
        if package.parent != repository:
            shutil.copy(package, repository)
        fields = run("dpkg-deb", "--field", package).strip()
        content = package.read_bytes()
        entries.append(f"{fields}\nFilename: ./{package.name}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n")
    (repository / "Packages").write_text("\n".join(entries))


def try_deb(dist, work, debian_root):
    need("the Debian package", "dpkg-deb")
    arch = run("dpkg", "--print-architecture").strip()
    new = next(dist.glob(f"electd_*_{arch}.deb"))
    version = re.search("_(.*)_", new.name)[1]
    root = overlay(debian_root, work / "host")
    host = Host(root, work)
    repository = root / "repository"
    repository.mkdir(mode=0o755)
    for other in (root / "etc/apt").glob("sources.list*/*"):
        other.unlink()
    (root / "etc/apt/sources.list").write_text("deb [trusted=yes] file:/repository ./\n")
    old = pack("deb", dist, work, BEFORE, arch)
    publish(repository, [old])
    host.do("apt-get", "update")
    host.do("apt-get", "install", "--yes", "electd")
    check(installed(host) == BEFORE, f"apt installs {BEFORE} from a repository of one file")
    host.begin("deb")
    publish(repository, [old, new])
    host.do("apt-get", "update")
    host.upgrade(f"apt upgrades to {version}", lambda: host.do("apt-get", "upgrade", "--yes"))
    check(installed(host) == version, f"apt: {version} is installed")
    check(host.do("dpkg", "--verify", "electd") == "", "dpkg --verify has nothing to say")
    host.left("apt removes", lambda: host.do("apt-get", "remove", "--yes", "electd"))
    said = []
    host.left("apt purges", lambda: said.append(host.do("apt-get", "purge", "--yes", "electd")))
    check("electd: /var/lib/electd stays" in said[0], "apt purges: it names what stays")
    host.end()


def installed(host):
    return host.do("dpkg-query", "--show", "--showformat", "${Version}", "electd")


def try_rpm(dist, work, debian_root):
    """By rpm of this machine, in a root with the tools that the scripts call; what is there it does not know (--nodeps)."""
    need("the RPM package", "rpm", "rpmbuild")
    new = next(dist.glob(f"electd-*.{platform.machine()}.rpm"))
    version = run("rpm", "-qp", "--queryformat", "%{VERSION}", new)
    root = overlay(debian_root, work / "host")
    host = Host(root, work)
    rpm = ["rpm", "--root", root, "--nosignature"]
    run(*rpm, "--initdb")
    run(*rpm, "--nodeps", "--install", pack("rpm", dist, work, BEFORE, platform.machine()))
    check(run(*rpm, "-q", "--queryformat", "%{VERSION}", "electd") == BEFORE, f"rpm installs {BEFORE}")
    host.begin("rpm")
    host.upgrade(f"rpm upgrades to {version}", lambda: run(*rpm, "--nodeps", "--upgrade", new))
    check(run(*rpm, "-q", "--queryformat", "%{VERSION}\n", "electd").split() == [version], f"rpm: {version} is installed, alone")
    check(run(*rpm, "--verify", "--nodeps", "electd") == "", "rpm --verify has nothing to say")
    host.left("rpm erases", lambda: run(*rpm, "--erase", "electd"))
    host.end()
