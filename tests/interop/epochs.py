"""A resource that compares epochs: epochs.py LOG. Whoever writes to its port sends lines with an epoch. It judges
each when it comes, and answers 20 ms later: `taken`, or `refused` if a later epoch has written. LOG has when, who, the epoch
and the answer.
"""

import socketserver
import sys
import threading
import time

PORT = 8000
# What writes, without a program but bash: a line, and the next one when that has its answer.
WRITER = f"exec 3<>/dev/tcp/HOST/{PORT} && while echo \"$ELECTD_EPOCH\" >&3 && read -r -t 5 answer <&3; do :; done"


class Resource(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def __init__(self, log):
        super().__init__(("", PORT), Writes)
        self.log, self.turn, self.highest = open(log, "w", buffering=1), threading.Lock(), 0

    def judge(self, who, epoch):
        with self.turn:
            self.highest = max(self.highest, epoch)
            answer = "taken" if epoch == self.highest else "refused"
            self.log.write(f"{time.monotonic()} {who} {epoch} {answer}\n")
            return answer


class Writes(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            for line in self.rfile:
                answer = self.server.judge(self.client_address[0], int(line))
                time.sleep(0.02)
                self.wfile.write(f"{answer}\n".encode())
        except (OSError, ValueError):
            pass  # whoever wrote has ended


class Log:
    """What the resource noted: moment, host, epoch, answer."""

    def __init__(self, path, names):
        self.path, self.names = path, {f"10.0.0.{number}": name for number, name in enumerate(names, 1)}

    def read(self):
        try:
            with open(self.path) as log:
                lines = [line.split() for line in log.read().splitlines(True) if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [(float(at), self.names[who], int(epoch), answer) for at, who, epoch, answer in lines]

    def last(self):
        """The host and the epoch of the last write that was taken."""
        taken = [line for line in self.read() if line[3] == "taken"]
        return taken[-1][1:3] if taken else None

    def writes(self, name):
        """Whether it is this host whose writes are taken now."""
        taken = [line for line in self.read() if line[3] == "taken"]
        return taken and taken[-1][1] == name and taken[-1][0] > time.monotonic() - 1

    def judge(self, epoch, may_be_late):
        """Judges the end of this epoch: the seconds until the next one wrote, and how many late writes were refused. Unless
        they may be, none may have come."""
        lines = self.read()
        before = [at for at, _, its, _ in lines if its == epoch]
        after = min(at for at, _, its, _ in lines if its > epoch)
        late = [line for line in lines if line[2] <= epoch and line[0] > after]
        assert not [line for line in late if line[3] == "taken"], f"late writes were taken: {late[:3]}"
        assert may_be_late or not late, f"it wrote beside epoch {epoch}: {late[:3]}, {after}"
        return after - max(at for at in before if at < after), len(late)


if __name__ == "__main__":
    Resource(sys.argv[1]).serve_forever()
