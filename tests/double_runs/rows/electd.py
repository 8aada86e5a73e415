"""`electd exec`, beside a node on each host."""

from tool import Tool


class Exec(Tool):
    name = "electd exec"
    # So that a leader that is silent is replaced within 9 s: the locks of others last 10 s.
    failure = "5s"
    clients, daemons, others = ["electd exec"], ["electd run"], ["electd coroner", "electd guard"]
    has_tokens = True

    def begin(self):
        hosts = [self.network[name] for name in self.hosts]
        members = " ".join(f"--member {host.name}={host.address}" for host in hosts)
        text = hosts[0].run("sh", "-c", f"electd init {members} --out /run/cluster.json >&2 && cat /run/cluster.json")
        for host in hosts:
            own = text.replace("/var/lib/electd", self.data(host.name))
            own = own.replace('"members":', f'"timing": {{"failure": "{self.failure}"}},\n  "members":')
            host.write("/etc/electd/cluster.json", own.encode())
            self.serve(host.name, f"electd run --node {host.name}")
            self.serve(host.name, f"electd exec --node {host.name} --restart always -- env -u LD_PRELOAD {self.job}")


class Default(Exec):
    name, failure = "electd exec, its own timing", "500ms"
