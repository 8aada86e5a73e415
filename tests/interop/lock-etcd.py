"""Tries examples/lock-etcd on hosts of namespaces: lock-etcd.py ELECTD [FAULTS]. As root.

It types what the page says, and harms the host of the job by turns. It ends with 1 if two jobs wrote at a time, and with 75 if something that
it needs is missing.
"""

import os

from engine_pages import NAMES, Page, disturb
from hosts import Network, wait
from recipe import begin

# A file of this machine, which all hosts write to.
JOB = """#!/bin/sh
while echo "$(hostname) $ELECTD_EPOCH $(date +%s.%N)"; do sleep 0.05; done >>{file}
"""


def main():
    electd, page, faults = begin("lock-etcd", ["etcd", "etcdctl"])
    with Network(electd, "a", "b", "db") as network:
        db, file = network["db"], f"{network.folder}/written"
        db.start("etcd", "--data-dir", "/var/lib/trial", "--listen-client-urls", "http://0.0.0.0:2379", "--advertise-client-urls", "http://db:2379",
                 "--unsafe-no-fsync")
        wait("etcd", lambda: "ok" in db.run("sh", "-c", "ETCDCTL_API=3 etcdctl get x && echo ok", check=False))
        for name in NAMES:
            network[name].write("/usr/local/bin/job", JOB.format(file=file).encode(), 755)
        typed = Page(network, page)

        def written():
            if not os.path.exists(file):
                return []
            with open(file) as lines:
                rows = [line.split() for line in lines.read().split("\n")[:-1]]
            return [(host, int(token), float(at)) for host, token, at in rows]

        last = lambda: next(reversed(written()), None)
        figures = disturb(typed, faults, last)
        rows = written()
        # A frozen host may write once more when it goes on, before its guard ends the job: the page says so.
        late = [later for at, later in enumerate(rows) if any(row[1] > later[1] for row in rows[:at])]
        assert len(late) <= faults, f"{len(late)} of {len(rows)} lines came late: {late[:5]}"
        print(f"{len(rows)} lines written, {len(late)} late by a host that was frozen; {figures}")


main()
