"""Types a page of examples/ on hosts of namespaces, and harms the host that leads while clients write."""

import json
import os
import select
import signal
import statistics
import subprocess
import sys
import threading
import time

from hosts import HERE, Network, commands, missing, wait

# All processes of the host are killed; all of it stands still; the switch carries nothing of it; its electd is killed; an
# operator moves the leadership; all hosts lose their processes at once; they do after it was cut off, and it is back first.
KINDS = ["power", "freeze", "cut", "kill", "switchover", "blackout", "outdated"]

# How the command line of a guard begins.
GUARD = "electd guard "


def begin(name, needed):
    """The program, the page, and how many faults: `NAME.py ELECTD [FAULTS]`. Ends with 75 if something is missing."""
    lacking = missing(*needed, "ip", "bridge", "unshare", "nsenter", "setpriv")
    if lacking or os.geteuid():
        print(f"missing  {', '.join(lacking) or 'root'}: the recipe examples/{name}")
        sys.exit(75)
    return sys.argv[1], f"{HERE}/examples/{name}/README.md", int(sys.argv[2]) if len(sys.argv) > 2 else 4


class Recipe:
    """The commands of a page, on the hosts that its blocks name: `on a and b`, `on every host`, `where the application runs`.

    What runs for ever, by one of the words of `services`, is started again when it ends, as systemd does."""

    def __init__(self, network, page, members, services, ignored=("apt-get", "systemctl")):
        self.network, self.members, self.node = network, members, "electd run"
        self.services = {name: [] for name in network.hosts}
        for place, block in commands(page):
            block = "".join(line for line in block.splitlines(True) if not line.startswith(ignored))
            for name in self.places(place):
                if any(word in block for word in services):
                    self.services[name].append(block)
                elif block:
                    network[name].run("sh", "-ec", block)
        # The page says so in words: how files come to other hosts is not its business.
        file = network[members[0]].run("cat", "/etc/electd/cluster.json")
        for name in members[1:]:
            network[name].write("/etc/electd/cluster.json", file.encode())
        for name in network.hosts:
            self.serve(name)

    def places(self, place):
        if place == "where the application runs":
            return [name for name in self.network.hosts if name not in self.members]
        if place == "on every host":
            return self.members
        return place.removeprefix("on ").split(" and ")

    def serve(self, name):
        for block in self.services[name]:
            self.network[name].start("sh", "-c", f"while :; do {block}\nsleep 1; done")

    def leader(self):
        """The host that leads, when the node of each member says so."""
        hosts = [self.network[name] for name in self.members]
        said = {host.run("sh", "-c", f"electd leader --node {host.name} | cut -d' ' -f1", check=False) if host.init else "" for host in hosts}
        return self.network[said.pop()] if len(said) == 1 and "" not in said else None

    def is_well(self, name):
        """Whether the cluster is well, as electd says on this host. That a renewal was late is told for ten minutes more."""
        told = json.loads(self.network[name].run("electd", "health", "--output", "json", check=False) or "{}")
        problems = [problem for problem in told.get("problems", []) if problem["kind"] != "renewal"]
        return told.get("verdict") in ("ok", "degraded") and told.get("failures_tolerated") and not problems

    def has_data(self, host):
        """Whether this host, which is just on, knows what it has."""
        return True

    def return_first(self, first):
        """All lose their processes, and this one is back when the others begin."""
        others = [self.network[name] for name in self.members if name != first.name]
        for host in others:
            host.off()
        first.cable(True)
        first.off()
        for host in [first, *others]:
            host.on()
            self.serve(host.name)
            wait(f"the data of {host.name}", lambda host=host: self.has_data(host))

    def harm(self, kind, host, to):
        """Harms a host, and returns what mends it."""
        if kind == "power":
            host.off()
            return lambda: (host.on(), self.serve(host.name))
        if kind == "blackout":
            for name in self.members:
                self.network[name].off()
            for name in self.members:
                self.network[name].on()
                self.serve(name)
        if kind == "outdated":
            host.cable(False)
            return lambda: self.return_first(host)
        if kind == "freeze":
            host.freeze()
            return host.thaw
        if kind == "cut":
            host.cable(False)
            return lambda: host.cable(True)
        if kind == "kill":
            host.signal(signal.SIGKILL, host.named(self.node))
        if kind == "stop":
            node = host.named(self.node)
            host.signal(signal.SIGSTOP, node)
            return lambda: host.signal(signal.SIGCONT, node)
        if kind == "switchover":
            # It is refused while that host stands back, as its job failed.
            order = f"electd switchover --to {to} 2>&1 && echo done"
            said = lambda: host.run("sh", "-c", order, check=False).splitlines()
            wait(lambda: f"the order is carried out: {said()}", lambda: said()[-1:] == ["done"], 120)
        return lambda: None


class Lines:
    """The lines of a pipe, one a call. A second of silence is an error, as is the end."""

    def __init__(self, pipe):
        self.pipe, self.read = pipe, b""

    def __call__(self):
        while b"\n" not in self.read:
            found = os.read(self.pipe, 65536) if select.select([self.pipe], [], [], 1)[0] else b""
            if not found:
                raise OSError("no answer")
            self.read += found
        line, self.read = self.read.split(b"\n", 1)
        return line.decode()


class Writer(threading.Thread):
    """Writes numbers by a client that reads lines, and keeps which were acknowledged: sent when, acknowledged when, number,
    epoch."""

    def __init__(self, host, number, client, line, answer):
        """`line` makes a command of a number; `answer` reads, by a function, the epoch of an acknowledgement, or raises."""
        super().__init__(daemon=True)
        self.host, self.number, self.client, self.line, self.answer = host, number * 10_000_000, client, line, answer
        self.acknowledged, self.ended = [], False
        self.start()

    def run(self):
        while not self.ended:
            client = subprocess.Popen(self.host.inside(*self.client), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, bufsize=0)
            read = Lines(client.stdout.fileno())
            try:
                while not self.ended:
                    self.number += 1
                    sent = time.monotonic()
                    client.stdin.write(f"{self.line(self.number)}\n".encode())
                    epoch = self.answer(read)
                    self.acknowledged.append((sent, time.monotonic(), self.number, epoch))
            except (OSError, ValueError, IndexError):
                pass
            client.kill()
            client.wait()
            client.stdin.close()
            client.stdout.close()
            time.sleep(0.05)

    def end(self):
        self.ended = True
        self.join(10)
        return self.acknowledged


def two_at_once(acknowledged):
    """The writes that were sent when a later epoch had acknowledged one, and were acknowledged in an earlier epoch."""
    first = {}
    for _, at, _, epoch in acknowledged:
        first[epoch] = min(at, first.get(epoch, at))
    return [write for write in acknowledged if any(epoch > write[3] and at < write[0] for epoch, at in first.items())]


def disturb(recipe, writer, faults, whole, kinds=KINDS, moved=None):
    """Harms the host that `whole` says, when all is well, once for each fault. Returns for how long nothing was acknowledged, by
    the kind of the fault."""
    moved = moved or (lambda _, epoch: writer.acknowledged[-1][3] > epoch)
    outages = {}
    for turn in range(faults):
        kind = kinds[turn % len(kinds)]
        host, to = whole()
        before = len(writer.acknowledged)
        wait("writes", lambda: len(writer.acknowledged) > before + 20)
        start, epoch = time.monotonic(), writer.acknowledged[-1][3]
        mend = recipe.harm(kind, host, to)
        wait(f"writes elsewhere, after {kind} of {host.name}", lambda: moved(host, epoch), 180)
        mend()
        times = [start] + [at for _, at, _, _ in writer.acknowledged if at > start]
        outage = max(after - before for before, after in zip(times, times[1:]))
        outages.setdefault(kind, []).append(outage)
        print(f"{turn + 1}: {kind} of {host.name}: {outage:.2f} s without a write", flush=True)
    whole()
    for kind, found in outages.items():
        print(f"| {kind} | {len(found)} | {statistics.median(found):.1f} | {max(found):.1f} |")
    return [outage for found in outages.values() for outage in found]


def figures(outages):
    """The end of the last line."""
    return (f"{len(outages)} faults, nothing written for {statistics.median(outages):.1f} s in the median,"
            f" {max(outages):.1f} s at most; load {os.getloadavg()[0]:.0f}")
