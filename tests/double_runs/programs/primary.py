"""Writes when the PostgreSQL of this host takes a write, by its timeline: primary.py FOLDER ADDRESS TIMELINE.

The last is the SQL of the timeline."""

import sys
import time

import psycopg2
from job import begin

folder, address, timeline = sys.argv[1:]
while True:
    try:
        connection = psycopg2.connect(host=address, user="postgres", dbname="postgres", connect_timeout=5)
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute(f"SELECT {timeline}")
        write = begin(folder, cursor.fetchone()[0])
        while True:
            cursor.execute("SELECT pg_current_xact_id()")  # needs a commit, which a standby refuses
            write()
            time.sleep(0.01)
    except psycopg2.Error:
        time.sleep(0.2)
