"""A tool on the hosts a, b and c of a network, and what can be harmed of it."""

import os
import shlex

HERE = os.path.dirname(os.path.abspath(__file__))
# Debian's, which has the libraries.
PYTHON = "/usr/bin/python3"


class Tool:
    # What the page calls it, and what has to be installed.
    name, needs = "", []
    hosts = ["a", "b", "c"]
    # The host whose daemon decides, if it is the same for all.
    server = None
    # How the command lines begin: of what holds the lock, of what decides on it, and of what else belongs to the tool.
    clients, daemons, others = [], [], []
    # Whether jobs get a token that grows.
    has_tokens = False
    # Why a fault cannot be done to it.
    without = {}
    # For so long a fault is looked at after it is repaired: longer than its locks last.
    window = 15

    def __init__(self, network, clocks):
        """`clocks` has what gives a host another clock, by the host's name, if the fault is one."""
        self.network = network
        self.clocks = clocks
        self.folder = f"{network.folder}/jobs"
        self.job = f"{PYTHON} -S -E {HERE}/job.py {self.folder}"
        self.begin()

    def begin(self):
        """Starts all of it."""

    def serve(self, name, command, is_by_true_clock=False, **env):
        """Runs a command on a host, and again a second after it has ended, as a unit of systemd would."""
        if name in self.clocks and not is_by_true_clock:
            # To look for the time at each question is too much for some.
            env = {**self.clocks[name].env, **env, "FAKETIME_NO_CACHE": "0", "FAKETIME_CACHE_DURATION": "1"}
        env = " ".join(f"{key}={value}" for key, value in env.items())
        self.network[name].start("sh", "-c", f"while :; do env {env} {command}\nsleep 1; done")

    def program(self, name, file, *words):
        """Runs one of the programs that hold a lock of a library. Python cannot sleep by another clock."""
        command = shlex.join([PYTHON, f"{HERE}/programs/{file}", self.folder, *words])
        self.serve(name, command, is_by_true_clock=True, PYTHONPATH=HERE, PYTHONDONTWRITEBYTECODE="1")

    def data(self, name):
        """The folder of what a host keeps, which may be a disk of its own."""
        return f"{self.network[name].folder}/data"

    def decides(self, holder):
        """The host whose daemon is harmed."""
        return self.network[self.server] if self.server else holder

    def processes(self, host, *kinds):
        """The processes of these kinds, by the names of the lists above."""
        return [pid for kind in kinds for words in getattr(self, kind) for pid in host.named(words)]

    def end_strays(self, strays):
        """Ends jobs that nobody ends, as an operator would."""
        for job in strays:
            for pid in self.network[job.host].processes():
                try:
                    with open(f"/proc/{pid}/status") as file:
                        own = next(line.split()[-1] for line in file if line.startswith("NSpid"))
                    if int(own) == job.pid:
                        os.kill(pid, 9)
                except (OSError, StopIteration):
                    pass
