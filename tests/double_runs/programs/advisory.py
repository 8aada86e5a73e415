"""Works while it holds an advisory lock of PostgreSQL: advisory.py FOLDER SERVER. There is no token.

A thread looks every second whether the session is there; a connection is given up after 10 s without an answer."""

import os
import sys
import threading
import time

import psycopg2
from job import work

folder, server = sys.argv[1:]
lost = threading.Event()
connection = psycopg2.connect(host=server, user="postgres", dbname="postgres", connect_timeout=5,
                              keepalives_idle=4, keepalives_interval=2, keepalives_count=3, tcp_user_timeout=10000)
connection.autocommit = True
cursor = connection.cursor()
cursor.execute("SELECT pg_advisory_lock(42)")


def look():
    try:
        while True:
            cursor.execute("SELECT 1")
            time.sleep(1)
    except psycopg2.Error:
        lost.set()


threading.Thread(target=look, daemon=True).start()
work(folder, 0, lambda: not lost.is_set())
os._exit(1)
