#!/usr/bin/env python3
"""plov-door as a service of the binary protocol: limits, refused requests, order, statistics, a plovd that dies.

usage: binary_service.py PLOVD PLOV_DOOR [TEST...]
"""

import os
import socket
import threading

from binary_protocol import *
from binary_scripts import get
from servers import WITHIN, Servers, rss_bytes, run_tests, until

FENCE = 0xfe4ce


def requests_that_are_refused_are_passed_over(servers):
    """Where memcached loses its place: what comes after them is a request again."""
    address = servers.start_door("127.0.0.1:0")
    with Servers.connect(address) as connection:
        connection.sendall(frame(VERBOSITY, extras=bytes(4), opaque=1) + frame(0x55, b"key", b"value" * 20_000, b"ex", opaque=2)
                           + frame(SASL_AUTH, b"PLAIN", b"\0u\0p", opaque=3) + frame(NOOP, opaque=4))
        replies = Replies(connection)
        for opaque in (1, 2, 3):
            reply = replies.next()
            assert (reply.status, reply.opaque, reply.value) == (UNKNOWN, opaque, b"Unknown command"), reply
        assert replies.next().opaque == 4
    for request in (frame(GAT, b"a", b"v", bytes(4)), frame(TOUCH, b"a", b"v", bytes(4)), frame(STAT, b"a", b"v")):
        with Servers.connect(address) as connection:
            connection.sendall(request)
            replies = Replies(connection)
            assert replies.next().status == INVALID
            assert replies.next() is None


def refused_values_leave_no_trace(servers):
    """Thousands of them on one connection: each is answered, and the connection goes on."""
    address = servers.start_door("127.0.0.1:0", options=("--max-item", "1K"))
    count, large = 20_000, b"x" * 1000
    with Servers.connect(address) as connection:
        requests = b"".join(store(SET, b"k", large, opaque=i) for i in range(count)) + frame(NOOP, opaque=FENCE)
        thread = threading.Thread(target=connection.sendall, args=(requests,))
        thread.start()
        replies = Replies(connection).until(FENCE)
        thread.join()
        assert [reply.opaque for reply in replies] == list(range(count))
        assert {reply.status for reply in replies} == {TOO_LARGE}


def huge_lengths_take_no_memory(servers):
    address = servers.start_door("127.0.0.1:0", options=("--threads", "1"))
    before = rss_bytes(servers.door)
    with Servers.connect(address) as connection:
        # A set of 4 GiB: it is refused at once, and what comes of its value is passed over.
        connection.sendall(frame(SET, b"k", extras=bytes(8), lengths=(1, 8, 0xffffffff)))
        assert Replies(connection).next().status == TOO_LARGE
        connection.sendall(bytes(64 << 20))
    for opcode in (APPEND, 0x55):
        with Servers.connect(address) as connection:
            connection.sendall(frame(opcode, b"k", lengths=(1, 0, 0xffffffff)) + b"x" * 1_000_000)
            assert Replies(connection).next().status in (TOO_LARGE, UNKNOWN)
    for lengths in ((0xffff, 0, 0xffff), (0xffff, 0xff, 0), (251, 0, 251), (1, 0xff, 0x100)):
        with Servers.connect(address) as connection:
            connection.sendall(frame(GET, lengths=lengths))
            replies = Replies(connection)
            assert replies.next().status in (INVALID, UNKNOWN)
            assert replies.next() is None
    assert rss_bytes(servers.door) - before < 32 << 20


def memory_is_limited(servers):
    """Clients that announce large values and send none of them are refused beyond --memory."""
    address = servers.start_door("127.0.0.1:0", options=("--memory", "8M", "--threads", "1"))
    with Servers.connect(address) as connection:
        assert say(connection, store(SET, b"k", b"old")).status == OK
    greedy, refused = [], 0
    for _ in range(20):
        connection = Servers.connect(address)
        greedy.append(connection)
        connection.sendall(frame(SET, b"k", extras=bytes(8), lengths=(1, 8, 1_000_009)) + b"x")
        try:
            refused += Replies(connection, 0.2).next().status == NO_MEMORY
        except TimeoutError:
            pass
    assert 8 <= refused <= 14, refused
    with Servers.connect(address) as small:
        assert say(small, get(b"k")).status == NOT_FOUND  # a set that was refused leaves no old value
        assert say(small, store(SET, b"k", b"1")).status == OK
    for connection in greedy:
        connection.close()

    def is_free():
        with Servers.connect(address) as connection:
            return say(connection, store(SET, b"k", b"v" * 1_000_000)).status == OK

    until(is_free, "memory of those that went is free")


def largest_values(servers):
    size = 16 << 20
    address = servers.start_door("127.0.0.1:0", options=("--max-item", "17M"))
    with Servers.connect(address) as connection:
        value = os.urandom(1 << 20) * 16
        assert say(connection, store(SET, b"k", value, 7)).status == OK
        reply = say(connection, get(b"k", GETK))
        assert (reply.extras, reply.key, reply.value) == (bytes((0, 0, 0, 7)), b"k", value)
        assert size == len(reply.value)
        assert say(connection, store(SET, b"k", value + b"x")).status == TOO_LARGE
        assert say(connection, frame(NOOP)).status == OK


def slow_reader_is_bounded(servers):
    """Asks for a gigabyte and reads nothing: the door stops reading its requests, and serves others."""
    address = servers.start_door("127.0.0.1:0", options=("--threads", "1"))
    with Servers.connect(address) as slow, Servers.connect(address) as other:
        assert say(slow, store(SET, b"big", b"v" * 1_000_000)).status == OK
        before = rss_bytes(servers.door)
        slow.sendall(get(b"big", GETQ) * 1000 + frame(NOOP, opaque=FENCE))
        for _ in range(100):
            assert say(other, get(b"none")).status == NOT_FOUND
        assert rss_bytes(servers.door) - before < 64 << 20
        replies = Replies(slow)
        for _ in range(1000):
            assert len(replies.next().value) == 1_000_000
        assert replies.next().opaque == FENCE


def requests_of_one_connection_keep_their_order(servers):
    """Each pipelined read finds the write before it, and no later one; steps of several at one key too."""
    address = servers.start_door("127.0.0.1:0")
    with Servers.connect(address) as connection:
        asked, wanted = b"", []
        for i in range(2000):
            asked += (store(SETQ, b"n", b"%04d" % i) + get(b"n", GETQ) + arithmetic(INCREMENT, b"n", 1)
                      + touch(GATQ, b"n", 0) + get(b"n", GETKQ) + frame(DELETEQ, b"n") + get(b"n", GETQ))
            stored = (b"%d" % (i + 1)).ljust(4)
            wanted += [b"%04d" % i, (i + 1).to_bytes(8, "big"), stored, stored]
        asked += frame(NOOP, opaque=FENCE)
        thread = threading.Thread(target=connection.sendall, args=(asked,))
        thread.start()
        assert [reply.value for reply in Replies(connection).until(FENCE)] == wanted
        thread.join()


def half_closed_client_gets_all_answers(servers):
    address = servers.start_door("127.0.0.1:0")
    with Servers.connect(address) as connection:
        connection.sendall(store(SET, b"k", b"v") + get(b"k") + store(SET, b"k", b"12345")[:-1])
        connection.shutdown(socket.SHUT_WR)
        replies = Replies(connection)
        assert replies.next().status == OK
        assert replies.next().value == b"v"
        assert replies.next() is None


def both_protocols_have_the_same_items(servers):
    path = f"{servers.folder}/door.sock"
    servers.start_door(path)
    with Servers.connect(path) as binary, Servers.connect(path) as text:
        stored = say(binary, store(SET, b"k", b"12", 0xfffffffe))
        text.settimeout(WITHIN)
        text.sendall(b"gets k\r\n")
        assert text.recv(1000) == b"VALUE k 4294967294 2 %d\r\n12\r\nEND\r\n" % stored.cas
        text.sendall(b"cas k 5 0 2 %d\r\n34\r\n" % stored.cas)
        assert text.recv(1000) == b"STORED\r\n"
        assert say(binary, store(SET, b"k", b"x", cas=stored.cas)).status == EXISTS
        assert int.from_bytes(say(binary, arithmetic(INCREMENT, b"k", 1)).value, "big") == 35


def statistics_are_told(servers):
    address = servers.start_door("127.0.0.1:0")
    with Servers.connect(address) as connection:
        def stats(argument=b""):
            connection.sendall(frame(STAT, argument, opaque=7))
            replies, told = Replies(connection), {}
            while (reply := replies.next()).key:
                assert (reply.opcode, reply.opaque, reply.status) == (STAT, 7, OK)
                told[reply.key] = reply.value
            assert reply.value == b""
            return told

        say(connection, store(SET, b"k", b"v"))
        say(connection, get(b"k"))
        say(connection, get(b"none"))
        say(connection, touch(TOUCH, b"k", 0))
        told = stats()
        assert told[b"version"] == b"1.6.18" and told[b"cmd_get"] == b"2" and told[b"get_hits"] == b"1", told
        assert told[b"cmd_set"] == b"1" and told[b"touch_hits"] == b"1", told
        assert stats(b"settings")[b"item_size_max"] == b"1048576"
        assert stats(b"items") == {}


def plovd_dies_and_comes_back(servers):
    address = servers.start_door("127.0.0.1:0", options=("--threads", "2", "--timeout", "200ms"))
    stop, wrong = threading.Event(), []

    def load(number):
        key = b"k%d" % number
        with Servers.connect(address) as connection:
            replies = Replies(connection)
            while not stop.is_set():
                connection.sendall(store(SETQ, key, key, opaque=1) + get(key, GETQ, opaque=2) + frame(NOOP, opaque=FENCE))
                wrong.extend(reply for reply in replies.until(FENCE)
                             if reply is None or reply.status not in (OK, TEMPORARY) or (reply.status == OK and reply.value != key))

    threads = [threading.Thread(target=load, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        servers.plovd.kill()
        servers.plovd.wait()
        with Servers.connect(address) as connection:
            replies = Replies(connection)

            def tell(request):
                connection.sendall(request)
                return replies.next()

            def is_told():  # a quiet set, of what went wrong alone
                connection.sendall(store(SETQ, b"k", b"v") + frame(NOOP, opaque=FENCE))
                return [reply.status for reply in replies.until(FENCE)] == [TEMPORARY]

            until(is_told, "it is told")
            for request in (get(b"k"), get(b"k", GETQ), touch(GATKQ, b"k", 1), frame(DELETEQ, b"k"), frame(FLUSHQ),
                            arithmetic(INCREMENTQ, b"k", 1)):
                reply = tell(request)
                assert reply.status == TEMPORARY and reply.value, reply
            # The store is refused, whatever becomes of the item that was there.
            assert tell(store(SETQ, b"k", b"x" * 2_000_000)).status == TOO_LARGE
            assert tell(frame(NOOP)).status == OK
            servers.start_plovd()
            until(lambda: tell(store(SET, b"k", b"v")).status == OK, "it serves again")
            assert tell(get(b"k")).value == b"v"
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]


TESTS = [requests_that_are_refused_are_passed_over, refused_values_leave_no_trace, huge_lengths_take_no_memory,
         memory_is_limited, largest_values, slow_reader_is_bounded, requests_of_one_connection_keep_their_order,
         half_closed_client_gets_all_answers, both_protocols_have_the_same_items, statistics_are_told,
         plovd_dies_and_comes_back]


if __name__ == "__main__":
    run_tests(TESTS)
