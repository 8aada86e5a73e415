"""redis-py's Lock with one Redis, on a host of its own, which syncs each write as Redis' page on locks asks."""

from tool import PYTHON, Tool


class Lock(Tool):
    name, needs = "redis-py Lock", ["redis-server"]
    clients, daemons, server = [PYTHON], ["redis-server"], "d"
    without = {"clock": "libfaketime and the allocator of Redis exclude each other"}

    def begin(self):
        data = self.data(self.server)
        self.network[self.server].run("mkdir", "-p", data)
        self.serve(self.server, f"redis-server --dir {data} --protected-mode no --appendonly yes --appendfsync always")
        for name in self.hosts:
            self.program(name, "redis_lock.py", self.network[self.server].address)
