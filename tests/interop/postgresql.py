"""Tries examples/postgresql on three hosts of namespaces: postgresql.py ELECTD [FAULTS]. As root.

It types what the page says, writes from a fourth host, and harms the primary's host by turns. It ends with 1 if an acknowledged
commit is lost or two hosts acknowledge commits at one time, and with 75 if something that it needs is missing.
"""

import os
import subprocess
import sys
import threading
import time

from hosts import HERE, Network, commands, missing, wait

PAGE = f"{HERE}/examples/postgresql/README.md"
NAMES = ["a", "b", "c"]
KINDS = ["power", "freeze", "cut", "kill", "switchover"]


def query(host, sql, timeout=5):
    """What a server answers to a client, or nothing."""
    try:
        return host.run("psql", f"host={host.address} user=postgres dbname=postgres connect_timeout=1", "-qAtc", sql, timeout=timeout)
    except (RuntimeError, subprocess.TimeoutExpired):
        return None


class Writer(threading.Thread):
    """Commits numbers one after the other, and keeps which were acknowledged: sent when, acknowledged when, number, epoch."""

    def __init__(self, client, number, where):
        super().__init__(daemon=True)
        self.client, self.number, self.where, self.acknowledged, self.ended = client, number * 10_000_000, where, [], False

    def run(self):
        while not self.ended:
            psql = subprocess.Popen(
                self.client.inside("psql", f"{self.where} user=app dbname=postgres connect_timeout=1"
                                   " target_session_attrs=read-write", "-qAt", "-v", "ON_ERROR_STOP=1"),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            try:
                self.commit(psql)
            except (OSError, ValueError):
                pass
            psql.kill()
            psql.wait()
            time.sleep(0.05)

    def commit(self, psql):
        while not self.ended:
            self.number += 1
            sent = time.monotonic()
            print(f"INSERT INTO numbers VALUES ({self.number}) RETURNING number, (SELECT max(epoch) FROM electd);",
                  file=psql.stdin, flush=True)
            answer = psql.stdout.readline()
            if not answer:
                return
            self.acknowledged.append((sent, time.monotonic(), *map(int, answer.split("|"))))


def two_at_once(acknowledged):
    """The commits that were sent when a later epoch had acknowledged one, and were acknowledged in an earlier epoch."""
    first = {}
    for _, at, _, epoch in acknowledged:
        first[epoch] = min(at, first.get(epoch, at))
    return [commit for commit in acknowledged
            if any(epoch > commit[3] and at < commit[0] for epoch, at in first.items())]


def begin(network):
    """Types the page."""
    blocks = commands(PAGE)
    where = {"on every host": NAMES, "on a": ["a"], "where the application runs": ["d"]}
    for place, block in blocks:
        # Installed already, and there is no systemd here.
        block = "".join(line for line in block.splitlines(True) if not line.startswith(("apt-get", "systemctl")))
        for name in where[place]:
            if any(word in block for word in ["/standby", "electd run", "haproxy -f"]):
                services.setdefault(name, []).append(block)
            else:
                network[name].run("sh", "-ec", block)
    for name in ["b", "c"]:
        file = network["a"].run("cat", "/etc/electd/cluster.json")
        subprocess.run(network[name].inside("sh", "-c", "cat >/etc/electd/cluster.json"), input=file, text=True, check=True)
    for name in NAMES + ["d"]:
        serve(network[name])


services = {}


def serve(host):
    for block in services[host.name]:
        # As systemd restarts a service.
        host.start("sh", "-c", f"while :; do {block}\nsleep 1; done")


def leader(network):
    for name in NAMES:
        if network[name].init and query(network[name], "SELECT pg_is_in_recovery()") == "f":
            return network[name]
    return None


def followers(host):
    return query(host, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND application_name IN ('a', 'b', 'c')")


def fault(kind, host):
    """Harms the host, and returns what mends it."""
    if kind == "power":
        host.off()
        return lambda: (host.on(), serve(host))
    if kind == "freeze":
        host.freeze()
        return host.thaw
    if kind == "cut":
        host.cable(False)
        return lambda: host.cable(True)
    if kind == "kill":
        host.signal(9, host.named("electd run"))
    if kind == "switchover":
        to = next(name for name in NAMES if name != host.name)
        host.run("electd", "switchover", "--to", to, check=False)
    return lambda: None


def main():
    electd, faults = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4
    lacking = missing("/usr/lib/postgresql/15/bin/postgres", "haproxy", "ip", "setpriv")
    if lacking or os.geteuid():
        print(f"missing  {', '.join(lacking) or 'root'}: the recipe for PostgreSQL")
        sys.exit(75)
    with Network(electd, *NAMES, "d") as network:
        judge(network, faults)


def judge(network, faults):
    begin(network)
    first = whole(network)
    wait("its epoch", lambda: query(first, "SELECT epoch FROM electd"))
    assert query(first, "CREATE ROLE app LOGIN; CREATE TABLE numbers (number int PRIMARY KEY);"
                 "GRANT ALL ON numbers, electd TO app") == ""
    # One through HAProxy, and one for each host, which tries it whoever leads.
    client = network["d"]
    writer = Writer(client, 0, "host=127.0.0.1 port=5000")
    writers = [writer] + [Writer(client, number, f"host={name} port=5432") for number, name in enumerate(NAMES, 1)]
    for each in writers:
        each.start()
    outages = []
    for turn in range(faults):
        kind = KINDS[turn % len(KINDS)]
        host = whole(network)
        before = len(writer.acknowledged)
        wait("writes", lambda: len(writer.acknowledged) > before + 20)
        start, epoch = time.monotonic(), writer.acknowledged[-1][3]
        mend = fault(kind, host)
        wait(f"writes in a later epoch, after {kind} of {host.name}", lambda: writer.acknowledged[-1][3] > epoch)
        mend()
        times = [start] + [at for _, at, _, _ in writer.acknowledged if at > start]
        outages.append(max(after - before for before, after in zip(times, times[1:])))
        print(f"{turn + 1}: {kind} of {host.name}: {outages[-1]:.2f} s without a commit", flush=True)
    host = whole(network)
    for each in writers:
        each.ended = True
    for each in writers:
        each.join(10)
    acknowledged = [commit for each in writers for commit in each.acknowledged]
    there = set(query(host, "SELECT number FROM numbers", timeout=60).split())
    lost = [commit for commit in acknowledged if str(commit[2]) not in there]
    assert not lost, f"acknowledged and lost: {lost}"
    assert not (late := two_at_once(acknowledged)), f"acknowledged beside a later epoch: {late}"
    outages.sort()
    print(f"{len(acknowledged)} commits acknowledged, none lost, never two primaries; without a commit:"
          f" median {outages[len(outages) // 2]:.2f} s, longest {outages[-1]:.2f} s")


def whole(network):
    """The primary, when both others follow it."""
    return wait("a primary with two followers", lambda: (host := leader(network)) and followers(host) == "2" and host)


main()
