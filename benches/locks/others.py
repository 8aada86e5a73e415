#!/usr/bin/env python3
"""The same as main.py for others who hold many names on several hosts; and the programs that it runs on these hosts."""

import base64
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time

from hosts import Hosts, await_, ip, now

OWN = os.path.abspath(__file__)

# The shortest that etcd takes at its default timing, and ZooKeeper.
TTL = 2
SESSION = 4


def lines_of(process):
    return iter(lambda: process.stdout.readline().decode().split(), [])


def run(hosts, host, *words):
    """Runs a part of this program on a host until it ends, and gives the words that it printed."""
    process = hosts.start(host, [sys.executable, "-B", OWN, *words], stdout=subprocess.PIPE)
    return process.communicate()[0].decode().split()


def begin(hosts, host, *words):
    return hosts.start(host, [sys.executable, "-B", OWN, *words], stdout=subprocess.PIPE)


# etcd: the keys of its recipe for locks, NAME/LEASE, all of a host under one lease.

def etcd(counts, show):
    for count in counts:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, Hosts(5, folder) as hosts:
            all_of = ",".join(f"h{host}=http://10.0.0.{host}:2380" for host in hosts.numbers)
            for host in hosts.numbers:
                at = f"http://10.0.0.{host}"
                hosts.start(host, ["etcd", "--name", f"h{host}", "--data-dir", f"{folder}/h{host}", "--initial-cluster", all_of,
                                   "--listen-peer-urls", f"{at}:2380", "--initial-advertise-peer-urls", f"{at}:2380",
                                   "--listen-client-urls", f"{at}:2379", "--advertise-client-urls", f"{at}:2379"])
            clients = {host: begin(hosts, host, "etcd-hold", str(host)) for host in hosts.numbers}
            leases = {host: next(lines_of(client))[0] for host, client in clients.items()}
            run(hosts, 1, "etcd-fill", "1", str(count), *leases.values())
            time.sleep(5)
            show("etcd idle, without its clients' watches", names=count, **hosts.idle())
            if count < 5:
                continue
            leader = int(run(hosts, 1, "etcd-leader", "1")[0])
            for what, host in [("etcd, kill of a host", leader % 5 + 1), ("etcd, kill of the leader's host", leader)]:
                watch = (host + 1) % 5 + 1
                watcher = begin(hosts, watch, "etcd-watch", str(watch), leases[host], str(count))
                next(lines_of(watcher))
                since = now()
                hosts.kill(host)
                at, names = map(int, next(lines_of(watcher)))
                show(what, names=count, of_the_killed=names, last_ms=round((at - since) / 1e6, 1))
                time.sleep(3)


class Etcd:
    def __init__(self, host):
        self.address = f"10.0.0.{host}"

    def ask(self, path, body):
        for _ in range(200):
            try:
                line = http.client.HTTPConnection(self.address, 2379, timeout=5)
                line.request("POST", f"/v3/{path}", json.dumps(body))
                answer = line.getresponse()
                text = answer.read()
                if answer.status == 200:
                    return json.loads(text)
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"{self.address} does not answer")


def text(words):
    return base64.b64encode(words.encode()).decode()


def etcd_hold(host):
    lease = Etcd(host).ask("lease/grant", {"TTL": TTL})["ID"]
    print(lease, flush=True)
    while True:
        Etcd(host).ask("lease/keepalive", {"ID": lease})
        time.sleep(TTL / 3)


def etcd_fill(host, count, *leases):
    """Every host wants every name; each is the first for its part of them."""
    for turn in range(len(leases)):
        puts = [{"requestPut": {"key": text(f"lock/{number}/{lease}"), "lease": lease}}
                for number in range(int(count)) for lease in [leases[(number + turn) % len(leases)]]]
        for at in range(0, len(puts), 100):
            Etcd(host).ask("kv/txn", {"success": puts[at:at + 100]})


def etcd_leader(host):
    status = Etcd(host).ask("maintenance/status", {})
    members = Etcd(host).ask("cluster/member/list", {})["members"]
    print(next(one["name"][1:] for one in members if one["ID"] == status["leader"]))


def etcd_watch(host, lease, count):
    """Prints when the last key of this lease is gone, and how many names those were that it held."""
    line = http.client.HTTPConnection(f"10.0.0.{host}", 2379)
    body = {"create_request": {"key": text("lock/"), "range_end": text("lock0")}}
    line.request("POST", "/v3/watch", json.dumps(body))
    answer, gone = line.getresponse(), 0
    while gone < int(count):
        for event in json.loads(answer.readline())["result"].get("events", []):
            key = base64.b64decode(event["kv"]["key"]).decode()
            gone += event.get("type") == "DELETE" and key.endswith(f"/{lease}")
        if gone == 0:
            print("begun", flush=True)
    print(now(), int(count) // 5, flush=True)


# keepalived: 200 instances, each with an address, at its default timing.

INSTANCES = 200


def keepalived(_counts, show):
    for count in [1, INSTANCES]:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, Hosts(5, folder) as hosts:
            for host in hosts.numbers:
                each = [f"""vrrp_instance v{number} {{
    state BACKUP
    interface cable
    virtual_router_id {number}
    priority {100 + (number + host) % 5 * 10}
    advert_int 1
    virtual_ipaddress {{
        10.0.1.{number}/32 dev cable
    }}
}}""" for number in range(1, count + 1)]
                with open(f"{folder}/{host}.conf", "w") as file:
                    file.write("global_defs {\n    router_id h%d\n}\n%s\n" % (host, "\n".join(each)))
                hosts.start(host, ["keepalived", "-n", "-l", "-P", "-f", f"{folder}/{host}.conf", "-p", f"{folder}/{host}.pid",
                                   "-r", f"{folder}/{host}.vrrp"])

            def addresses(host):
                links = json.loads(ip("-n", hosts.home(host), "-j", "address", "show", "dev", "cable"))
                return {one["local"] for link in links for one in link["addr_info"] if one["local"].startswith("10.0.1.")}

            held = lambda but=None: set().union(*(addresses(host) for host in hosts.numbers if host != but))
            await_(lambda: len(held()) == count, "keepalived has all addresses")
            time.sleep(10)
            show("keepalived idle", names=count, **hosts.idle())
            if count > 1:
                names, since = addresses(3), now()
                hosts.kill(3)
                await_(lambda: names <= held(3), "the others have its addresses")
                show("keepalived, kill of a host", names=count, of_the_killed=len(names), last_ms=round((now() - since) / 1e6, 1))


# ZooKeeper: ephemeral nodes, one session for each host.

def zookeeper(counts, show):
    jars = "/etc/zookeeper/conf:/usr/share/java/zookeeper.jar"
    for count in counts:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, Hosts(5, folder) as hosts:
            servers = "".join(f"server.{host}=10.0.0.{host}:2888:3888\n" for host in hosts.numbers)
            for host in hosts.numbers:
                os.mkdir(f"{folder}/{host}")
                with open(f"{folder}/{host}/myid", "w") as file:
                    file.write(str(host))
                with open(f"{folder}/{host}.cfg", "w") as file:
                    file.write(f"tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir={folder}/{host}\nclientPort=2181\n"
                               f"admin.enableServer=false\n{servers}")
                hosts.start(host, ["java", "-Xmx256m", "-cp", jars, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                                   f"{folder}/{host}.cfg"])
            clients = {}
            for host in hosts.numbers:
                clients[host] = begin(hosts, host, "zookeeper-hold", str(host), str(count))
            for client in clients.values():
                next(lines_of(client))
            time.sleep(5)
            show("ZooKeeper idle, with kazoo", names=count, **hosts.idle())
            if count < 5:
                continue
            watcher = begin(hosts, 5, "zookeeper-watch", "5", "3", str(count))
            next(lines_of(watcher))
            since = now()
            hosts.kill(3)
            at, names = map(int, next(lines_of(watcher)))
            show("ZooKeeper, kill of a host", names=count, of_the_killed=names, last_ms=round((at - since) / 1e6, 1))


def kazoo(host):
    from kazoo.client import KazooClient
    client = KazooClient(f"10.0.0.{host}:2181", timeout=SESSION)
    client.start(timeout=60)
    return client


def zookeeper_hold(host, count):
    client = kazoo(host)
    waits = []
    for number in range(int(count)):
        client.ensure_path(f"/locks/{number}")
        waits.append(client.create_async(f"/locks/{number}/{host}-", ephemeral=True, sequence=True))
    for wait in waits:
        wait.get()
    print("ready", flush=True)
    while True:
        time.sleep(60)


def zookeeper_watch(host, of, count):
    """Prints when the last node of the other host is gone."""
    client, left, last = kazoo(host), set(), [0]

    def seen(event):
        last[0] = now()
        left.discard(event.path)

    for number in range(int(count)):
        for child in client.get_children(f"/locks/{number}"):
            if child.startswith(f"{of}-"):
                path = f"/locks/{number}/{child}"
                left.add(path)
                client.exists(path, watch=seen)
    print("begun", flush=True)
    while left:
        time.sleep(0.001)
    print(last[0], int(count) // 5, flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
