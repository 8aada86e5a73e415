"""An advisory lock of one PostgreSQL, on a host of its own, held by a program of 20 lines."""

from engine_servers import POSTGRES
from tool import PYTHON, Tool

USER = "setpriv --reuid=postgres --regid=postgres --clear-groups"


def serve(tool):
    """Starts the PostgreSQL, which ends a session whose host is silent for 10 s."""
    host, data = tool.network[tool.server], f"{tool.data(tool.server)}/cluster"
    host.run("sh", "-ec", f"install -d -o postgres {data} && cd / && {USER} {POSTGRES}/initdb -D {data} -A trust >&2"
             f" && echo 'host all all 10.0.0.0/24 trust' >>{data}/pg_hba.conf")
    tool.serve(tool.server, f"{USER} {POSTGRES}/postgres -D {data} -c listen_addresses=* -c tcp_keepalives_idle=4"
               " -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000")


class Advisory(Tool):
    name, needs = "advisory lock, PostgreSQL", [f"{POSTGRES}/postgres"]
    clients, daemons, server = [PYTHON], [f"{POSTGRES}/postgres", "postgres: "], "d"

    def begin(self):
        serve(self)
        for name in self.hosts:
            self.program(name, "advisory.py", self.network[self.server].address)
