"""What all parts use: commands, conditions to wait for, nodes to ask, and the words in which a part says what it saw."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# A part that cannot be tried here ends with this code.
MISSING = 75


def say(word, text):
    print(f"{word:8} {text}", flush=True)


def missing(text):
    """Ends a part that needs what this machine has not."""
    say("missing", text)
    sys.exit(MISSING)


def need(part, *tools):
    lacking = [tool for tool in tools if not shutil.which(tool)]
    if lacking:
        missing(f"{', '.join(lacking)}: {part}")


def check(holds, text):
    """Says that something is so, or ends the part because it is not."""
    if not holds:
        say("FAILED", text)
        sys.exit(1)
    say("ok", text)


def run(*words, **options):
    """Runs a command to its end, and fails with it. Returns what it printed."""
    words = [str(word) for word in words]
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **options)
    if done.returncode:
        say("FAILED", f"{' '.join(words)}: code {done.returncode}\n{done.stdout}")
        sys.exit(1)
    return done.stdout


def wait(what, condition, seconds=30):
    """Waits until something holds, and returns it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            say("FAILED", f"waited {seconds} s in vain: {what}")
            sys.exit(1)
        time.sleep(0.005)
    return found


def mount_system(root):
    """Gives a root /proc, and a /dev with single devices."""
    for folder in ["proc", "dev"]:
        (root / folder).mkdir(exist_ok=True)
    run("mount", "-t", "proc", "proc", root / "proc")
    run("mount", "-t", "tmpfs", "-o", "mode=755", "dev", root / "dev")
    for device in ["null", "zero", "full", "random", "urandom"]:
        (root / "dev" / device).touch()
        run("mount", "--bind", f"/dev/{device}", root / "dev" / device)


def overlay(lower, folder):
    """A root that begins as another, and can be changed without it."""
    for name in ["up", "work", "root"]:
        (folder / name).mkdir(parents=True)
    run("mount", "-t", "overlay", "-o", f"lowerdir={lower},upperdir={folder}/up,workdir={folder}/work", "overlay", folder / "root")
    mount_system(folder / "root")
    return folder / "root"


class Cluster:
    """The nodes of a file, each started by a command of its own."""

    def __init__(self, config, command, log):
        self.members = {member["name"]: member for member in json.loads(config.read_text())["members"]}
        self.command, self.log, self.processes = command, log, {}

    def start(self, *names):
        """Starts these nodes, one after the other, and returns when the last was."""
        for name in names or self.members:
            with open(self.log, "ab") as log:
                self.processes[name] = subprocess.Popen(
                    [str(word) for word in self.command(name)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return time.monotonic()

    def get(self, name, path, address=None):
        """What a node answers: the code, and the text."""
        host, port = self.members[name]["admin"].rsplit(":", 1)
        connection = http.client.HTTPConnection(address or host, int(port), timeout=2)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    def leader(self):
        return next((name for name in self.processes if self.get(name, "/leader")[0] == 200), None)

    def leads(self, since, other_than=None):
        """Waits for a leader. Returns its name and the milliseconds that it took."""
        name = wait("a leader", lambda: (found := self.leader()) != other_than and found)
        return name, round((time.monotonic() - since) * 1000)

    def status(self, name):
        return json.loads(self.get(name, "/status")[1])

    def all_well(self):
        return all(
            (text := self.get(name, "/status")[1]) and not (status := json.loads(text))["problems"] and status["leader"]
            for name in self.processes)

    def stop(self, name, which=signal.SIGTERM):
        """Ends a node, and returns its code."""
        process = self.processes.pop(name)
        process.send_signal(which)
        return process.wait(30)
