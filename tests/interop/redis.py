"""Tries examples/redis on two hosts and a witness of namespaces: redis.py ELECTD [FAULTS]. As root.

It types what the page says, writes from a fourth host, and harms the master's host by turns. It ends with 1 if a write that
WAIT confirmed is lost, or was confirmed beside a later master, and with 75 if something that it needs is missing.
"""

import subprocess

from hosts import Network, wait
from recipe import Recipe, Writer, begin, disturb, figures, two_at_once

PAIR = ["a", "b"]
FENCED = "if redis.call('GET','electd:epoch') ~= ARGV[1] then return redis.error_reply('LATE') end return redis.call('SET',KEYS[1],ARGV[2])"


def ask(host, *words):
    """What a server answers, or nothing."""
    try:
        return host.run("redis-cli", *words, timeout=5, check=False)
    except subprocess.TimeoutExpired:
        return ""


def whole(network):
    """The master and its replica, when that follows."""
    def found():
        for host in (network[name] for name in PAIR):
            said = ask(host, "INFO", "replication") if host.init else ""
            if "role:master" in said and "state=online" in said:
                return host, next(name for name in PAIR if name != host.name)
        return None

    return wait("a master with a replica", found, 120)


def writer(host, number, where, confirmed):
    """Writes, and with `confirmed` counts what the replica has too."""
    line = "EVAL \"redis.call('SET',KEYS[1],1) return tonumber(redis.call('GET','electd:epoch'))\" 1 n{}"

    def answer(read):
        epoch = int(read())
        if int(read()) == 0 and confirmed:
            raise ValueError("not confirmed")
        return epoch

    return Writer(host, number, ["redis-cli", *where], lambda n: f"{line.format(n)}\nWAIT 1 200", answer)


def main():
    electd, page, faults = begin("redis", ["redis-server", "redis-cli", "haproxy"])
    with Network(electd, "a", "b", "c", "d") as network:
        recipe = Recipe(network, page, ["a", "b", "c"], ["/replica", "electd run", "haproxy -f"])
        whole(network)
        # Two through HAProxy, and one on each host for its own server, whoever leads, and whatever is cut.
        writers = [writer(network["d"], number, ["-p", "6000"], number > 0) for number in range(2)]
        writers += [writer(network[name], number, ["-h", name], True) for number, name in enumerate(PAIR, 2)]
        outages = disturb(recipe, writers[0], faults, lambda: whole(network))
        ends = [each.end() for each in writers]
        master, _ = whole(network)
        there = set(ask(master, "KEYS", "n*").split())
        confirmed = [write for end in ends[1:] for write in end]
        lost = [write for write in confirmed if f"n{write[2]}" not in there]
        assert not lost, f"confirmed and lost: {lost}"
        assert not (late := two_at_once(confirmed)), f"confirmed beside a later epoch: {late}"
        epoch = int(ask(master, "GET", "electd:epoch"))
        assert "LATE" in ask(master, "EVAL", FENCED, "1", "late", str(epoch - 1), "x"), "a late write was not refused"
        assert ask(master, "EVAL", FENCED, "1", "early", str(epoch), "x") == "OK"
        alone = sum(f"n{write[2]}" not in there for write in ends[0])
        print(f"{len(confirmed)} writes confirmed, none lost, never two masters; of {len(ends[0])} that nobody confirmed,"
              f" {alone} were lost; {figures(outages)}")


main()
