"""Three bare hosts of Debian, each a root and a network of its own, become a cluster by the three lines of the README."""

import json
import subprocess
import time

from base import check, need, overlay, run, wait
from empty import stranger
from hosts import HOSTS, SWITCH, connect

LIMIT = 60_000


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

    def agrees(name, *line):
        return subprocess.run([str(word) for word in words(name, "electd", *line)], capture_output=True).returncode == 0

    since = time.monotonic()
    for name, root in roots.items():
        (root / "electd.deb").write_bytes(package.read_bytes())
        run(*words(name, "dpkg", "--install", "/electd.deb"))
    installed = time.monotonic()
    # Without systemd each command says how to start the node.
    inviting = begin("a", "electd", "init", "--join")
    wait("the lines for two others", lambda: inviting().count("--token ") == 2)
    begin("a", "electd", "run", "--node", "a")
    wait("a leads", lambda: agrees("a", "leader", "--check", "--node", "a"))
    lines = [line.split() for line in inviting().splitlines() if "--token " in line]
    for name, line in zip(["b", "c"], lines):
        said = run(*words(name, *line))
        start = next((each for each in said.splitlines() if each.startswith("electd run ")), None)
        check(start, f"{name} joins by one line")
        begin(name, *start.split())
        # As `electd join` does itself where it starts the node.
        wait(f"{name} knows a leader", lambda: agrees(name, "leader", "--node", name))
    wait("all hosts have joined", lambda: "all hosts have joined" in inviting(), 60)
    wait("no node has a problem", lambda: all(agrees(name, "health") for name in HOSTS), 60)
    took = round((time.monotonic() - since) * 1000)
    leader = run(*words("c", "electd", "leader")).split()[0]
    check(took <= LIMIT, f"three bare Debians: installed after {round((installed - since) * 1000)} ms; all are members, {leader} leads,"
          f" and no node has a problem after {took} ms (at most {LIMIT})")
    file = json.loads((roots["c"] / "etc/electd/cluster.json").read_text())
    check({member["name"] for member in file["members"]} == set(HOSTS), "join: the last host's file lists all members")
    said = stranger(HOSTS["a"], file["members"][0]["address"], roots["a"] / "etc/electd")
    check(said and "CERTIFICATE_REQUIRED" in said, f"join: who has no certificate is refused: {said}")
