"""Members of a cluster of electd, for the measurements beside this file."""

import json
import os
import socket
import subprocess
import sys
import threading
import time

ELECTD = os.path.abspath(sys.argv[1])
IDS = [f"{number}0000000-0000-4000-8000-000000000001" for number in range(1, 10)]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Member:
    """A member, its lines of stderr, and when each came."""

    def __init__(self, file, name, cwd, *job):
        command = [ELECTD, "run", "--config", file, "--node", name, *job]
        self.name, self.lines = name, []
        self.process = subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic(), line))

    def led(self, after=0.0):
        """When it began to lead, after this time."""
        return next((at for at, line in list(self.lines) if ": leads in epoch" in line and at > after), None)

    def end(self):
        self.process.terminate()
        self.process.wait()


def write_cluster(folder, names, **settings):
    """The configuration of members on loopback; the last of them ranks highest."""
    ports = free_ports(2 * len(names))
    members = [{"id": id_, "name": name, "address": f"127.0.0.1:{port}", "admin": f"127.0.0.1:{admin}"}
               for id_, name, port, admin in zip(IDS, names, ports[::2], ports[1::2])]
    file = os.path.join(folder, "cluster.json")
    with open(file, "w") as out:
        json.dump({"quorum": "majority", "data_dir": folder, "members": members, **settings}, out)
    return file


def await_(what, look, most=60):
    begin = time.monotonic()
    while not look():
        if time.monotonic() - begin > most:
            sys.exit(f"{what}: not within {most} s")
        time.sleep(0.002)
