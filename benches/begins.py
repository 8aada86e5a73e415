#!/usr/bin/env python3
"""How long a member leads that cannot begin its job, and how many programs it starts meanwhile.

    benches/begins.py target/release/electd [ROUNDS]

Three members with a majority; the highest leads first, and something keeps its job from beginning. Printed for each cause:
the times in ms from "it leads" at the highest to "it leads" at another one, and how many programs the highest had
started by then (guards, and what becomes the command), as strace saw them from 0.3 s before it led. Needs strace.
"""

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from members import Member, await_, write_cluster

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
HIGHEST = "c"


class Traced(Member):
    """A member that strace follows."""

    def follow(self, file):
        self.trace = subprocess.Popen(
            ["strace", "-f", "-qq", "-e", "trace=execve", "-ttt", "-o", file, "-p", str(self.process.pid)])

    def end(self):
        super().end()
        self.trace.wait()


def guards_of(pid):
    """The processes below a node that are guards."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            children = open(f"/proc/{pid}/task/{task}/children").read().split()
        except OSError:
            continue
        for child in children:
            try:
                if b"\0guard\0" in open(f"/proc/{child}/cmdline", "rb").read():
                    found.append(int(child))
            except OSError:
                pass
    return found


def kill_guards(member, over):
    while not over.is_set():
        for guard in guards_of(member.process.pid):
            try:
                os.kill(guard, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.0005)


def one_round(cause):
    folder = tempfile.mkdtemp(prefix="electd-begins-")
    names = ["a", "b", HIGHEST]
    file = write_cluster(folder, names, cluster="begins")
    stop, good = ["--stop-after", "1s", "--"], ["sleep", "100000"]
    others = [Member(file, name, folder, *stop, *good) for name in names[:2]]
    cwd = os.path.join(folder, "cwd")
    os.mkdir(cwd)
    job = ["/no/such/program"] if cause == "the program is missing" else good
    highest = Traced(file, HIGHEST, cwd, *stop, *job)
    highest.follow(os.path.join(folder, "strace"))
    over = threading.Event()
    if cause == "the working directory is gone":
        os.rmdir(cwd)
    if cause == "its guards are killed at their start":
        threading.Thread(target=kill_guards, args=(highest, over), daemon=True).start()
    pid, state = highest.process.pid, os.path.join(folder, HIGHEST)
    if cause == "its lock cannot be opened":
        await_("it has started", lambda: os.path.exists(os.path.join(state, "control.sock")))
        os.makedirs(os.path.join(state, "job.lock"))
    if cause == "it may open no more files":
        await_("it has started", lambda: os.path.exists(os.path.join(state, "control.sock")))
        count = len(os.listdir(f"/proc/{pid}/fd"))
        subprocess.run(["prlimit", f"--pid={pid}", f"--nofile={count + 6}:"], check=True)
    await_("the highest leads", highest.led, 20)
    led = highest.led()

    def next_led():
        return min((at for at in (one.led(after=led) for one in others) if at), default=None)

    runs = cause == "the working directory is gone"  # then the job does begin
    begin = time.monotonic()
    while next_led() is None and time.monotonic() - begin < (3 if runs else 60):
        time.sleep(0.002)
    at = next_led()
    over.set()
    highest.end()
    for one in others:
        one.end()
    wall = time.time() - time.monotonic()
    text = open(os.path.join(folder, "strace")).read()
    started = [float(m[1]) for m in re.finditer(r"^\d+ +(\d+\.\d+) execve\(.*(?:= 0$|unfinished)", text, re.M)]
    until = (at or time.monotonic()) + wall
    count = sum(led + wall - 0.3 <= when <= until for when in started)
    shutil.rmtree(folder)
    return (None if at is None else (at - led) * 1000, count)


for cause in ["the program is missing", "the working directory is gone", "its guards are killed at their start",
              "its lock cannot be opened", "it may open no more files"]:
    rounds = [one_round(cause) for _ in range(ROUNDS)]
    times = sorted(took for took, _ in rounds if took is not None)
    shown = f"{statistics.median(times):.0f} median, {times[-1]:.0f} most" if times else "leads on"
    print(f"{cause}: {shown}; programs started: {max(count for _, count in rounds)} at most ({len(times)} of {len(rounds)} moved)", flush=True)
