"""Tries `exec --lock URL` with wrong clocks: engine_clocks.py ELECTD. As root, with PostgreSQL and faketime (libfaketime).

The wall clocks of hosts are years off and jump; then that of the server jumps. It ends with 1 if a clock counts that must not, and with 75
if something is missing. The clock of etcd cannot be set so: its program asks the kernel itself, and goes by the time since it began.
"""

import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from engine_servers import POSTGRES, Etcd, Postgres, certificates, wait
from engines import TTL, Lane, execute, expect

LIBRARY = "/usr/lib/*/faketime/libfaketime.so.1"


class Clock:
    """A wall clock that can be set, for the programs with its environment. Their other clocks go on as before."""

    def __init__(self, folder, name, library):
        self.file = f"{folder}/clock-{name}"
        self.set("+0")
        self.env = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": self.file, "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def set(self, offset):
        with open(f"{self.file}.new", "w") as file:
            file.write(f"{offset}\n")
        os.chmod(f"{self.file}.new", 0o644)
        os.rename(f"{self.file}.new", self.file)


def handover(lane, how):
    """Ends what holds the lock, and returns how long nobody did."""
    _, host, _ = wait("a job", lane.running, 60)
    count = len(lane.takeovers.get(how, []))
    lane.harm(how, None, host)
    return lane.takeovers.get(how, [0.0] * (count + 1))[count]


def try_hosts(electd, server, folder, clocks):
    """Hosts whose clocks are ten years slow, ten years fast, and set by an hour all the time."""
    lane = Lane(electd, server, 0, folder, {number: clock.env for number, clock in enumerate(clocks)})
    for clock, offset in zip(clocks, ["-3650d", "+3650d", "+0"]):
        clock.set(offset)
    took = []
    try:
        for turn, how in enumerate(["electd ended", "electd killed"] * 3):
            clocks[2].set("+1h" if turn % 2 else "-1h")
            took.append(handover(lane, how))
            holder = wait("a job", lane.running, 60)[2]
            for offset in ("+2h", "-2h", "+0"):  # while it is held
                for clock in clocks:
                    clock.set(offset)
                time.sleep(TTL / 2)
            assert wait("a job", lane.running, 60)[2] == holder, "a lock was lost when the clocks of the hosts were set"
    finally:
        lane.end()
    overlap, jobs = lane.judge()
    assert not lane.failures, lane.failures
    print(f"clocks of hosts: 6 handovers, {jobs} jobs, longest overlap {max(0.0, overlap) * 1e3:.0f} ms, median takeover "
          f"{statistics.median(took):.2f} s, longest {max(took):.2f} s; load {os.getloadavg()[0]:.0f}")


def holds(electd, server, name):
    """What `leader` says of the lock, in JSON."""
    done = subprocess.run([electd, "leader", "--lock", server.url(server.port, name), "--output", "json"], capture_output=True, text=True,
                          env={**os.environ, **server.env})
    return json.loads(done.stdout)


def try_server(electd, server, folder, clock):
    """The server's clock is set: by as much as the page allows, back by an hour, and forward by an hour."""
    lane = Lane(electd, server, 1, folder)
    url = server.url(server.port, lane.name)
    log = lambda: "".join(open(path).read() for path in glob.glob(f"{lane.folder}/electd-*.log"))
    try:
        _, holder, begin = wait("a job", lane.running, 60)
        offset = 0.0
        for _ in range(6):
            offset += TTL * 2 / 11 - 0.05
            clock.set(f"+{offset:.2f}")
            time.sleep(TTL)
        assert wait("a job", lane.running)[2] == begin, "the lock was lost by steps that the page allows"
        clock.set("-1h")
        time.sleep(TTL)
        assert wait("a job", lane.running)[2] == begin, "the lock was lost as the server's clock was set back"
        assert holds(electd, server, lane.name)["left_ms"] <= TTL * 1e3, "the holder has renewed by the new time"
        # Back again before the holder could renew: for so long nobody may hold it.
        _, holder, _ = wait("a job", lane.running)
        holder.way.cut("both")
        clock.set("-2h")
        holder.end(signal.SIGKILL)
        time.sleep(2 * TTL)
        assert not lane.running(), "another holds the lock before its time is over"
        left = holds(electd, server, lane.name)["left_ms"] / 1e3
        assert 3590 < left < 3610, left
        expect("set back while the holder died", execute(electd, server, url, "--wait", "1s"), 75, "holds the lock")
        clock.set("-1h")
        holder.way.heal(True)
        wait("another holds it when the clock is right again", lane.running, 30)
        before = len(lane.intervals())
        overlap, _ = lane.judge()
        assert not lane.failures, lane.failures
        print(f"clock of the server set by up to 2/11 of --ttl, and back: {before} jobs, longest overlap {max(0.0, overlap) * 1e3:.0f} ms; "
              f"load {os.getloadavg()[0]:.0f}")
        # Forward: the server ends every lock. This is what the page says that a lock rests on.
        overlaps = []
        for turn in range(5):
            _, holder, begin = wait("a job", lane.running, 60)
            clock.set(f"+{turn}h")
            wait("another job", lambda: lane.intervals()[-1][0] > begin, 60)
            time.sleep(TTL)  # until the earlier one has ended
            (_, end, token, _), (later, _, next_token, _) = lane.intervals()[-2:]
            assert next_token > token
            overlaps.append(max(0.0, end - later))
        assert "the lock is lost" in log(), log()
        # A fifth of the time until it renews, and a second for CMD.
        assert max(overlaps) < TTL / 5 + 1 + 1, overlaps
        print(f"clock of the server set forward by an hour: 5 times, overlap {statistics.median(overlaps) * 1e3:.0f} ms in the median, "
              f"{max(overlaps) * 1e3:.0f} ms at most; load {os.getloadavg()[0]:.0f}")
    finally:
        lane.end()


def try_certificate(electd, folder, clock):
    """A certificate counts by the clock of the host: it is refused, and nothing runs."""
    place = f"{folder}/tls"
    os.makedirs(place)
    certificates(place)
    server = Etcd(place, tls=place)
    try:
        clock.set("+3650d")
        url = f"{server.url(server.port, 'secured')}?sslmode=verify-full&sslrootcert={place}/ca.pem"
        expect("a certificate ten years later", execute(electd, server, url, env=clock.env), 78, "its certificate ended on")
    finally:
        server.end()


def main():
    electd, library = os.path.abspath(sys.argv[1]), next(iter(glob.glob(LIBRARY)), None)
    if not library or not os.path.exists(f"{POSTGRES}/postgres") or os.geteuid() != 0:
        print("missing  faketime, PostgreSQL or root: wrong clocks")
        sys.exit(75)
    folder = tempfile.mkdtemp(prefix="electd-clocks-")
    os.chmod(folder, 0o755)
    server = None
    try:
        os.makedirs(f"{folder}/engine")
        clocks = [Clock(folder, number, library) for number in range(3)]
        clock = Clock(folder, "server", library)
        server = Postgres(f"{folder}/engine", clock=[f"{key}={value}" for key, value in clock.env.items()])
        try_hosts(electd, server, folder, clocks)
        try_server(electd, server, folder, clock)
        if shutil.which("etcd"):
            try_certificate(electd, folder, clocks[0])
    finally:
        if server:
            server.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
