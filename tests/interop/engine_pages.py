"""Types the page of a lock on hosts of namespaces, and harms the host that holds it: `lock-postgresql.py`, `lock-etcd.py`.

The engine is on the host `db`, and the jobs on `a` and `b`. What is typed on a and b and has `electd exec` runs for ever."""

import os
import signal
import statistics
import time

from hosts import commands, wait

NAMES = ["a", "b"]
TTL = 5
KINDS = ["power", "cut", "freeze", "kill", "stop"]


class Page:
    """What a page says, typed."""

    def __init__(self, network, page):
        self.network, self.line = network, ""
        for place, block in commands(page):
            for name in place.removeprefix("on ").split(" and "):
                if "electd exec" in block:
                    self.line = block
                else:
                    network[name].run("sh", "-ec", block)
        for name in NAMES:
            self.serve(name)

    def serve(self, name):
        self.network[name].start("sh", "-c", f"while :; do {self.line}\nsleep 1; done")

    def harm(self, kind, host):
        """Harms a host, and returns what mends it."""
        if kind == "power":
            host.off()
            return lambda: (host.on(), self.serve(host.name))
        if kind == "cut":
            host.cable(False)
            return lambda: host.cable(True)
        if kind == "freeze":
            host.freeze()
            return host.thaw
        electd = host.named("electd exec")
        host.signal(signal.SIGKILL if kind == "kill" else signal.SIGTERM, electd)
        return lambda: None


def disturb(page, faults, last):
    """Harms the holder. `last` says the host and the token of the last write, and when that was. Prints for how long nobody wrote."""
    gaps = {}
    for turn in range(faults):
        kind = KINDS[turn % len(KINDS)]
        host, token, _ = wait("a write", lambda: (found := last()) and time.time() - found[2] < 1 and found, 60)
        time.sleep(1)  # the other one wants it, too
        before = last()
        mend = page.harm(kind, page.network[host])
        after = wait(f"a later holder after {kind} of {host}", lambda: (found := last()) and found[1] > token and found, 60)
        gaps.setdefault(kind, []).append(max(0.0, after[2] - before[2]))
        mend()
        wait(f"{host} is back", lambda: page.network[host].named("electd exec"), 60)
        print(f"{turn + 1}: {kind} of {host}: {gaps[kind][-1]:.1f} s", flush=True)
    every = [gap for found in gaps.values() for gap in found]
    limit = TTL + 5  # a busy machine begins a job late
    assert max(every) < limit, f"nobody wrote for longer than {limit} s: {gaps}"
    return f"{faults} faults, nothing written for {statistics.median(every):.1f} s in the median, {max(every):.1f} s at most; load {os.getloadavg()[0]:.0f}"
