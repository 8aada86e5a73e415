"""Engines that trials start and harm, and what is between them and their clients."""

import os
import signal
import socket
import subprocess
import threading
import time

POSTGRES = "/usr/lib/postgresql/15/bin"


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


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


class Proxy:
    """What is between a host and an engine. In a mode other than "pass" it keeps what goes this way: "to", "back" or "both".
    At the end of it that is delivered late, or the connection is lost with it. A delay is for both ways."""

    def __init__(self, target):
        self.target, self.held, self.delay, self.asked = target, "", 0.0, 0
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
            far.settimeout(None)  # silence is no fault
            pair = (near, far)
            self.greet(pair)
            with self.lock:
                self.pairs.add(pair)
            for source, sink, way in [(near, far, "to"), (far, near, "back")]:
                threading.Thread(target=self.carry, args=(source, sink, way, pair), daemon=True).start()

    def greet(self, pair):
        """A connection begins."""

    def holds(self, way, pair):
        return self.held in (way, "both")

    def carry(self, source, sink, way, pair):
        try:
            while True:
                data = source.recv(65536)
                came = time.monotonic()
                self.asked += bool(data) and way == "to"  # a client writes each question at once
                while self.holds(way, pair) or time.monotonic() < came + self.delay:
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


class Way:
    """The way of one host to all places of an engine."""

    def __init__(self, server):
        self.proxies = [Proxy(place) for place in server.places]
        # As a URL has it after the first address.
        self.port = ",127.0.0.1:".join(str(proxy.port) for proxy in self.proxies)

    def cut(self, way):
        for proxy in self.proxies:
            proxy.cut(way)

    def slow(self, seconds):
        for proxy in self.proxies:
            proxy.delay = seconds

    def heal(self, loses):
        for proxy in self.proxies:
            proxy.heal(loses)


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
    # For which part of its time two may hold a lock that the engine itself gave away early.
    early = 0.0
    # When the time of all locks began anew.
    led = 0.0

    def __init__(self, folder):
        self.folder, self.port, self.process, self.repaired = folder, free_port(), None, 0.0

    @property
    def places(self):
        """The ports of all places that a URL names."""
        return [self.port]

    def harms(self):
        """What may befall it. Each returns since when it answers again, if that was not just now."""
        return {"engine killed": self.kill, "engine frozen": self.freeze, "engine restarted": self.restart}

    def background(self, *words):
        log = open(f"{self.folder}/log", "ab")
        return subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)

    def kill(self, _=0):
        self.stop()
        self.start()

    def signal(self, number):
        """Sends this to all its processes: those of PostgreSQL have a group each."""
        pids = [self.process.pid, *children(self.process.pid)]
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        return pids

    def freeze(self, seconds):
        self.signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.signal(signal.SIGCONT)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGSTOP)  # so that none sees the end of another
            pids = self.signal(signal.SIGKILL)
            self.process.wait()
            wait("the end of its processes", lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in pids))

    def end(self):
        """Ends all that belongs to it."""
        self.stop()


class Postgres(Server):
    needs = [f"{POSTGRES}/postgres"]
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    # More of its settings, and the environment that gives it another clock.
    settings, clock = [], []

    def __init__(self, folder, **more):
        super().__init__(folder)
        vars(self).update(more)  # a port, say
        os.chmod(folder, 0o777)
        self.data = f"{folder}/data"
        self.make()

    def make(self):
        folder = self.folder
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
        self.process = self.background(*self.user, "env", *self.clock, f"{POSTGRES}/postgres", "-D", self.data, "-p", str(self.port), "-k", self.folder,
                                       "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "fsync=off",
                                       *(word for setting in self.settings for word in ("-c", setting)))
        wait("PostgreSQL", lambda: self.sql("SELECT 1") == "1")

    def sql(self, statement, user="postgres", password="secret"):
        done = subprocess.run(["psql", f"host=127.0.0.1 port={self.port} user={user} dbname=postgres connect_timeout=2", "-qAtc", statement],
                              env={**os.environ, "PGPASSWORD": password}, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    def restart(self, _=0):
        self.process.send_signal(signal.SIGINT)  # fast: it ends all sessions
        self.process.wait()
        self.start()

    def url(self, port, lock):
        return f"postgres://app@127.0.0.1:{port}/postgres?lock={lock}"

    env = {"PGPASSWORD": "app"}


class Bouncer(Postgres):
    """A PostgreSQL behind pgbouncer in transaction mode."""
    needs = [f"{POSTGRES}/postgres", "pgbouncer"]

    pooling = "default_pool_size = 3\nauth_type = scram-sha-256\n"

    def __init__(self, folder, **more):
        super().__init__(folder, **more)
        self.behind, self.port = self.port, free_port()
        with open(f"{folder}/users", "w") as file:
            file.write('"app" "app"\n')
        with open(f"{folder}/pgbouncer.ini", "w") as file:
            file.write(f"[databases]\npostgres = host=127.0.0.1 port={self.behind}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\n"
                       f"unix_socket_dir =\nauth_file = {folder}/users\npool_mode = transaction\nserver_login_retry = 1\n{self.pooling}")
        self.pooler = self.background(*self.user, "pgbouncer", f"{folder}/pgbouncer.ini")
        wait("pgbouncer", lambda: answers(self.port))

    def start(self):
        port, self.port = self.port, getattr(self, "behind", self.port)
        try:
            super().start()
        finally:
            self.port = port

    def end(self):
        os.killpg(self.pooler.pid, signal.SIGKILL)
        self.pooler.wait()
        super().end()


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

    def restart(self, _=0):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.start()

    def url(self, port, lock):
        return f"etcd://127.0.0.1:{port}/{lock}"
