#!/usr/bin/env python3
"""Sends the same bytes of the binary protocol to memcached and to plov-door and compares the replies, byte for byte.

usage: binary_differential.py PLOVD PLOV_DOOR

The numbers of cas are replaced by the order in which they come, so that only their changes are compared. Each
script is sent as a whole, and some in pieces. Exit status 77: no memcached here.
"""

import shutil
import socket
import sys
import threading

from binary_protocol import *
from binary_scripts import CLOSING, OTHER_CAS, SCRIPTS, SPLIT, get
from servers import Servers, skip

FENCE = 0xfe4ce
WITHIN = 30


class Cas:
    """Numbers by their order; or only whether there is one."""

    def __init__(self, is_compared):
        self.is_compared = is_compared
        self.seen = {0: 0}

    def of(self, number):
        if not self.is_compared:
            return number != 0
        return self.seen.setdefault(number, len(self.seen))


def comparable(replies, cas):
    return [reply and (reply.magic, reply.opcode, reply.status, reply.type, reply.opaque, cas.of(reply.cas),
                       reply.extras, reply.key, reply.value) for reply in replies]


def send(connection, pieces):
    try:
        for piece in pieces:
            connection.sendall(piece)
    except OSError:
        pass  # it was closed, which its replies tell


def ask(address, pieces, is_cas_compared=True):
    """The replies to a script that leaves the connection open."""
    with Servers.connect(address) as connection:
        thread = threading.Thread(target=send, args=(connection, [*pieces, frame(NOOP, opaque=FENCE)]))
        thread.start()
        replies = Replies(connection, WITHIN).until(FENCE)
        thread.join()
    return comparable(replies, Cas(is_cas_compared))


def ask_closing(address, script):
    with Servers.connect(address) as connection:
        connection.sendall(script)
        connection.shutdown(socket.SHUT_WR)
        replies = Replies(connection, WITHIN).until(None)
    return comparable(replies, Cas(True))


KEYS = [b"a", b"b", b"n", b"m", b"abc", b"none", b"k" * 250] + [b"k%d" % i for i in range(60)]


class Comparison:
    def __init__(self, memcached, door, before=b""):
        self.addresses = (memcached, door)
        self.before = before  # sent first
        self.failures = 0
        self.compared = 0

    def forget(self, address):
        ask(address, [self.before, *(frame(DELETEQ, key) for key in KEYS)])

    def check(self, name, ask_one):
        answers = []
        for address in self.addresses:
            self.forget(address)
            answers.append(ask_one(address))
        self.compared += 1
        if answers[0] == answers[1]:
            return
        self.failures += 1
        at = next((i for i, (x, y) in enumerate(zip(*answers)) if x != y), min(map(len, answers)))
        print(f"{name}: reply {at} differs")
        for server, answer in zip(("memcached", "plov-door"), answers):
            print(f"  {server} of {len(answer)}:",
                  *(reply and (*reply[:6], *(part[:60] for part in reply[6:])) for reply in answer[at:at + 2]))

    def end(self, what):
        print(f"{what}: {self.compared} scripts compared, {self.failures} differ")
        return self.failures


def cas_script(address):
    """Writes with the number of the item, and once more with that."""
    replies = []
    with Servers.connect(address) as connection:
        taken = Replies(connection, WITHIN)

        def tell(request):
            connection.sendall(request)
            replies.append(taken.next())
            return replies[-1]

        number = tell(store(SET, b"a", b"1")).cas
        for opcode in (SET, ADD, REPLACE):
            used, number = number, tell(store(opcode, b"a", b"2", cas=number)).cas
            tell(store(opcode, b"a", b"3", cas=used))
        for opcode in (APPEND, PREPEND):
            used, number = number, tell(frame(opcode, b"a", b"x", cas=number)).cas
            tell(frame(opcode, b"a", b"x", cas=used))
        tell(get(b"a"))
        tell(frame(DELETE, b"a", cas=number - 1))
        tell(frame(DELETE, b"a", cas=number))
        number = tell(arithmetic(INCREMENT, b"n", 1, 5)).cas
        for opcode in (INCREMENT, DECREMENT):
            used, number = number, tell(arithmetic(opcode, b"n", 1, cas=number)).cas
            tell(arithmetic(opcode, b"n", 1, cas=used))
        tell(get(b"n"))
        number = tell(store(SET, b"n", b"x")).cas
        tell(arithmetic(INCREMENT, b"n", 1, cas=number))
        tell(arithmetic(INCREMENT, b"n", 1, cas=number + 1000))
        tell(arithmetic(INCREMENT, b"none", 1, 5, cas=7))
        number = tell(store(SET, b"a", b"1")).cas
        tell(store(SET, b"a", b"1", exptime=2592001, cas=number))
        tell(get(b"a"))
    return comparable(replies, Cas(True))


def compare(servers):
    door = servers.start_door("127.0.0.1:0", options=("--threads", "1"))
    comparison = Comparison(servers.start_memcached(), door)
    for name, script in SCRIPTS.items():
        comparison.check(name, lambda address, script=script: ask(address, [script]))
    for name, script in OTHER_CAS.items():
        comparison.check(name, lambda address, script=script: ask(address, [script], False))
    comparison.check("cas", cas_script)
    for name, script in CLOSING.items():
        comparison.check(name, lambda address, script=script: ask_closing(address, script))
    for name in SPLIT:
        script = SCRIPTS[name]
        for size in (1, 7):
            pieces = [script[i:i + size] for i in range(0, len(script), size)]
            comparison.check(f"{name} in pieces of {size}", lambda address, pieces=pieces: ask(address, pieces))
    return comparison.end("binary")


def main():
    if shutil.which("memcached") is None:
        skip("no memcached here")
    with Servers(*sys.argv[1:3]) as servers:
        sys.exit(1 if compare(servers) else 0)


if __name__ == "__main__":
    main()
