"""Tries examples/lock-postgresql on hosts of namespaces: lock-postgresql.py ELECTD [FAULTS]. As root.

It types what the page says, and harms the host of the job by turns. Then it takes the lock with the SQL of docs/engines.md. It ends with 1 if a
row was written late or two hold the lock, and with 75 if something that it needs is missing.
"""

import os
import re

from engine_pages import Page, disturb
from engine_servers import POSTGRES
from hosts import HERE, Network, wait
from recipe import begin

USER = "setpriv --reuid=postgres --regid=postgres --clear-groups"
URL = "postgres://electd@db/postgres?lock={}&passfile=/etc/electd/lock-postgresql/password"


def serve(host):
    """A PostgreSQL that listens to all hosts, and takes its superuser without a password on its own host."""
    host.run("sh", "-ec", f"""
        install -d -o postgres /var/lib/trial /run/postgresql && cd /var/lib/trial
        {USER} {POSTGRES}/initdb -D data -U root -A trust --no-sync >/dev/null
        echo 'host all all 10.0.0.0/8 scram-sha-256' >>data/pg_hba.conf""")
    host.start("sh", "-c", f"cd /var/lib/trial && exec {USER} {POSTGRES}/postgres -D data -c listen_addresses='*' -c fsync=off -k /run/postgresql")
    wait("PostgreSQL", lambda: host.run("psql", "-qAtc", "SELECT 1", "postgres", check=False) == "1")


def try_sql(network):
    """A holder in another language: what docs/engines.md prints, as it is."""
    with open(f"{HERE}/docs/engines.md") as text:
        section = text.read().split("## The row")[1].split("\n## ")[0]
    blocks = [re.sub("^    ", "", block, flags=re.M) for block in re.findall(r"(?:^    .*\n)+", section, re.M)]
    take, renew, give_back = [part.split("\n", 1)[1] for part in re.split("^-- ", blocks[1], flags=re.M)[1:]]
    fenced = next(block for block in blocks if "FOR SHARE" in block)
    db, a = network["db"], network["a"]
    sql = lambda text: db.run("psql", "-qAtc", text, "postgres")
    job = lambda *words: a.run("electd", "exec", "--lock", URL.format("backup"), "--ttl", "2s", *words, "--", "sh", "-c", "echo token $ELECTD_EPOCH",
                               check=False)
    first = int(sql(take))
    assert sql(take) == "", "it was taken twice"
    assert job("--wait", "1s") == "", "electd ran beside it"
    told = a.run("sh", "-c", f"electd leader --lock '{URL.format('backup')}'")
    assert told == f"me-1  token {first}", told
    assert int(sql(renew)) == first
    assert sql(fenced.replace(":epoch", str(first))) == "1" and sql(fenced.replace(":epoch", str(first - 1))) == ""
    sql(give_back)
    assert sql(renew) == "", "it was renewed after it was given back"
    assert job() == f"token {first + 1}", "electd takes it then"
    # Beside electd, which holds it now.
    a.start("electd", "exec", "--lock", URL.format("backup"), "--ttl", "2s", "--", "sleep", "infinity")
    wait("electd holds it", lambda: "pid" in a.run("sh", "-c", f"electd leader --lock '{URL.format('backup')}'", check=False))
    assert sql(take) == "", "it was taken beside electd"
    assert sql(renew) == "" and sql(give_back) == "" and sql(take) == "", "another's lock was renewed or given back"
    a.signal(9, a.named("electd exec --lock " + URL.format("backup")))
    assert int(wait("its time is over", lambda: sql(take), 30)) > first + 1


def main():
    electd, page, faults = begin("lock-postgresql", [f"{POSTGRES}/postgres", "psql"])
    with Network(electd, "a", "b", "db") as network:
        db = network["db"]
        serve(db)
        os.environ["PGDATABASE"] = "postgres"
        typed = Page(network, page)

        def last():
            row = db.run("psql", "-qAtc", "SELECT host, token, extract(epoch FROM at) FROM written ORDER BY number DESC LIMIT 1", check=False)
            host, token, at = row.split("|") if row else ("", "0", "0")
            return (host, int(token), float(at)) if host else None

        figures = disturb(typed, faults, last)
        late = db.run("psql", "-qAtc", "SELECT count(*) FROM (SELECT token, lag(token) OVER (ORDER BY number) AS before FROM written) AS w"
                      " WHERE token < before")
        assert late == "0", f"{late} rows were written late"
        try_sql(network)
        count = db.run("psql", "-qAtc", "SELECT count(*) FROM written")
        print(f"{count} rows written, none late; the SQL of docs/engines.md and electd exclude each other; {figures}")


main()
