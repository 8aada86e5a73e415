"""Tries what `make dist` made, as a stranger would use it: python3 packaging/try [FOLDER [PART...]], as root.

Each part runs in namespaces of its own (mounts, network, processes), and leaves nothing. It says `ok`, `missing` (a tool
that is not here) or `FAILED`, and ends with 1 if something failed. DEBIAN names a root of Debian; without it, debootstrap
makes one.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import empty  # noqa: E402
import image  # noqa: E402
import join  # noqa: E402
import packages  # noqa: E402
from base import MISSING, check, need, run, say  # noqa: E402

PARTS = ["sums", "x86_64", "aarch64", "deb", "rpm", "join", "image"]
# A leader has to be there this soon; a processor that is played has its own time.
LEADS_WITHIN, PLAYED_WITHIN = 1000, 20_000


def sums(dist):
    need("the sums", "sha256sum")
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=dist)
    named = {line.split()[1] for line in (dist / "SHA256SUMS").read_text().splitlines()}
    check(named == set(os.listdir(dist)) - {"SHA256SUMS"}, f"SHA256SUMS is right, and names each of {len(named)} files")


def inside(part, dist, work, root):
    """A part, in its namespaces."""
    if part in ["x86_64", "aarch64"]:
        [program] = dist.glob(f"electd-*-{part}-linux")
        played = part != platform.machine()
        if played:
            empty.register(part)
        empty.try_empty(program, work, part, PLAYED_WITHIN if played else LEADS_WITHIN)
    elif part == "sums":
        sums(dist)
    elif part == "image":
        image.try_image(dist, work)
    else:
        {"deb": packages.try_deb, "rpm": packages.try_rpm, "join": join.try_join}[part](dist, work, root)


def outside(part, dist):
    """A part in a folder of its own. Returns its code."""
    with tempfile.TemporaryDirectory(prefix="electd-try-") as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)
        root = packages.debian(work) if part in ["deb", "rpm", "join"] else "/"
        spaces = ["--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if part in ["x86_64", "aarch64"] and part != platform.machine():
            # Which programs are played by another one can be a matter of a user namespace (Linux 6.7).
            spaces += ["--user", "--map-root-user"]
            if subprocess.run(["unshare", "--user", "true"], stderr=subprocess.DEVNULL).returncode:
                say("missing", f"user namespaces, which a root that was changed into has not: {part}")
                return MISSING
        (work / "work").mkdir()
        words = ["unshare", *spaces, sys.executable, os.path.dirname(__file__), "--inside", part, dist, work / "work", root]
        return subprocess.run([str(word) for word in words]).returncode


def main():
    if sys.argv[1:2] == ["--inside"]:
        part, dist, work, root = sys.argv[2:]
        return inside(part, pathlib.Path(dist), pathlib.Path(work), root)
    dist = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/dist").resolve()
    parts = sys.argv[2:] or PARTS
    if os.geteuid() or not shutil.which("unshare"):
        sys.exit("try: needs root, and unshare of util-linux")
    codes = {part: outside(part, dist) for part in parts}
    failed = [part for part, code in codes.items() if code not in [0, MISSING]]
    say("FAILED" if failed else "ok", f"{', '.join(failed or parts)}")
    sys.exit(bool(failed))


main()
