"""`electd exec --lock URL` with the etcd and the PostgreSQL of other rows."""

from rows import etcdctl, postgresql


class Etcd(etcdctl.Lock):
    name, needs, without = "electd exec --lock etcd://", ["etcd"], {}
    clients, others = ["electd exec"], ["electd guard"]

    def contend(self, host):
        url = f"etcd://{self.places}/demo"
        self.serve(host.name, f"electd exec --lock {url} --restart always -- env -u LD_PRELOAD {self.job}")


class Postgres(postgresql.Advisory):
    name = "electd exec --lock postgres://"
    clients, others = ["electd exec"], ["electd guard"]
    has_tokens = True

    def begin(self):
        postgresql.serve(self)
        url = f"postgres://postgres@{self.network[self.server].address}/postgres?lock=demo"
        for name in self.hosts:
            self.serve(name, f"electd exec --lock '{url}' --restart always -- env -u LD_PRELOAD {self.job}")
