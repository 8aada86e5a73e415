#!/usr/bin/env python3
"""How long nobody leads where each leader is killed, and started again a little later, over and over.

    benches/killed_again.py target/release/electd [KILLS [ALGORITHM...]]

Five members with a majority at the default timing, of each algorithm. The next kill comes 1.2 to 2 s after the last one, and
who was killed starts again 0.4 to 1 s after that. Printed: the times in ms from SIGKILL to "it leads" at another member, as
its events came: the log leaves out what repeats.
"""

import json
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
import urllib.request

from members import Member, await_, write_cluster

KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 100
LONG = 60


class Watched(Member):
    """A member, and when each of its leaderships began."""

    def __init__(self, file, name, cwd):
        super().__init__(file, name, cwd)
        self.leads = [0.0]
        admin = next(it["admin"] for it in json.load(open(file))["members"] if it["name"] == name)
        threading.Thread(target=self.watch, args=(f"http://{admin}/events",), daemon=True).start()

    def watch(self, url):
        while self.process.poll() is None:
            try:
                for line in urllib.request.urlopen(url):
                    if line.strip() == b"event: leading":
                        self.leads.append(time.monotonic())
            except OSError:
                time.sleep(0.005)  # it does not serve yet


def run(algorithm):
    folder, names = tempfile.mkdtemp(prefix="electd-killed-"), ["a", "b", "c", "d", "e"]
    file = write_cluster(folder, names, cluster="killed", algorithm=algorithm)
    members = {name: Watched(file, name, folder) for name in names}
    await_("somebody leads", lambda: any(one.leads[-1] for one in members.values()), 20)
    took = []
    for _ in range(KILLS):
        time.sleep(random.uniform(0.8, 1.0))
        leader = max(members, key=lambda name: members[name].leads[-1])  # who came back may have taken over
        killed = time.monotonic()
        members[leader].process.kill()
        members[leader].process.wait()
        others = [one for name, one in members.items() if name != leader]
        await_("another leads", lambda: any(one.leads[-1] > killed for one in others))
        took.append((min(at for one in others for at in one.leads if at > killed) - killed) * 1000)
        time.sleep(random.uniform(0.4, 1.0))
        members[leader] = Watched(file, leader, folder)
    for one in members.values():
        one.end()
    shutil.rmtree(folder)
    return sorted(took)


for algorithm in sys.argv[3:] or ["bully", "halting", "ring"]:
    took = run(algorithm)
    late = sum(one > LONG for one in took)
    print(f"{algorithm}: {statistics.median(took):.1f} median, {took[-1]:.0f} most, {late} of {KILLS} above {LONG} ms", flush=True)
