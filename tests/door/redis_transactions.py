#!/usr/bin/env python3
"""Transactions of Redis's clients at plov-door: all or nothing with many clients, limits, several shards, lost memory.

usage: redis_transactions.py PLOVD PLOV_DOOR [TEST ...]
"""

import random
import threading

from redis_differential import Client
from redis_scripts import request
from servers import Servers, rss_bytes, run_tests, until

ACCOUNTS = [f"account{i}" for i in range(5)]
BALANCE = 1000
CLIENTS = 6
ROUNDS = 60


def door(servers, *options):
    return servers.start_door("127.0.0.1:0", options=options, protocol="redis")


def in_threads(run, count):
    failures = []

    def guarded(i):
        try:
            run(i)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def transaction(client, *commands):
    """Sent as one; the reply of EXEC."""
    client.connection.sendall(request("multi") + b"".join(request(*c) for c in commands) + request("exec"))
    assert client.read() == b"+OK"
    for _ in commands:
        assert client.read() == b"+QUEUED"
    return client.read()


def transfers_keep_the_sum(servers):
    """WATCH, GET, MULTI, SET, EXEC again until it is not nil; looks by MGET in a transaction always see the same sum."""
    address = door(servers, "--threads", "3", "--timeout", "30s")
    with Client(address) as client:
        client.ask("mset", *(x for name in ACCOUNTS for x in (name, BALANCE)))
    retries, done = [0] * CLIENTS, []

    def transfer(i):
        chooser = random.Random(i)
        with Client(address) as client:
            for _ in range(ROUNDS):
                source, target = chooser.sample(ACCOUNTS, 2)
                amount = chooser.randrange(1, 50)
                while True:
                    assert client.ask("watch", source, target) == b"+OK"
                    before = [int(client.ask("get", name)) for name in (source, target)]
                    replies = transaction(client, ("set", source, before[0] - amount), ("set", target, before[1] + amount))
                    if replies is not None:
                        assert replies == [b"+OK", b"+OK"], replies
                        break
                    retries[i] += 1

    def move_by_increments(i):
        chooser = random.Random(i)
        with Client(address) as client:
            for _ in range(ROUNDS):
                source, target = chooser.sample(ACCOUNTS, 2)
                replies = transaction(client, ("decrby", source, 7), ("incrby", target, 7), ("incr", "moves"))
                assert len(replies) == 3 and all(reply[:1] == b":" for reply in replies), replies

    def look(_):
        with Client(address) as client:
            while len(done) < 2 * CLIENTS:
                values = transaction(client, ("mget", *ACCOUNTS))[0]
                assert sum(map(int, values)) == BALANCE * len(ACCOUNTS), values

    def run(i):
        if i == 2 * CLIENTS:
            return look(i)
        try:
            return transfer(i) if i < CLIENTS else move_by_increments(i)
        finally:
            done.append(i)

    in_threads(run, 2 * CLIENTS + 1)
    assert sum(retries) > 0, "no two clients met"
    with Client(address) as client:
        assert sum(map(int, client.ask("mget", *ACCOUNTS))) == BALANCE * len(ACCOUNTS)
        assert client.ask("get", "moves") == str(CLIENTS * ROUNDS).encode()


def msetnx_has_one_winner(servers):
    address = door(servers, "--threads", "3", "--timeout", "30s")
    winners = [[] for _ in range(ROUNDS)]

    def run(i):
        with Client(address) as client:
            for n in range(ROUNDS):
                if client.ask("msetnx", f"{n}a", i, f"{n}b", i) == b":1":
                    winners[n].append(i)

    in_threads(run, CLIENTS)
    with Client(address) as client:
        for n, won in enumerate(winners):
            assert len(won) == 1, won
            assert client.ask("mget", f"{n}a", f"{n}b") == [str(won[0]).encode()] * 2


def mset_is_never_seen_in_part(servers):
    address = door(servers, "--threads", "3", "--timeout", "30s")
    keys = [f"k{i}" for i in range(20)]
    done = []

    def run(i):
        with Client(address) as client:
            if i > 0:
                for n in range(ROUNDS):
                    assert client.ask("mset", *(x for key in keys for x in (key, f"{i}.{n}"))) == b"+OK"
                return done.append(i)
            while len(done) < CLIENTS:
                assert len(set(transaction(client, ("mget", *keys))[0])) == 1

    in_threads(run, CLIENTS + 1)


def redis_py(servers):
    try:
        import redis
    except ImportError:
        print("left out: no redis-py here")
        return
    address = door(servers, "--threads", "3", "--timeout", "30s")

    def run(_):
        client = redis.Redis(*address)
        for _ in range(ROUNDS):
            client.transaction(lambda pipe: (value := int(pipe.get("n") or 0), pipe.multi(), pipe.set("n", value + 1)), "n")
            with client.pipeline(transaction=True) as pipeline:
                pipeline.incr("a").decr("b")
                a, b = pipeline.execute()
            assert a == -b, (a, b)
        client.close()

    in_threads(run, CLIENTS)
    client = redis.Redis(*address, decode_responses=True)
    assert client.mget("n", "a") == [str(CLIENTS * ROUNDS)] * 2
    assert client.msetnx({"x": 1, "y": 2}) and not client.msetnx({"y": 1, "z": 2})
    with client.pipeline() as pipeline:
        pipeline.set("text", "x").incr("text").get("text")
        replies = pipeline.execute(raise_on_error=False)
    assert isinstance(replies[1], redis.ResponseError) and (replies[0], replies[2]) == (True, "x"), replies
    with client.pipeline() as pipeline:
        pipeline.watch("text")
        client.set("text", "y")
        pipeline.multi()
        pipeline.set("text", "z")
        try:
            pipeline.execute()
            raise AssertionError("a watched key was changed")
        except redis.WatchError:
            pass
    assert client.get("text") == "y"
    client.close()


def the_session_changes_with_it(servers):
    with Client(door(servers)) as client:
        replies = transaction(client, ("hello", 3), ("get", "none"), ("client", "setname", "me"), ("client", "getname"))
        assert replies[1:] == [b"_", b"+OK", b"me"], replies
        assert client.ask("get", "none") == b"_" and client.ask("client", "getname") == b"me"


def an_item_that_ends_changes(servers):
    """A watched item whose life is over was changed."""
    address = door(servers)
    with Client(address) as client:
        client.ask("set", "a", 1, "px", 1)
        assert client.ask("watch", "a") == b"+OK"
        until(lambda: client.ask("exists", "a") == b":0", "the end of an item")
        assert transaction(client, ("set", "b", 1)) is None
        assert client.ask("exists", "b") == b":0"


def flags_stay(servers):
    """What a memcached client has given an item, by commands that leave them when they are alone, too."""
    place, address = f"{servers.folder}/memcached.sock", f"{servers.folder}/redis-door.sock"
    servers.start_door(place, options=("--redis", address))
    with Client(address) as client, servers.connect(place) as connection, connection.makefile("rb") as replies:
        for in_transaction in (False, True):
            connection.sendall(b"set n 7 0 1\r\n5\r\nset l 8 0 1\r\nx\r\n")
            assert replies.readline() == replies.readline() == b"STORED\r\n"
            changes = (("incr", "n"), ("expire", "n", 100), ("append", "l", "y"))
            if in_transaction:
                assert transaction(client, *changes) == [b":6", b":1", b":2"]
            else:
                got = [client.ask(*change) for change in changes]
                assert got == [b":6", b":1", b":2"], got
            connection.sendall(b"get n l\r\n")
            assert [replies.readline() for _ in range(5)] == [
                b"VALUE n 7 1\r\n", b"6\r\n", b"VALUE l 8 2\r\n", b"xy\r\n", b"END\r\n"]


def limits_are_told(servers):
    address = door(servers)
    with Client(address) as client:
        too_large = b"-ERR plov: a transaction has 128 keys at most, and writes 16 KiB of keys and values"
        assert len(transaction(client, *(("set", f"k{i}", i) for i in range(128)))) == 128
        assert transaction(client, *(("set", f"k{i}", "x") for i in range(129))) == too_large
        assert client.ask("get", "k0") == b"0"
        assert transaction(client, ("set", "k0", "x"), ("set", "k1", "v" * 17000)) == too_large
        assert transaction(client, ("set", "k0", "v" * 9000), ("set", "k1", "v" * 9000)) == too_large
        assert client.ask("mget", "k0", "k1") == [b"0", b"1"]
        assert client.ask("msetnx", "m0", "v" * 17000, "m1", 1) == too_large
        assert client.ask("msetnx", *(x for i in range(129) for x in (f"m{i}", i))) == too_large
        assert client.ask("exists", "m0", "m1") == b":0"
        # These are stored one by one.
        assert client.ask("mset", *(x for i in range(129) for x in (f"m{i}", i))) == b"+OK"
        assert client.ask("mset", "m0", "v" * 17000, "m1", "v") == b"+OK"
        assert client.ask("strlen", "m0") == b":17000" and client.ask("mget", "m1", "m128") == [b"v", b"128"]
        assert client.ask("watch", *(f"k{i}" for i in range(129))).startswith(b"-ERR plov: a connection watches 128")
        assert client.ask("watch", *(f"k{i}" for i in range(128))) == b"+OK"
        assert client.ask("watch", "k0", "more").startswith(b"-ERR plov: a connection watches 128")
        assert transaction(client, ("get", "k128")) == too_large
        for name in ("keys *", "scan 0", "randomkey", "dbsize", "flushall", "flushdb async"):
            assert client.ask("multi") == b"+OK"
            word = name.split()[0].upper()
            assert client.ask(*name.split()) == f"-ERR plov: {word} cannot be a part of a transaction".encode()
            assert client.ask("exec").startswith(b"-EXECABORT")
        for key in ("", "k" * 1025):
            assert client.ask("watch", key) == client.ask("msetnx", key, 1) == b"-ERR plov: a key has 1 to 1024 bytes"
            assert transaction(client, ("set", key, 1), ("set", "k0", 2)) == [b"-ERR plov: a key has 1 to 1024 bytes", b"+OK"]


def keys_of_several_shards(servers):
    servers.plovd.kill()
    servers.plovd.wait()
    servers.start_plovd("--shards", "3")
    keys = [f"k{i}" for i in range(30)]
    everything = [x for key in keys for x in (key, 1)]
    address = door(servers)
    with Client(address) as client, Client(address) as other:
        assert client.ask("msetnx", *everything) == b":1"
        assert client.ask("msetnx", "new", 1, *everything) == b":0" and client.ask("exists", "new") == b":0"
        assert transaction(client, *(("incr", key) for key in keys)) == [b":2"] * 30
        assert client.ask("mset", *everything) == b"+OK" and client.ask("mget", *keys) == [b"1"] * 30
        assert client.ask("watch", *keys) == b"+OK" and other.ask("set", "k17", 5) == b"+OK"
        assert transaction(client, *(("incr", key) for key in keys)) is None
        assert client.ask("mget", "k0", "k17") == [b"1", b"5"]


def keys_of_several_shards_with_a_log(servers):
    servers.plovd.kill()
    servers.plovd.wait()
    servers.start_plovd("--shards", "2", "--log", f"{servers.folder}/log", "--commit", "acked")
    cross_slot = b"-CROSSSLOT Keys in request don't hash to the same slot"
    keys = [f"k{i}" for i in range(30)]
    with Client(door(servers)) as client:
        everything = [x for key in keys for x in (key, 1)]
        assert client.ask("msetnx", *everything) == cross_slot
        assert client.ask("exists", *keys) == b":0"
        assert client.ask("mset", *everything) == b"+OK"
        assert client.ask("exists", *keys) == b":30"
        assert transaction(client, *(("incr", key) for key in keys)) == cross_slot
        assert client.ask("mget", *keys) == [b"1"] * 30
        # Of one shard it does.
        assert transaction(client, ("incr", "k0"), ("incr", "k0")) == [b":2", b":3"]
        same = [key for key in keys[1:] if transaction(client, ("incr", "k0"), ("incr", key)) != cross_slot]
        assert 0 < len(same) < 29, same
        assert client.ask("get", same[0]) == b"2"
        assert client.ask("watch", *keys) == b"+OK" and transaction(client, ("ping",)) == cross_slot


def memory_is_bounded(servers):
    """Commands that are queued, and what a transaction makes of them, are within --memory."""
    limit = 32 << 20
    address = door(servers, "--memory", "32M", "--threads", "1")
    before = rss_bytes(servers.door)
    with Client(address) as client:
        assert client.ask("multi") == b"+OK"
        piece, refused = request("set", "a", "v" * 2000) * 100, 0
        for _ in range(300):
            client.connection.sendall(piece)
            refused += sum(client.read() != b"+QUEUED" for _ in range(100))
        assert refused > 0
        assert rss_bytes(servers.door) - before < 2 * limit
        assert client.ask("exec").startswith(b"-EXECABORT")
        assert client.ask("set", "a", "v" * 3000) == b"+OK"
        gets = [("get", "a")] * 20000  # 60 MB of replies
        assert transaction(client, *gets).startswith(b"-OOM")
        assert client.ask("set", "a", "v" * 500000) == b"+OK"
        assert transaction(client, *gets[:200]).startswith(b"-OOM")
        assert transaction(client, *gets[:5]) == [b"v" * 500000] * 5
    with Client(address) as client:
        assert client.ask("get", "a") == b"v" * 500000


def a_server_that_is_away(servers):
    address = door(servers, "--timeout", "300ms")
    with Client(address) as client:
        assert client.ask("set", "a", 1) == b"+OK" and client.ask("watch", "a") == b"+OK"
        servers.plovd.kill()
        servers.plovd.wait()
        assert transaction(client, ("set", "a", 2)).startswith(b"-ERR plov:")
        assert transaction(client, ("ping",)) == [b"+PONG"]
        assert client.ask("watch", "a").startswith(b"-ERR plov:")
        servers.start_plovd()
        until(lambda: client.ask("set", "a", 1) == b"+OK", "the server is back")
        # It has lost what was watched, and what others store then has another version.
        assert client.ask("watch", "a") == b"+OK"
        servers.plovd.kill()
        servers.plovd.wait()
        servers.start_plovd()
        with Client(address) as other:
            until(lambda: other.ask("set", "a", 1) == b"+OK", "the server is back")
        assert transaction(client, ("set", "a", 2)) is None
        assert client.ask("get", "a") == b"1"


def clients_that_go(servers):
    """An end of the connection ends its transaction, wherever it is."""
    address = door(servers)
    with Client(address) as watcher:
        for end in (b"", request("exec"), request("exec") + request("ping"), request("discard")):
            with Servers.connect(address) as connection:
                connection.sendall(request("watch", "a") + request("multi") + request("set", "b", 1) + end)
        assert watcher.ask("exec") == b"-ERR EXEC without MULTI"
        assert transaction(watcher, ("ping",)) == [b"+PONG"]


if __name__ == "__main__":
    run_tests([transfers_keep_the_sum, msetnx_has_one_winner, mset_is_never_seen_in_part, redis_py,
               the_session_changes_with_it, an_item_that_ends_changes, flags_stay, limits_are_told, keys_of_several_shards,
               keys_of_several_shards_with_a_log, memory_is_bounded, a_server_that_is_away, clients_that_go])
