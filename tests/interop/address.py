"""Tries examples/address on three hosts of namespaces: address.py ELECTD [FAULTS]. As root.

It types what the page says, asks the address from a fourth host, and harms the host that has it by turns. It ends with 1 if two
hosts have the address at one time, and with 75 if something that it needs is missing.
"""

import threading
import time

from hosts import Network, sh, wait
from recipe import Recipe, Writer, begin, disturb, figures

NAMES = ["a", "b", "c"]


class Watch(threading.Thread):
    """Looks for the address all the time. That a host has it counts for the time between two looks that both found it."""

    def __init__(self, network):
        super().__init__(daemon=True)
        self.network, self.holders, self.two, self.ended = network, [], [], False
        self.start()

    def has(self, name):
        return "10.0.0.9/" in sh("ip", "-n", self.network[name].space, "-o", "address", "show", "dev", "eth0")

    def run(self):
        while not self.ended:
            before = [name for name in NAMES if self.has(name)]
            self.holders = [name for name in before if self.has(name)]
            if len(self.holders) > 1:
                self.two.append((time.strftime("%T"), self.holders))


def main():
    electd, page, faults = begin("address", ["haproxy", "curl", "python3"])
    with Network(electd, *NAMES, "d") as network:
        recipe = Recipe(network, page, NAMES, ["electd run", "haproxy -f"])
        for name in NAMES:
            recipe.services[name].append("python3 -m http.server 8080 --directory examples/address 2>/dev/null")
            network[name].start("sh", "-c", recipe.services[name][-1])
        watch = Watch(network)

        def whole():
            holder = wait("one host that has the address", lambda: len(watch.holders) == 1 and watch.holders[0])
            wait("three members", lambda: recipe.is_well(holder))
            return network[holder], next(name for name in NAMES if name != holder)

        whole()
        client = "while read n; do curl -sm 0.2 -o /dev/null -w '%{http_code}\\n' http://10.0.0.9/; done"

        def answer(read):
            if read() != "200":
                raise ValueError("no answer")
            return 0

        writer = Writer(network["d"], 0, ["sh", "-c", client], str, answer)

        def moved(host, _):
            count = len(writer.acknowledged)
            return watch.holders and host.name not in watch.holders and wait("answers", lambda: len(writer.acknowledged) > count)

        outages = disturb(recipe, writer, faults, whole, ["power", "stop", "cut", "kill", "switchover"], moved)
        answered = len(writer.end())
        watch.ended = True
        watch.join()
        assert not watch.two, f"two hosts had the address: {watch.two[:3]}"
        print(f"{answered} answers, the address never on two hosts; {figures(outages)}")


main()
