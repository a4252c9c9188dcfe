#!/usr/bin/env python3
"""Clients of Redis against plov-door as they are: redis-py, and redis-cli and redis-benchmark, which are on hiredis.

usage: redis_clients.py PLOVD PLOV_DOOR

Exit status 77: none of them is here.
"""

import shutil
import subprocess
import sys
import threading

from servers import Servers, skip

WITHIN = 120


def redis_py(address):
    import redis

    client = redis.Redis(*address, decode_responses=True, client_name="test")
    assert client.ping() and client.client_getname() == "test"
    assert client.set("text", "zwölf") and client.get("text") == "zwölf"
    assert client.get("none") is None
    assert client.set("text", "x", nx=True) is None
    assert client.set("text", "y", ex=100, get=True) == "zwölf" and client.ttl("text") == 100
    assert client.mset({f"k{i}": i for i in range(300)})
    assert client.mget([f"k{i}" for i in range(310)]) == [str(i) for i in range(300)] + [None] * 10
    assert client.incr("n", 5) == 5 and client.decr("n") == 4
    assert client.incrbyfloat("n", 0.5) == 4.5
    assert client.append("text", "!") == 2 and client.getrange("text", 0, 0) == "y"
    assert client.setrange("text", 1, "?") == 2 and client.strlen("text") == 2
    assert client.getdel("text") == "y?" and client.exists("text", "n") == 1
    assert client.delete("n", "none") == 1
    client.set("long", "v" * 1_000_000)
    assert client.get("long") == "v" * 1_000_000
    with client.pipeline(transaction=False) as pipeline:
        for i in range(1000):
            pipeline.set(f"p{i}", i).get(f"p{i}")
        assert pipeline.execute() == [x for i in range(1000) for x in (True, str(i))]
    assert client.info()["redis_version"] == "7.0.15"
    assert client.config_get("save") == {"save": ""}
    try:
        client.lpush("list", 1)
    except redis.ResponseError as error:
        assert str(error).startswith("unknown command 'LPUSH'"), error
    else:
        raise AssertionError("LPUSH is offered")
    client.close()


def cli(address, *arguments, text=None):
    host, port = address
    return subprocess.run(["redis-cli", "-h", host, "-p", str(port), *arguments], input=text,
                          capture_output=True, text=True, check=True, timeout=WITHIN).stdout


def redis_cli(address):
    assert cli(address, "set", "a", "1") == "OK\n"
    assert cli(address, "-3", "get", "none") == "\n"
    assert cli(address, "--no-raw", "incr", "a") == "(integer) 2\n"
    assert cli(address, text="set b 'x y'\nget b\n") == "OK\nx y\n"
    # Its mass insertion, which is one pipeline.
    lines = "".join(f"*3\r\n$3\r\nSET\r\n$5\r\n{i:05}\r\n$1\r\nx\r\n" for i in range(20000))
    assert "errors: 0, replies: 20000" in cli(address, "--pipe", text=lines)
    assert cli(address, "exists", "00000", "19999") == "2\n"


def redis_benchmark(address):
    host, port = address
    for options in ((), ("-P", "32"), ("-d", "3000", "-P", "8"), ("-3",)):
        done = subprocess.run(
            ["redis-benchmark", "-h", host, "-p", str(port), "-t", "ping,set,get,incr,mset",
             "-n", "3000", "-c", "16", "--csv", *options],
            capture_output=True, text=True, timeout=WITHIN)
        assert done.returncode == 0 and "rror" not in done.stdout + done.stderr, done
        assert all(f'"{name}"' in done.stdout for name in ("SET", "GET", "INCR", "MSET (10 keys)"))


def all_at_once(address):
    """Every change of one key by many clients takes effect, and each is told another state of it."""
    appends, clients = 100, 8
    request = b"*3\r\n$6\r\nappend\r\n$1\r\nl\r\n$1\r\nx\r\n"
    lengths = []

    def append():
        with Servers.connect(address) as connection, connection.makefile("rb") as replies:
            for _ in range(0, appends, 10):
                connection.sendall(request * 10)
                lengths.extend(int(replies.readline()[1:]) for _ in range(10))

    threads = [threading.Thread(target=append) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(lengths) == list(range(1, appends * clients + 1)), sorted(lengths)[-5:]


def main():
    tried = 0
    with Servers(*sys.argv[1:3]) as servers:
        address = servers.start_door("127.0.0.1:0", protocol="redis")
        all_at_once(address)
        try:
            import redis as _
        except ImportError:
            print("left out: no redis-py here")
        else:
            redis_py(address)
            tried += 1
        for tool, use in (("redis-cli", redis_cli), ("redis-benchmark", redis_benchmark)):
            if shutil.which(tool) is None:
                print(f"left out: no {tool} here")
                continue
            use(address)
            tried += 1
    if tried == 0:
        skip("no client of Redis here")


if __name__ == "__main__":
    main()
