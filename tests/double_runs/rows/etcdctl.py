"""`etcdctl lock NAME CMD` with an etcd of three members, one on each host."""

from patroni import etcd
from tool import Tool


class Lock(Tool):
    name, needs = "etcdctl lock", ["etcd", "etcdctl"]
    clients, daemons = ["etcdctl"], ["etcd --name"]
    has_tokens = True
    without = {"clock": "Go asks the kernel"}

    def begin(self):
        hosts = [self.network[name] for name in self.hosts]
        for host in hosts:
            self.serve(host.name, etcd(host, hosts, self.data(host.name)))
        self.places = ",".join(f"{host.address}:2379" for host in hosts)
        for host in hosts:
            self.contend(host)

    def contend(self, host):
        self.serve(host.name, f"etcdctl --endpoints={self.places} lock -- demo {self.job}", ETCDCTL_API="3")
