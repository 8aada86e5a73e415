"""What locks cost that nothing happens to: engine_load.py ELECTD [SECONDS] [LOCKS] [CANDIDATES]. As root.

A holder and a waiter of one lock, with each engine; LOCKS locks of one host; CANDIDATES processes that want one lock of one PostgreSQL, through
pgbouncer. It ends with 1 if they ask more often than docs/engines.md says, if one of them loses its lock, or if the next one does not follow
the holder; and with 75 if something is missing.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from engine_servers import Bouncer, Etcd, Postgres, Way, children, now, wait

TICKS = os.sysconf("SC_CLK_TCK")
# Each takes a lock for 10 s: a holder renews every 2 s, a waiter looks every second.
TTL = 10
# How many questions a renewal has, a look, and how often a waiter's lease is kept, a minute.
QUESTIONS = {"postgres": (30, 60), "etcd": (60, 60 + 30)}


class Crowd:
    """Processes that want locks. Each job makes a file that is named by its lock and its token."""

    def __init__(self, electd, server, folder):
        self.electd, self.server, self.folder, self.processes = electd, server, folder, []
        os.makedirs(folder)

    def begin(self, lock, port, ttl=TTL, where=""):
        job = ["sh", "-c", f'touch "{self.folder}/$ELECTD_LOCK-$ELECTD_EPOCH-{len(self.processes)}"; exec sleep infinity']
        line = [self.electd, "exec", "--lock", self.server.url(port, lock) + where, "--ttl", f"{ttl}s", "--wait", "1h", "--cgroup", "never", "--", *job]
        log = open(f"{self.folder}.log", "ab")
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **self.server.env})
        log.close()
        self.processes.append(process)
        return process

    def held(self, lock):
        """The tokens of those that hold or held it, and which of the processes they were."""
        names = [name.split("-") for name in os.listdir(self.folder)]
        return sorted((int(token), int(number)) for name, token, number in names if name == lock)

    def end(self):
        for process in reversed(self.processes):  # those that wait first
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def used(pids):
    """The seconds of CPU of these processes, and their memory in MB: what is theirs, and their share of what they share."""
    seconds, memory = 0.0, 0.0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as file:
                words = file.read().rsplit(")", 1)[1].split()
            seconds += (int(words[11]) + int(words[12])) / TICKS
            with open(f"/proc/{pid}/smaps_rollup") as file:
                memory += int(next(line for line in file if line.startswith("Pss:")).split()[1]) / 1024
        except OSError:
            pass
    return seconds, memory


def with_guards(processes):
    """electd and its guards, without the jobs."""
    return [pid for process in processes for pid in (process.pid, *children(process.pid))]


def of_server(server):
    return [pid for process in (server.process, getattr(server, "pooler", None)) if process for pid in (process.pid, *children(process.pid))]


def measure(seconds, *groups):
    """The share of one processor, in percent, and the memory of each of these groups of processes."""
    before, figures = [(now(), used(pids)[0]) for pids in groups], []
    time.sleep(seconds)
    for pids, (since, cpu) in zip(groups, before):
        took = now() - since
        later, memory = used(pids)
        figures.append(((later - cpu) / took * 100, memory))
    return figures


def load():
    return f"load {os.getloadavg()[0]:.0f}"


def try_pair(electd, kind, name, folder, seconds):
    """A holder and a waiter."""
    os.makedirs(f"{folder}/{name}")
    server = kind(f"{folder}/{name}")
    crowd = Crowd(electd, server, f"{folder}/{name}-pair")
    ways = [Way(server), Way(server)]
    asked = lambda: [sum(proxy.asked for proxy in way.proxies) for way in ways]
    try:
        holder = crowd.begin("pair", ways[0].port)
        wait("it holds it", lambda: crowd.held("pair"))
        waiter = crowd.begin("pair", ways[1].port)
        time.sleep(3)
        before, since = asked(), now()
        figures = measure(seconds, with_guards([holder]), with_guards([waiter]))
        took = now() - since
        minutes = [(after - first) * 60 / took for first, after in zip(before, asked())]
        assert len(crowd.held("pair")) == 1, f"the lock was lost: {crowd.held('pair')}"
        for role, each, wanted, (cpu, memory) in zip(("the holder", "the waiter"), minutes, QUESTIONS[name], figures):
            print(f"{name}: {role}: {each:.0f} requests a minute, {cpu:.2f} % of a processor, {memory:.1f} MB; {seconds} s, {load()}", flush=True)
            assert each <= wanted * 1.1 + 120 / seconds, f"more than {wanted} a minute"
    finally:
        crowd.end()
        server.end()


class Commits:
    """What a server was asked since then."""

    def __init__(self, server):
        self.server, self.since, self.before = server, now(), self.count(server)

    def count(self, server):
        return int(wait("the count", lambda: server.sql("SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'")))

    def a_second(self):
        took = now() - self.since
        return (self.count(self.server) - self.before) / took


def try_locks(electd, folder, count, seconds):
    """Many locks of one host."""
    os.makedirs(f"{folder}/many")
    server = Postgres(f"{folder}/many", settings=[f"max_connections={count + 50}"])
    crowd = Crowd(electd, server, f"{folder}/many-locks")
    try:
        begin = now()
        for number in range(count):
            crowd.begin(f"lock{number}", server.port)
            # Not all logins at once.
            wait(f"{number} locks", lambda: len(os.listdir(crowd.folder)) > number - 5, 60)
        wait(f"{count} locks", lambda: len(os.listdir(crowd.folder)) == count, 60)
        took = now() - begin
        time.sleep(3)
        commits = Commits(server)
        (cpu, memory), (server_cpu, _) = measure(seconds, with_guards(crowd.processes), of_server(server))
        asked = commits.a_second()
        assert len(os.listdir(crowd.folder)) == count and all(process.poll() is None for process in crowd.processes), "a lock was lost"
        print(f"{count} locks of one host: held after {took:.0f} s; {asked:.0f} requests a second, electd and its guards {cpu:.0f} % of a processor and "
              f"{memory:.0f} MB, PostgreSQL {server_cpu:.0f} %; {seconds} s, {load()}", flush=True)
    finally:
        crowd.end()
        server.end()


class BigBouncer(Bouncer):
    """It takes whoever comes: a login costs more than a look."""
    pooling = "max_client_conn = 10000\ndefault_pool_size = 20\nauth_type = trust\n"


def try_candidates(electd, folder, count, seconds):
    """Many that want one lock."""
    os.makedirs(f"{folder}/crowd")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = BigBouncer(f"{folder}/crowd")
    behind = Postgres.__new__(Postgres)
    behind.port = server.behind
    crowd = Crowd(electd, server, f"{folder}/crowd-locks")
    try:
        crowd.begin("one", server.port, 60)
        wait("one holds it", lambda: crowd.held("one"), 60)
        for number in range(count - 1):
            crowd.begin("one", server.port, 60)
            if number % 50 == 49:
                time.sleep(1)
        time.sleep(5)
        commits = Commits(behind)
        (cpu, memory), (server_cpu, _) = measure(seconds, with_guards(crowd.processes), of_server(server))
        asked = commits.a_second()
        left = [process for process in crowd.processes if process.poll() is None]
        assert len(left) == count and len(crowd.held("one")) == 1, f"{count - len(left)} have ended, {crowd.held('one')}"
        begin = now()
        crowd.processes[0].terminate()
        held = wait("the next one holds it", lambda: len(crowd.held("one")) == 2 and crowd.held("one"), 90)
        took = now() - begin
        assert held[1][0] == held[0][0] + 1
        print(f"{count} candidates of one lock, through pgbouncer: {asked:.0f} requests a second, electd {cpu:.0f} % of a processor and {memory:.0f} MB, "
              f"PostgreSQL and pgbouncer {server_cpu:.0f} %; the next one ran {took:.1f} s after a clean end; {seconds} s, {load()}", flush=True)
    finally:
        crowd.end()
        server.end()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left
    electd = os.path.abspath(sys.argv[1])
    seconds, locks, candidates = [int(word) for word in (sys.argv[2:] + ["10", "10", "20"][len(sys.argv) - 2:])]
    missing = [need for need in Bouncer.needs + Etcd.needs if not shutil.which(need)]
    if missing or os.geteuid() != 0:
        print(f"missing  {', '.join(missing) or 'root'}: the load of locks")
        sys.exit(75)
    folder = tempfile.mkdtemp(prefix="electd-load-")
    os.chmod(folder, 0o755)
    try:
        if seconds:
            for name, kind in (("postgres", Postgres), ("etcd", Etcd)):
                try_pair(electd, kind, name, folder, seconds)
        if locks:
            try_locks(electd, folder, locks, min(30, seconds or 30))
        if candidates:
            try_candidates(electd, folder, candidates, min(20, seconds or 20))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
