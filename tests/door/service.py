#!/usr/bin/env python3
"""plov-door as a service: many, slow, half-closed and greedy clients, limits, a plovd that dies, a stop.

usage: service.py PLOVD PLOV_DOOR [TEST...]
"""

import os
import re
import signal
import socket
import subprocess
import threading
import urllib.request

from servers import WITHIN, Servers, rss_bytes, run_tests, until


def receive(connection, end):
    connection.settimeout(WITHIN)
    answer = b""
    while not answer.endswith(end):
        part = connection.recv(1 << 16)
        assert part, f"closed after {answer[-100:]!r}"
        answer += part
    return answer


def say(connection, text, end=b"\r\n"):
    connection.sendall(text)
    return receive(connection, end)


def store(connection, key, value):
    connection.sendall(b"set %s 0 0 %d\r\n" % (key, len(value)))
    connection.sendall(value)
    connection.sendall(b"\r\n")
    return receive(connection, b"\r\n")


def stats(address):
    with Servers.connect(address) as connection:
        lines = say(connection, b"stats\r\n", b"END\r\n").decode().split("\r\n")
    return dict(line.split(" ", 2)[1:] for line in lines if line.startswith("STAT "))


def a_value_written_by_one_is_read_by_all(servers):
    path = f"{servers.folder}/door.sock"
    address = servers.start_door("127.0.0.1:0", path)
    with Servers.connect(address) as tcp, Servers.connect(path) as local:
        assert store(tcp, b"k", b"\x00\r\n\xff") == b"STORED\r\n"
        assert say(local, b"get k\r\n", b"END\r\n") == b"VALUE k 0 4\r\n\x00\r\n\xff\r\nEND\r\n"


def many_connections(servers):
    count = 1500
    address = servers.start_door("127.0.0.1:0", options=("--threads", "2"))
    connections = [Servers.connect(address) for _ in range(count)]
    for i, connection in enumerate(connections):
        connection.sendall(b"set k%d 0 0 4\r\n%04d\r\nget k%d\r\n" % (i, i, i))
    for i, connection in enumerate(connections):
        wanted = b"STORED\r\nVALUE k%d 0 4\r\n%04d\r\nEND\r\n" % (i, i)
        assert receive(connection, b"END\r\n") == wanted
    assert int(stats(address)["curr_connections"]) == count + 1
    for connection in connections:
        connection.close()
    until(lambda: stats(address)["curr_connections"] == "1", "connections are gone")


def one_connection_too_many(servers):
    address = servers.start_door("127.0.0.1:0", options=("--max-clients", "3"))
    connections = [Servers.connect(address) for _ in range(3)]
    for connection in connections:
        assert say(connection, b"mn\r\n") == b"MN\r\n"
    with Servers.connect(address) as refused:
        assert receive(refused, b"\r\n") == b"ERROR Too many open connections\r\n"
        assert refused.recv(1) == b""
    connections.pop().close()

    def is_let_in():
        with Servers.connect(address) as another:
            try:
                another.sendall(b"mn\r\n")
                return another.recv(100) == b"MN\r\n"
            except ConnectionError:
                return False

    until(is_let_in, "a place that is free is given")


def refused_values_leave_no_trace(servers):
    """Thousands of them on one connection, which goes on; without a plovd they are answered, too."""
    address = servers.start_door("127.0.0.1:0", options=("--max-item", "1K", "--timeout", "200ms"))
    count, request = 20_000, b"set k 0 0 1000\r\n%s\r\n" % (b"x" * 1000)
    refusal = b"SERVER_ERROR object too large for cache\r\n"
    with Servers.connect(address) as connection:
        thread = threading.Thread(target=connection.sendall, args=(request * count + b"mn\r\n",))
        thread.start()
        assert receive(connection, b"MN\r\n") == refusal * count + b"MN\r\n"
        thread.join()
        servers.plovd.kill()
        servers.plovd.wait()
        until(lambda: store(connection, b"k", b"v").startswith(b"SERVER_ERROR "), "it is told")
        assert say(connection, request) == refusal


def half_closed_client_gets_all_answers(servers):
    address = servers.start_door("127.0.0.1:0")
    with Servers.connect(address) as connection:
        requests = b"".join(b"set k 0 0 5\r\n%05d\r\nget k\r\n" % i for i in range(5000))
        thread = threading.Thread(
            target=lambda: (connection.sendall(requests), connection.shutdown(socket.SHUT_WR)))
        thread.start()
        wanted = b"".join(b"STORED\r\nVALUE k 0 5\r\n%05d\r\nEND\r\n" % i for i in range(5000))
        connection.settimeout(WITHIN)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
        thread.join()
        assert answer == wanted


def slow_reader_is_bounded(servers):
    """Asks for a gigabyte and reads nothing: the door stops reading its requests, and serves others."""
    address = servers.start_door("127.0.0.1:0", options=("--threads", "1"))
    with Servers.connect(address) as slow, Servers.connect(address) as other:
        assert store(slow, b"big", b"v" * 1_000_000) == b"STORED\r\n"
        before = rss_bytes(servers.door)
        slow.sendall(b"get big\r\n" * 1000)
        for _ in range(100):
            assert say(other, b"mn\r\n") == b"MN\r\n"
        assert say(other, b"get none\r\n", b"END\r\n") == b"END\r\n"
        assert rss_bytes(servers.door) - before < 64 << 20
        slow.settimeout(WITHIN)
        left = 1000 * len(b"VALUE big 0 1000000\r\n\r\nEND\r\n" + b"v" * 1_000_000)
        while left > 0:
            left -= len(slow.recv(1 << 20))
        assert left == 0


def memory_is_limited(servers):
    """Clients that announce large values and send none of them are refused beyond --memory."""
    address = servers.start_door("127.0.0.1:0", options=("--memory", "8M", "--threads", "1"))
    greedy = []
    refused = 0
    for _ in range(20):
        connection = Servers.connect(address)
        greedy.append(connection)
        connection.sendall(b"set k 0 0 1000000\r\nx")
        connection.settimeout(0.2)
        try:
            refused += connection.recv(100).startswith(b"SERVER_ERROR out of memory")
        except TimeoutError:
            pass
    assert 8 <= refused <= 14, refused
    with Servers.connect(address) as small:
        assert store(small, b"k", b"1") == b"STORED\r\n"
    for connection in greedy:
        connection.close()

    def is_free():
        with Servers.connect(address) as connection:
            return store(connection, b"k", b"v" * 1_000_000) == b"STORED\r\n"

    until(is_free, "memory of those that went is free")


def largest_values(servers):
    size = 16 << 20
    address = servers.start_door("127.0.0.1:0", options=("--max-item", "17M"))
    with Servers.connect(address) as connection:
        value = os.urandom(1 << 20) * 16
        assert store(connection, b"k", value) == b"STORED\r\n"
        answer = say(connection, b"get k\r\n", b"END\r\n")
        assert answer == b"VALUE k 0 %d\r\n" % size + value + b"\r\nEND\r\n"
        assert store(connection, b"k", value + b"x").startswith(b"SERVER_ERROR object too large")
        assert say(connection, b"mn\r\n") == b"MN\r\n"


def requests_of_one_connection_keep_their_order(servers):
    """Each pipelined read finds the write before it, and no later one; steps of several at one key too."""
    address = servers.start_door("127.0.0.1:0")
    with Servers.connect(address) as connection:
        asked, wanted = b"", b""
        for i in range(2000):
            asked += b"set n 0 0 4\r\n%04d\r\nget n\r\nincr n 1\r\ngat 0 n\r\nget n n\r\n" % i
            number = b"%d" % (i + 1)
            stored = number.ljust(4)
            block = b"VALUE n 0 4\r\n%s\r\n" % stored
            wanted += (b"STORED\r\nVALUE n 0 4\r\n%04d\r\nEND\r\n%s\r\n" % (i, number)
                       + block + b"END\r\n" + block + block + b"END\r\n")
        asked += b"mn\r\n"
        wanted += b"MN\r\n"
        thread = threading.Thread(target=connection.sendall, args=(asked,))
        thread.start()
        assert receive(connection, b"MN\r\n") == wanted
        thread.join()


def counters_lose_nothing(servers):
    address = servers.start_door("127.0.0.1:0", options=("--threads", "2"))
    each, clients = 500, 6
    with Servers.connect(address) as connection:
        assert store(connection, b"up", b"0") == b"STORED\r\n"
        assert store(connection, b"down", b"%d" % (each * clients)) == b"STORED\r\n"
        assert store(connection, b"text", b"") == b"STORED\r\n"

    def work():
        with Servers.connect(address) as mine:
            text = b"x" * 20_000  # longer than what the server appends itself
            for i in range(each):
                mine.sendall(b"incr up 1\r\ndecr down 1\r\n")
                if i % 100 == 0:
                    mine.sendall(b"append text 0 0 %d noreply\r\n%s\r\n" % (len(text), text))
            say(mine, b"mn\r\n", b"MN\r\n")

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Servers.connect(address) as connection:
        assert say(connection, b"get up\r\n", b"END\r\n").split()[4] == b"%d" % (each * clients)
        assert say(connection, b"get down\r\n", b"END\r\n").split()[4] == b"0"
        size = int(say(connection, b"mg text s\r\n").split()[1][1:])
        assert size == 20_000 * clients * (each // 100), size


def plovd_dies_and_comes_back(servers):
    address = servers.start_door("127.0.0.1:0", options=("--threads", "2", "--timeout", "200ms"))
    stop = threading.Event()
    wrong = []

    def load(number):
        with Servers.connect(address) as connection:
            while not stop.is_set():
                stored = store(connection, b"k%d" % number, b"v%d" % number)
                found = say(connection, b"mg k%d v\r\n" % number)
                if found.startswith(b"VA "):
                    while not found.endswith(b"v%d\r\n" % number):
                        found += receive(connection, b"\r\n")
                if stored != b"STORED\r\n" and not stored.startswith(b"SERVER_ERROR "):
                    wrong.append(stored)

    threads = [threading.Thread(target=load, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        servers.plovd.kill()
        servers.plovd.wait()
        with Servers.connect(address) as connection:
            until(lambda: store(connection, b"k", b"v").startswith(b"SERVER_ERROR "), "it is told")
            assert say(connection, b"get k\r\n").startswith(b"SERVER_ERROR ")
            assert say(connection, b"mn\r\n") == b"MN\r\n"
            servers.start_plovd()
            until(lambda: store(connection, b"k", b"v") == b"STORED\r\n", "it serves again")
            assert say(connection, b"get k\r\n", b"END\r\n") == b"VALUE k 0 1\r\nv\r\nEND\r\n"
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]


def stop_is_orderly(servers):
    """What was asked before a SIGTERM is answered; then connections end, and the socket's file is gone."""
    path = f"{servers.folder}/door.sock"
    servers.start_door(path)
    with Servers.connect(path) as connection:
        assert store(connection, b"k", b"1") == b"STORED\r\n"
        servers.door.send_signal(signal.SIGTERM)
        connection.settimeout(WITHIN)
        assert connection.recv(1) == b""
    assert servers.door.wait(WITHIN) == 0
    assert not os.path.exists(path)


def socket_left_behind_is_replaced(servers):
    path = f"{servers.folder}/door.sock"
    servers.start_door(path)
    servers.door.kill()
    servers.door.wait()
    assert os.path.exists(path)
    servers.start_door(path)
    with Servers.connect(path) as connection:
        assert say(connection, b"mn\r\n") == b"MN\r\n"
    status, message = run(servers, "--server", servers.uri, "--memcached", path)
    assert status == 3 and "another program" in message, (status, message)


def run(servers, *arguments, **environment):
    done = subprocess.run([servers.paths["door"], *arguments], capture_output=True, text=True,
                          env={**servers.environment, **environment}, timeout=WITHIN, check=False)
    return done.returncode, done.stderr + done.stdout


def wrong_usage_is_told(servers):
    for arguments, part in (
            ((), "--memcached is missing"), (("--memcached", "x"), "neither HOST:PORT nor a path"),
            (("--memcached", "a:b"), "neither"), (("--bogus",), "bogus"),
            (("--memcached", ":0", "--threads", "x"), "--threads 'x' is not a number"),
            (("--memcached", ":0", "--memory", "1K"), "--memory '1K' is not a number"),
            (("--memcached", ":0", "--timeout", "0"), "--timeout '0' is not between"),
            (("--memcached", ":0", "--log-level", "x"), "--log-level 'x'"),
            (("--memcached", ":0", "--metrics", "x"), "x"),
            (("--memcached", ":0", "--config", "/nonexistent"), "cannot read --config"),
            (("--memcached", ":0", "--server", "bogus"), "")):
        status, message = run(servers, *arguments)
        assert status == 2 and part in message and message.count("\n") == 1, (arguments, message)
    status, message = run(servers, "--memcached", ":0", "--server", f"{servers.uri}.none")
    assert status == 3 and message.count("\n") == 1, (status, message)
    status, message = run(servers, PLOV_DOOR_THREADS="x", PLOV_DOOR_MEMCACHED=":0")
    assert status == 2 and "PLOV_DOOR_THREADS" in message, message


def options_by_file_and_environment(servers):
    config = f"{servers.folder}/door.conf"
    paths = [f"{servers.folder}/one.sock", f"{servers.folder}/two.sock"]
    with open(config, "w", encoding="ascii") as file:
        file.write(f"# places\nmemcached = {paths[0]}\nmemcached = {paths[1]}\nmax-clients = 7\n")
    servers.environment["PLOV_DOOR_MAX_ITEM"] = "2K"
    servers.environment["PLOV_DOOR_MAX_CLIENTS"] = "9"
    servers.start_door(options=("--config", config))
    until(lambda: os.path.exists(paths[1]), "it listens")
    with Servers.connect(paths[1]) as connection:
        assert store(connection, b"k", b"v" * 3000).startswith(b"SERVER_ERROR object too large")
    assert stats(paths[0])["max_connections"] == "7"


def sample_file_has_every_option(servers):
    """With its default, where it has one; and the door reads it with all of them."""
    _, text = run(servers, "--help")
    options = {}
    for entry in re.split(r"\n +(?=-)", text.split("Options:\n")[1].split("\n\n")[0]):
        name = re.search(r"--([a-z-]+)", entry).group(1)
        default = re.search(r"\((\S+)\)$", " ".join(entry.split()))
        options[name] = default.group(1) if default else None
    for name in ("config", "version", "help"):
        del options[name]
    sample = os.path.join(os.path.dirname(__file__), "../../door/plov-door.conf")
    with open(sample, encoding="utf-8") as file:
        given = dict(re.findall(r"^#([a-z-]+) = (.*)$", file.read(), re.MULTILINE))
    assert given.keys() == options.keys(), given.keys() ^ options.keys()
    for name, default in options.items():
        assert default in (None, given[name]), (name, default, given[name])
    config = f"{servers.folder}/all.conf"
    users = f"{servers.folder}/users"
    with open(users, "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write("user:password\n")
    given |= {"server": servers.uri, "memcached": f"{servers.folder}/door.sock",
              "memcached-auth-file": users, "metrics": "127.0.0.1:0"}
    with open(config, "w", encoding="ascii") as file:
        file.writelines(f"{name} = {text}\n" for name, text in given.items())
    servers.start_door(options=("--config", config))


def metrics_are_served(servers):
    servers.start_door("127.0.0.1:0", options=("--metrics", "127.0.0.1:0"))
    url = re.search(r"metrics on (\S+)", servers.door_text).group(1)
    with Servers.connect(servers.address_of(
            re.search(r"ready on (.*)\n", servers.door_text).group(1))) as connection:
        store(connection, b"k", b"v")
        say(connection, b"get k\r\n", b"END\r\n")
        with urllib.request.urlopen(url, timeout=WITHIN) as page:
            text = page.read().decode()
    assert 'plov_door_requests_total{command="get"} 1' in text, text
    assert 'plov_door_requests_total{command="store"} 1' in text, text
    assert "plov_door_connections 1" in text, text


TESTS = [a_value_written_by_one_is_read_by_all, many_connections, one_connection_too_many,
         half_closed_client_gets_all_answers, slow_reader_is_bounded, memory_is_limited,
         largest_values, requests_of_one_connection_keep_their_order, counters_lose_nothing,
         refused_values_leave_no_trace, plovd_dies_and_comes_back, stop_is_orderly, socket_left_behind_is_replaced,
         wrong_usage_is_told, options_by_file_and_environment, sample_file_has_every_option,
         metrics_are_served]


if __name__ == "__main__":
    run_tests(TESTS)
