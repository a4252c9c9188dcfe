#!/usr/bin/env python3
"""plov-door on a host whose clock is an hour ahead of the server's or behind it: times are the server's.

usage: clocks.py PLOVD PLOV_DOOR
"""

import subprocess
import sys
import time

try:
    import redis
except ImportError:
    redis = None

from servers import Servers, skip

AWAY = 3600
# Debian's faketime and jemalloc wait for each other when a program starts.
PRELOADED = b"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* time) {
  const int status = (int)syscall(SYS_clock_gettime, clock, time);
  if (status == 0 && clock == CLOCK_REALTIME) time->tv_sec += SECONDS;
  return status;
}
"""


def check(what, value, low, high):
    assert low <= value <= high, f"{what}: {value}, not {low} to {high}"


def check_redis(door):
    check("TTL, asked first", door.ttl("kept"), 1000, 2000)
    now = int(time.time())  # this process has the server's clock
    door.set("k", "v", ex=100)
    check("TTL after EX", door.ttl("k"), 40, 100)
    check("PTTL after EX", door.pttl("k"), 40_000, 101_000)
    check("EXPIRETIME after EX", door.expiretime("k"), now + 100, now + 161)
    door.expireat("k", now + 500)
    assert door.expiretime("k") == now + 500
    check("TTL after EXPIREAT", door.ttl("k"), 440, 500)
    # What writes the item anew lets its end stay, however often, also when a second begins meanwhile.
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        door.set("k", "v", keepttl=True)
        door.setrange("k", 1, "w")
        door.append("k", "x" * 20_000)
        door.set("number", "1.5", exat=now + 600)
        door.incrbyfloat("number", 1)
        assert door.expiretime("k") == now + 500 and door.expiretime("number") == now + 600
    assert door.expireat("k", now - 10) and door.get("k") is None
    assert door.set("k", "v", exat=now + 1000, get=True) is None and door.expiretime("k") == now + 1000
    check("GETEX", door.getex("k", px=5000) and door.expiretime("k"), now + 5, now + 66)


def ask(address, *lines):
    with Servers.connect(address) as connection:
        connection.sendall(b"".join(line + b"\r\n" for line in lines) + b"mn\r\n")
        answer = b""
        while not answer.endswith(b"MN\r\n"):
            part = connection.recv(1 << 16)
            assert part, answer
            answer += part
    return answer.decode().split("\r\n")[:-2]


def check_memcached(address):
    now = int(time.time())
    seconds = lambda answer: int(answer.split(" t")[1])
    ask(address, b"set m 0 100 1", b"v")
    check("t after 100", seconds(ask(address, b"mg m t")[0]), 40, 100)
    ask(address, b"set m 0 %d 1" % (now + 500), b"v")
    check("t after a Unix time", seconds(ask(address, b"mg m t")[0]), 440, 500)
    check("T of mg", seconds(ask(address, b"mg m T%d t" % (now + 700))[0]), 640, 700)
    ask(address, b"set m 0 %d 2" % (now + 500), b"10")
    assert ask(address, b"decr m 1", b"get m") == ["9", "VALUE m 0 2", "9 ", "END"]
    check("t after decr", seconds(ask(address, b"mg m t")[0]), 440, 500)
    assert ask(address, b"append m 0 0 20000", b"x" * 20_000) == ["STORED"]
    check("t after append", seconds(ask(address, b"mg m t")[0]), 440, 500)
    assert ask(address, b"touch m %d" % (now - 10), b"get m") == ["TOUCHED", "END"]
    ask(address, b"set kept 0 2000 1", b"v")


def preload(servers, away):
    """What is started from now on has a real-time clock that is so many seconds away."""
    library = f"{servers.folder}/clock{away}.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-DSECONDS={away}", "-o", library, "-x", "c", "-"],
                   input=PRELOADED, check=True, timeout=60)
    servers.environment["LD_PRELOAD"] = library


def main():
    if redis is None:
        skip("no redis-py (python3-redis)")
    with Servers(*sys.argv[1:3]) as servers:
        for away in (AWAY, -AWAY):
            preload(servers, away)
            memcached = servers.start_door(f"{servers.folder}/m{away}.sock")
            check_memcached(memcached)
            path = servers.start_door(f"{servers.folder}/r{away}.sock", protocol="redis")
            check_redis(redis.Redis(unix_socket_path=path))


main()
