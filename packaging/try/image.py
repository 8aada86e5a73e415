"""The image: each of its platforms can be copied, and three containers of it on three hosts elect a leader."""

import json
import os
import pathlib
import signal
import subprocess
import tarfile
import time

from base import Cluster, check, need, run, wait
from hosts import HOSTS, connect

LIMIT = 2000


def try_skopeo(dist, archive, work):
    """Copies the platform of each program, which checks every digest."""
    need("the platforms of the image", "skopeo")
    for arch, name, machine in [("amd64", "x86_64", 0x3E), ("arm64", "aarch64", 0xB7)]:
        if not list(dist.glob(f"electd-*-{name}-linux")):
            continue
        folder = work / arch
        run("skopeo", "--insecure-policy", "--override-os", "linux", "--override-arch", arch, "copy", f"oci-archive:{archive}", f"dir:{folder}")
        manifest = json.loads((folder / "manifest.json").read_text())
        [layer] = manifest["layers"]
        with tarfile.open(folder / layer["digest"].removeprefix("sha256:")) as tar:
            program = tar.extractfile("usr/bin/electd").read()
        check(program[:4] == b"\x7fELF" and program[18] == machine, f"skopeo copies the image for {arch}, and its program is for that")


def try_podman(archive, work):
    need("containers of the image", "podman", "ip")
    connect()
    # Where this runs in a root that was changed into, these are missing.
    for kind, place in [("sysfs", "/sys"), ("cgroup2", "/sys/fs/cgroup")]:
        if not os.path.ismount(place):
            run("mount", "-t", kind, kind, place)
    podman = ["podman", "--root", work / "store", "--runroot", "/run/store", "--tmpdir", "/run/podman", "--storage-driver", "vfs",
              "--cgroup-manager", "cgroupfs", "--events-backend", "none"]
    loaded = run(*podman, "load", "--input", archive).split()[-1]
    check(loaded.startswith("docker.io/library/electd:"), f"podman loads {loaded}")
    members = [word for name, address in HOSTS.items() for word in ["--member", f"{name}={address}"]]
    container = ["--rm", "--cgroups", "disabled", "--security-opt", "seccomp=unconfined"]
    file = subprocess.run([str(word) for word in [*podman, "run", *container, "--network", "none", loaded, "init", *members]],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    config = work / "cluster.json"
    config.write_text(file)
    config.chmod(0o644)

    def command(name):
        return [*podman, "run", *container, "--name", name, "--network", f"ns:/run/netns/{name}", "--env", f"ELECTD_NODE={name}",
                "--volume", f"{config}:/etc/electd/cluster.json:ro", "--volume", f"state-{name}:/var/lib/electd", loaded]
    cluster = Cluster(config, command, work / "containers.log")
    # "The last start" is the moment in which its first process is there: what podman takes to make it is podman's.
    cluster.start()
    for name in HOSTS:
        wait(f"{name} answers", lambda: cluster.get(name, "/livez")[0] == 200)
    leader, took = cluster.leads(time.monotonic())
    check(took <= LIMIT, f"three containers on three hosts: {leader} leads {took} ms after the last one answers (at most {LIMIT})")
    wait("no node has a problem", cluster.all_well)
    user = pathlib.Path(f"/proc/{first(podman, leader)}/status").read_text()
    check("Uid:\t65532" in user, "containers: no node runs as root, and none has a problem")
    since = time.monotonic()
    run(*podman, "stop", leader)
    second, took = cluster.leads(since, leader)
    check(True, f"containers: {leader} is stopped, and {second} leads after {took} ms")
    code = cluster.processes.pop(leader).wait(30)
    check(code == 0, "containers: the one that was stopped ended with 0")
    since = time.monotonic()
    os.kill(first(podman, second), signal.SIGKILL)
    cluster.processes.pop(second).wait(30)
    for name in [leader, second]:
        cluster.start(name)
    third, took = cluster.leads(since)
    wait("no node has a problem", cluster.all_well)
    check(True, f"containers: {second} is killed and both are started again: {third} leads after {took} ms")
    for name in HOSTS:
        run(*podman, "stop", name)
    for process in cluster.processes.values():
        process.wait(30)


def first(podman, name):
    return int(run(*podman, "inspect", "--format", "{{.State.Pid}}", name))


def try_image(dist, work):
    [archive] = dist.glob("electd-*-image.tar")
    try_skopeo(dist, archive, work)
    try_podman(archive, work)
