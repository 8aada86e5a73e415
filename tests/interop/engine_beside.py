"""Beside an advisory lock of PostgreSQL, held by a program of 20 lines: engine_beside.py ELECTD [TURNS]. As root.

Two of each want one lock, and the holder writes all the time. It counts what an earlier holder still wrote when the next one had begun, and
for how long nobody wrote. It ends with 1 if electd lets two write, but where its guard is frozen with the host, and with 75 if something
is missing.
"""

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from engine_servers import Bouncer, Postgres, children, wait

TTL = 3

# What holds the lock writes every 10 ms.
WRITE = """
import os, time
def write(folder):
    name = f"{folder}/{time.clock_gettime_ns(time.CLOCK_BOOTTIME)}-{os.getpid()}"
    with open(name, "w", buffering=1) as file:
        while True:
            file.write(f"{time.clock_gettime_ns(time.CLOCK_BOOTTIME)}\\n")
            yield time.sleep(0.01)
"""
JOB = WRITE + """
import sys
for _ in write(sys.argv[1]): pass
"""
ADVISORY = WRITE + """
import subprocess, sys
folder, url = sys.argv[1:]
psql = subprocess.Popen(["psql", "-qAtX", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

def ask(statement):
    psql.stdin.write(f"{statement};\\n")
    answer = psql.stdout.readline().strip()
    return answer or sys.exit("the session is gone")

while ask("SELECT pg_try_advisory_lock(42)") != "t":
    time.sleep(0.3)
looked = time.monotonic()
for _ in write(folder):
    if time.monotonic() > looked + 1:  # it looks every second whether the session is there
        ask("SELECT 1")
        looked = time.monotonic()
"""


class Two:
    """Two programs of one kind that want one lock."""

    def __init__(self, electd, server, folder, is_advisory):
        self.is_advisory, self.folder = is_advisory, tempfile.mkdtemp(dir=folder)
        program = f"{self.folder}.py"
        with open(program, "w") as file:
            file.write(ADVISORY if is_advisory else JOB)
        job = [sys.executable, "-S", "-E", program, self.folder]
        if is_advisory:
            url = f"host=127.0.0.1 port={server.port} user=app dbname=postgres"
            line = ["sh", "-c", 'while :; do "$@"; sleep 0.2; done', "sh", *job, url]
        else:
            line = [electd, "exec", "--lock", server.url(server.port, "beside"), "--ttl", f"{TTL}s", "--restart", "always", "--stop-after", "1s",
                    "--cgroup", "never", "--", *job]
        log = open(f"{self.folder}.log", "ab")
        self.processes = [subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                           env={**os.environ, **server.env}) for _ in range(2)]

    def writes(self):
        """When each holder wrote, in the order in which they began."""
        found = []
        for path in glob.glob(f"{self.folder}/*"):
            with open(path) as file:
                times = [int(line) / 1e9 for line in file.read().split("\n")[:-1]]
            if times:
                found.append((times, int(path.rsplit("-", 1)[1])))
        return sorted(found)

    def holder(self):
        """The process that writes now, with those that it descends from, but for the shell."""
        def found():
            for times, pid in reversed(self.writes()):
                if time.clock_gettime(time.CLOCK_BOOTTIME) - times[-1] < 0.3 and os.path.exists(f"/proc/{pid}"):
                    return pid
            return None
        return wait("a holder", found, 60)

    def tree(self, pid):
        """The program or electd, its guard and the job, those that must not run first."""
        line = [pid]
        while line[-1] not in {process.pid for process in self.processes}:
            with open(f"/proc/{line[-1]}/stat") as file:
                line.append(int(file.read().rsplit(")", 1)[1].split()[1]))
        if self.is_advisory:
            return [pid, *children(pid)]
        return line

    def late(self):
        """For how many milliseconds an earlier holder wrote beside a later one, and the longest time without a write."""
        found = self.writes()
        late = sum(10 for at, (times, _) in enumerate(found) for each in times if any(each > later[0] for later, _ in found[at + 1:]))
        every = sorted(each for times, _ in found for each in times)
        return late, max((later - each for each, later in zip(every, every[1:])), default=0.0)

    def end(self):
        for process in self.processes:
            if not self.is_advisory:
                process.terminate()
                process.wait()
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def ended(two, server):
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted" if two.is_advisory else
               "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'electd'")
    time.sleep(TTL)


def pooled(*_):
    time.sleep(5)


def frozen(two, _, all_of_it=False):
    line = two.tree(two.holder())
    if not all_of_it:  # the program alone; electd and the job without the guard
        line = line[:1] if two.is_advisory else [line[0], *line[2:]]
    for pid in reversed(line):
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2 * TTL)
    for pid in line:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
    time.sleep(TTL)


def host_frozen(two, server):
    frozen(two, server, True)


HARMS = [
    ("pg_terminate_backend", Postgres, [], ended),
    ("pgbouncer in transaction mode, for 5 s", Bouncer, [], pooled),
    (f"SIGSTOP for {2 * TTL} s", Postgres, [], frozen),
    (f"the same, with idle_session_timeout = {TTL} s", Postgres, [f"idle_session_timeout={TTL}s"], frozen),
    ("the same, of all processes of the host", Postgres, [f"idle_session_timeout={TTL}s"], host_frozen),
]


def main():
    electd, turns = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    missing = [need for need in Bouncer.needs if not shutil.which(need)]
    if missing or os.geteuid() != 0:
        print(f"missing  {', '.join(missing) or 'root'}: beside an advisory lock")
        sys.exit(75)
    folder, failed = tempfile.mkdtemp(prefix="electd-beside-"), []
    os.chmod(folder, 0o755)
    print("| | `pg_advisory_lock`: two wrote | nobody wrote | `electd exec --lock`: two wrote | nobody wrote |\n|---|---|---|---|---|")
    for number, (name, kind, settings, harm) in enumerate(HARMS):
        os.makedirs(f"{folder}/{number}")
        server = kind(f"{folder}/{number}", settings=settings)
        try:
            cells = []
            for is_advisory in (True, False):
                two = Two(electd, server, folder, is_advisory)
                try:
                    for _ in range(turns):
                        two.holder()
                        time.sleep(TTL)  # the other one wants it, too
                        harm(two, server)
                    two.holder()
                    late, nobody = two.late()
                finally:
                    two.end()
                cells.append(f"{late} ms | {nobody:.1f} s")
                if late and not is_advisory and harm is not host_frozen:
                    failed.append(f"{name}: two jobs of electd wrote for {late} ms")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        finally:
            server.end()
    for failure in failed:
        print(f"FAILED {failure}")
    print(f"beside an advisory lock: {turns} of each; load {os.getloadavg()[0]:.0f}")
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
