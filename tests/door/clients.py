#!/usr/bin/env python3
"""Clients of memcached, in Python and C, against plov-door as they are: pymemcache, libmemcached's tools.

usage: clients.py PLOVD PLOV_DOOR

Exit status 77: none of them is here.
"""

import shutil
import subprocess
import sys

from servers import Servers, skip

WITHIN = 120


def pymemcache(address):
    from pymemcache.client.base import Client, PooledClient
    from pymemcache.client.hash import HashClient
    from pymemcache import serde

    client = Client(address, serde=serde.pickle_serde)
    assert client.set("text", "zwölf") and client.get("text") == "zwölf"
    assert client.set("list", [1, {"a": None}]) and client.get("list") == [1, {"a": None}]
    assert client.set_many({f"k{i}": i for i in range(300)}) == []
    assert client.get_many([f"k{i}" for i in range(310)]) == {f"k{i}": i for i in range(300)}
    assert client.delete_many(["k1", "k2"]) and client.get("k1") is None
    value, version = client.gets("list")
    assert client.cas("list", "new", version, noreply=False) is True
    assert client.cas("list", "newer", version, noreply=False) is False
    assert client.cas("none", "new", version, noreply=False) is None
    assert client.add("list", 1, noreply=False) is False
    assert client.replace("list", b"0" * 100_000, noreply=False) is True
    assert client.append("text", b"!", noreply=False) is True
    assert client.prepend("none", b"!", noreply=False) is False
    assert client.touch("text", 100, noreply=False) is True
    assert client.version() == b"1.6.18"
    assert client.stats()[b"version"] == b"1.6.18"
    client.quit()

    plain = Client(address)
    plain.set("n", 10)
    assert plain.incr("n", 5) == 15 and plain.decr("n", 20) == 0 and plain.incr("none", 1) is None
    pooled = PooledClient(address, max_pool_size=4)
    assert pooled.get("n") in (b"0", b"0 ")
    hashed = HashClient([address])
    assert hashed.set("h", b"1") and hashed.get_many(["h", "g"]) == {"h": b"1"}


def memccapable(address):
    host, port = address
    done = subprocess.run(["memccapable", "-h", host, "-p", str(port), "-a"], capture_output=True,
                          text=True, timeout=WITHIN, check=False)
    lines = [line for line in (done.stdout + done.stderr).split("\n") if line.startswith("ascii ")]
    assert len(lines) > 20, done
    wrong = [line for line in lines if "[FAIL]" in line]
    assert not wrong, wrong


def memccat(address, folder):
    """Files in and out, by libmemcached, with names that are keys."""
    server = f"--servers={address[0]}:{address[1]}"
    path = f"{folder}/file"
    with open(path, "wb") as file:
        file.write(b"line\r\n" * 10_000)
    subprocess.run(["memccp", server, path], timeout=WITHIN, check=True)
    done = subprocess.run(["memccat", server, f"--file={path}.out", "file"], timeout=WITHIN,
                          check=True)
    assert done.returncode == 0
    with open(path, "rb") as file, open(f"{path}.out", "rb") as out:
        assert file.read() == out.read()
    subprocess.run(["memcexist", server, "file"], timeout=WITHIN, check=True)
    subprocess.run(["memcrm", server, "file"], timeout=WITHIN, check=True)
    assert subprocess.run(["memcexist", server, "file"], timeout=WITHIN, check=False).returncode


def main():
    tried = 0
    with Servers(*sys.argv[1:3]) as servers:
        address = servers.start_door("127.0.0.1:0")
        try:
            import pymemcache as _
        except ImportError:
            print("left out: no pymemcache here")
        else:
            pymemcache(address)
            tried += 1
        for tool, use in (("memccapable", memccapable),
                          ("memccat", lambda place: memccat(place, servers.folder))):
            if shutil.which(tool) is None:
                print(f"left out: no {tool} here")
                continue
            use(address)
            tried += 1
    if tried == 0:
        skip("no client of memcached here")


if __name__ == "__main__":
    main()
