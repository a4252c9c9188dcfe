#!/usr/bin/env python3
"""Sends the same bytes to Redis and to plov-door and compares the answers, byte for byte, in RESP2 and RESP3.

usage: redis_differential.py PLOVD PLOV_DOOR

Each script is sent as a whole, and some in pieces that are split at every byte. Milliseconds of an expiry are not
compared, only its seconds. Exit status 77: no redis-server here.
"""

import shutil
import socket
import sys
import threading
import time

from redis_scripts import CLOSING, KEYS, SCRIPTS, SPLIT, TURNS, request
from redis_transaction_scripts import SPLIT_TRANSACTIONS, TRANSACTION_SCRIPTS
from servers import Servers, skip

END = b"$11\r\nTHAT-IS-ALL\r\n"
END_REQUEST = request("echo", "THAT-IS-ALL")


def receive_until(connection, end):
    answer = bytearray()
    while not answer.endswith(end):
        try:
            part = connection.recv(1 << 20)
        except TimeoutError:
            part = b""
        if not part:
            break
        answer += part
    return bytes(answer)


def ask(address, pieces, hello=b""):
    """The answers to the pieces, each sent when those before have left, and to `hello` before them, which is cut."""
    with Servers.connect(address) as connection:
        connection.settimeout(30)
        if hello:
            connection.sendall(hello + END_REQUEST)
            receive_until(connection, END)

        def send():
            for piece in (*pieces, END_REQUEST):
                connection.sendall(piece)

        sender = threading.Thread(target=send)
        sender.start()
        answer = receive_until(connection, END)
        sender.join()
        return answer


def ask_in_turns(address, pieces):
    answer = b""
    with Servers.connect(address) as connection:
        connection.settimeout(30)
        for piece in pieces:
            connection.sendall(piece + END_REQUEST)
            answer += receive_until(connection, END)
    return answer


def ask_closing(address, text):
    with Servers.connect(address) as connection:
        connection.settimeout(30)
        try:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answer = bytearray()
        try:
            while part := connection.recv(1 << 16):
                answer += part
        except ConnectionResetError:
            pass  # it closed with input of ours that it had not read
        return bytes(answer)


def pttl_is_near(theirs, ours):
    """Two integers that differ by less than a second: the answers of PTTL and its like."""
    return theirs[:1] == ours[:1] == b":" and theirs != ours and len(theirs) > 5 and abs(
        int(theirs[1:]) - int(ours[1:])) <= 1000


class Client:
    """One that understands its replies."""

    def __init__(self, address):
        self.connection = Servers.connect(address)
        self.connection.settimeout(30)
        self.replies = self.connection.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.replies.close()
        self.connection.close()

    def ask(self, *arguments):
        self.connection.sendall(request(*arguments))
        return self.read()

    def read(self):
        line = self.replies.readline()
        assert line.endswith(b"\r\n"), f"it closed after {line}"
        kind, text = line[:1], line[1:-2]
        if kind in b"*%" and text != b"-1":
            return [self.read() for _ in range(int(text) * (2 if kind == b"%" else 1))]
        if text == b"-1" and kind in b"*$":
            return None
        if kind == b"$":
            return self.replies.read(int(text) + 2)[:-2]
        return line[:-2]


GLOBS = ("*", "", "?", "k*", "k??", "[ab]*", "[^k]*", "*1*", "k[0-4]*", "\\*", "[", "k[", "*\n*", "a\\", "k1*9",
         "[a-", "\xff*", "K*")


def ask_all_keys(address, stored):
    """KEYS of each glob, and what whole iterations of SCAN find, in an order of our own."""
    answer = []
    with Client(address) as client:
        client.ask("mset", *(x for key in stored for x in (key, "v")))
        answer.append(client.ask("dbsize"))
        drawn = {client.ask("randomkey") for _ in range(50)}
        answer.append(f"drawn keys are stored: {drawn <= set(stored)}, several: {len(drawn) > 1}".encode())
        for glob in GLOBS:
            answer.append(b" ".join(sorted(client.ask("keys", glob.encode("latin-1")))))
            for options in ((), ("count", 1), ("count", 100), ("type", "string"), ("type", "list")):
                found, cursor = set(), b"0"
                while True:
                    cursor, names = client.ask("scan", cursor, "match", glob.encode("latin-1"), *options)
                    found |= set(names)
                    if cursor == b"0":
                        break
                answer.append(b" ".join(sorted(found)))
    return b"\r\n".join(answer)


class Comparison:
    def __init__(self, redis, door):
        self.redis = redis
        self.door = door
        self.failures = 0
        self.compared = 0

    def check(self, name, get):
        self.compared += 1
        # A second that begins between the two would tell them apart: again then.
        for _ in range(3):
            began = int(time.time())
            answers = []
            for address in (self.redis, self.door):
                ask(address, [request("del", *KEYS)])
                answers.append(get(address).split(b"\r\n"))
            theirs, ours = answers
            at = next((i for i, (x, y) in enumerate(zip(theirs, ours))
                       if x != y and not pttl_is_near(x, y)), None)
            if at is None and len(theirs) == len(ours):
                return
            if int(time.time()) == began:
                break
        at = min(len(theirs), len(ours)) if at is None else at
        self.failures += 1
        print(f"{name}: answer {at} differs")
        print(f"  redis     {[line[:100] for line in theirs[max(0, at - 3):at + 3]]}")
        print(f"  plov-door {[line[:100] for line in ours[max(0, at - 3):at + 3]]}")


def main():
    if shutil.which("redis-server") is None:
        skip("no redis-server here")
    with Servers(*sys.argv[1:3]) as servers:
        door = servers.start_door("127.0.0.1:0", options=("--threads", "1"), protocol="redis")
        comparison = Comparison(servers.start_redis(), door)
        scripts = SCRIPTS | TRANSACTION_SCRIPTS
        for name, script in scripts.items():
            comparison.check(name, lambda address, script=script: ask(address, [script]))
            comparison.check(f"{name}, RESP3", lambda address, script=script: ask(
                address, [script], hello=request("hello", 3)))
        for name, pieces in TURNS.items():
            comparison.check(name, lambda address, pieces=pieces: ask_in_turns(address, pieces))
        for name, script in CLOSING.items():
            comparison.check(name, lambda address, script=script: ask_closing(address, script))
        stored = [f"k{i}".encode() for i in range(300)] + [b"a", b"b\n1", b"\xff\x00", b"[", b"*", b"a\\"]
        comparison.check("all keys", lambda address: ask_all_keys(address, stored))
        for address in (comparison.redis, door):
            ask(address, [request("flushall")])
        for name in SPLIT + SPLIT_TRANSACTIONS:
            script = scripts[name]
            for size in (1, 7):
                pieces = [script[i:i + size] for i in range(0, len(script), size)]
                comparison.check(f"{name} in pieces of {size}",
                                 lambda address, pieces=pieces: ask(address, pieces))
        print(f"{comparison.compared} scripts compared, {comparison.failures} differ")
        sys.exit(1 if comparison.failures else 0)


if __name__ == "__main__":
    main()
