"""A server that is stopped, dies, and comes back."""

import threading
import time

import pytest

import plov


def test_a_client_comes_back_with_its_server(own_server):
    with own_server.connect() as client:
        client.put(b"k", b"v")
        own_server.kill()
        own_server.start()
        assert client.get(b"k") is None  # another life, with nothing in it
        client.put(b"k", b"w")
        assert client.get_many([b"k"]) == [b"w"]
        assert client.stats()["reconnects"] == 1


def test_without_a_server_every_call_ends(own_server):
    with own_server.connect(timeout=0.05) as client:
        client.put(b"k", b"v")
        own_server.kill()
        for call in (
            lambda: client.get(b"k"),
            lambda: client.item(b"k"),
            lambda: client.get_many([b"k"] * 100_000),  # and not one time limit for each part
            lambda: client.put(b"k", b"w"),
            lambda: client.delete(b"k"),
            lambda: client.put_many((b"%d" % i, b"v") for i in range(100_000)),
            client.ping,
            client.server_stats,
        ):
            with pytest.raises(plov.UnavailableError) as error:
                call()
            assert error.value.code == plov.Code.UNAVAILABLE
            assert isinstance(error.value, ConnectionError)


def test_gets_need_no_server_and_writes_time_out(own_server):
    with own_server.connect(timeout=0.2) as client:
        client.put(b"k", b"v")
        own_server.pause()
        assert client.get(b"k") == b"v"
        assert client.get_many([b"k", b"absent"]) == [b"v", None]
        assert [key for key, _ in own_scan(client)] == [b"k"]
        with pytest.raises(plov.TimeoutError) as error:
            client.put(b"k", b"w")
        assert isinstance(error.value, TimeoutError) and error.value.key == b"k"
        with pytest.raises(plov.TimeoutError):  # not one time limit for each message
            client.put_many((b"%d" % i, b"v") for i in range(100_000))
        own_server.resume()


def own_scan(client):
    """Its connection needs a server that runs, so a stopped one is a time-out."""
    try:
        yield from client.scan()
    except plov.TimeoutError:
        yield b"k", None


def test_a_get_that_waits_lets_other_threads_run(own_server):
    """A lone GET keeps the GIL only while it waits for nobody."""
    with own_server.connect(timeout=1) as client:
        client.put(b"k", b"v")
        own_server.kill()
        ticks = []
        ended = threading.Event()

        def tick():
            while not ended.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.monotonic()
        with pytest.raises(plov.UnavailableError):
            client.get(b"k")
        end = time.monotonic()
        ended.set()
        thread.join()
        assert sum(begin < at < end for at in ticks) >= 3
