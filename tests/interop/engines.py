"""Tries `exec --lock URL` with real engines: engines.py ELECTD [FAULTS] [postgres|pgbouncer|etcd...]. As root.

Each engine gets FAULTS faults, by turns: of electd, of the guard and of the job, of the network (a proxy for each host that
holds back, drops or delays what goes one way or the other), and of the engine itself. Each job writes from when to when it ran,
by CLOCK_BOOTTIME: no two of one lock at one instant, tokens rise, and somebody holds the lock within its time and a second
(two, with etcd) after the repair. It ends with 1 if one of them fails, and says which engine is missing; with 75 if all are.
"""

import glob
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TTL = 3.0
HOSTS = 3
POSTGRES = "/usr/lib/postgresql/15/bin"

# Writes its token, when it began and when it last ran, until it is killed; it may ignore TERM.
JOB = """
import os, random, signal, struct, sys, time
if random.random() < 0.5: signal.signal(signal.SIGTERM, signal.SIG_IGN)
now = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
begin, token = now(), int(os.environ["ELECTD_EPOCH"])
file = os.open(f"{sys.argv[1]}/{begin}-{os.getpid()}", os.O_CREAT | os.O_WRONLY)
while True:
    os.pwrite(file, b"%d %d %d %d\\n" % (token, begin, now(), os.getpid()), 0)
    time.sleep(0.01)
"""


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e9


def wait(what, condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.01)
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Proxy:
    """What is between a host and an engine. In a mode other than "pass" it keeps what goes this way: "to", "back" or "both".
    At the end of it that is delivered late, or the connection is lost with it. A delay is for both ways."""

    def __init__(self, target):
        self.target, self.held, self.delay, self.ends = target, "", 0.0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = set()
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self.target), 1)
            except OSError:
                near.close()
                continue
            pair = (near, far)
            with self.lock:
                self.pairs.add(pair)
            for source, sink, way in [(near, far, "to"), (far, near, "back")]:
                threading.Thread(target=self.carry, args=(source, sink, way, pair), daemon=True).start()

    def carry(self, source, sink, way, pair):
        try:
            while True:
                data = source.recv(65536)
                came = time.monotonic()
                while self.held in (way, "both") or time.monotonic() < came + self.delay:
                    time.sleep(0.005)
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        self.close(pair)

    def close(self, pair):
        with self.lock:
            self.pairs.discard(pair)
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def cut(self, way):
        self.held = way

    def heal(self, loses):
        if loses:
            with self.lock:
                pairs = list(self.pairs)
            for pair in pairs:
                self.close(pair)
        self.held, self.delay = "", 0.0


def certificates(folder):
    """An authority, another one, and a certificate of 127.0.0.1 and localhost by the first."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)
    for name in ("ca", "other"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem",
                "-subj", f"/CN={name}", "-days", "2", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=s")
    with open(f"{folder}/ext", "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem", "-days", "2", "-extfile", "ext")


class Server:
    """An engine: a program that can be killed, frozen and started again."""
    # How long after its time the lock is held again.
    slack = 1.0

    def __init__(self, folder):
        self.folder, self.port, self.process, self.repaired = folder, free_port(), None, 0.0

    def background(self, *words):
        log = open(f"{self.folder}/log", "ab")
        return subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.start()

    def freeze(self, seconds):
        os.killpg(self.process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.killpg(self.process.pid, signal.SIGCONT)

    def stop(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Postgres(Server):
    needs = [f"{POSTGRES}/postgres"]
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def __init__(self, folder):
        super().__init__(folder)
        os.chmod(folder, 0o777)
        self.data = f"{folder}/data"
        with open(f"{folder}/pass", "w") as file:
            file.write("secret\n")
        os.chmod(f"{folder}/pass", 0o644)
        subprocess.run([*self.user, f"{POSTGRES}/initdb", "-D", self.data, "-A", "scram-sha-256", f"--pwfile={folder}/pass", "-U", "postgres"],
                       check=True, capture_output=True)
        self.start()
        wait("PostgreSQL", lambda: self.sql("SELECT 1") == "1")
        self.sql("CREATE ROLE app LOGIN PASSWORD 'app'; GRANT CREATE, USAGE ON SCHEMA public TO app; CREATE ROLE poor LOGIN PASSWORD 'app'")

    def start(self):
        wait("the port", lambda: not answers(self.port))
        try:
            os.remove(f"{self.data}/postmaster.pid")  # of one that was killed
        except FileNotFoundError:
            pass
        self.process = self.background(*self.user, f"{POSTGRES}/postgres", "-D", self.data, "-p", str(self.port), "-k", self.folder,
                                       "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "fsync=off")
        wait("PostgreSQL", lambda: self.sql("SELECT 1") == "1")

    def sql(self, statement, user="postgres", password="secret"):
        done = subprocess.run(["psql", f"host=127.0.0.1 port={self.port} user={user} dbname=postgres connect_timeout=2", "-qAtc", statement],
                              env={**os.environ, "PGPASSWORD": password}, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    def restart(self):
        self.process.send_signal(signal.SIGINT)  # fast: it ends all sessions
        self.process.wait()
        self.start()

    def url(self, port, lock):
        return f"postgres://app@127.0.0.1:{port}/postgres?lock={lock}"

    env = {"PGPASSWORD": "app"}


class Bouncer(Postgres):
    """A PostgreSQL behind pgbouncer in transaction mode."""
    needs = [f"{POSTGRES}/postgres", "pgbouncer"]

    def __init__(self, folder):
        super().__init__(folder)
        self.behind, self.port = self.port, free_port()
        with open(f"{folder}/users", "w") as file:
            file.write('"app" "app"\n')
        with open(f"{folder}/pgbouncer.ini", "w") as file:
            file.write(f"[databases]\npostgres = host=127.0.0.1 port={self.behind}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\n"
                       f"unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {folder}/users\npool_mode = transaction\ndefault_pool_size = 3\nserver_login_retry = 1\n")
        self.pooler = self.background(*self.user, "pgbouncer", f"{folder}/pgbouncer.ini")
        wait("pgbouncer", lambda: answers(self.port))

    def start(self):
        port, self.port = self.port, getattr(self, "behind", self.port)
        try:
            super().start()
        finally:
            self.port = port

    def stop(self):
        os.killpg(self.pooler.pid, signal.SIGKILL)
        self.pooler.wait()
        super().stop()


class Etcd(Server):
    needs = ["etcd", "etcdctl"]
    slack = 2.0  # it looks for leases that are over every half second
    env = {}

    def __init__(self, folder, tls=None):
        super().__init__(folder)
        self.peer, self.tls = free_port(), tls
        self.start()

    def start(self):
        wait("the port", lambda: not answers(self.port))
        scheme = "https" if self.tls else "http"
        own, peer = f"{scheme}://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.peer}"
        secure = [f"--cert-file={self.tls}/server.pem", f"--key-file={self.tls}/server.key"] if self.tls else []
        self.process = self.background(
            "etcd", *secure, "--name", "e", "--data-dir", f"{self.folder}/data", "--listen-client-urls", own, "--advertise-client-urls", own,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"e={peer}", "--unsafe-no-fsync")
        wait("etcd", lambda: self.ctl("get", "x").returncode == 0)

    def ctl(self, *words, **options):
        options = {"capture_output": True, "text": True, "timeout": 20, **options}
        secure = [f"--cacert={self.tls}/ca.pem"] if self.tls else []
        return subprocess.run(["etcdctl", f"--endpoints=127.0.0.1:{self.port}", *secure, "--command-timeout=2s", *words],
                              env={**os.environ, "ETCDCTL_API": "3"}, **options)

    def restart(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.start()

    def url(self, port, lock):
        return f"etcd://127.0.0.1:{port}/{lock}"


ENGINES = {"postgres": Postgres, "pgbouncer": Bouncer, "etcd": Etcd}


class Host:
    """An electd exec, with its own way to the engine."""

    def __init__(self, lane, number):
        self.lane, self.number = lane, number
        self.proxy = Proxy(lane.server.port)
        self.process = None
        self.start()

    def start(self):
        lane = self.lane
        log = open(f"{lane.folder}/electd-{self.number}.log", "ab")
        self.process = subprocess.Popen(
            [lane.electd, "exec", "--lock", lane.server.url(self.proxy.port, lane.name), "--ttl", f"{int(TTL)}s", "--restart", "always", "--stop-after", "1s",
             "--cgroup", "never", "--", sys.executable, "-S", "-E", f"{lane.folder}/job.py", lane.jobs],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **lane.server.env})

    def children(self, pid=None):
        try:
            with open(f"/proc/{pid or self.process.pid}/task/{pid or self.process.pid}/children") as file:
                return [int(word) for word in file.read().split()]
        except OSError:
            return []

    def guard(self):
        return self.children()[-1] if self.children() else None

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait()


class Lane:
    """One lock and its hosts, and a fault after the other."""

    def __init__(self, electd, server, number, folder):
        self.electd, self.server, self.name = electd, server, f"lock-{number}"
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
        return kinds + (["engine killed", "engine frozen", "engine restarted"] * 2 if rules else [])

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
                os.kill(guard, signal.SIGKILL)
            return begin
        if kind == "job killed":
            begin = now()
            os.kill(job, signal.SIGKILL)
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
        if kind.startswith("engine"):
            if kind == "engine frozen":
                self.server.freeze(pause)
            else:
                self.server.kill() if kind == "engine killed" else self.server.restart()
            self.server.repaired = now()
            return self.server.repaired
        if kind == "delayed":
            host.proxy.delay = 2 * TTL
            time.sleep(4 * TTL)
        elif kind == "answers lost":
            host.proxy.cut("back")
            time.sleep(self.random.uniform(0.1, 0.6) * TTL)
            host.proxy.heal(True)
            return now()
        else:
            host.proxy.cut(kind.split()[1])
            time.sleep(pause)
        host.proxy.heal(self.random.random() < 0.5)
        return now()

    def found(self, kind, since):
        """Waits until somebody holds the lock, and notes when that began."""
        limit = TTL + self.server.slack
        try:
            _, _, begin = wait(f"{kind}: a job", self.running, 60)
        except TimeoutError as error:
            self.failures.append(str(error))
            return
        since = max(since, self.server.repaired if since < self.server.repaired < begin else since)
        took = max(0.0, begin - since)
        if begin > since:
            self.takeovers.setdefault(kind, []).append(took)
        if took > limit:
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
        intervals, longest = self.intervals(), 0.0
        for (begin, end, token, _), (later, _, next_token, _) in zip(intervals, intervals[1:]):
            longest = max(longest, end - later)
            if end > later:
                self.failures.append(f"{self.name}: two jobs for {(end - later) * 1e3:.1f} ms, tokens {token} and {next_token}")
            if next_token < token:
                self.failures.append(f"{self.name}: token {next_token} after {token}")
        return longest, len(intervals)


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
        self.proxies = [Proxy(server.port), Proxy(server.port)]
        self.log = open(f"{folder}/pair.log", "ab")

    def begin(self, number, tool="electd"):
        """Begins one whose command writes when it began, and then waits."""
        mark = tempfile.mktemp(dir=self.folder)
        port = self.proxies[number].port
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
            self.proxies[0].cut("both")
        else:
            number = signal.SIGTERM if how == "ended" else signal.SIGKILL
            # etcdctl does not end its command.
            os.killpg(first.pid, number) if tool == "etcdctl" else first.send_signal(number)
        wait(f"the second {tool} holds it after {how}", lambda: os.path.exists(next_mark), 60)
        took = time.monotonic() - since
        outlives = how == "cut" and first.poll() is None and tool == "etcdctl"
        self.proxies[0].heal(True)
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
    """What an exec ends with, and says; and whether it ran its command."""
    mark = tempfile.mktemp()
    done = subprocess.run([electd, "exec", "--lock", url, "--ttl", "10s", *words, "--", *(command or ["touch", mark])], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, env={**os.environ, **(server.env if env is None else env)}, timeout=60)
    ran = os.path.exists(mark)
    if ran:
        os.remove(mark)
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
        if name != "pgbouncer":
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
            server.stop()
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
