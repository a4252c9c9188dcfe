"""plovd, plov-door, memcached and Redis for a test, each on a place of its own, gone when the test ends."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

STARTED_WITHIN = 60
WITHIN = 60  # for anything that has to come


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Servers:
    def __init__(self, plovd, door):
        self.paths = {"plovd": plovd, "door": door}
        self.folder = tempfile.mkdtemp(prefix="plov-door.", dir="/tmp")
        self.uri = f"shm:{self.folder}/s.sock"
        self.processes = []
        self.plovd = None
        self.door = None
        self.door_text = ""  # what it wrote
        self.environment = {name: text for name, text in os.environ.items()
                            if not name.startswith(("PLOVD_", "PLOV_")) or name == "PLOV_MUTANT"}

    def __enter__(self):
        self.start_plovd()
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, arguments, ready):
        """Returns the process, and what it wrote up to its last line that `ready` finds."""
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   env=self.environment)
        self.processes.append(process)
        os.set_blocking(process.stdout.fileno(), False)
        text = b""
        end = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < end and process.poll() is None:
            text += process.stdout.read() or b""
            if re.search(ready, text):
                return process, text.decode()
            time.sleep(0.01)
        sys.exit(f"{arguments[0]} did not start: {text!r}")

    def start_plovd(self, *options):
        self.plovd, _ = self._start(
            [self.paths["plovd"], "--listen", self.uri, "--memory", "256M", "--log-level", "warn",
             *options], rb"ready on ")
        return self.plovd

    def start_door(self, *places, options=(), protocol="memcached"):
        """Returns the address of the first place."""
        arguments = [self.paths["door"], "--server", self.uri, "--log-level", "warn", *options]
        for place in places:
            arguments += [f"--{protocol}", place]
        ready = rb"(ready on .*\n[^\0]*){%d}" % max(1, len(places))
        self.door, self.door_text = self._start(arguments, ready)
        name = re.search(r"ready on (.*)\n", self.door_text).group(1)
        return self.address_of(name)

    @staticmethod
    def address_of(name):
        if "/" in name:
            return name
        host, port = name.rsplit(":", 1)
        return host, int(port)

    def start_memcached(self, *options):
        """A memcached on a socket of its own."""
        path = f"{self.folder}/memcached.sock"
        arguments = ["memcached", "-s", path, "-t", "1", *options]
        if os.geteuid() == 0:
            arguments += ["-u", "root"]
        process = subprocess.Popen(arguments, env=self.environment)
        self.processes.append(process)
        end = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < end and process.poll() is None:
            try:
                self.connect(path).close()
                return path
            except OSError:
                time.sleep(0.01)
        sys.exit("memcached did not start")

    def start_redis(self):
        """A Redis on a socket of its own, which keeps nothing on disk."""
        path = f"{self.folder}/redis.sock"
        process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no",
             "--dir", self.folder, "--loglevel", "warning"],
            env=self.environment, stdout=subprocess.DEVNULL)
        self.processes.append(process)
        end = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < end and process.poll() is None:
            try:
                self.connect(path).close()
                return path
            except OSError:
                time.sleep(0.01)
        sys.exit("redis-server did not start")

    @staticmethod
    def connect(address):
        if isinstance(address, str):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(address)
            return connection
        connection = socket.create_connection(address, timeout=30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def until(condition, what):
    end = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.02)


def rss_bytes(process):
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def run_tests(tests):
    """Each, or those that the command line names after PLOVD and PLOV_DOOR, with servers of its own."""
    plovd, door, *names = sys.argv[1:]
    for test in tests:
        if names and test.__name__ not in names:
            continue
        print(test.__name__, flush=True)
        with Servers(plovd, door) as servers:
            test(servers)
