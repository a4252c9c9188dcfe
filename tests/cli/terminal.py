#!/usr/bin/env python3
"""plov top on a terminal: keys, sizes, colours, and that the terminal is left as it was."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

SECONDS = 60  # for what happens at once
LEAVE = b"\x1b[?25h\x1b[?1049l"


class Terminal:
    def __init__(self, plov, rows, columns, *words, **variables):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | variables
        self.process = subprocess.Popen(
            [plov, "top", "--interval", "50ms", *words], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, env=environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.seen = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        if select.select([self.master], [], [], 0.05)[0]:
            self.seen += os.read(self.master, 65536)

    def frames(self):
        return self.seen.split(b"\x1b[H")[1:-1]  # the last may not be whole

    def await_frame(self, what, holds):
        """Forgets what was before."""
        self.seen = b""
        end = time.monotonic() + SECONDS
        while not any(map(holds, self.frames())):
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit(f"waited in vain for: {what}; last: {self.seen[-800:]!r}")
            self.read()

    def type(self, key):
        os.write(self.master, key)

    def check_end(self, status=0):
        """That it ends, and how it leaves the terminal."""
        end = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            self.read()
        while select.select([self.master], [], [], 0)[0]:
            self.read()
        check("it ends", self.process.poll() == status)
        check("the terminal is left", self.seen.endswith(LEAVE))
        check("its mode is as before", termios.tcgetattr(self.slave) == self.before)


def check(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


def rows_of(frame):
    return [re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", row) for row in frame.replace(b"\r", b"").split(b"\n")]


def fits(rows, columns):
    def holds(frame):
        lines = rows_of(frame)
        return len(lines) <= rows + 1 and max(map(len, lines)) <= columns

    return holds


def main(plov):
    one = Terminal(plov, 40, 100)
    one.await_frame("the headline, bold", lambda f: b"\x1b[1mserver CPU per million GETs" in f)
    for rows, columns in ((24, 80), (5, 20), (1, 1), (50, 200)):
        one.resize(rows, columns)
        one.await_frame(f"{rows} rows, {columns} columns", fits(rows, columns))
    one.await_frame("everything again", lambda f: b"SHARD" in f)
    one.type(b"p")
    one.await_frame("a pause", lambda f: b"PAUSED" in f)
    one.type(b"p")
    one.await_frame("that it goes on", lambda f: b"PAUSED" not in f and b"SHARD" in f)
    one.type(b"sx\x1b[A")  # other keys are nothing
    one.await_frame("that it goes on", lambda f: b"SHARD" in f)
    one.type(b"\x1a")  # Ctrl-Z
    check("it stops", os.waitid(os.P_PID, one.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
          .si_code == os.CLD_STOPPED)
    one.read()
    check("a stopped one leaves the terminal", one.seen.endswith(LEAVE))
    check("in its former mode", termios.tcgetattr(one.slave) == one.before)
    os.kill(one.process.pid, signal.SIGCONT)
    one.await_frame("that it goes on", lambda f: b"SHARD" in f)
    one.type(b"q")
    one.check_end()

    for key in (b"\x03", b"\x1c"):  # Ctrl-C, Ctrl-\
        other = Terminal(plov, 24, 80, NO_COLOR="1")
        other.await_frame("no colours", lambda f: b"SHARD" in f and b"\x1b[1m" not in f)
        other.type(key)
        other.check_end()
    counted = Terminal(plov, 24, 80, "--count", "3")
    counted.check_end()


if __name__ == "__main__":
    main(sys.argv[1])
