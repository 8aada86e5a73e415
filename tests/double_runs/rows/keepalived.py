"""keepalived with notify scripts, which start and stop the job, and its own timing."""

from tool import Tool

CONFIGURATION = """global_defs {{
    router_id {name}
    script_user root
    enable_script_security
}}
vrrp_instance demo {{
    state BACKUP
    interface eth0
    virtual_router_id 51
    priority {priority}
    advert_int 1
    nopreempt
    virtual_ipaddress {{
        10.0.0.99/24
    }}
    notify_master /usr/local/bin/begins
    notify_backup /usr/local/bin/ends
    notify_fault /usr/local/bin/ends
    notify_stop /usr/local/bin/ends
}}
"""


class Notify(Tool):
    name, needs = "keepalived, notify scripts", ["keepalived", "start-stop-daemon"]
    daemons = ["keepalived"]
    without = {"client": "it has none", "stop-client": "it has none", "all": "as `daemon`", "disk": "it writes nothing",
               "clock": "with libfaketime it ran no script"}

    def begin(self):
        program, words = self.job.split(" ", 1)
        own = "start-stop-daemon --pidfile /run/job.pid"
        begins = f"#!/bin/sh\n{own} --start --background --make-pidfile --exec {program} -- {words}\n"
        ends = f"#!/bin/sh\n{own} --stop --oknodo --retry TERM/5/KILL/5\n"
        for name in self.hosts:
            host = self.network[name]
            host.write("/usr/local/bin/begins", begins.encode(), 755)
            host.write("/usr/local/bin/ends", ends.encode(), 755)
            host.write("/etc/keepalived.conf", CONFIGURATION.format(name=name, priority=100 + host.number).encode())
            self.serve(name, "keepalived --dont-fork --log-console --use-file=/etc/keepalived.conf")
