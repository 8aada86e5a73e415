"""What the jobs wrote, and what follows from it: how long two ran, how long none did, and whether tokens rose."""

import array
import os
from collections import namedtuple

# A job that writes nothing for so long does not run: it is frozen.
PAUSE = 0.25
# How often a job writes, and so what a single write counts.
WRITE = 0.01

Job = namedtuple("Job", "host pid begin token times")


def jobs(folder, seconds=None):
    """All jobs that wrote, in the order in which they began; of each all that it wrote, or that of its last seconds."""
    found = []
    for name in os.listdir(folder):
        host, pid, begin, token = name.split("_")
        times = array.array("Q")
        with open(f"{folder}/{name}", "rb") as file:
            size = os.fstat(file.fileno()).st_size // 8
            file.seek(8 * max(0, size - int(seconds / WRITE)) if seconds else 0)
            times.frombytes((data := file.read())[:len(data) // 8 * 8])
        if times:
            found.append(Job(host, int(pid), int(begin) / 1e9, int(token), [each / 1e9 for each in times]))
    return sorted(found, key=lambda job: job.begin)


def running(folder, at):
    """The jobs that have written just before this moment."""
    return [job for job in jobs(folder, WRITE) if at - job.times[-1] < PAUSE]


def stretches(times):
    """From when to when a job ran without a pause."""
    found = []
    for at in times:
        if found and at - found[-1][1] < PAUSE:
            found[-1][1] = at
        else:
            found.append([at, at + WRITE])
    return found


def overlap(found, since, until):
    """For how long two or more ran between these moments."""
    steps = sorted(step for job in found for begin, end in stretches([at for at in job.times if since <= at <= until])
                   for step in [(begin, 1), (end, -1)])
    count, total, before = 0, 0.0, since
    for at, change in steps:
        total += at - before if count > 1 else 0.0
        count, before = count + change, at
    return total


def gap(found, since, until):
    """For how long none ran between these moments, at the longest."""
    times = [since, *sorted(at for job in found for at in job.times if since <= at <= until), until]
    return max(later - at for at, later in zip(times, times[1:]))


def disorder(found):
    """The tokens of jobs that are below that of the job before, or the same on another host, each with that."""
    return [(job.token, later.token) for job, later in zip(found, found[1:])
            if later.token < job.token or (later.token == job.token and later.host != job.host)]
