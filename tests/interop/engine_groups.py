"""Engines with more than one server, of which one decides: etcd with three members, PostgreSQL with a standby."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

from engine_servers import POSTGRES, Etcd, Postgres, Proxy, Server, free_port, now, wait


class Member(Etcd):
    """One of three."""

    def __init__(self, folder, group, number):
        os.makedirs(folder)
        self.group, self.number, self.tls = group, number, None
        Server.__init__(self, folder)
        self.peer = free_port()
        self.between = PeerProxy(group, self)

    def start(self):
        own, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.peer}"
        others = ",".join(f"e{each.number}=http://127.0.0.1:{each.between.port}" for each in self.group.members)
        self.process = self.background(
            "etcd", "--name", f"e{self.number}", "--data-dir", f"{self.folder}/data", "--listen-client-urls", own, "--advertise-client-urls", own,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", f"http://127.0.0.1:{self.between.port}", "--initial-cluster", others,
            "--unsafe-no-fsync")

    def status(self):
        """Its id, and whom it takes for the leader."""
        done = self.ctl("endpoint", "status", "-w", "json", timeout=10)
        if done.returncode:
            return None, None
        told = json.loads(done.stdout)[0]["Status"]
        return told["header"]["member_id"], told.get("leader")

    def answers(self):
        """Whether a majority answers it."""
        return self.ctl("get", "x").returncode == 0


class PeerProxy(Proxy):
    """What is between a member and the others, who dial it. It knows who does by the process that has the other end."""

    def __init__(self, group, member):
        self.group, self.member, self.dialled = group, member, {}
        super().__init__(member.peer)

    def greet(self, pair):
        port, inode = pair[0].getpeername()[1], None
        with open("/proc/net/tcp") as file:
            for line in file.readlines()[1:]:
                words = line.split()
                if int(words[1].split(":")[1], 16) == port and int(words[2].split(":")[1], 16) == self.port:
                    inode = words[9]
        for each in self.group.members:
            try:
                files = f"/proc/{each.process.pid}/fd"
                if any(os.readlink(f"{files}/{name}") == f"socket:[{inode}]" for name in os.listdir(files)):
                    self.dialled[pair] = each
            except OSError:
                pass

    def holds(self, way, pair):
        return self.group.alone in (self.member, self.dialled.get(pair, self))


class EtcdGroup(Server):
    """Three members of one etcd."""
    # A new leader begins the time of all leases anew, and adds the time of an election: https://github.com/etcd-io/etcd/issues/9395.
    needs, env, slack = Etcd.needs, {}, 3.0
    # A leader that stood still ends leases that its successor keeps: https://github.com/etcd-io/etcd/issues/12528. electd learns that with
    # its next renewal, and ends the job.
    early = 0.8
    url = Etcd.url

    def __init__(self, folder):
        self.folder, self.repaired, self.members = folder, 0.0, []
        self.alone = None
        self.members.extend(Member(f"{folder}/{number}", self, number) for number in range(3))
        for member in self.members:
            member.start()
        self.port = ",127.0.0.1:".join(str(place) for place in self.places)
        wait("three members", lambda: all(member.answers() for member in self.members), 60)
        self.over = threading.Event()
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        """Notes when another leader began."""
        greatest = 0
        while not self.over.wait(0.2):
            for place in self.places:
                try:
                    question = urllib.request.Request(f"http://127.0.0.1:{place}/v3/maintenance/status", b"{}")
                    term = int(json.loads(urllib.request.urlopen(question, timeout=0.2).read())["raftTerm"])
                except (OSError, ValueError, KeyError):
                    continue
                if term > greatest:
                    greatest, self.led = term, now()

    @property
    def places(self):
        return [member.port for member in self.members]

    def leader(self):
        def found():
            for member in self.members:
                own, leader = member.status()
                if own and own == leader:
                    return member
            return None
        return wait("a leader of etcd", found, 60)

    def elsewhere(self, member):
        """When one of the others has a majority."""
        others = [each for each in self.members if each is not member]
        wait("a majority", lambda: any(each.answers() for each in others), 60)
        return now()

    def harms(self):
        return {"leader killed": self.kill, "leader frozen": self.freeze, "leader cut off": self.cut_off}

    def kill(self, _):
        leader = self.leader()
        leader.stop()
        repaired = self.elsewhere(leader)
        leader.start()
        wait("the old leader is back", leader.answers, 60)
        return repaired

    def freeze(self, seconds):
        leader = self.leader()
        leader.signal(signal.SIGSTOP)
        repaired = self.elsewhere(leader)
        time.sleep(seconds)
        leader.signal(signal.SIGCONT)
        wait("the old leader is back", leader.answers, 60)
        return repaired

    def cut_off(self, seconds):
        """Its clients reach it, and the other members do not."""
        leader = self.leader()
        self.alone = leader
        try:
            repaired = self.elsewhere(leader)
            time.sleep(seconds)
        finally:
            self.alone = None
        wait("the old leader is back", leader.answers, 60)
        return repaired

    def end(self):
        self.over.set()
        for member in self.members:
            member.stop()


class Copy(Postgres):
    """A standby of `primary`."""

    def make(self):
        words = ["-h", "127.0.0.1", "-p", str(self.primary.port), "-U", "postgres", "-D", self.data, "-R", "-X", "stream", "-c", "fast"]
        subprocess.run([*self.user, f"{POSTGRES}/pg_basebackup", *words], check=True, capture_output=True, env={**os.environ, "PGPASSWORD": "secret"})
        self.start()


class PostgresPair(Server):
    """A primary, each of whose commits waits for a standby that an operator promotes."""
    needs, env, url = Postgres.needs, Postgres.env, Postgres.url

    def __init__(self, folder):
        self.folder, self.repaired, self.made = folder, 0.0, 0
        os.chmod(folder, 0o777)
        self.servers = [self.new(Postgres)]
        # Both keep their ports, by which the URL names them.
        self.places = [self.primary.port, free_port()]
        self.port = ",127.0.0.1:".join(str(place) for place in self.places)
        self.follow()

    places = None

    @property
    def primary(self):
        return self.servers[0]

    def new(self, kind, **more):
        self.made += 1
        folder = f"{self.folder}/{self.made}"
        os.makedirs(folder)
        return kind(folder, **more)

    def follow(self):
        """The other place begins to follow the primary, which waits for it from then on."""
        port = next(place for place in self.places if place != self.primary.port)
        self.servers.append(self.new(Copy, primary=self.primary, port=port))
        in_step = lambda: self.primary.sql("SELECT state FROM pg_stat_replication") == "streaming"
        wait("a standby in step", in_step, 60)
        self.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.sql("SELECT pg_reload_conf()")
        wait("a synchronous standby", lambda: self.primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync", 60)

    def harms(self):
        return {"primary killed": self.kill, "primary frozen": self.freeze}

    def promote(self):
        new = self.servers[1]
        # A standby that begins has no connections for a moment.
        wait("the promotion", lambda: new.sql("SELECT pg_promote()") == "t" and new.sql("SELECT pg_is_in_recovery()") == "f", 60)
        self.servers.reverse()
        return now()

    def kill(self, _):
        self.primary.stop()
        repaired = self.promote()
        self.renew()
        return repaired

    def freeze(self, seconds):
        """The old primary goes on beside the new one for a while, until it is switched off."""
        old = self.primary
        old.signal(signal.SIGSTOP)
        repaired = self.promote()
        time.sleep(seconds / 3)
        old.signal(signal.SIGCONT)
        time.sleep(seconds)
        old.stop()
        self.renew()
        return repaired

    def renew(self):
        """The old primary begins anew, as the standby of the new one."""
        shutil.rmtree(self.servers.pop().folder)
        self.follow()

    def end(self):
        for server in self.servers:
            server.stop()
