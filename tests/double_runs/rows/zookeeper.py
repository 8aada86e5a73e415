"""kazoo's Lock with a ZooKeeper of three servers, one on each host, as its package sets them up."""

from tool import PYTHON, Tool

JAVA = "java -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar org.apache.zookeeper.server.quorum.QuorumPeerMain"


class Lock(Tool):
    name, needs = "kazoo Lock, ZooKeeper", ["java"]
    clients, daemons = [PYTHON], ["java"]
    has_tokens = True
    without = {"clock": "with libfaketime Java did not come up within two minutes"}

    def begin(self):
        hosts = [self.network[name] for name in self.hosts]
        servers = "".join(f"server.{host.number}={host.address}:2888:3888\n" for host in hosts)
        for host in hosts:
            data = self.data(host.name)
            host.write(f"{data}/myid", f"{host.number}\n".encode())
            host.write("/etc/zoo.cfg", f"tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir={data}\nclientPort=2181\n"
                       f"admin.enableServer=false\n{servers}".encode())
            self.serve(host.name, f"{JAVA} /etc/zoo.cfg")
            self.program(host.name, "zookeeper.py", ",".join(f"{each.address}:2181" for each in hosts))
