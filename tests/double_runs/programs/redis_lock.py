"""Works while it holds a lock of redis-py: redis_lock.py FOLDER SERVER. There is no token.

A thread extends it every 3 s. The work ends when that is refused, or 9 s after the last question that was granted."""

import os
import sys
import threading
import time

import redis
from job import work

folder, server = sys.argv[1:]
client = redis.Redis(server, socket_timeout=3, socket_connect_timeout=3)
lock = client.lock("demo", timeout=10, thread_local=False)
asked = time.monotonic()
while not lock.acquire(blocking=False):
    time.sleep(0.3)
    asked = time.monotonic()
held = [asked + 9]


def extend():
    while True:
        time.sleep(3)
        asked = time.monotonic()
        try:
            lock.extend(10, replace_ttl=True)
            held[0] = asked + 9
        except redis.exceptions.LockError:
            held[0] = 0
        except redis.exceptions.RedisError:
            pass


threading.Thread(target=extend, daemon=True).start()
work(folder, 0, lambda: time.monotonic() < held[0])
os._exit(1)
