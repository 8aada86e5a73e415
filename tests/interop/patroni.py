"""The faults and the load of postgresql.py, with Patroni and etcd in electd's place, for a comparison: patroni.py ELECTD [FAULTS].

As root. `make interop` does not run it. TTL and LOOP_WAIT set Patroni's timings; without, they are its own.
"""

import json
import os

from hosts import Network, wait
from postgresql import NAMES, TABLE, load, query, whole
from recipe import Recipe, begin, figures

# Of electd's these are missing: an electd that is killed, as PostgreSQL runs on below a Patroni that is; an order; and hosts that
# return in a certain order.
KINDS = ["power", "freeze", "cut", "blackout"]
# What grows with each primary: the timeline, of which the log's file is named.
TIMELINE = "('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int"
TRUST = ["local all all trust", "host all all 10.0.0.0/24 trust", "host replication all 10.0.0.0/24 trust"]
# As examples/postgresql/postgresql.conf has it.
PARAMETERS = {"wal_log_hints": "on", "wal_keep_size": "1GB", "checkpoint_timeout": "1min", "recovery_init_sync_method": "syncfs",
              "wal_retrieve_retry_interval": "200ms", "wal_sender_timeout": "2s", "wal_receiver_timeout": "2s"}
FILE = "/etc/patroni.json"


def etcd(host, hosts, data="/var/lib/etcd/demo"):
    """The command of a member of an etcd of these hosts."""
    peers = ",".join(f"{each.name}=http://{each.address}:2380" for each in hosts)
    client, peer = (f"http://{host.address}:{port}" for port in [2379, 2380])
    return (f"etcd --name {host.name} --data-dir {data} --listen-client-urls {client} --advertise-client-urls {client}"
            f" --listen-peer-urls {peer} --initial-advertise-peer-urls {peer} --initial-cluster {peers}")


def configuration(host):
    """Patroni's file. A commit needs one other host, as with electd."""
    user = {"username": "postgres"}
    timings = {"ttl": int(os.environ.get("TTL", "30")), "loop_wait": int(os.environ.get("LOOP_WAIT", "10"))}
    return {
        "scope": "demo", "name": host.name,
        "restapi": {"listen": f"{host.address}:8008", "connect_address": f"{host.address}:8008"},
        "etcd3": {"hosts": ",".join(f"10.0.0.{number}:2379" for number in range(1, len(NAMES) + 1))},
        "bootstrap": {"dcs": {**timings, "retry_timeout": min(10, timings["ttl"] // 3), "synchronous_mode": True, "synchronous_mode_strict": True,
                              "postgresql": {"use_pg_rewind": True, "parameters": PARAMETERS}}},
        "postgresql": {"listen": f"{host.address}:5432", "connect_address": f"{host.address}:5432", "pg_hba": TRUST,
                       "data_dir": "/var/lib/postgresql/15/patroni", "pgpass": "/var/lib/postgresql/.pgpass", "bin_dir": "/usr/lib/postgresql/15/bin",
                       "authentication": {"superuser": user, "replication": user, "rewind": user}},
    }


class Patroni(Recipe):
    """Hosts that run etcd and Patroni, and one with HAProxy."""

    def __init__(self, network):
        self.network, self.members, self.node = network, NAMES, "/usr/bin/python3 /usr/bin/patroni"
        self.services = {name: [] for name in network.hosts}
        hosts = [network[name] for name in NAMES]
        for host in hosts:
            host.write(FILE, json.dumps(configuration(host)).encode())
            self.services[host.name] = [
                etcd(host, hosts),
                f"setpriv --reuid=postgres --regid=postgres --init-groups patroni {FILE}"]
        with open("examples/postgresql/haproxy.cfg") as file:
            balancer = file.read().replace("/leader", "/primary").replace("7201", "8008")
        network["d"].write("/etc/haproxy/haproxy.cfg", balancer.encode())
        self.services["d"] = ["haproxy -f /etc/haproxy/haproxy.cfg"]
        for name in network.hosts:
            self.serve(name)


def main():
    electd, _, faults = begin("postgresql", ["/usr/lib/postgresql/15/bin/postgres", "haproxy", "patroni", "etcd"])
    with Network(electd, *NAMES, "d") as network:
        recipe = Patroni(network)
        first = wait("a primary", lambda: next((network[name] for name in NAMES if query(network[name], "SELECT pg_is_in_recovery()") == "f"), None), 120)
        whole(network)
        assert query(first, TABLE, timeout=30) == ""
        acknowledged, outages = load(recipe, faults, TIMELINE, KINDS)
        print(f"{acknowledged} commits acknowledged, none lost, never two primaries; {figures(outages)}")


if __name__ == "__main__":
    main()
