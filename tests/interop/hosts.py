"""Hosts on this machine, to try recipes on: each has namespaces of its own (network, mounts, processes, name) and a cable to
one switch. A host can be switched off (all its processes are killed at once), frozen and cut off; its disk stays.
It needs root, ip (iproute2), unshare and nsenter (util-linux). Nothing is left when a `Network` has been closed.

A host that boots systemd has it as its first process, in a control group of its own (cgroup v2), with the units that its own
/etc/systemd/system and /usr/local/lib/systemd/system have, and none of this machine.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import booted

# Folders of which each host has a copy of its own, as an overlay.
OWN = ["/etc", "/var", "/usr/local"]
# The pages name their files from here.
HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def sh(*words, **options):
    """Runs a command of this machine to its end, and fails with it."""
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


def wait(what, condition, seconds=60):
    """Waits until something holds, and returns it. What that is may be a function, which is called if it does not."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s in vain: {what() if callable(what) else what}")
        time.sleep(0.05)
    return found


class Host:
    # What more a host mounts.
    more = []

    def __init__(self, network, name, number, boots=False):
        self.network, self.name, self.number, self.boots = network, name, number, boots
        self.address = f"10.0.0.{number}"
        self.space = f"{network.title}-{name}"
        self.folder = f"{network.folder}/{name}"
        self.init = None
        self.children = []

    def connect(self):
        port = f"port{self.number}"
        sh("ip", "netns", "add", self.space)
        sh("ip", "-n", self.space, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.network.switch)
        sh("ip", "-n", self.network.switch, "link", "set", port, "master", "switch", "up")

    def on(self):
        """Begins the host: an init that reaps what ends, and mounts. Nothing else runs, unless it boots systemd."""
        sh("ip", "-n", self.space, "address", "add", f"{self.address}/24", "dev", "eth0")
        for link in ["lo", "eth0"]:
            sh("ip", "-n", self.space, "link", "set", link, "up")
        sh("ip", "-n", self.space, "address", "replace", "127.0.0.1/8", "dev", "lo")
        mounts = ["mount --make-rprivate /", "mount -t proc proc /proc"]
        for own in OWN:
            place = f"{self.folder}{own}"
            os.makedirs(f"{place}/up", exist_ok=True)
            os.makedirs(f"{place}/work", exist_ok=True)
            mounts.append(f"mount -t overlay overlay -o lowerdir={own},upperdir={place}/up,workdir={place}/work {own}")
        mounts += ["mount -t tmpfs -o mode=755 none /run", f"hostname {self.name}", "install -d -m 1777 /run/lock",
                   "{ install -d -o postgres /run/postgresql 2>/dev/null || true; }", "touch /run/on"]
        last = "exec env --ignore-signal=CHLD sleep infinity"
        if self.boots:
            last = booted.boot(self.name, self.folder, HERE, self.space)
        command = " && ".join([*mounts, *self.more, last])
        before = set(self.inits())
        self.outer = subprocess.Popen(
            ["ip", "netns", "exec", self.space, "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
             "sh", "-c", command], start_new_session=True, stderr=open(f"{self.folder}/log", "ab"))
        self.init = wait(f"{self.name} begins", lambda: self.lives() and next(iter(set(self.inits()) - before), None))
        # Nothing is written before a command of the host has seen the host's own mounts.
        ready = booted.READY if self.boots else ["test", "-e", "/run/on"]
        wait(f"{self.name} is on", lambda: self.lives() and subprocess.run(self.inside(*ready), capture_output=True).returncode == 0)

    def lives(self):
        """Fails with what the host said if it has ended."""
        if self.outer.poll() is not None:
            raise RuntimeError(f"{self.name} cannot be switched on:\n{self.log()}")
        return True

    def inits(self):
        """The processes whose parent is the one that made the namespaces."""
        if not getattr(self, "outer", None):
            return []
        try:
            with open(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children") as children:
                return [int(pid) for pid in children.read().split()]
        except OSError:
            return []

    def off(self):
        """The host loses its power: the kernel kills all its processes with the first one."""
        if self.init:
            try:
                os.kill(self.init, signal.SIGKILL)
            except ProcessLookupError:
                pass
            # With its namespace of the network still there, its addresses would outlive it.
            for link in ["eth0", "lo"]:
                sh("ip", "-n", self.space, "address", "flush", "dev", link)
                sh("ip", "-n", self.space, "link", "set", link, "down")
            # unshare and nsenter stop with what they started, and would wait for ever.
            for process in [self.outer, *self.children]:
                process.kill()
                process.wait()
            self.children = []
            wait(f"{self.name} has no process left", lambda: not self.alive())
            if self.boots:
                wait(f"{self.name} has no control group left", lambda: booted.removed(self.space))
            self.init = None

    def alive(self):
        """Whether the first process is there, which is the last one to go."""
        try:
            with open(f"/proc/{self.init}/stat") as stat:
                return stat.read().rsplit(") ", 1)[1][0] != "Z"
        except OSError:
            return False

    def processes(self):
        """The ids of all processes of the host but its first: those of its containers, too, which have another namespace."""
        space = os.stat(f"/proc/{self.init}/ns/pid").st_ino
        parents, found = {}, set()
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open(f"/proc/{pid}/stat") as stat:
                    parents[pid] = int(stat.read().rsplit(") ", 1)[1].split()[1])
                if os.stat(f"/proc/{pid}/ns/pid").st_ino == space:
                    found.add(pid)
            except OSError:
                pass
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return sorted(found - {self.init})

    def named(self, words):
        """The processes whose command line begins so."""
        found = []
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/cmdline") as line:
                    if line.read().replace("\0", " ").startswith(words):
                        found.append(pid)
            except OSError:
                pass
        return found

    def signal(self, which, pids):
        for pid in pids:
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                pass

    def freeze(self):
        for _ in range(3):
            self.signal(signal.SIGSTOP, self.processes())

    def thaw(self):
        # nsenter stops with what it started.
        self.signal(signal.SIGCONT, self.processes() + [child.pid for child in self.children])

    def cable(self, carries):
        """Whether the switch carries what this host sends and gets. The host sees no difference."""
        sh("bridge", "-n", self.network.switch, "link", "set", "dev", f"port{self.number}", "state", "3" if carries else "0")

    def loses(self, way):
        """The switch loses what this host sends ("sent"), or what is sent to it ("got"), until this is called with "nothing"."""
        port, table = f"port{self.number}", f"bridge port{self.number}"
        rule = {"sent": f"iifname {port} drop", "got": f"oifname {port} drop", "nothing": ""}[way]
        sh("ip", "netns", "exec", self.network.switch, "nft", "-f", "-", input=f"add table {table}\ndelete table {table}\n"
           f"table {table} {{\nchain cut {{ type filter hook forward priority 0; policy accept;\n{rule}\n}}\n}}\n")

    def inside(self, *words):
        return ["nsenter", f"--target={self.init}", "--root", "--mount", "--uts", "--ipc", "--pid", "--net", "env", "-C", HERE, *words]

    def start(self, *words):
        """Starts a command of this host, and writes what it says to a file."""
        log = open(f"{self.folder}/log", "ab")
        child = subprocess.Popen(self.inside(*words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.children.append(child)
        return child

    def run(self, *words, check=True, timeout=60):
        """Runs a command of this host to its end."""
        done = subprocess.run(self.inside(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        if check and done.returncode:
            raise RuntimeError(f"{self.name}: {' '.join(words)}: code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout.strip()

    def write(self, path, content, mode=644):
        """Makes a file of this host, and its folder."""
        subprocess.run(self.inside("sh", "-c", f"install -d $(dirname {path}) && cat >{path} && chmod {mode} {path}"), input=content, check=True)

    def log(self):
        with open(f"{self.folder}/log", errors="replace") as log:
            return log.read()


class Network:
    """The hosts of these names at 10.0.0.1 and so on, switched on, with this electd in /usr/local/bin. Some may boot systemd."""

    def __init__(self, electd, *names, booted=()):
        # So that nothing is left when the test is asked to end.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.title = f"electd-recipe-{os.getpid()}"
        self.switch = f"{self.title}-switch"
        self.folder = tempfile.mkdtemp(prefix="electd-recipe-")
        os.chmod(self.folder, 0o755)
        self.hosts = {name: Host(self, name, number, name in booted) for number, name in enumerate(names, 1)}
        try:
            sh("ip", "netns", "add", self.switch)
            sh("ip", "-n", self.switch, "link", "add", "switch", "type", "bridge")
            sh("ip", "-n", self.switch, "link", "set", "switch", "up")
            with open(electd, "rb") as file:
                program = file.read()
            names = "127.0.0.1 localhost\n" + "".join(f"{host.address} {host.name}\n" for host in self.hosts.values())
            for host in self.hosts.values():
                host.connect()
                host.on()
                host.write("/etc/hosts", names.encode())
                host.write("/usr/local/bin/electd", program, 755)
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name):
        return self.hosts[name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for host in self.hosts.values():
            try:
                host.off()
            except (OSError, subprocess.SubprocessError, TimeoutError) as error:
                print(f"{host.name} is not off: {error}", file=sys.stderr)
        for space in [host.space for host in self.hosts.values()] + [self.switch]:
            subprocess.run(["ip", "netns", "delete", space], capture_output=True)
        # Where to leave the logs of the hosts, for whoever looks into a failure.
        if logs := os.environ.get("LOGS"):
            os.makedirs(logs, exist_ok=True)
            for host in self.hosts.values():
                if os.path.exists(f"{host.folder}/log"):
                    shutil.copy(f"{host.folder}/log", f"{logs}/{host.name}")
        shutil.rmtree(self.folder)


def commands(page):
    """The commands of a page: for each block marked `sh`, the first line's comment (where to type it) and the block."""
    with open(page) as text:
        blocks = re.findall(r"^```sh\n# ([^\n:]*):?[^\n]*\n(.*?)^```$", text.read(), re.M | re.S)
    return blocks


def missing(*programs):
    """What of these is not installed here."""
    return [name for name in programs if not shutil.which(name)]
