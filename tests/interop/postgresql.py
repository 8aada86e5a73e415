"""Tries examples/postgresql on three hosts of namespaces: postgresql.py ELECTD [FAULTS]. As root.

It types what the page says, writes from a fourth host, and harms the primary's host by turns. It ends with 1 if an acknowledged
commit is lost or a primary acknowledges one beside a later primary, and with 75 if something that it needs is missing.
"""

import subprocess

from hosts import Network, wait
from recipe import KINDS, Recipe, Writer, begin, disturb, figures, two_at_once

NAMES = ["a", "b", "c"]


def query(host, sql, timeout=5):
    """What a server answers, or nothing."""
    try:
        return host.run("psql", f"host={host.address} user=postgres dbname=postgres", "-qAtc", sql, timeout=timeout)
    except (RuntimeError, subprocess.TimeoutExpired):
        return None


class Postgresql(Recipe):
    def has_data(self, host):
        return query(host, "SELECT pg_is_in_recovery()") == "t"


def whole(network):
    """The primary and one of its followers, when both others follow."""
    followers = "SELECT application_name FROM pg_stat_replication WHERE state = 'streaming' AND application_name IN ('a', 'b', 'c')"

    def found():
        for host in (network[name] for name in NAMES):
            if host.init and query(host, "SELECT pg_is_in_recovery()") == "f":
                names = (query(host, followers) or "").split()
                return (host, names[0]) if len(names) == 2 else None
        return None

    return wait("a primary with two followers", found, 120)


TABLE = "CREATE ROLE app LOGIN; CREATE TABLE numbers (number int PRIMARY KEY); GRANT ALL ON numbers TO app"
# What grows with each primary, as SQL: electd's epoch.
EPOCH = "(SELECT max(epoch) FROM electd)"


def writer(host, number, where, epoch):
    def answer(read):
        return int(read().split("|")[1])

    client = ["psql", f"{where} user=app dbname=postgres connect_timeout=2 target_session_attrs=read-write", "-qAt",
              "-v", "ON_ERROR_STOP=1"]
    line = f"INSERT INTO numbers VALUES ({{}}) RETURNING number || '|' || {epoch};"
    return Writer(host, number, client, line.format, answer)


def load(recipe, faults, epoch, kinds=KINDS):
    """Harms the primary's host while clients write. Returns what was acknowledged, all of which is still there, and the outages."""
    network = recipe.network
    # One through HAProxy, and one on each host for its own server, whoever leads, and whatever is cut.
    writers = [writer(network["d"], 0, "host=127.0.0.1 port=5000", epoch)]
    writers += [writer(network[name], number, f"host={name} port=5432", epoch) for number, name in enumerate(NAMES, 1)]
    outages = disturb(recipe, writers[0], faults, lambda: whole(network), kinds)
    acknowledged = [write for each in writers for write in each.end()]
    there = set(query(whole(network)[0], "SELECT number FROM numbers", timeout=60).split())
    lost = [write for write in acknowledged if str(write[2]) not in there]
    assert not lost, f"acknowledged and lost: {lost}"
    assert not (late := two_at_once(acknowledged)), f"acknowledged beside a later epoch: {late}"
    return len(acknowledged), outages


def main():
    electd, page, faults = begin("postgresql", ["/usr/lib/postgresql/15/bin/postgres", "haproxy"])
    with Network(electd, *NAMES, "d") as network:
        recipe = Postgresql(network, page, NAMES, ["/standby", "electd run", "haproxy -f"])
        first, _ = whole(network)
        wait("its epoch", lambda: query(first, "SELECT epoch FROM electd"))
        assert query(first, f"{TABLE}; GRANT ALL ON electd TO app", timeout=30) == ""
        acknowledged, outages = load(recipe, faults, EPOCH)
        # A late write of an application, as the page has it.
        host, _ = whole(network)
        epoch = int(query(host, "SELECT max(epoch) FROM electd"))
        late = "INSERT INTO numbers SELECT {} WHERE {} = (SELECT max(epoch) FROM electd) RETURNING number"
        assert query(host, late.format(-1, epoch - 1)) == "", "a late write was not refused"
        assert query(host, late.format(-2, epoch)) == "-2"
        print(f"{acknowledged} commits acknowledged, none lost, never two primaries; {figures(outages)}")


if __name__ == "__main__":
    main()
