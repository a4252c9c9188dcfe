#!/usr/bin/env python3
"""Clients that send damaged requests, in pieces, and go before or after the answers: plov-door serves on.

usage: hostile.py PLOVD PLOV_DOOR [ROUNDS [SEED]]
"""

import random
import signal
import socket
import sys

import binary_scripts
from binary_protocol import APPENDQ, GETKQ, SASL_AUTH, SETQ, frame, store
from differential import CLOSING, SCRIPTS
from servers import Servers

WITHIN = 60
CLIENTS = 10
PARTS = (b"\r\n", b" ", b"noreply", b"99999999", b"\x00", b"get ", b"b ", b"ms a 5 ", b"\x80",
         frame(GETKQ, b"a"), frame(APPENDQ, b"a", b"x" * 3000), frame(SASL_AUTH, b"PLAIN", b"\0a\0b"),
         store(SETQ, b"a", b"x" * 100_000)[:-5])


def damaged(script, chance):
    text = bytearray(script[: chance.choice((200, 2000, 20_000, len(script)))])
    for _ in range(chance.choice((0, 1, 3, 20))):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(4)
        if kind == 0 and text:
            text[min(at, len(text) - 1)] = chance.choice(b" \r\n\x00\x800aAgsm9-")
        elif kind == 1:
            del text[at:at + chance.randrange(1, 20)]
        elif kind == 2:
            text[at:at] = chance.choice(PARTS)
        else:
            begin = chance.randrange(len(text) + 1)
            text[at:at] = text[begin:begin + 50]
    return bytes(text)


def send(connection, text, chance):
    """In pieces, and perhaps not all: what is not read of the answers keeps the rest back."""
    connection.settimeout(0.05)
    at = 0
    try:
        while at < len(text):
            piece = chance.choice((1, 10, 1000, 100_000, 1_000_000))
            connection.sendall(text[at:at + piece])
            at += piece
            if chance.random() < 0.2:
                connection.recv(100_000)
    except OSError:
        pass


def leave(connection, chance):
    try:
        if chance.random() < 0.5:
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 20):
                pass
    except OSError:
        pass
    connection.close()


def is_served(address):
    with Servers.connect(address) as connection:
        connection.settimeout(WITHIN)
        connection.sendall(b"mn\r\n")
        return connection.recv(10) == b"MN\r\n"


def main():
    plovd, door, *numbers = sys.argv[1:]
    rounds, seed = [*map(int, numbers), *(40, 1)[len(numbers):]]
    print(f"seed {seed}")
    chance = random.Random(seed)
    scripts = [*SCRIPTS.values(), *CLOSING.values(), *binary_scripts.SCRIPTS.values(),
               *binary_scripts.OTHER_CAS.values(), *binary_scripts.CLOSING.values()]
    with Servers(plovd, door) as servers:
        address = servers.start_door("127.0.0.1:0", options=("--threads", "2", "--memory", "16M"))
        for _ in range(rounds):
            connections = [Servers.connect(address) for _ in range(CLIENTS)]
            for connection in connections:
                send(connection, damaged(chance.choice(scripts), chance), chance)
            for connection in connections:
                leave(connection, chance)
            assert servers.door.poll() is None, "plov-door has ended"
        for _ in range(4):  # every thread
            assert is_served(address)
        servers.door.send_signal(signal.SIGTERM)
        assert servers.door.wait(WITHIN) == 0


if __name__ == "__main__":
    main()
