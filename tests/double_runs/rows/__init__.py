"""The tools, by the word that ROW has."""

from rows import electd, engines, etcdctl, keepalived, patroni_etcd, postgresql, redis_lock, zookeeper

ROWS = {
    "etcdctl": etcdctl.Lock, "zookeeper": zookeeper.Lock, "advisory": postgresql.Advisory, "redis": redis_lock.Lock,
    "keepalived": keepalived.Notify, "patroni": patroni_etcd.Primaries, "electd": electd.Exec,
    "electd-default": electd.Default, "electd-etcd": engines.Etcd, "electd-postgres": engines.Postgres,
}
