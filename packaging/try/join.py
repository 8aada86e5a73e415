"""Three bare hosts of Debian, each a root and a network of its own, become a cluster by the three lines of the README."""

import subprocess
import time

from base import Cluster, check, need, overlay, run, wait
from empty import stranger
from hosts import HOSTS, SWITCH, connect

LIMIT = 60_000


def members(root, *names):
    """These members, as the file of a host lists them: to be asked, as others start them."""
    cluster = Cluster(root / "etc/electd/cluster.json", None, None)
    cluster.processes = dict.fromkeys(names)
    return cluster


def try_join(dist, work, debian_root):
    need("three hosts that join", "dpkg", "ip")
    arch = run("dpkg", "--print-architecture").strip()
    package = next(dist.glob(f"electd_*_{arch}.deb"))
    connect()
    roots = {name: overlay(debian_root, work / name) for name in HOSTS}
    for name in HOSTS:
        run("ip", "-n", name, "route", "add", "default", "via", SWITCH)

    def words(name, *line):
        return ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", f'hostname {name} && exec chroot {roots[name]} "$@"', "-", *line]

    def begin(name, *line):
        """Starts a command that stays, and returns what it has said so far, whenever asked."""
        said = work / f"{name}-{line[1]}.log"
        with open(said, "wb") as out:
            subprocess.Popen(words(name, *line), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        return lambda: said.read_text()

    since = time.monotonic()
    for name, root in roots.items():
        (root / "electd.deb").write_bytes(package.read_bytes())
        run(*words(name, "dpkg", "--install", "/electd.deb"))
    installed = time.monotonic()
    # Without systemd each command says how to start the node.
    inviting = begin("a", "electd", "init", "--join")
    wait("the lines for two others", lambda: inviting().count("--token ") == 2)
    begin("a", "electd", "run", "--node", "a")
    first = members(roots["a"], "a")
    first.leads(since)
    lines = [line.split() for line in inviting().splitlines() if "--token " in line]
    for name, line in zip(["b", "c"], lines):
        said = run(*words(name, *line))
        check(f"electd run --node {name}" in said, f"{name} joins by one line")
        begin(name, "electd", "run", "--node", name)
        # As `electd join` does itself where it starts the node.
        wait(f"{name} is a member", lambda: name in [member["name"] for member in first.status("a")["members"]])
        wait("a leader", lambda: first.status("a")["leader"])
    wait("all hosts have joined", lambda: "all hosts have joined" in inviting(), 60)
    cluster = members(roots["c"], *HOSTS)
    leader, _ = cluster.leads(since)
    wait("no node has a problem", cluster.all_well)
    took = round((time.monotonic() - since) * 1000)
    check(took <= LIMIT, f"three bare Debians: installed after {round((installed - since) * 1000)} ms; all are members, {leader} leads,"
          f" and no node has a problem after {took} ms (at most {LIMIT})")
    said = stranger(HOSTS["a"], cluster.members["a"]["address"], roots["a"] / "etc/electd")
    check(said and "CERTIFICATE_REQUIRED" in said, f"join: who has no certificate is refused: {said}")
    for name in HOSTS:
        check(len(cluster.status(name)["members"]) == len(HOSTS), f"join: {name} lists all members")
