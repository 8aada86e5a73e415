"""The job: until it is ended it writes every 10 ms what time it is, by CLOCK_BOOTTIME, which no fault changes.

Its file says by its name on which host it runs, as which process, since when, and by which token. Programs that hold a
lock of a library import `work`; to the others this is the command: job.py FOLDER.
"""

import os
import socket
import struct
import sys
import time


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def begin(folder, token):
    """Returns what writes one time."""
    name = f"{folder}/{socket.gethostname()}_{os.getpid()}_{now()}_{token}"
    file = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    return lambda: os.write(file, struct.pack("=Q", now()))


def work(folder, token=0, goes_on=lambda: True):
    """Works for as long as the lock is held, as far as its holder knows."""
    write = begin(folder, token)
    while goes_on():
        write()
        time.sleep(0.01)


if __name__ == "__main__":
    work(sys.argv[1], int(os.environ.get("ELECTD_EPOCH") or os.environ.get("ETCD_LOCK_REV") or 0))
