"""Patroni with etcd: each PostgreSQL that takes a write is a job. Its own timing: ttl 30 s, loop_wait 10 s."""

import json

from engine_servers import POSTGRES
from patroni import FILE, TIMELINE, configuration, etcd
from tool import PYTHON, Tool


class Primaries(Tool):
    name, needs = "Patroni", ["patroni", "etcd", f"{POSTGRES}/postgres"]
    clients, daemons = [f"{PYTHON} /usr/bin/patroni"], ["etcd --name"]
    has_tokens, window = True, 45
    without = {"clock": "Go asks the kernel"}

    def begin(self):
        hosts = [self.network[name] for name in self.hosts]
        for host in hosts:
            data, file = self.data(host.name), configuration(host)
            file["postgresql"]["data_dir"] = f"{data}/cluster"
            dcs = file["bootstrap"]["dcs"]
            dcs["synchronous_mode"] = dcs["synchronous_mode_strict"] = False  # as by default
            host.run("install", "-d", "-o", "postgres", data)
            host.write(FILE, json.dumps(file).encode())
            self.serve(host.name, etcd(host, hosts, f"{data}/etcd"))
            self.serve(host.name, f"setpriv --reuid=postgres --regid=postgres --init-groups patroni {FILE}")
            self.program(host.name, "primary.py", host.address, TIMELINE)

    def end_strays(self, strays):
        """Patroni ends them."""
