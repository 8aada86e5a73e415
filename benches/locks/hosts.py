"""Hosts of network namespaces on one bridge, and what runs on them."""

import json
import os
import signal
import subprocess
import time
import uuid

TITLE = f"electd-locks-{os.getpid()}"
SWITCH = f"{TITLE}-s"


def now():
    """Nanoseconds of CLOCK_BOOTTIME, which electd counts by, too."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def await_(condition, what, seconds=60):
    """Waits until the condition holds, and gives what it returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.002)
    raise SystemExit(f"not within {seconds} s: {what}")


class Hosts:
    def __init__(self, size, folder):
        self.size, self.folder, self.logs = size, folder, open(f"{folder}/log", "ab")
        self.numbers = range(1, size + 1)
        ip("netns", "add", SWITCH)
        ip("-n", SWITCH, "link", "add", "switch", "type", "bridge")
        ip("-n", SWITCH, "link", "set", "switch", "up")
        for host in self.numbers:
            home = self.home(host)
            ip("netns", "add", home)
            ip("-n", home, "link", "add", "cable", "type", "veth", "peer", "name", f"port-{host}", "netns", SWITCH)
            ip("-n", home, "address", "add", f"10.0.0.{host}/16", "dev", "cable")
            ip("-n", home, "link", "set", "lo", "up")
            ip("-n", home, "link", "set", "cable", "up")
            ip("-n", SWITCH, "link", "set", f"port-{host}", "master", "switch", "up")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in self.numbers:
            self.kill(host)
        for home in [*map(self.home, self.numbers), SWITCH]:
            subprocess.run(["ip", "netns", "delete", home], check=False)

    def home(self, host):
        return f"{TITLE}-{host}"

    def start(self, host, words, **more):
        """Starts a program on a host."""
        more = {"stdout": self.logs, "stderr": self.logs, "stdin": subprocess.DEVNULL, **more}
        return subprocess.Popen(["ip", "netns", "exec", self.home(host), *map(str, words)], **more)

    def pids(self, host):
        return [int(pid) for pid in ip("netns", "pids", self.home(host)).split()]

    def kill(self, host):
        """Kills all that runs on a host, as if its power failed: nothing there does anything more."""
        while pids := self.pids(host):
            for deed in (signal.SIGSTOP, signal.SIGKILL):
                for pid in pids:
                    try:
                        os.kill(pid, deed)
                    except ProcessLookupError:
                        pass
            time.sleep(0.01)

    def plug(self, host, carries):
        state = "3" if carries else "0"
        subprocess.run(["bridge", "-n", SWITCH, "link", "set", "dev", f"port-{host}", "state", state], check=True)

    def frames(self):
        """The frames and the bytes that all hosts have sent."""
        ports = [port for port in json.loads(ip("-n", SWITCH, "-s", "-j", "link")) if port["ifname"].startswith("port-")]
        got = [port["stats64"]["rx"] for port in ports]
        return sum(one["packets"] for one in got), sum(one["bytes"] for one in got)

    def all(self):
        """The processes of all hosts, without the clients that a measurement brings along."""
        for pid in (pid for host in self.numbers for pid in self.pids(host)):
            with open(f"/proc/{pid}/comm") as file:
                if not file.read().startswith("python"):
                    yield pid

    def cpu(self):
        """Nanoseconds that all threads of all processes of all hosts have run."""
        total = 0
        for pid in self.all():
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                    total += int(file.read().split()[0])
        return total

    def memory(self):
        """The memory of all processes of all hosts, in MB: what each shares with others is divided among these."""
        total = 0
        for pid in self.all():
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        return total / 1024

    def idle(self, seconds=10):
        """What one host uses on average while nothing happens: CPU in % of a core, frames and bytes a second, MB."""
        cpu, (frames, size), begin = self.cpu(), self.frames(), now()
        time.sleep(seconds)
        took = (now() - begin) / 1e9
        cpu, (more, sizes) = self.cpu() - cpu, self.frames()
        each = took * self.size
        return {"cpu_percent": round(cpu / 1e7 / each, 2), "frames": round((more - frames) / each, 1),
                "bytes": round((sizes - size) / each), "mb": round(self.memory() / self.size, 1)}


def cluster(folder, size, **more):
    """Writes the file of a cluster of electd, and gives its path."""
    members = [{"name": f"h{host}", "id": str(uuid.uuid4()), "address": f"10.0.0.{host}:7100"}
               for host in range(1, size + 1)]
    path = f"{folder}/cluster.json"
    with open(path, "w") as file:
        json.dump({"cluster": "bench", "quorum": "majority", "data_dir": f"{folder}/data", "members": members, **more}, file)
    return path
