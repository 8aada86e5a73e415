"""Tries `exec --lock URL` with real engines: engines.py ELECTD [FAULTS] [postgres|pgbouncer|etcd|standby|etcds...]. As root.

Each engine gets FAULTS faults, by turns: of electd, of the guard and of the job, of the network (a proxy for each host that
holds back, drops or delays what goes one way or the other), and of the engine itself. Each job writes from when to when it ran,
by CLOCK_BOOTTIME: no two of one lock at one instant, tokens rise, and somebody holds the lock within its time and a second
(two, with etcd) after the repair. It ends with 1 if one of them fails, and says which engine is missing; with 75 if all are.
ONLY=words takes those faults alone whose names have these words.
"""

import glob
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from engine_groups import EtcdGroup, PostgresPair
from engine_servers import Bouncer, Etcd, Postgres, Way, certificates, children, free_port, now, wait

# With a debug build, or on a busy machine, a login to PostgreSQL takes long: give more.
TTL = float(os.environ.get("TTL", "3"))
HOSTS = 3

# Writes its token, when it began and when it last ran, until it is killed; it may ignore TERM.
JOB = """
import os, random, signal, struct, sys, time
if random.random() < 0.5: signal.signal(signal.SIGTERM, signal.SIG_IGN)
now = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
begin, token = now(), int(os.environ["ELECTD_EPOCH"])
# The names sort as the times do, also of a host that has run for less than 1000 s.
file = os.open(f"{sys.argv[1]}/{begin:020}-{os.getpid()}", os.O_CREAT | os.O_WRONLY)
while True:
    os.pwrite(file, b"%d %d %d %d\\n" % (token, begin, now(), os.getpid()), 0)
    time.sleep(0.01)
"""

# The last two have more than one place, of which the one that decides is harmed.
ENGINES = {"postgres": Postgres, "pgbouncer": Bouncer, "etcd": Etcd, "standby": PostgresPair, "etcds": EtcdGroup}


class Host:
    """An electd exec, with its own way to the engine."""

    def __init__(self, lane, number):
        self.lane, self.number = lane, number
        self.way = Way(lane.server)
        self.process = None
        self.start()

    def start(self):
        lane = self.lane
        log = open(f"{lane.folder}/electd-{self.number}.log", "ab")
        self.process = subprocess.Popen(
            [lane.electd, "exec", "--lock", lane.server.url(self.way.port, lane.name), "--ttl", f"{int(TTL)}s", "--restart", "always", "--stop-after", "1s",
             "--cgroup", "never", "--", "env", "-u", "LD_PRELOAD", sys.executable, "-S", "-E", f"{lane.folder}/job.py", lane.jobs],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env={**os.environ, **lane.server.env, **lane.clocks.get(self.number, {})})

    def guard(self):
        found = children(self.process.pid)
        return found[-1] if found else None

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait()


class Lane:
    """One lock and its hosts, and a fault after the other."""

    def __init__(self, electd, server, number, folder, clocks=None):
        """`clocks` has the environment that gives a host another clock, by its number."""
        self.electd, self.server, self.name = electd, server, f"lock-{number}"
        self.clocks = clocks or {}
        self.folder = f"{folder}/{self.name}"
        self.jobs = f"{self.folder}/jobs"
        os.makedirs(self.jobs)
        with open(f"{self.folder}/job.py", "w") as file:
            file.write(JOB)
        self.random = random.Random(number)
        self.takeovers, self.failures = {}, []
        self.hosts = [Host(self, number) for number in range(HOSTS)]

    def intervals(self):
        found = []
        for path in glob.glob(f"{self.jobs}/*"):
            with open(path) as file:
                words = file.readline().split()
            if len(words) == 4:
                found.append((int(words[1]) / 1e9, int(words[2]) / 1e9, int(words[0]), int(words[3])))
        return sorted(found)

    def pairs(self):
        """Each job, with the next one."""
        intervals = self.intervals()
        return list(zip(intervals, intervals[1:]))

    def running(self):
        """The job that ran just now, and its host."""
        newest = max((os.path.basename(path) for path in glob.glob(f"{self.jobs}/*")), default=None)
        if not newest:
            return None
        try:
            with open(f"{self.jobs}/{newest}") as file:
                words = file.readline().split()
            if len(words) != 4 or now() - int(words[2]) / 1e9 > 0.25:
                return None
            job, pid = int(words[3]), int(words[3])
            while pid > 1:
                for host in self.hosts:
                    if host.process.pid == pid:
                        return job, host, int(words[1]) / 1e9
                with open(f"/proc/{pid}/stat") as file:
                    pid = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            return None
        return None

    def kinds(self, rules):
        kinds = ["electd killed", "guard killed", "job killed", "electd and guard killed", "electd ended", "electd frozen", "guard frozen",
                 "cut to", "cut back", "cut both", "delayed", "answers lost"]
        # What harms all locks is done by one of them.
        kinds += list(self.server.harms()) * 2 if rules else []
        only = os.environ.get("ONLY", "")
        return [kind for kind in kinds if only in kind] or kinds

    def harm(self, kind, job, host):
        """Does this, and repairs it. Returns since when it counts."""
        pause, process = self.random.uniform(0.2, 3) * TTL, host.process.pid
        if kind in ("electd killed", "electd and guard killed", "electd ended"):
            guard = host.guard()
            begin = now()
            if kind == "electd and guard killed" and guard:
                for pid in self.random.sample([guard, process], 2):
                    os.kill(pid, signal.SIGKILL)
                host.process.wait()
            else:
                host.end(signal.SIGTERM if kind == "electd ended" else signal.SIGKILL)
            self.found(kind, begin)
            host.start()
            return None
        if kind == "guard killed":
            begin = now()
            if guard := host.guard():
                self.kill(guard)
            return begin
        if kind == "job killed":
            begin = now()
            self.kill(job)
            return begin
        if kind in ("electd frozen", "guard frozen"):
            pid = process if kind == "electd frozen" else host.guard()
            if not pid:
                return now()
            os.kill(pid, signal.SIGSTOP)
            time.sleep(3 * TTL)
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
            return now()
        if harm := self.server.harms().get(kind):
            if len(self.server.places) > 1 and self.random.random() < 0.5:
                host.end(signal.SIGKILL)  # at the same time
                host.start()
            self.server.repaired = harm(pause) or now()
            return self.server.repaired
        if kind == "delayed":
            host.way.slow(2 * TTL)
            time.sleep(4 * TTL)
        elif kind == "answers lost":
            host.way.cut("back")
            time.sleep(self.random.uniform(0.1, 0.6) * TTL)
            host.way.heal(True)
            return now()
        else:
            host.way.cut(kind.split()[1])
            time.sleep(pause)
        host.way.heal(self.random.random() < 0.5)
        return now()

    def kill(self, pid):
        """It is gone, or waited for: what ran last does not pass for what runs next."""
        os.kill(pid, signal.SIGKILL)
        wait(f"the end of {pid}", lambda: not os.path.exists(f"/proc/{pid}/exe"))

    def found(self, kind, since):
        """Waits until somebody holds the lock, and notes when that began."""
        limit = TTL + self.server.slack
        try:
            _, _, begin = wait(f"{kind}: a job", self.running, 60)
        except TimeoutError as error:
            self.failures.append(str(error))
            return
        since = max([since] + [at for at in (self.server.repaired, self.server.led) if at < begin])
        took = max(0.0, begin - since)
        if len(self.server.places) > 1 and kind in self.server.harms():
            # The old leader's return may cost the lock once more.
            took = max([0.0] + [later - max(end, since) for (_, end, *_), (later, *_) in self.pairs() if later > since])
            begin = since + took
        if begin > since:
            self.takeovers.setdefault(kind, []).append(took)
        # A command that fails is begun again after 1 s, then after 2, 4, 8 s: that says nothing of the lock.
        if took > limit and kind != "job killed":
            self.failures.append(f"{kind}: nobody held {self.name} for {took:.2f} s")

    def run(self, faults, rules):
        kinds = self.kinds(rules)
        order = []
        for _ in range(faults):
            if not order:
                order = self.random.sample(kinds, len(kinds))
            job, host, _ = wait("a job", self.running, 60)
            kind = order.pop()
            if self.random.random() < 0.2:
                host = self.random.choice(self.hosts)  # one that may only want the lock
            try:
                since = self.harm(kind, job, host)
            except ProcessLookupError:
                since = now()
            if since is not None:
                self.found(kind, since)
            for one in self.hosts:
                if one.process.poll() is not None:
                    one.start()

    def end(self):
        for host in self.hosts:
            if host.process.poll() is None:
                host.end(signal.SIGTERM)

    def judge(self):
        """The longest overlap of two jobs, and how many there were."""
        longest = 0.0
        for (_, end, token, _), (later, _, next_token, _) in self.pairs():
            longest = max(longest, end - later)
            if TTL * self.server.early >= end - later > 0:
                print(f"  etcd ended the lease of {self.name} early: two jobs for {(end - later) * 1e3:.0f} ms, tokens {token} and {next_token}")
            elif end > later:
                self.failures.append(f"{self.name}: two jobs for {(end - later) * 1e3:.1f} ms, tokens {token} and {next_token}")
            if next_token < token:
                self.failures.append(f"{self.name}: token {next_token} after {token}")
        return longest, len(self.intervals())


def end_group(process):
    """Ends a process and what is left of its group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


class Pair:
    """Two that want one lock, by their own ways to the engine: electd, or etcdctl."""

    def __init__(self, electd, server, name, folder, ttl=5):
        self.electd, self.server, self.name, self.ttl, self.folder = electd, server, name, ttl, folder
        self.ways = [Way(server), Way(server)]
        self.log = open(f"{folder}/pair.log", "ab")

    def begin(self, number, tool="electd"):
        """Begins one whose command writes when it began, and then waits."""
        mark = tempfile.mktemp(dir=self.folder)
        port = self.ways[number].port
        command = ["sh", "-c", f"touch {mark}; exec sleep 1000"]
        if tool == "etcdctl":
            words = ["etcdctl", f"--endpoints=127.0.0.1:{port}", "lock", f"--ttl={self.ttl}", "--", self.name, *command]
        else:
            words = [self.electd, "exec", "--lock", self.server.url(port, self.name), "--ttl", f"{self.ttl}s", "--cgroup", "never", "--", *command]
        process = subprocess.Popen(words, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, **self.server.env, "ETCDCTL_API": "3"})
        return process, mark

    def handover(self, how, tool="electd"):
        """How long until the second one begins, after the first one has been ended in this way."""
        first, mark = self.begin(0, tool)
        wait(f"the first {tool} holds it", lambda: os.path.exists(mark))
        second, next_mark = self.begin(1, tool)
        time.sleep(random.uniform(1, 2))
        assert not os.path.exists(next_mark), "both hold it"
        since = time.monotonic()
        if how == "cut":
            self.ways[0].cut("both")
        else:
            number = signal.SIGTERM if how == "ended" else signal.SIGKILL
            # etcdctl does not end its command.
            os.killpg(first.pid, number) if tool == "etcdctl" else first.send_signal(number)
        wait(f"the second {tool} holds it after {how}", lambda: os.path.exists(next_mark), 60)
        took = time.monotonic() - since
        outlives = how == "cut" and first.poll() is None and tool == "etcdctl"
        self.ways[0].heal(True)
        for process in (first, second):
            end_group(process)
        return took, outlives


def try_handovers(electd, server, name, folder, count):
    """Prints how long handovers take."""
    for tool in ["electd"] + (["etcdctl"] if name == "etcd" else []):
        for how in ["ended", "killed", "cut"]:
            done = [Pair(electd, server, f"{tool}-{how}", folder).handover(how, tool) for _ in range(count)]
            times = [took for took, _ in done]
            more = "; the first one still ran its command" if any(outlives for _, outlives in done) else ""
            print(f"  {name}: {tool} --ttl 5 {how}: median {statistics.median(times):.2f} s, longest {max(times):.2f} s of {count}{more}")


def execute(electd, server, url, *words, env=None, command=None):
    """What an exec ends with, and says; and whether it ran its command. A machine that is too busy to answer gets another chance."""
    for _ in range(5):
        mark = tempfile.mktemp()
        done = subprocess.run([electd, "exec", "--lock", url, "--ttl", "10s", *words, "--", *(command or ["touch", mark])], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, env={**os.environ, **(server.env if env is None else env)}, timeout=60)
        ran = os.path.exists(mark)
        if ran:
            os.remove(mark)
        if done.returncode != 69 or "in time" not in done.stderr:
            break
    return done.returncode, done.stderr.strip(), ran


def expect(what, found, code, words, ran=False):
    assert found[0] == code and words in found[1] and found[2] == ran, f"{what}: {found}, not {code}, {words!r}"
    print(f"  ok: {what}: {code} {found[1][:150]}")


def try_refusals(electd, server, name):
    """What a server refuses is told, and nothing runs."""
    url = server.url(server.port, "refusals")
    expect(f"{name}: it runs", execute(electd, server, url), 0, "", True)
    dead = free_port(), free_port()
    if name == "etcd":
        both = url.replace("etcd://", f"etcd://127.0.0.1:{dead[0]},127.0.0.1:{dead[1]},")
        expect("two of three places are dead", execute(electd, server, both), 0, "", True)
        return
    if name == "postgres":
        both = url.replace(f"127.0.0.1:{server.port}", f"127.0.0.1:{dead[0]},127.0.0.1:{server.port}")
        expect("one of two places is dead", execute(electd, server, both), 0, "", True)
        expect("a wrong password", execute(electd, server, url, env={"PGPASSWORD": "no"}), 78, "password authentication failed")
        expect("no password", execute(electd, server, url, env={"HOME": "/"}), 78, "none is given")
        server.sql("CREATE DATABASE poor")
        poor = url.replace("app@", "poor@").replace("/postgres?", "/poor?")
        expect("a missing right", execute(electd, server, poor), 78, "as its owner: CREATE TABLE")
        server.sql("CREATE DATABASE other")
        subprocess.run(["psql", f"host=127.0.0.1 port={server.port} user=postgres dbname=other", "-qc",
                        "CREATE TABLE electd_lock (name int, until date); GRANT ALL ON electd_lock TO app"],
                       env={**os.environ, "PGPASSWORD": "secret"}, check=True)
        other = url.replace("/postgres?", "/other?")
        expect("a table with other columns", execute(electd, server, other), 78, "the table electd_lock is another one")
        expect("no such database", execute(electd, server, url.replace("/postgres?", "/none?")), 78, "does not exist")
        expect("no TLS", execute(electd, server, url + "&sslmode=require"), 78, "it offers no TLS")
        server.sql("ALTER DATABASE postgres SET synchronous_commit = off")
        expect("commits that wait for no disk", execute(electd, server, url), 0, "", True)


def try_tls(electd, server, name, folder):
    """TLS, and for etcd a user with a password."""
    place = f"{folder}/tls"
    os.makedirs(place)
    certificates(place)
    url = server.url(server.port, "secured")
    if name == "postgres":
        for file in ("server.key", "server.pem"):
            shutil.copy(f"{place}/{file}", f"{server.data}/{file}")
            shutil.chown(f"{server.data}/{file}", "postgres", "postgres")
            os.chmod(f"{server.data}/{file}", 0o600)
        server.sql("ALTER SYSTEM SET ssl_cert_file = 'server.pem'")
        server.sql("ALTER SYSTEM SET ssl_key_file = 'server.key'")
        server.sql("ALTER SYSTEM SET ssl = on")
        server.sql("SELECT pg_reload_conf()")
        url += "&"
        wait("TLS", lambda: execute(electd, server, url + "sslmode=require")[0] == 0)
    else:
        server = Etcd(f"{place}", tls=place)
        url = server.url(server.port, "secured") + "?"
    try:
        expect("TLS with anybody", execute(electd, server, url + "sslmode=require"), 0, "", True)
        expect("TLS with the host", execute(electd, server, f"{url}sslmode=verify-full&sslrootcert={place}/ca.pem"), 0, "", True)
        other = f"{url}sslmode=verify-full&sslrootcert={place}/other.pem"
        expect("another authority", execute(electd, server, other), 78, "signed by no authority of sslrootcert")
        named = f"{url}sslmode=verify-full&sslrootcert={place}/ca.pem".replace("127.0.0.1", "localhost")
        expect("another name", execute(electd, server, named), 78, "its certificate is refused")
        if name == "etcd":
            for words in (["user", "add", "root:secret"], ["user", "grant-role", "root", "root"], ["role", "add", "root"],
                          ["user", "grant-role", "root", "root"], ["auth", "enable"]):
                server.ctl(*words)
            url += "sslmode=require"
            expect("no user", execute(electd, server, url), 78, "user name is empty")
            url = url.replace("etcd://", "etcd://root@")
            expect("no password", execute(electd, server, url), 78, "no password of root is given")
            expect("a wrong password", execute(electd, server, url, env={"ETCDCTL_PASSWORD": "no"}), 78, "authentication failed")
            expect("a password by the environment", execute(electd, server, url, env={"ETCDCTL_PASSWORD": "secret"}), 0, "", True)
            with open(f"{place}/password", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write("secret\n")
            expect("a password by a file", execute(electd, server, f"{url}&passfile={place}/password"), 0, "", True)
    finally:
        if name == "etcd":
            server.stop()


def try_exclusion(electd, server, folder):
    """etcdctl and electd exclude each other."""
    pair = Pair(electd, server, "shared", folder)
    url = server.url(server.port, "shared")
    holder, mark = pair.begin(0, "etcdctl")
    wait("etcdctl holds it", lambda: os.path.exists(mark))
    expect("etcdctl lock holds it", execute(electd, server, url, "--wait", "2s"), 75, "holds the lock shared")
    waiting, mark = pair.begin(1, "electd")
    time.sleep(1)
    assert not os.path.exists(mark)
    os.killpg(holder.pid, signal.SIGTERM)
    wait("electd follows etcdctl", lambda: os.path.exists(mark))
    os.killpg(holder.pid, signal.SIGKILL)
    other, other_mark = pair.begin(0, "etcdctl")
    time.sleep(3)
    assert not os.path.exists(other_mark), "etcdctl holds it beside electd"
    waiting.terminate()
    wait("etcdctl follows electd", lambda: os.path.exists(other_mark))
    print("  ok: etcdctl lock and electd exclude each other, and follow each other")
    for process in (holder, other, waiting):
        end_group(process)


def try_faults(electd, name, faults, lanes):
    folder = tempfile.mkdtemp(prefix=f"electd-{name}-")
    os.chmod(folder, 0o755)
    server, begun = None, []
    try:
        os.makedirs(f"{folder}/engine")
        server = ENGINES[name](f"{folder}/engine")
        try_refusals(electd, server, name)
        if name in ("postgres", "etcd"):
            try_tls(electd, server, name, folder)
        if name == "etcd":
            try_exclusion(electd, server, folder)
        if count := int(os.environ.get("HANDOVERS", "1")):
            try_handovers(electd, server, name, folder, count)
        begun = [Lane(electd, server, number, folder) for number in range(lanes)]
        crashed = []

        def run(number, lane):
            try:
                lane.run(faults // lanes, number == 0)
            except Exception as error:  # also shown below
                crashed.append(f"{lane.name}: {error!r}")

        threads = [threading.Thread(target=run, args=each) for each in enumerate(begun)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for lane in begun:
            lane.end()
        judged = [lane.judge() for lane in begun]
        failures = crashed + [failure for lane in begun for failure in lane.failures]
        took = {}
        for lane in begun:
            for kind, times in lane.takeovers.items():
                took.setdefault(kind, []).extend(times)
        every = [each for times in took.values() for each in times]
        jobs = sum(count for _, count in judged)
        for kind, times in sorted(took.items()):
            print(f"  {name}: {kind}: {len(times)}, median {statistics.median(times):.2f} s, longest {max(times):.2f} s")
        print(f"{name}: {faults // lanes * lanes} faults, {jobs} jobs, longest overlap {max(0.0, *(each for each, _ in judged), 0.0) * 1e3:.0f} ms, "
              f"median takeover {statistics.median(every):.2f} s, longest {max(every):.2f} s")
        for failure in failures:
            print(f"FAILED {failure}")
        return not failures
    finally:
        for lane in begun:
            for host in lane.hosts:
                if host.process.poll() is None:
                    host.process.kill()
                    host.process.wait()
        if server:
            server.end()
        if not os.environ.get("KEEP"):
            shutil.rmtree(folder, ignore_errors=True)


def main():
    electd = os.path.abspath(sys.argv[1])
    faults = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    wanted = sys.argv[3:] or list(ENGINES)
    tried, fine = 0, True
    for name in wanted:
        missing = [need for need in ENGINES[name].needs if not shutil.which(need)]
        if missing or os.geteuid() != 0:
            print(f"missing  {name}: {', '.join(missing) or 'root'}")
            continue
        tried += 1
        fine &= try_faults(electd, name, faults, 4 if faults >= 40 else 1)
    sys.exit(75 if not tried else 0 if fine else 1)


if __name__ == "__main__":
    main()
