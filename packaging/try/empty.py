"""The program in an empty root: no library, no shell, nothing but the program, its file, /proc and /dev."""

import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

from base import Cluster, check, missing, mount_system, need, run, wait

NAMES = ["a", "b", "c"]
LIMIT = 10_000_000


class Names(threading.Thread):
    """A server of names: NAME.electd.test is 127.0.1.1 and so on. Counts the questions."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))
        self.asked = 0

    def run(self):
        while True:
            question, sender = self.socket.recvfrom(512)
            end = question.index(b"\0", 12) + 5
            kind = struct.unpack(">H", question[end - 4:end - 2])[0]
            name = question[13:13 + question[12]].decode()
            answer = b""
            if kind == 1 and name in NAMES:
                self.asked += 1
                answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 5, 4) + bytes([127, 0, 1, NAMES.index(name) + 1])
            head = question[:2] + b"\x85\x80" + struct.pack(">HHHH", 1, bool(answer), 0, 0)
            self.socket.sendto(head + question[12:end] + answer, sender)


def make_root(root, program):
    root.mkdir()
    mount_system(root)
    shutil.copy(program, root / "electd")
    (root / "etc").mkdir()
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.53\n")


def new_cluster(root, work, name, *options):
    """Writes a file by the program itself, and has a node of each member started in a root of its own."""
    (root / name).mkdir()
    run("chroot", root, "/electd", "init", "--out", f"/{name}/cluster.json", "--data-dir", f"/{name}/state", *options)
    for member in NAMES:
        if member != "a":
            shutil.copytree(root / name, root.parent / member / name)

    def command(member):
        return ["chroot", root.parent / member, "/electd", "run", "--config", f"/{name}/cluster.json", "--node", member]
    return Cluster(root / name / "cluster.json", command, work / f"{name}.log")


def try_cluster(cluster, title, limit, more=lambda: None):
    """Starts three nodes, looks at more while all are well, kills the one that leads, and stops the next."""
    leader, took = cluster.leads(cluster.start())
    check(took <= limit, f"{title}: {leader} leads {took} ms after the last start (at most {limit})")
    wait("no node has a problem", cluster.all_well)
    code, text = cluster.get(leader, "/status")
    check(code == 200 and f'"name":"{leader}"' in text, f"{title}: HTTP answers, and no node has a problem")
    more()
    since = time.monotonic()
    cluster.stop(leader, signal.SIGKILL)
    second, took = cluster.leads(since)
    check(True, f"{title}: {leader} is killed, and {second} leads after {took} ms: {cause(cluster, second)}")
    check(cluster.stop(second) == 0, f"{title}: {second} is stopped, and ends with 0")
    for last in list(cluster.processes):
        cluster.stop(last)


def cause(cluster, name):
    return cluster.status(name)["last_leadership"]["reason"]


def stranger(host, address, folder):
    """Whether a port of a member speaks TLS, with a certificate of this authority, and with nobody who has none."""
    port = address.rsplit(":", 1)[1]
    context = ssl.create_default_context(cafile=str(folder / "tls/ca.pem"))
    context.check_hostname = False
    try:
        with socket.create_connection((host, int(port)), timeout=5) as plain:
            with context.wrap_socket(plain, server_hostname=host) as protected:
                protected.sendall(b"hello")
                return protected.version() if protected.recv(1) == b"" else "an answer"
    except ssl.SSLError as error:
        return error.reason


def try_empty(program, work, arch, limit):
    title = f"{arch} in an empty root"
    run("ip", "link", "set", "lo", "up")
    for member in NAMES:
        make_root(work / member, program)
    root = work / "a"
    version = run("chroot", root, "/electd", "--version").strip()
    check(version.startswith("electd "), f"{title}: {version}")

    hosts = [word for number, name in enumerate(NAMES, 1) for word in ["--member", f"{name}=127.0.0.{number}"]]
    try_cluster(new_cluster(root, work, "plain", *hosts), title, limit)

    names = Names("127.0.0.53")
    names.start()
    hosts = [word for name in NAMES for word in ["--member", f"{name}={name}.electd.test"]]
    cluster = new_cluster(root, work, "secured", "--tls", *hosts)
    ask = cluster.get
    cluster.get = lambda name, path: ask(name, path, f"127.0.1.{NAMES.index(name) + 1}")

    def strangers():
        said = stranger("127.0.1.1", cluster.members["a"]["address"], root / "secured")
        check(said and "CERTIFICATE_REQUIRED" in said, f"{title}: who has no certificate is refused: {said}")
    try_cluster(cluster, f"{title}, with TLS and names", limit, strangers)
    check(names.asked >= len(NAMES), f"{title}: the names were asked for by DNS, {names.asked} times")
    size = pathlib.Path(program).stat().st_size
    check(size <= LIMIT, f"{arch}: {size:,} bytes (at most {LIMIT:,})")


def register(arch):
    """Has the kernel run programs of another kind by qemu, in this user namespace alone."""
    need(f"{arch}, which this processor cannot run", f"qemu-{arch}-static")
    done = subprocess.run(["mount", "-t", "binfmt_misc", "none", "/proc/sys/fs/binfmt_misc"])
    if done.returncode:
        missing(f"Linux 6.7, or qemu registered with binfmt_misc: {arch}, which this processor cannot run")
    machine = {"aarch64": r"\xb7", "x86_64": r"\x3e"}[arch]
    magic = rf"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00{machine}\x00"
    mask = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    qemu = shutil.which(f"qemu-{arch}-static")
    with open("/proc/sys/fs/binfmt_misc/register", "wb", buffering=0) as new:
        new.write(f":electd:M::{magic}:{mask}:{qemu}:F".encode())
