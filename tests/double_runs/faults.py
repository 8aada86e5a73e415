"""What befalls the host of the job, or what decides there: the columns of the table."""

import os
import signal
import subprocess
import time

# For so long a process is stopped, and the other faults last.
STOPPED, LASTING = 30, 20


class Fault:
    """What it means, and of which kinds of processes, or which way."""

    def __init__(self, meaning, *kinds):
        self.meaning, self.kinds = meaning, kinds

    def prepare(self, network):
        """Before the tool begins on these hosts."""

    def clean(self, network):
        """Whatever happened."""


class Killed(Fault):
    """kill -9 of these kinds of processes, one right after the other."""

    def harm(self, tool, holder, chance):
        places = {kind: tool.decides(holder) if kind == "daemons" else holder for kind in self.kinds}
        pids = [pid for kind, host in places.items() for pid in tool.processes(host, kind)]
        assert pids, f"nothing of {self.kinds} runs on {holder.name}"
        chance.shuffle(pids)
        holder.signal(signal.SIGKILL, pids)


class Stopped(Fault):
    """SIGSTOP, and SIGCONT later, of these kinds on the host of the job; without a kind, of all processes there."""

    def harm(self, tool, holder, chance):
        pids = tool.processes(holder, *self.kinds)
        if self.kinds:
            assert pids, f"nothing of {self.kinds} runs on {holder.name}"
            holder.signal(signal.SIGSTOP, pids)
        else:
            holder.freeze()
        time.sleep(STOPPED)
        if self.kinds:
            holder.signal(signal.SIGCONT, pids)
        else:
            holder.thaw()


class Cut(Fault):
    """The switch loses what the host sends, what it gets, or, without a way, both."""

    def harm(self, tool, holder, chance):
        holder.loses(*self.kinds) if self.kinds else holder.cable(False)
        time.sleep(LASTING)
        holder.loses("nothing") if self.kinds else holder.cable(True)


class Jumped(Fault):
    """The wall clocks of the job's host and of what decides are an hour ahead, and then right again."""

    def harm(self, tool, holder, chance):
        for offset in ["+1h", "+0"]:
            for name in {holder.name, tool.decides(holder).name}:
                tool.clocks[name].set(offset)
            time.sleep(LASTING if offset == "+1h" else 0)


class Hung(Fault):
    """The disk of what decides takes no write for a while: a file system of its own, which is frozen."""

    def prepare(self, network):
        for host in network.hosts.values():
            image = f"{host.folder}/disk"
            os.truncate(os.open(image, os.O_CREAT | os.O_RDWR), 2 << 30)
            subprocess.run(["mkfs.ext4", "-q", image], check=True)
            os.makedirs(f"{host.folder}/data")
            host.run("mount", "-o", "loop", image, f"{host.folder}/data")

    def harm(self, tool, holder, chance):
        host = tool.decides(holder)
        host.run("fsfreeze", "--freeze", f"{host.folder}/data")
        time.sleep(LASTING)
        host.run("fsfreeze", "--unfreeze", f"{host.folder}/data")

    def clean(self, network):
        for host in network.hosts.values():
            host.run("fsfreeze", "--unfreeze", f"{host.folder}/data", check=False)


FAULTS = {
    "client": Killed("kill -9 of what holds the lock for the job", "clients"),
    "daemon": Killed("kill -9 of what decides", "daemons"),
    "all": Killed("kill -9 of both, and of all else of the tool, but not of the job", "clients", "daemons", "others"),
    "stop-client": Stopped("SIGSTOP for 30 s of what holds the lock", "clients"),
    "stop-all": Stopped("SIGSTOP for 30 s of all of the tool on the job's host, but not of the job",
                        "clients", "daemons", "others"),
    "stop-host": Stopped("SIGSTOP for 30 s of all processes of the job's host, the job too"),
    "cut": Cut("the network of the job's host is cut for 20 s"),
    "cut-sent": Cut("for 20 s all is lost that the job's host sends", "sent"),
    "cut-got": Cut("for 20 s all is lost that is sent to the job's host", "got"),
    "clock": Jumped("the wall clocks of the job's host and of what decides are an hour ahead for 20 s"),
    "disk": Hung("the disk of what decides takes no write for 20 s"),
}
