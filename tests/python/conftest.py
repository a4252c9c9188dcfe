"""Servers for the tests: plovd, on a socket in a folder of its own."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import plov

WAIT_SECONDS = 60  # a limit, not an expectation


class Server:
    def __init__(self, *options):
        # Short, for a socket's name has at most 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plov-python-"))
        self.uri = f"shm:{self.folder}/s.sock"
        self.options = options
        self.process = None

    def start(self):
        log = self.folder / "log"
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [os.environ["PLOVD_PATH"], "--listen", self.uri, "--memory", "128M", *self.options],
                stdout=output, stderr=subprocess.STDOUT)
        eventually(lambda: "plovd: ready on" in log.read_text() or self.process.poll() is not None)
        assert self.process.poll() is None, log.read_text()

    def connect(self, **options):
        options.setdefault("timeout", 20)
        return plov.connect(self.uri, **options)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)  # it takes a moment

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait(WAIT_SECONDS)

    def remove(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)


def eventually(condition):
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def server():
    """One server for the tests of a file."""
    server = Server()
    server.start()
    yield server
    server.remove()


@pytest.fixture
def own_server():
    """A server for one test, which may kill it."""
    server = Server()
    server.start()
    yield server
    server.remove()


@pytest.fixture
def client(server):
    """A client of a server with nothing stored."""
    with server.connect() as client:
        for key, _ in list(client.scan()):
            client.delete(key)
        yield client
