#!/usr/bin/env python3
"""Records `make run-cluster` as a picture that moves, docs/cluster.svg: record.py [OUT [COMMAND...]].

Runs the command on a terminal of its own, presses keys when what it shows says that it is time, and draws what a reader would
have seen, with the times as they were. Needs `python3 -m pip install pyte`, which knows what the bytes do to a terminal.
"""

import html
import itertools
import os
import pty
import select
import struct
import sys
import termios
import time
from fcntl import ioctl

import pyte

COLUMNS, ROWS = 100, 25
# What the terminal shows when the key is pressed, the key, and what it does. The picture rests before each.
STEPS = [
    ("node-5 leads in epoch", "k", "k: node-5 is killed"),
    ("node-4 leads in epoch", "k", "k: node-4 is killed"),
    ("node-3 leads in epoch", "r", "r: node-4 starts again, and ranks higher than node-3"),
    ("node-4 leads in epoch", "r", "r: node-5 starts again"),
    ("node-5 leads in epoch", "q", ""),
]
REST, PATIENCE = 3.0, 600.0
# A picture this soon after the last one replaces it: round trips change all the time.
LEAST = 0.5
# Of a character, and of the frame around all.
WIDTH, HEIGHT, EDGE = 7.8, 17, 12
COLOURS = {"green": "#7ee787", "cyan": "#79c0ff", "brown": "#e3b341", "red": "#ff7b72"}


class Recording:
    """The pictures, each with its moment: the lines of the terminal, and the key that was pressed last."""

    def __init__(self, command):
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.pictures = []
        self.caption = ""
        pid, self.terminal = pty.fork()
        if pid == 0:
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.environ.update(TERM="xterm-256color", COLORTERM="")
            os.execvp(command[0], command)
        self.pid = pid

    def watch(self, seconds, until=lambda: False):
        """Keeps what the terminal shows, for this long or until something holds. Returns whether it held."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not until():
            if select.select([self.terminal], [], [], min(left, 0.02))[0]:
                try:
                    self.stream.feed(os.read(self.terminal, 65536))
                except OSError:  # it has ended
                    return until()
                self.keep()
        return until()

    def shows(self, words):
        return any(words in line for line in self.screen.display)

    def keep(self):
        lines = tuple(self.line(row) for row in range(ROWS)) + (self.caption,)
        now = time.monotonic()
        if self.pictures and lines == self.pictures[-1][1]:
            return
        begun = self.pictures[-1][0] if self.pictures else 0
        if now - begun < LEAST:
            self.pictures.pop()
            now = begun
        self.pictures.append((now, lines))

    def line(self, row):
        """The runs of one colour in a line."""
        cells = [self.screen.buffer[row][column] for column in range(COLUMNS)]
        runs = [(colour, "".join(cell.data for cell in run)) for colour, run in itertools.groupby(cells, lambda cell: cell.fg)]
        if runs[-1][0] == "default":
            runs[-1] = ("default", runs[-1][1].rstrip())
        return tuple(run for run in runs if run[1])

    def play(self):
        for words, key, caption in STEPS:
            if not self.watch(PATIENCE, lambda: self.shows(words)):
                sys.exit(f"record.py: the terminal never showed {words!r}:\n" + "\n".join(self.screen.display))
            if not self.pictures[0][1][0]:
                self.pictures.clear()
            self.watch(REST)
            self.caption = caption
            os.write(self.terminal, key.encode())
        self.watch(PATIENCE, lambda: os.waitpid(self.pid, os.WNOHANG)[0])


def text(place, runs):
    """A line, as wide as its characters whatever the font."""
    line = "".join(
        html.escape(words, quote=False) if colour not in COLOURS else f'<tspan class="{colour}">{html.escape(words)}</tspan>'
        for colour, words in runs)
    length = sum(len(words) for _, words in runs) * WIDTH
    return f'<text id="l{place}" textLength="{length:.0f}">{line}</text>'


def draw(pictures):
    """The pictures one above the other, in a window that steps from each to the next. A line that comes again is drawn once."""
    start, end = pictures[0][0], pictures[-1][0] + REST
    wide, high = round(COLUMNS * WIDTH) + 2 * EDGE, (ROWS + 2) * HEIGHT + EDGE
    known, steps, shown = {}, [], []
    for number, (moment, (*lines, caption)) in enumerate(pictures):
        steps.append(f"{100 * (moment - start) / (end - start):.2f}%{{transform:translateY({-number * high}px)}}")
        lines += [(), (("brown", caption),) if caption else ()]
        used = [
            f'<use href="#l{known.setdefault(runs, len(known))}" y="{(row + 1) * HEIGHT}"/>' for row, runs in enumerate(lines) if runs]
        shown.append(f'<g transform="translate({EDGE},{number * high})">{"".join(used)}</g>')
    paint = " ".join(f".{name}{{fill:{colour};font-weight:bold}}" for name, colour in COLOURS.items())
    definitions = "\n".join(text(place, runs) for runs, place in known.items())
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img" aria-labelledby="title">
<title id="title">make run-cluster, recorded: the leader of five nodes is killed twice, and the next one leads within milliseconds.</title>
<style>
text{{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#c9d1d9;white-space:pre}} {paint}
#film{{animation:film {end - start:.1f}s step-end infinite}}
@keyframes film{{{"".join(steps)}}}
@media (prefers-reduced-motion:reduce){{#film{{animation:none}}}}
</style>
<defs>
{definitions}
</defs>
<rect width="{wide}" height="{high}" rx="6" fill="#0d1117"/>
<svg width="{wide}" height="{high}"><g id="film">
{chr(10).join(shown)}
</g></svg>
</svg>
"""


def main():
    out, *command = sys.argv[1:] or ["docs/cluster.svg"]
    recording = Recording(command or ["make", "run-cluster"])
    recording.play()
    with open(out, "w") as file:
        file.write(draw(recording.pictures))
    print(f"{out}: {len(recording.pictures)} pictures, {os.path.getsize(out):,} bytes")


if __name__ == "__main__":
    main()
