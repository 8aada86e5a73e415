"""Works while it holds a lock of kazoo: zookeeper.py FOLDER HOSTS. The token is the zxid that made its node.

As kazoo's documentation asks, a listener ends the work when the connection is lost or suspended."""

import os
import sys
import threading

from job import work
from kazoo.client import KazooClient, KazooState

folder, hosts = sys.argv[1:]
lost = threading.Event()
client = KazooClient(hosts=hosts, timeout=10)
client.start(timeout=60)
lock = client.Lock("/demo", os.uname().nodename)
with lock:
    client.add_listener(lambda state: state == KazooState.CONNECTED or lost.set())
    token = client.get(f"/demo/{lock.node}")[1].czxid
    if client.connected:
        work(folder, token, lambda: not lost.is_set())
    os._exit(1)
