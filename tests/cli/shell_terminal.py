#!/usr/bin/env python3
"""plov's shell on a terminal: lines, completion, history, Ctrl-C, Ctrl-Z, and sizes.

Called with the path of plov and the process of its server, which PLOV_SERVER names.
"""

import fcntl
import os
import pathlib
import pty
import select
import shlex
import signal
import stat
import struct
import subprocess
import sys
import termios
import time

SECONDS = 60  # for what happens at once
PROMPT = os.environ["PLOV_SERVER"].encode() + b"> "
CTRL_C, CTRL_D, CTRL_Z, UP = b"\x03", b"\x04", b"\x1a", b"\x1b[A"
EDITS = os.environ.get("PLOV_LIBEDIT", "1") not in ("", "0")
STATE = pathlib.Path(os.environ["XDG_STATE_HOME"])


def check(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


class Shell:
    def __init__(self, plov, *words, rows=24, columns=200, **variables):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        environment = {"TERM": "xterm"} | dict(os.environ) | variables
        self.process = subprocess.Popen(
            [plov, *words], stdin=self.slave, stdout=self.slave, stderr=self.slave, env=environment,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.seen = b""

    def read(self):
        if select.select([self.master], [], [], 0.05)[0]:
            self.seen += os.read(self.master, 65536)

    def await_text(self, text):
        """Returns what came before it, and forgets both."""
        end = time.monotonic() + SECONDS
        while text not in self.seen:
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit(f"waited in vain for {text!r}: {self.seen[-800:]!r}")
            self.read()
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, keys):
        os.write(self.master, keys)

    def edits(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ISIG

    def await_mode(self, edits):
        end = time.monotonic() + SECONDS
        while self.edits() != edits:
            check(f"the terminal's mode changes: {self.seen[-800:]!r}", time.monotonic() < end)
            self.read()

    def type_command(self, line):
        """Types a line, and waits until a command has the terminal: its lines are what is read then."""
        self.type(line + b"\r")
        if EDITS:
            self.await_mode(edits=False)
        else:
            time.sleep(0.3)  # what is typed meanwhile would be a line of the shell
        self.await_text(b"\n")

    def interrupt(self, line, shown=b""):
        """Once more where the signal came before the command's process."""
        self.type_command(line)
        if shown:
            self.await_text(shown)
        end = time.monotonic() + SECONDS
        while PROMPT not in self.seen:
            check(f"Ctrl-C ends {line!r}", time.monotonic() < end)
            if not self.edits():
                self.type(CTRL_C)
            for _ in range(10):
                self.read()
        self.await_text(PROMPT)

    def run(self, line, wanted=None):
        """Types a line at the prompt, and waits for the next prompt. Returns what came between."""
        self.type(line + b"\r")
        self.await_text(b"\n")
        shown = self.await_text(PROMPT).replace(b"\r", b"")
        check(f"{line!r} prints {wanted!r}, not {shown!r}", wanted is None or shown == wanted)
        return shown

    def end(self, keys=CTRL_D):
        """Types them at the prompt, again where a command still took them. Returns the exit status."""
        end = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            if EDITS and not self.edits():
                self.read()
                continue
            self.type(keys)
            for _ in range(40):
                if self.process.poll() is None:
                    self.read()
        check(f"it ends: {self.seen[-800:]!r}", self.process.poll() is not None)
        check("the terminal's mode is as before", termios.tcgetattr(self.slave) == self.before)
        return self.process.poll()


def workers(shell):
    return subprocess.run(["ps", "-o", "pid=", "--ppid", str(shell.process.pid)],
                          capture_output=True, text=True, check=False).stdout.split()


def test_commands(plov):
    shell = Shell(plov)
    shell.await_text(PROMPT)
    shell.run(b"put a 'an apple'", b"")
    shell.run(b"get a", b"an apple\n")
    shell.run(b"get none", b"plov: get: no item has the key 'none'\n")
    shell.run(b"get 'a", b"plov: shell: the line ends within '...'\n")
    shell.run(b"   ", b"")
    shell.run(b'put "k\\x1b" "v\\x1b[2J\\x00\\n"', b"")
    shell.run(b'get "k\\x1b"', b"v\\x1b[2J\\x00\n\n")
    shell.run(b"get 'k\\x1b'", b"plov: get: no item has the key 'k\\x1b'\n")
    check("help is there", b"Commands:" in shell.run(b"help"))
    shell.run(b"get none")
    check("it ends as its last command did", shell.end() == 1)


def test_standard_input(plov):
    """Commands have the terminal."""
    shell = Shell(plov)
    shell.await_text(PROMPT)
    shell.type_command(b"put typed")
    shell.type(b"one\ntwo\n" + CTRL_D)
    shell.await_text(PROMPT)
    shell.run(b"get typed", b"one\ntwo\n\n")
    shell.run(b"put x:1 1")
    shell.type_command(b"flush x:")
    shell.await_text(b"that starts with 'x:'? [y/N] ")
    check("no", b"nothing was deleted" in shell.run(b"n"))
    shell.type_command(b"flush x:")
    shell.await_text(b"? [y/N] ")
    check("yes", b"deleted 1 item" in shell.run(b"y"))
    check("exit", shell.end(b"exit\r") == 0)


def is_gone(pid):
    """With all of its threads, which hold its files: a thread sanitizer has some."""
    process = pathlib.Path(f"/proc/{pid}")
    try:
        return ") Z " in (process / "stat").read_text() and len(list((process / "task").iterdir())) == 1
    except OSError:
        return True


def kill_worker(shell):
    (worker,) = workers(shell)
    os.kill(int(worker), signal.SIGKILL)
    end = time.monotonic() + SECONDS
    while not is_gone(worker):
        check("it is killed", time.monotonic() < end)


def test_interrupts(plov, server):
    shell = Shell(plov)
    shell.await_text(PROMPT)
    shell.interrupt(b"stats --watch=20ms", b"protocol errors")
    shell.interrupt(b"top --interval 20ms", b"SHARD")
    shell.interrupt(b"stats --watch=20ms", b"protocol errors")
    shell.run(b"get a", b"an apple\n")
    os.kill(server, signal.SIGSTOP)
    shell.run(b"get a", b"an apple\n")  # by the connection that it has kept
    shell.interrupt(b"put a other --timeout 1h")
    os.kill(server, signal.SIGCONT)
    shell.run(b"put a 'an apple'", b"")
    kill_worker(shell)
    shell.run(b"get a", b"an apple\n")  # of an idle one nothing is told
    shell.type(b"stats --watch=20ms\r")
    shell.await_text(b"protocol errors")
    kill_worker(shell)
    shell.await_text(b"ended by signal 9")
    shell.await_text(PROMPT)
    shell.interrupt(b"put typed")
    shell.run(b"get a", b"an apple\n")
    check("none is left", shell.end() == 0 and not workers(shell))


def test_suspension(plov):
    """Of an idle shell, and of one that runs a command, as a job of another shell."""
    bash = Shell("/bin/bash", "--norc", "--noprofile", "--noediting", "-i", PS1="bash: ")
    bash.await_text(b"bash: ")
    bash.type(shlex.quote(plov).encode() + b"\r")
    bash.await_text(PROMPT)
    for line, shown in ((b"", PROMPT), (b"stats --watch=20ms", b"protocol errors"),
                        (b"top --interval 20ms", b"SHARD")):
        if line:
            bash.type_command(line)
            bash.await_text(shown)
        bash.type(CTRL_Z)
        bash.await_text(b"Stopped")
        bash.await_text(b"bash: ")
        bash.type(b"fg\r")
        bash.await_text(shown)
        bash.type(CTRL_C)
        bash.await_text(PROMPT)
    bash.run(b"get a", b"an apple\n")
    bash.await_mode(edits=True)
    bash.type(CTRL_D)
    bash.await_text(b"bash: ")
    bash.type(b"exit\r")
    bash.process.wait(SECONDS)


def test_editing(plov):
    shell = Shell(plov)
    shell.await_text(PROMPT)
    shell.run(b"ge\ta", b"an apple\n")
    shell.type(b"s\t")
    shell.await_text(b"scan  shell  slowlog  snapshot  stats  sync")
    shell.type(b"can -\t\x7f--va\t")
    shell.await_text(b"--va")
    shell.await_text(b"lues ")
    shell.type(CTRL_C)
    shell.await_text(b"^C")
    shell.await_text(PROMPT)
    shell.type(b"get nothing" + CTRL_C)
    shell.await_text(PROMPT)
    shell.run("put schön 'größer'".encode(), b"")
    shell.run("get schön".encode(), "größer\n".encode())
    shell.run(UP + UP + b"\x01" + b"\x0b" + b"get a", b"an apple\n")  # Ctrl-A, Ctrl-K
    shell.run(UP + UP, "größer\n".encode())
    shell.run(b"\x12get a\x1b", None)  # Ctrl-R
    path = STATE / "plov_history"
    check("only its user can read it", stat.S_IMODE(path.stat().st_mode) == 0o600)
    check("what was interrupted is not in it", b"nothing" not in path.read_bytes())
    shell.run(b"get none")
    check("it ends", shell.end() == 1)
    shell = Shell(plov, "shell")
    shell.await_text(PROMPT)
    check("former lines come back", b"'none'" in shell.run(UP))
    check("it ends", shell.end(b"quit\r") == 1)


def test_history_that_cannot_be(plov):
    """Nothing is told of it."""
    folder = STATE / "none"
    (folder / "plov_history").mkdir(parents=True)
    os.mkfifo(STATE / "fifo")
    (STATE / "file").write_bytes(b"\0\xff no history\n" * 1000)
    places = [str(folder), "/proc", str(STATE / "file"), "relative", ""]
    os.makedirs(STATE / "pipe")
    os.mkfifo(STATE / "pipe" / "plov_history")
    (STATE / "damaged").mkdir()
    (STATE / "damaged" / "plov_history").write_bytes(b"\0\xff no history\n" * 1000)
    (STATE / "device").mkdir()
    (STATE / "device" / "plov_history").symlink_to("/dev/null")
    for place in [*places, str(STATE / "pipe"), str(STATE / "damaged"), str(STATE / "device")]:
        shell = Shell(plov, XDG_STATE_HOME=place)
        check("nothing before the prompt", shell.await_text(PROMPT) == b"")
        shell.run(b"get a", b"an apple\n")
        check("it ends", shell.end() == 0)
    check("a device stays as it is", stat.S_IMODE(os.stat("/dev/null").st_mode) & 0o006 == 0o006)


def test_terminals(plov):
    for columns in (10, 1, 0):
        shell = Shell(plov, "--server", os.environ["PLOV_SERVER"], columns=columns)
        time.sleep(0.2)
        shell.type(b"get a\r")
        shell.await_text(b"an apple\r\n")
        # What is typed while a command runs is echoed by the terminal, and is not what get prints.
        shell.type(b"put long " + b"v" * 300 + b'"\\x77"\rget long\r')
        shell.await_text(b"v" * 300 + b"w\r\n")
        check(f"{columns} columns", shell.end() == 0)
    for name in ("dumb", "nonsense", ""):
        shell = Shell(plov, TERM=name)
        time.sleep(0.2)
        shell.type(b"get a\r")
        shell.await_text(b"an apple\r\n")
        check(f"TERM={name}", shell.end() == 0)
    shell = Shell(plov)
    shell.await_text(PROMPT)
    os.close(shell.slave)
    os.close(shell.master)
    shell.process.wait(SECONDS)  # its terminal is gone


def main(plov, server):
    test_commands(plov)
    test_standard_input(plov)
    test_interrupts(plov, int(server))
    if EDITS:
        test_suspension(plov)
        test_editing(plov)
        test_history_that_cannot_be(plov)
        test_terminals(plov)


if __name__ == "__main__":
    main(*sys.argv[1:])
