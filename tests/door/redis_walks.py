#!/usr/bin/env python3
"""KEYS, SCAN, RANDOMKEY and DBSIZE of plov-door among many items, writers, slow and hostile clients.

usage: redis_walks.py PLOVD PLOV_DOOR [TEST...]
"""

import signal
import socket
import threading
import time

from redis_differential import Client
from redis_scripts import request
from servers import WITHIN, Servers, run_tests


def fill(client, count, name="key:%07d"):
    names = [(name % i).encode() for i in range(count)]
    for i in range(0, count, 500):
        client.ask("mset", *(x for one in names[i:i + 500] for x in (one, "v")))
    return set(names)


def scan_all(client, *options, between=lambda: None):
    found, cursor, steps = [], b"0", 0
    while True:
        cursor, names = client.ask("scan", cursor, *options)
        found += names
        steps += 1
        if cursor == b"0":
            return found, steps
        between()


def iterations_find_all_that_stays_while_the_table_grows(servers):
    """Others store and delete so much that keys move and the table grows several times."""
    address = servers.start_door("127.0.0.1:0", options=("--threads", "2"), protocol="redis")
    stop = threading.Event()

    def write(number):
        with Client(address) as client:
            for i in range(0, 60_000, 100):
                if stop.is_set():
                    return
                client.ask("mset", *(x for j in range(i, i + 100) for x in (f"w{number}:{j}", "v" * 40)))
                client.ask("del", *(f"w{number}:{j}" for j in range(i, i + 100, 3)))

    with Client(address) as client:
        stays = fill(client, 3000)
        writers = [threading.Thread(target=write, args=(i,)) for i in range(2)]
        for writer in writers:
            writer.start()
        iterations = 0
        while any(writer.is_alive() for writer in writers) and iterations < 200:
            found, _ = scan_all(client, "count", 500)
            assert stays <= set(found), len(stays - set(found))
            assert stays <= set(client.ask("keys", "key:*"))
            iterations += 1
        stop.set()
        for writer in writers:
            writer.join(WITHIN)
        assert iterations > 0


def a_cursor_goes_on_without_the_index_that_gave_it(servers):
    """Another door gives the next one: a position is the same everywhere."""
    path = f"{servers.folder}/other.sock"
    address = servers.start_door("127.0.0.1:0", protocol="redis")
    servers.start_door(path, protocol="redis")
    with Client(address) as one, Client(path) as other:
        stays = fill(one, 2000)
        found, cursor, clients = set(), b"0", [one, other]
        while True:
            cursor, names = clients[0].ask("scan", cursor, "count", 50)
            found |= set(names)
            clients.reverse()
            if cursor == b"0":
                break
        assert found == stays


def steps_are_as_long_as_was_asked_for(servers):
    address = servers.start_door("127.0.0.1:0", protocol="redis")
    with Client(address) as client:
        stays = fill(client, 1000)
        found, steps = scan_all(client)
        assert len(found) == 1000 and set(found) == stays and steps == 100, steps
        found, steps = scan_all(client, "match", "none", "count", 100)
        assert found == [] and steps == 10, steps
        # A step that would be much work is shorter, and the iteration still finds all.
        found, steps = scan_all(client, "match", "*" + "k*" * 500 + "x", "count", 1_000_000)
        assert found == [] and steps > 1
        assert client.ask("keys", "*" * 1025).startswith(b"-ERR plov: a pattern")
        assert client.ask("scan", 0, "match", "*" * 1025).startswith(b"-ERR plov: a pattern")


def many_clients_share_memory(servers):
    """Together they are sent far more than --memory; those that do not read do not keep others waiting."""
    count, clients = 20_000, 40
    address = servers.start_door("127.0.0.1:0", options=("--memory", "16M", "--threads", "1"),
                                 protocol="redis")
    with Client(address) as client:
        stays = fill(client, count)
        slow = [Client(address) for _ in range(clients)]
        for one in slow:
            one.connection.sendall(request("keys", "*"))
        for _ in range(100):
            assert client.ask("get", "key:0000001") == b"v"
        memory = next(line for line in client.ask("info", "memory").split(b"\r\n")
                      if line.startswith(b"used_memory:"))
        assert int(memory.split(b":")[1]) <= 16 << 20, memory
        for one in slow[:clients // 2]:
            with one:
                names = one.read()
                assert isinstance(names, list) and set(names) == stays
        # The others go in the middle of it.
        for one in slow[clients // 2:]:
            one.replies.close()
            one.connection.close()
        assert set(client.ask("keys", "*")) == stays


def what_does_not_fit_is_refused_or_scanned_in_parts(servers):
    count = 30_000
    address = servers.start_door("127.0.0.1:0", options=("--memory", "2M"), protocol="redis")
    with Client(address) as client:
        stays = fill(client, count)
        assert client.ask("keys", "*").startswith(b"-ERR plov: the names of all items"), client.ask("keys", "*")
        found, _ = scan_all(client, "count", 1000)
        assert set(found) == stays, len(stays - set(found))


def half_closed_client_gets_all(servers):
    address = servers.start_door("127.0.0.1:0", protocol="redis")
    with Client(address) as client:
        stays = fill(client, 20_000)
    with Client(address) as client:
        client.connection.sendall(request("keys", "*") + request("dbsize") + request("keys", "none"))
        client.connection.shutdown(socket.SHUT_WR)
        assert set(client.read()) == stays
        assert client.read() == b":20000" and client.read() == []
        assert client.replies.read() == b""


def large_replies_to_a_half_closed_client(servers):
    """The end of its input is seen while replies wait that it has not read."""
    address = servers.start_door("127.0.0.1:0", protocol="redis")
    with Client(address) as client:
        client.ask("set", "k", "v" * 20_000)
        client.connection.sendall(request("get", "k") * 5000)
        client.connection.shutdown(socket.SHUT_WR)
        assert all(client.read() == b"v" * 20_000 for _ in range(5000))
        assert client.replies.read() == b""


def own_writes_are_seen(servers):
    address = servers.start_door("127.0.0.1:0", protocol="redis")
    with Client(address) as client:
        for i in range(50):
            client.connection.sendall(
                request("set", f"k{i}", "v") + request("keys", f"k{i}") + request("dbsize")
                + request("del", f"k{i}") + request("keys", "*") + request("dbsize"))
            answers = [client.read() for _ in range(6)]
            assert answers == [b"+OK", [b"k%d" % i], b":1", b":1", [], b":0"], answers


def clients_go_while_they_wait(servers):
    address = servers.start_door("127.0.0.1:0", options=("--threads", "2"), protocol="redis")
    with Client(address) as client:
        stays = fill(client, 20_000)
        for i in range(60):
            with Client(address) as hasty:
                hasty.connection.sendall(request("keys", "*") + request("scan", 0) + request("dbsize"))
                if i % 2 == 0:
                    hasty.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert set(client.ask("keys", "*")) == stays
        end = time.monotonic() + WITHIN
        while b"connected_clients:1\r\n" not in client.ask("info", "clients"):
            assert time.monotonic() < end, "those that went are kept"
            time.sleep(0.02)


def server_goes_and_comes_back(servers):
    address = servers.start_door("127.0.0.1:0", options=("--timeout", "200ms"), protocol="redis")
    with Client(address) as client:
        client.ask("set", "a", "1")
        assert client.ask("keys", "*") == [b"a"]
        servers.plovd.kill()
        servers.plovd.wait()
        for command in (("keys", "*"), ("scan", 0), ("randomkey",), ("dbsize",)):
            assert client.ask(*command).startswith(b"-ERR plov: "), command
        servers.start_plovd()
        end = time.monotonic() + WITHIN
        while client.ask("set", "b", "1") != b"+OK":
            assert time.monotonic() < end
        assert client.ask("keys", "*") == [b"b"]
        assert client.ask("scan", 0) == [b"0", [b"b"]]
        assert client.ask("randomkey") == b"b" and client.ask("dbsize") == b":1"


def a_stop_waits_for_a_walk_that_was_asked_for(servers):
    address = servers.start_door("127.0.0.1:0", protocol="redis")
    with Client(address) as client:
        stays = fill(client, 20_000)
        client.connection.sendall(request("keys", "*"))
        first = client.replies.readline()
        assert first == b"*20000\r\n", first
        servers.door.send_signal(signal.SIGTERM)
        assert {client.read() for _ in range(20_000)} == stays
        assert client.replies.read() == b""
    assert servers.door.wait(WITHIN) == 0


TESTS = [iterations_find_all_that_stays_while_the_table_grows,
         a_cursor_goes_on_without_the_index_that_gave_it, steps_are_as_long_as_was_asked_for,
         many_clients_share_memory, what_does_not_fit_is_refused_or_scanned_in_parts,
         half_closed_client_gets_all, large_replies_to_a_half_closed_client, own_writes_are_seen,
         clients_go_while_they_wait, server_goes_and_comes_back,
         a_stop_waits_for_a_walk_that_was_asked_for]


if __name__ == "__main__":
    run_tests(TESTS)
