#!/usr/bin/env python3
"""Compares plov's bindings for Python with redis-py, in one run, each with a server of its own.

Both have the same items and are asked for the same keys, in turns: get, one key at a time, and get_many
or mget of 1,000. Prints microseconds for each, the median of the rounds, and ratios with their spread.
Exit status: 0, or 77 where python3-redis or redis-server is missing.
"""

import argparse
import importlib.util
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import plov

MISSING = 77
ROUNDS = 9
MANY = 1_000
START_SECONDS = 60


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plovd", help="path of plovd")
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--value-bytes", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement")
    return parser.parse_args()


def await_server(process, is_ready):
    deadline = time.monotonic() + START_SECONDS
    while not is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit("compare.py: a server does not start")
        time.sleep(0.01)


def start_plov(options, folder, processes):
    uri, log = f"shm:{folder}/plov.sock", folder / "plovd.log"
    with open(log, "wb") as output:
        processes.append(subprocess.Popen(
            [options.plovd, "--listen", uri, "--memory", "1G"], stdout=output,
            stderr=subprocess.STDOUT))
    await_server(processes[-1], lambda: "plovd: ready on" in log.read_text())
    return plov.connect(uri, timeout=10)


def start_redis(folder, processes):
    import redis  # where it is missing nobody comes here

    path = folder / "redis.sock"
    processes.append(subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--dir",
         str(folder)], stdout=subprocess.DEVNULL))
    await_server(processes[-1], path.exists)
    return redis.Redis(unix_socket_path=str(path))


def fill(items, plov_client, redis_client):
    plov_client.put_many(items)
    pairs = list(items.items())
    for first in range(0, len(pairs), MANY):
        redis_client.mset(dict(pairs[first : first + MANY]))


def measure(call, arguments, seconds):
    """Microseconds of a call, over as many as fit in the time."""
    count = 0
    begin = time.perf_counter()
    while True:
        for argument in arguments:
            call(argument)
        count += len(arguments)
        took = time.perf_counter() - begin
        if took >= seconds:
            return took / count * 1e6


def compare(name, ours, theirs, arguments, seconds):
    """Measures both in turns, so that what disturbs one disturbs the other."""
    for call in (ours, theirs):
        measure(call, arguments, 0)
    rounds = []
    for i in range(ROUNDS):
        calls = (ours, theirs) if i % 2 else (theirs, ours)
        times = {call: measure(call, arguments, seconds) for call in calls}
        rounds.append((times[ours], times[theirs]))
    mine, other = (statistics.median(column) for column in zip(*rounds))
    ratios = sorted(theirs_us / ours_us for ours_us, theirs_us in rounds)
    print(f"{name:24} {mine:10.2f} {other:10.2f} {statistics.median(ratios):8.1f}"
          f"   ({ratios[0]:.1f} to {ratios[-1]:.1f})")


def study(options, plov_client, redis_client):
    generator = random.Random(1)
    items = {b"key:%08d" % i: generator.randbytes(options.value_bytes)
             for i in range(options.items)}
    fill(items, plov_client, redis_client)
    keys = list(items)
    lone = [generator.choice(keys) for _ in range(100)]
    lists = [[generator.choice(keys) for _ in range(MANY)] for _ in range(20)]
    for key in lone:
        assert plov_client.get(key) == redis_client.get(key) == items[key]
    assert plov_client.get_many(lists[0]) == redis_client.mget(lists[0])
    parser = "hiredis" if importlib.util.find_spec("hiredis") else "its own parser"
    print(f"{options.items} items of {options.value_bytes} bytes; redis-py with {parser}")
    print(f"{'us':24} {'plov':>10} {'redis-py':>10} {'ratio':>8}")
    seconds = options.seconds
    compare("get", plov_client.get, redis_client.get, lone, seconds)
    compare("get_many of 1000", plov_client.get_many, redis_client.mget, lists, seconds)
    compare("get_dict of 1000", plov_client.get_dict,
            lambda many: dict(zip(many, redis_client.mget(many))), lists, seconds)
    if importlib.util.find_spec("numpy"):
        import numpy

        array = numpy.empty((MANY, options.value_bytes), "u1")
        compare("get_many_into of 1000", lambda many: plov_client.get_many_into(many, array),
                lambda many: numpy.frombuffer(b"".join(redis_client.mget(many)), "u1"), lists,
                seconds)


def main():
    options = parse()
    if importlib.util.find_spec("redis") is None or shutil.which("redis-server") is None:
        print("compare.py: skipped: python3-redis or redis-server is missing")
        return MISSING
    folder, processes = pathlib.Path(tempfile.mkdtemp(prefix="plov-python-")), []
    try:
        study(options, start_plov(options, folder, processes), start_redis(folder, processes))
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
