"""Tries examples/unit on three hosts of namespaces that boot systemd: unit.py ELECTD [FAULTS]. As root.

The hosts have the units of the package, and become a cluster by `electd init --join` and `electd join`. The test types what the
page says, and harms the host of the unit by turns. It ends with 1 if a unit writes beside the next one, or if a resource that
compares epochs takes a late write, and with 75 if something that it needs is missing.
"""

import os
import signal
import statistics
import sys

import booted
from epochs import WRITER, Log
from hosts import HERE, Network, sh, wait
from recipe import GUARD, Recipe, begin

NAMES = ["a", "b", "c"]
# Of the host of the unit: exec, its guard and the node are killed at once; exec alone is; all processes but systemd stand still; an
# operator moves the leadership; the host loses its power; the switch carries nothing of it; the node is killed; it stands still.
KINDS = ["all", "exec", "freeze", "switchover", "power", "cut", "kill", "stop"]
# What was written before may come after: when the host goes on, or when its cable carries again what the kernel still sends.
LATE = ["freeze", "cut"]
LIBRARY = "/usr/local/lib/systemd/system"


def install(host):
    """What the package has, and the unit of this test."""
    with open(f"{HERE}/packaging/electd@.service") as file:
        unit = file.read().replace("@BIN@", "/usr/local/bin")
    cluster = sh("sed", "-f", f"{HERE}/packaging/electd-cluster.sed", input=unit)
    write = f"[Service]\nExecStart=/bin/bash -c '{WRITER.replace('HOST', '10.0.0.4').replace('$', '$$')}'\n"
    log = f"[Service]\nStandardOutput=append:{host.folder}/log\nStandardError=append:{host.folder}/log\n"
    host.run("install", "-d", "/etc/electd")
    host.run("systemd-sysusers", f"{HERE}/packaging/electd.sysusers")
    for name, text in [("electd@.service", unit), ("electd-cluster@.service", cluster), ("web.service", write),
                       ("electd@.service.d/log.conf", log), ("electd-unit.service.d/log.conf", log)]:
        host.write(f"{LIBRARY}/{name}", text.encode())
    host.run("systemctl", "daemon-reload")


def join(network):
    """A cluster by a line for each host. Returns what the last one printed."""
    first = network["a"]
    first.start("electd", "init", "--join", "--timing", "vm", "--member", "a=10.0.0.1")
    wait("the lines", lambda: first.log().count("--token") == 2)
    wait("the first member leads", lambda: first.run("electd", "leader", check=False))
    lines = [line.split() for line in first.log().splitlines() if "--token" in line]
    for name, line in zip(NAMES[1:], lines):
        said = network[name].run(*line, timeout=120)
        assert said.startswith(f"{name} is a member"), said
    for name in NAMES:
        assert network[name].run("systemctl", "is-enabled", f"electd@{name}") == "enabled"
    return said


class Units:
    def __init__(self, recipe, log):
        self.recipe, self.network, self.log = recipe, recipe.network, log
        recipe.node = "/usr/local/bin/electd run"

    def started(self, host):
        """Which start of the unit this is."""
        return host.run("systemctl", "show", "--property=InvocationID,ActiveState", "web")

    def harm(self, kind, host, to):
        """Harms a host. Returns what mends it, and whether the unit has begun anew then."""
        epoch, before = self.log.last()[1], self.started(host)

        def elsewhere():
            return self.log.last()[1] > epoch

        execs = host.named("electd exec")
        if kind == "exec":
            host.signal(signal.SIGKILL, execs)
            return lambda: None, lambda: elsewhere() or before != (now := self.started(host)) and "=active" in now
        if kind == "all":
            host.signal(signal.SIGKILL, execs + host.named(GUARD) + host.named(self.recipe.node))
            return lambda: None, elsewhere
        return self.recipe.harm(kind, host, to), elsewhere

    def well(self):
        """Waits until all hosts know one leader, whose unit writes, and no other unit is left. Returns the leader's host."""
        def found():
            leader = self.recipe.leader()
            if not leader or not self.log.writes(leader.name):
                return None
            active = [name for name in NAMES if self.network[name].run("systemctl", "is-active", "web", check=False) == "active"]
            return leader if active == [leader.name] else None

        return wait("one unit is left, that of the leader, and writes", found, 120)


def main():
    electd, page, faults = begin("unit", ["systemctl", "systemd-sysusers", "bash"])
    if not booted.can():
        print("missing  cgroup v2, or systemd: the recipe examples/unit")
        sys.exit(75)
    with Network(electd, *NAMES, "d", booted=NAMES) as network:
        for name in NAMES:
            install(network[name])
        writes = f"{network.folder}/writes"
        network["d"].start(sys.executable, "tests/interop/epochs.py", writes)
        print(join(network), flush=True)
        recipe = Recipe(network, page, NAMES, [], ignored=())
        log = Log(writes, NAMES)
        units, moved, late = Units(recipe, log), [], 0
        for turn in range(faults):
            kind, host = KINDS[turn % len(KINDS)], units.well()
            epoch = log.last()[1]
            to = next(name for name in NAMES if name != host.name)
            mend, is_moved = units.harm(kind, host, to)
            wait(f"a unit writes that began later, after {kind} of {host.name}", is_moved, 120)
            mend()
            units.well()
            if log.last()[1] == epoch:
                print(f"{turn + 1}: {kind} of {host.name}: the unit began anew there", flush=True)
                continue
            seconds, refused = log.judge(epoch, kind in LATE)
            moved, late = [*moved, seconds], late + refused
            print(f"{turn + 1}: {kind} of {host.name}: {seconds:.2f} s without a write, {refused} late ones refused", flush=True)
        assert late or faults <= KINDS.index("freeze"), "no late write came, so none was refused"
        print(f"{faults} faults, never two units; {late} late writes refused by their epoch; nothing written for"
              f" {statistics.median(moved):.1f} s in the median, {max(moved):.1f} s at most; load {os.getloadavg()[0]:.0f}")


main()
