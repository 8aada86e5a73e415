"""Three hosts on this machine: each has a network of its own, and a cable to one switch."""

from base import run

HOSTS = {"a": "10.77.0.1", "b": "10.77.0.2", "c": "10.77.0.3"}
# Where this one is at the switch.
SWITCH = "10.77.0.254"


def connect():
    """Three hosts: namespaces of the network at one switch. This one is at it too, to ask."""
    run("mount", "-t", "tmpfs", "run", "/run")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "switch", "type", "bridge")
    run("ip", "address", "add", f"{SWITCH}/24", "dev", "switch")
    run("ip", "link", "set", "switch", "up")
    for name, address in HOSTS.items():
        run("ip", "netns", "add", name)
        run("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", f"port-{name}")
        run("ip", "link", "set", f"port-{name}", "master", "switch", "up")
        run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        for link in ["lo", "eth0"]:
            run("ip", "-n", name, "link", "set", link, "up")
