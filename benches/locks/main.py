#!/usr/bin/env python3
"""Locks in numbers, on 5 hosts of network namespaces: as root, with iproute2.

    benches/locks/main.py ELECTD HOLDER [WHAT...]

WHAT is some of: idle, kill, power, cut (names that programs hold which embed a member), jobs (commands of `electd exec --lock`), etcd,
keepalived, zookeeper (the same beside others, where they are installed: zookeeper with kazoo). Without it, all.
NAMES="1 1000 10000" is how many names, RUNS=10 how many hosts are killed, JOBS=60 how many commands. Each line that it prints is
JSON, with the load of the machine.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import others
from hosts import Hosts, await_, cluster, now

ELECTD, HOLDER = sys.argv[1:3]
NAMES = [int(number) for number in os.environ.get("NAMES", "1 1000 10000").split()]
RUNS = int(os.environ.get("RUNS", "10"))
JOBS = int(os.environ.get("JOBS", "60"))

# Up to so many names each member wants all.
MOST = 1000


def show(what, **figures):
    print(json.dumps({"what": what, **figures, "load": os.getloadavg()[0]}), flush=True)


def times(values):
    values = sorted(values)
    return {"runs": len(values), "median_ms": round(statistics.median(values), 1),
            "p95_ms": round(values[min(len(values) - 1, int(len(values) * 0.95))], 1), "all_ms": [round(one, 1) for one in values]}


class Programs:
    """Five programs that embed a member and want names."""

    def __init__(self, hosts, count):
        self.hosts, self.count = hosts, count
        self.file = cluster(hosts.folder, hosts.size)
        self.held, self.lost, self.leader, self.ready = {}, [], None, {}
        self.processes = {}
        for host in hosts.numbers:
            self.start(host)
        await_(lambda: len(self.held) == count, "all names are held", 120)

    def wanted(self, host):
        names = [f"name-{number}" for number in range(self.count)]
        if self.count <= MOST:
            return names
        # Each by two hosts, all pairs alike.
        size = self.hosts.size
        pairs = lambda number: (number % size, (number + 1 + number // size % (size - 1)) % size)
        return [name for number, name in enumerate(names) if host - 1 in pairs(number)]

    def start(self, host):
        words = [HOLDER, "node", self.file, f"h{host}", *self.wanted(host)]
        process = self.hosts.start(host, words, stdout=subprocess.PIPE)
        self.processes[host], self.ready[host] = process, False
        threading.Thread(target=self.follow, args=(host, process), daemon=True).start()

    def follow(self, host, process):
        for line in process.stdout:
            words = line.decode().split()
            if len(words) < 2:
                continue
            if words[0] == "held" and len(words) == 4:
                token = int(words[2])
                if self.held.get(words[1], (0, 0, 0))[1] < token:
                    self.held[words[1]] = (host, token, int(words[3]))
            elif words[0] == "lost" and len(words) == 4:
                self.lost.append((host, words[1], int(words[2]), int(words[3])))
            elif words[0] == "leads":
                self.leader = host
            elif words[0] == "ready":
                self.ready[host] = True

    def of(self, host):
        return [name for name, (at, *_) in list(self.held.items()) if at == host]

    def moved(self, host, names, since):
        """How long it takes, in ms, until the last of these names is held on another host."""
        await_(lambda: all(self.held[name][0] != host for name in names), f"the names of host {host} are held elsewhere")
        return (max(self.held[name][2] for name in names) - since) / 1e6

    def others_lost(self, host, since):
        return [one for one in self.lost if one[0] != host and one[3] >= since]


def idle(count):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, Hosts(5, folder) as hosts:
        begin = now()
        Programs(hosts, count)
        took = (now() - begin) / 1e6
        time.sleep(5)
        show("idle", names=count, all_held_ms=round(took), **hosts.idle())


def kill(count):
    """The program of a host dies, and its coroner says so."""
    lose(count, "kill -9 of the program", lambda programs, host: programs.processes[host].kill())


def power(count):
    """Nobody can say so."""
    lose(count, "kill of all processes", lambda programs, host: programs.hosts.kill(host))


def lose(count, what, deed):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, Hosts(5, folder) as hosts:
        programs, of_leader, of_other, lost, moved = Programs(hosts, count), [], [], 0, []
        time.sleep(3)
        for run in range(RUNS):
            candidates = [host for host in hosts.numbers if programs.of(host) and (host == programs.leader) == (run % 2 == 0)]
            host = max(candidates or hosts.numbers, key=lambda host: len(programs.of(host)))
            names, leads = programs.of(host), host == programs.leader
            since = now()
            deed(programs, host)
            took = programs.moved(host, names, since)
            (of_leader if leads else of_other).append(took)
            moved.append(len(names))
            time.sleep(1)
            lost += len(programs.others_lost(host, since))
            programs.processes[host].wait()
            programs.start(host)
            await_(lambda: programs.ready[host], "it is back")
            time.sleep(3)
        figures = {"names": count, "of_the_killed": [min(moved), max(moved)], "others_without_holder": lost}
        if of_other:
            show(f"{what} of a host", **figures, **times(of_other))
        if of_leader:
            show(f"{what} of the coordinator's host", **figures, **times(of_leader))


def cut(count):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, Hosts(5, folder) as hosts:
        programs, took, apart = Programs(hosts, count), [], []
        check = subprocess.run([ELECTD, "check", "--config", programs.file, "--output", "json"], capture_output=True)
        bound = json.loads(check.stdout)["worst_failover_ms"]
        time.sleep(3)
        for run in range(max(RUNS // 3, 1)):
            host = max(hosts.numbers, key=lambda host: len(programs.of(host)))
            names, since = programs.of(host), now()
            hosts.plug(host, False)
            took.append(programs.moved(host, names, since))
            hosts.plug(host, True)
            time.sleep(1)
            ends = {name: at for where, name, _, at in programs.lost if where == host and at >= since}
            apart += [(programs.held[name][2] - ends[name]) / 1e6 for name in names if name in ends]
            time.sleep(4)
        show("cut of a host", names=count, of_the_cut=len(names), bound_ms=bound, least_apart_ms=round(min(apart), 1), **times(took))


class Jobs:
    """Commands of `electd exec --lock` on five hosts, which write that they run."""

    def __init__(self, hosts):
        self.hosts, self.file, self.ledger = hosts, cluster(hosts.folder, hosts.size), f"{hosts.folder}/ledger"
        open(self.ledger, "w").close()
        self.lines, self.spans = open(self.ledger), {}
        self.nodes = {host: self.electd(host, ["run"]) for host in hosts.numbers}

    def electd(self, host, words, *command):
        return self.hosts.start(host, [ELECTD, *words, "--config", self.file, "--node", f"h{host}", *command])

    def add(self, host):
        for number in range(JOBS):
            words = ["exec", "--lock", f"job-{number}", "--restart", "always"]
            self.electd(host, words, "--", HOLDER, "job", self.ledger)

    def read(self):
        """Of each job its host, its first line and its last one under its last token; and how many have overlapped."""
        for line in self.lines:
            words = line.split()
            if len(words) == 4 and line.endswith("\n"):
                name, token, at, host = words[0], int(words[1]), int(words[2]), words[3]
                self.spans[name, token] = (host, self.spans.get((name, token), (host, at))[1], at)
        last, overlaps = {}, 0
        for (name, _), (host, first, end) in sorted(self.spans.items()):
            overlaps += name in last and last[name][2] >= first
            last[name] = (host, first, end)
        return last, overlaps

    def of(self, host):
        return [name for name, (at, *_) in self.read()[0].items() if at == f"h{host}"]

    def measure(self, what, host, deed):
        names, since = self.of(host), now()
        deed(host)

        def moved():
            last, overlaps = self.read()
            took = [(last[name][1] - since) / 1e6 for name in names if last[name][1] > since]
            return len(took) == len(names) and (took, overlaps)

        took, overlaps = await_(moved, f"the jobs of host {host} run elsewhere")
        show(f"jobs, {what}", jobs=len(names), first_ms=round(min(took), 1), median_ms=round(statistics.median(took), 1),
             last_ms=round(max(took), 1), overlaps=overlaps)


def jobs():
    """All jobs of a host move: when electd dies there, and when its power fails."""
    for what, deed in [("kill -9 of electd", lambda jobs, host: jobs.nodes[host].kill()),
                       ("power cut", lambda jobs, host: jobs.hosts.kill(host))]:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, Hosts(5, folder) as hosts:
            jobs = Jobs(hosts)
            jobs.add(1)
            await_(lambda: len(jobs.of(1)) == JOBS, "all jobs run on one host", 120)
            for host in [2, 3, 4, 5]:
                jobs.add(host)
            time.sleep(10)
            jobs.measure(what, 1, lambda host: deed(jobs, host))


def main():
    wanted = sys.argv[3:] or ["idle", "kill", "power", "cut", "jobs", "etcd", "keepalived", "zookeeper"]
    for what in wanted:
        if what in ("idle", "kill", "power", "cut"):
            for count in NAMES:
                if what == "idle" or count > 1:
                    {"idle": idle, "kill": kill, "power": power, "cut": cut}[what](count)
        elif what == "jobs":
            jobs()
        else:
            getattr(others, what)(NAMES, show)


if __name__ == "__main__":
    main()
