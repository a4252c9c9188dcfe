#!/usr/bin/env python3
"""Connects to the metrics of plovd as no scraper should, until its standard input ends."""

import os
import select
import socket
import sys
import time

REQUEST = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
GARBAGE = (
    b"\0" * 100,
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # as TLS begins
    b"GET " + b"/" * 5000 + b" HTTP/1.1\r\n\r\n",
    REQUEST + b"A: " + b"x" * 100000 + b"\r\n\r\n",
    REQUEST + b"A: b\r\n" * 10000 + b"\r\n",
    b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
    REQUEST + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
    b"GET /../../etc/passwd HTTP/1.0\r\n\r\n",
    b"\r\n" * 1000,
)
PERIOD = 0.2  # seconds between two bytes of who drips


def connect(port, count):
    """Without waiting: what the server does not accept waits in the kernel."""
    sockets = []
    for _ in range(count):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", port))
        sockets.append(one)
    return sockets


def send(one, data):
    try:
        one.send(data)
    except OSError:  # not accepted yet, or cut off: both are right
        pass


def garbage(port):
    for data in (*GARBAGE, *(os.urandom(3000) for _ in range(20))):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as one:
            try:
                one.sendall(data)
                answer = one.recv(65536)
            except OSError:
                continue
            if b"root:" in answer or (answer.startswith(b"HTTP/1.1 200") and REQUEST not in data):
                sys.exit(f"{data[:40]} was answered")


def late(port):
    """Reads when the server has long written and closed: all of it is there."""
    sockets = connect(port, 3)
    select.select([], sockets, [], 60)
    for one in sockets:
        one.setblocking(True)
        one.sendall(REQUEST + b"\r\n")
        time.sleep(PERIOD)
        answer = b"".join(iter(lambda one=one: one.recv(4096), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
        if int(length.split(b":")[1]) != len(body):
            sys.exit(f"{len(body)} bytes of {length}")


def main(how, port):
    if how == "garbage":
        garbage(port)
    if how == "late":
        late(port)
    sockets = connect(port, {"garbage": 0, "late": 0, "many": 1000}.get(how, 40))
    if sockets:
        select.select([], sockets, [], 60)
    for one in sockets:
        if how in ("unread", "many"):
            send(one, REQUEST + b"\r\n")
        elif how == "pipelined":
            send(one, (REQUEST + b"\r\n") * 1000)
    print("at it", flush=True)
    while not select.select([sys.stdin], [], [], PERIOD)[0]:
        for one in sockets if how == "dripping" else ():
            send(one, b"G")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
