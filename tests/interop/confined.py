"""Runs a program with the system calls that a unit of systemd allows: confined.py UNIT PROGRAM ARG...

It reads the lines SystemCallFilter= of the unit, asks systemd-analyze for the sets that they name, and has every
other call fail with EPERM, as SystemCallErrorNumber= says. It ends with 75 if something that it needs is missing.
"""

import ctypes
import os
import re
import struct
import subprocess
import sys

HEADERS = ["/usr/include/asm/unistd_64.h", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"]
ALLOW, EPERM = 0x7FFF0000, 0x00050001
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def calls(name):
    """The names of the system calls in a set, or the one call."""
    if not name.startswith("@"):
        return {name}
    lines = subprocess.run(
        ["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True
    ).stdout.split("\n")[1:]
    words = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    return set().union(*(calls(word) for word in words))


def allowed(unit):
    """What the lines of the unit allow, in their order."""
    found = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
        names = set().union(*(calls(name) for name in line.lstrip("~").split()))
        found = found - names if line.startswith("~") else found | names
    return found


def forbid_others(numbers):
    """Has every other system call of this process and its children fail."""
    load = struct.pack("HBBI", 0x20, 0, 0, 0)
    take = struct.pack("HBBI", 0x06, 0, 0, ALLOW)
    program = load + b"".join(struct.pack("HBBI", 0x15, 0, 1, number) + take for number in numbers)
    program += struct.pack("HBBI", 0x06, 0, 0, EPERM)
    code = ctypes.create_string_buffer(program)

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    found = Filter(len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(found), 0, 0):
        sys.exit(75)


header = next((path for path in HEADERS if os.path.exists(path)), None)
if header is None or os.uname().machine != "x86_64":
    sys.exit(75)
numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", open(header).read()))
names = allowed(open(sys.argv[1]).read())
forbid_others(sorted(int(numbers[name]) for name in names if name in numbers))
os.execv(sys.argv[2], sys.argv[2:])
