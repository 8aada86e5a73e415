"""The table of double runs: main.py ELECTD OUT. As root. `make double-runs` calls it.

For each ROW and FAULT (words between commas; all without) the host of the job is harmed TIMES times, at moments that
SEED draws; each row has one of `electd exec` beside it, of the same run and seed. JOBS cells run at a time. It prints a
line for each cell, and adds it to the file OUT. What is missing is said.
"""

import concurrent.futures
import ctypes
import datetime
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../interop"))

import times  # noqa: E402
from engine_clocks import LIBRARY, Clock  # noqa: E402
from engine_servers import now  # noqa: E402
from faults import FAULTS  # noqa: E402
from hosts import Network, missing, wait  # noqa: E402
from rows import ROWS  # noqa: E402

LIBRARIES = glob.glob(LIBRARY)
SEED = int(os.environ.get("SEED", "1"))


def alone(tool):
    """The host of the only job, when it has been alone for two seconds."""
    def found():
        at = now()
        latest = [job for job in times.jobs(tool.folder, 2) if job.times[-1] > at - 2]
        is_alone = len(latest) == 1 and latest[0].begin < at - 2 and at - times.PAUSE < latest[0].times[-1]
        return latest[0].host if is_alone else None

    return tool.network[wait(f"one job of {tool.name}", found, 300)]


def end_strays(tool):
    """Ends what still runs beside the latest job, as an operator would; whether there was something."""
    found = False
    while len(running := times.running(tool.folder, now())) > 1:
        found = True
        tool.end_strays(running[:-1])
        time.sleep(2)
    return found


def try_once(tool, fault, chance):
    """Harms the host of the job: how long two ran, how long none did, and whether one had to be ended from outside."""
    time.sleep(chance.uniform(0, 2))
    holder = alone(tool)
    since = now()
    fault.harm(tool, holder, chance)
    time.sleep(tool.window)
    wait(f"a job of {tool.name}", lambda: times.running(tool.folder, now()), 300)
    until = now()
    found = times.jobs(tool.folder)
    return times.overlap(found, since, until), times.gap(found, since, until), end_strays(tool)


def cell(electd, row, beside, name, count):
    """All faults of a cell, on hosts of their own. The cell of `electd exec` is beside that of another row."""
    kind, fault = ROWS[row], FAULTS[name]
    result = {"row": row, "beside": beside, "name": kind.name, "fault": name, "seed": SEED, "load": os.getloadavg()[0],
              "at": f"{datetime.datetime.now():%F %H:%M}"}
    if why := kind.without.get(name) or (name == "clock" and not LIBRARIES and "libfaketime is missing"):
        return {**result, "without": why}
    hosts = [*kind.hosts, kind.server] if kind.server else kind.hosts
    tries = []
    with Network(electd, *hosts) as network:
        try:
            os.mkdir(f"{network.folder}/jobs", 0o777)
            os.chmod(f"{network.folder}/jobs", 0o777)
            clocks = {host: Clock(network.folder, host, LIBRARIES[0]) for host in hosts} if name == "clock" else {}
            fault.prepare(network)
            tool = kind(network, clocks)
            chance = random.Random(f"{SEED} {name}")
            for _ in range(count):
                tries.append(try_once(tool, fault, chance))
            found = times.jobs(tool.folder)
        except (AssertionError, OSError, RuntimeError, subprocess.SubprocessError) as error:
            logs = {host: network[host].log()[-1500:] for host in hosts}
            return {**result, "failed": str(error), "tries": tries, "logs": logs}
        finally:
            fault.clean(network)
    return {**result, "load_after": os.getloadavg()[0], "tries": tries,
            "jobs": [(job.host, job.token, job.begin, job.times[-1]) for job in found],
            "disorder": times.disorder(found) if kind.has_tokens else None}


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def one(*asked):
    """A cell, by a process that ends with this one, and leaves nothing."""
    try:
        return cell(*asked)
    except SystemExit:
        os._exit(143)


def told(result):
    """A line of a table."""
    head = f"| {result['name']} | {result['fault']} "
    if "tries" not in result:
        return f"{head}| - | - | {result['without']} |"
    overlaps, gaps, strays = zip(*(result["tries"] or [(0, 0, 0)]))
    more = f", {sum(strays)} of {len(strays)} never ended" if any(strays) else ""
    tokens = "none" if result.get("disorder") is None else f"{len(result['disorder'])} out of order"
    failed = f" FAILED after {len(result['tries'])}: {result['failed']}" if "failed" in result else ""
    return f"{head}| {max(overlaps):.2f} s{more} | {max(gaps):.2f} s | {tokens} |{failed}"


def chosen(variable, every):
    words = os.environ.get(variable) or ",".join(every)
    if unknown := set(words.split(",")) - set(every):
        sys.exit(f"{variable}: {', '.join(unknown)} is none of {', '.join(every)}")
    return words.split(",")


def main():
    electd, out = os.path.abspath(sys.argv[1]), sys.argv[2]
    count = int(os.environ.get("TIMES") or 5)
    lacking = missing("ip", "bridge", "nft", "unshare", "nsenter")
    if lacking or os.geteuid():
        print(f"missing  {', '.join(lacking) or 'root'}: double runs")
        sys.exit(75)
    cells = []
    for row in chosen("ROW", ROWS):
        if lacking := missing(*ROWS[row].needs):
            print(f"missing  {', '.join(lacking)}: {ROWS[row].name}")
            continue
        beside = dict.fromkeys([row, "electd"])
        cells += [(electd, each, row, fault, count) for fault in chosen("FAULT", FAULTS) for each in beside]
    print("| tool | fault | two ran, at the longest | none ran, at the longest | tokens |")
    print("|---|---|---|---|---|", flush=True)
    jobs = int(os.environ.get("JOBS") or 2)
    with concurrent.futures.ProcessPoolExecutor(jobs, initializer=end_with_parent) as pool, open(out, "a") as file:
        for done in concurrent.futures.as_completed([pool.submit(one, *each) for each in cells]):
            print(told(done.result()), flush=True)
            print(json.dumps(done.result()), file=file, flush=True)


if __name__ == "__main__":
    main()
