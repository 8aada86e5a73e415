"""Tries examples/container on three hosts of namespaces, with podman: container.py ELECTD [FAULTS]. As root.

It types what the page says, with an image that writes to a resource that compares epochs, and harms the host of the container
by turns. It ends with 1 if a container writes beside the next one, or if the resource takes a late write, and with 75 if
something that it needs is missing.
"""

import io
import os
import re
import signal
import statistics
import sys
import tarfile

from epochs import WRITER, Log
from hosts import Host, Network, sh, wait
from recipe import GUARD, Recipe, begin

NAMES = ["a", "b", "c"]
# The node is killed; the node and its guard are killed at once, so that the coroner ends the container; node, guard and coroner
# stand still, so that nobody does before they go on; all of the host stands still; it loses its power; an operator moves the
# leadership; the switch carries nothing of the host; the node stands still.
KINDS = ["kill", "all", "stall", "freeze", "power", "switchover", "cut", "stop"]
# What was written before may come after: when the host goes on, or when its cable carries again what the kernel still sends.
LATE = ["stall", "freeze", "cut"]
CONFIG = """[containers]
netns = "host"
seccomp_profile = "unconfined"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
"""
STORAGE = """[storage]
driver = "vfs"
graphroot = "/var/lib/containers/storage"
runroot = "/run/containers/storage"
"""


def image(path):
    """A root of bash alone."""
    with tarfile.open(path, "w") as tar:
        for file in {"/bin/bash", *re.findall(r"(/\S+) \(0x", sh("ldd", "/bin/bash"))}:
            with open(file, "rb") as content:
                entry = tarfile.TarInfo(file.lstrip("/"))
                entry.mode, entry.size = 0o755, os.fstat(content.fileno()).st_size
                tar.addfile(entry, io.BytesIO(content.read()))


def install(host, archive):
    """What a host has before the page: an engine, and the image."""
    for place, text in [("containers", CONFIG), ("storage", STORAGE)]:
        host.write(f"/etc/containers/{place}.conf", text.encode())
    command = '","'.join(["/bin/bash", "-c", WRITER.replace("HOST", "10.0.0.4").replace('"', '\\"')])
    host.write("/etc/electd/container/image", b"localhost/web\n")
    host.run("podman", "import", "--change", f'CMD ["{command}"]', archive, "localhost/web", timeout=300)


def harm(recipe, kind, host, to):
    """Harms a host, and returns what mends it."""
    if kind == "all":
        host.signal(signal.SIGKILL, host.named("electd run") + host.named(GUARD))
    if kind == "stall":
        electd = host.named("electd ")
        host.signal(signal.SIGSTOP, electd)
        return lambda: host.signal(signal.SIGCONT, electd)
    return recipe.harm(kind, host, to)


def main():
    electd, page, faults = begin("container", ["podman", "bash", "ldd"])
    Host.more = ["mount -t cgroup2 none /sys/fs/cgroup"]
    with Network(electd, *NAMES, "d") as network:
        network["a"].run("sh", "-ec", "install -d /etc/electd && electd init --timing vm --member a=10.0.0.1 --member b=10.0.0.2"
                         " --member c=10.0.0.3 --out /etc/electd/cluster.json")
        image(f"{network.folder}/web.tar")
        for name in NAMES:
            install(network[name], f"{network.folder}/web.tar")
        writes = f"{network.folder}/writes"
        network["d"].start(sys.executable, "tests/interop/epochs.py", writes)
        recipe = Recipe(network, page, NAMES, ["electd run"], ignored=("podman pull", "echo docker.io"))
        log, moved, late = Log(writes, NAMES), [], 0

        def well():
            """The host of the container, when all follow it. What a node was late for, it reports for some time more."""
            leader = recipe.leader()
            return leader if leader and log.writes(leader.name) else None

        for turn in range(faults):
            kind, host = KINDS[turn % len(KINDS)], wait("the container of the leader writes, and all is well", well, 180)
            epoch = log.last()[1]
            mend = harm(recipe, kind, host, next(name for name in NAMES if name != host.name))
            wait(f"a later container writes, after {kind} of {host.name}", lambda: log.last()[1] > epoch, 120)
            mend()
            wait("all is well", well, 180)
            seconds, refused = log.judge(epoch, kind in LATE)
            moved, late = [*moved, seconds], late + refused
            print(f"{turn + 1}: {kind} of {host.name}: {seconds:.2f} s without a write, {refused} late ones refused", flush=True)
        assert late or faults <= KINDS.index("stall"), "no late write came, so none was refused"
        print(f"{faults} faults, never two containers while electd, its guard or its coroner ran; {late} late writes refused by their epoch; nothing written for"
              f" {statistics.median(moved):.1f} s in the median, {max(moved):.1f} s at most; load {os.getloadavg()[0]:.0f}")


main()
