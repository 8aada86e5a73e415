"""Tries examples/power on three hosts of namespaces, with an agent that switches these off: power.py ELECTD [FAULTS]. As root.

It types what the page says, and freezes the host of the job with electd and its guard. It ends with 1 if a job begins before
the old host was off, and with 75 if something that it needs is missing.
"""

import os
import threading
import time

from hosts import Network, wait
from recipe import Recipe, begin

NAMES = ["a", "b", "c"]
JOB = """#!/bin/sh
while echo "$(hostname) $ELECTD_EPOCH"; do sleep 0.01; done >>{folder}/written
"""
AGENT = """#!/bin/sh
touch {folder}/off-$1
while [ -e {folder}/off-$1 ]; do sleep 0.05; done
"""


class Switch(threading.Thread):
    """Switches a host off and on when a file says so, and notes how much was written when it was off."""

    def __init__(self, recipe):
        super().__init__(daemon=True)
        self.recipe, self.off, self.ended = recipe, [], False
        self.start()

    def run(self):
        network = self.recipe.network
        while True:
            orders = [network[name] for name in NAMES if os.path.exists(f"{network.folder}/off-{name}")]
            for host in orders:
                host.off()
                self.off.append((host.name, len(written(network))))
                host.on()
                self.recipe.serve(host.name)
                os.remove(f"{network.folder}/off-{host.name}")
            if self.ended:
                return
            time.sleep(0.05)


def written(network):
    """The host and the epoch of each write, in their order."""
    try:
        with open(f"{network.folder}/written") as file:
            return [line.split() for line in file.read().splitlines()]
    except FileNotFoundError:
        return []


def main():
    electd, page, faults = begin("power", ["curl"])
    with Network(electd, *NAMES) as network:
        network["a"].run("sh", "-ec", "install -d /etc/electd && electd init --member a=10.0.0.1 --member b=10.0.0.2"
                         " --member c=10.0.0.3 --out /etc/electd/cluster.json")
        for name in NAMES:
            network[name].run("install", "-d", "/etc/electd")
        recipe = Recipe(network, page, NAMES, ["electd run"])
        for name in NAMES:
            network[name].write("/etc/electd/power/fence", AGENT.format(folder=network.folder).encode(), 755)
            network[name].write("/usr/local/bin/job", JOB.format(folder=network.folder).encode(), 755)
        switch = Switch(recipe)
        for turn in range(faults):
            lines = wait("a job", lambda: written(network))
            wait("three members", lambda: network["a"].init and recipe.is_well("a"), 120)
            host, epoch = written(network)[-1]
            network[host].freeze()
            wait("a job elsewhere", lambda: written(network)[-1][0] != host, 60)
            others = [at for at, line in enumerate(written(network)) if at >= len(lines) and int(line[1]) > int(epoch)]
            assert switch.off, f"{host} was not switched off"
            name, count = switch.off[-1]
            assert name == host and count <= others[0], f"{host} was not off: {switch.off}, {others[0]}"
            print(f"{turn + 1}: {host} was frozen, and off before the job began on {written(network)[others[0]][0]}", flush=True)
        switch.ended = True
        switch.join()


main()
