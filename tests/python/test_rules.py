"""One client per thread, closed clients, fork(), interpreters, and the collector of cycles."""

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref

import pytest

import plov
from conftest import eventually


def calls_of(client):
    """Every call that needs the client."""
    return [
        lambda: client.get(b"k"),
        lambda: client.item(b"k"),
        lambda: client.age(b"k"),
        lambda: client.put(b"k", b"v"),
        lambda: client.append(b"k", b"v"),
        lambda: client.prepend(b"k", b"v"),
        lambda: client.increment(b"k"),
        lambda: client.touch(b"k", 1),
        lambda: client.get_and_touch(b"k", 1),
        lambda: client.delete(b"k"),
        lambda: client.get_many([b"k"]),
        lambda: client.get_dict([b"k"]),
        lambda: client.put_many({b"k": b"v"}),
        lambda: client.update_vector(b"k", "add", 1),
        lambda: client.update_vector(b"k", "add", 1, type="int8"),
        lambda: client.reduce_vector(b"k", "add"),
        lambda: client.filter_vector(b"k", "<", 1, type="int8"),
        lambda: client.start_update_vector(b"k", "add", 1, print, type="int8"),
        lambda: client.start_get(b"k", print),
        lambda: client.start_put(b"k", b"v", print),
        lambda: client.start_append(b"k", b"v", print),
        lambda: client.start_prepend(b"k", b"v", print),
        lambda: client.start_increment(b"k", 1, print),
        lambda: client.start_touch(b"k", 1, print),
        lambda: client.start_delete(b"k", print),
        client.poll,
        client.next_poll,
        client.fileno,
        client.scan,
        client.ping,
        client.sync,
        client.snapshot,
        client.stats,
        client.server_stats,
        lambda: client.shard_count,
    ]


def in_a_thread(body):
    """Runs `body` in another thread; what it raises is raised here."""
    raised = []

    def run():
        try:
            body()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for error in raised:
        raise error


def test_a_closed_client_refuses_every_call(server):
    with server.connect() as client:
        client.put(b"k", b"v")
    client.close()
    for call in [*calls_of(client), client.adopt]:
        with pytest.raises(plov.UsageError, match="this Client is closed") as error:
            call()
        assert error.value.code == plov.Code.INVALID_ARGUMENT


def test_an_exception_closes_the_client_and_goes_on(server):
    with pytest.raises(LookupError), server.connect() as client:
        raise LookupError
    with pytest.raises(plov.UsageError):
        client.get(b"k")


def test_another_thread_is_refused_every_call(client):
    client.put(b"k", b"v")

    def elsewhere():
        for call in calls_of(client):
            with pytest.raises(plov.UsageError, match="one Client per thread"):
                call()

    in_a_thread(elsewhere)
    assert client.get(b"k") == b"v"


def test_a_client_may_be_taken_over(client):
    def elsewhere():
        client.adopt()
        client.put(b"k", b"v")

    in_a_thread(elsewhere)
    with pytest.raises(plov.UsageError, match="adopt"):
        client.get(b"k")
    client.adopt()
    assert client.get(b"k") == b"v"


def test_a_client_in_a_call_cannot_be_taken_over_or_closed(own_server):
    client = own_server.connect(timeout=60)
    client.put(b"k", b"v")
    own_server.pause()

    def elsewhere():
        client.adopt()
        client.put(b"k", b"w")

    def why():
        with pytest.raises(plov.UsageError) as error:
            client.stats()
        return str(error.value)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    eventually(lambda: client_is_elsewhere(client) and "in another call" in why())
    for call in (client.close, client.adopt):
        with pytest.raises(plov.UsageError, match="in another call"):
            call()
    own_server.resume()
    thread.join()
    client.adopt()
    assert client.get(b"k") == b"w"


def client_is_elsewhere(client):
    try:
        client.stats()
    except plov.UsageError:
        return True
    return False


def test_clients_of_many_threads(server):
    def work(i):
        with server.connect() as client:
            for j in range(200):
                key = b"%d:%d" % (i, j)
                client.put(key, key)
                assert client.get(key) == key
            keys = [b"%d:%d" % (i, j) for j in range(200)]
            assert client.get_many(keys) == keys

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with server.connect() as client:
        assert client.get(b"7:199") == b"7:199"


def test_a_child_cannot_use_the_parents_client(server, client):
    client.put(b"of the parent", b"p")
    scan = client.scan()
    ended = []
    client.start_get(b"of the parent", lambda *outcome: ended.append(outcome))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for call in [*calls_of(client), client.adopt, lambda: next(scan)]:
                with pytest.raises(plov.UsageError, match="before fork"):
                    call()
            client.close()
            scan.close()
            del scan
            with server.connect() as own:
                own.put(b"of the child", b"c")
                status = 0 if own.get(b"of the parent") == b"p" and ended == [] else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.get(b"of the child") == b"c"
    assert b"of the parent" in dict(scan)
    eventually(lambda: client.poll() == 0)
    assert ended[0][0].value == b"p"


def _connect_and_get(uri):
    with plov.connect(uri) as client:
        return client.get(b"k")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_a_pool_connect_for_themselves(server, client, method):
    client.put(b"k", b"v")
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_connect_and_get, [server.uri] * 4) == [b"v"] * 4
    assert client.get(b"k") == b"v"


def test_callbacks_are_told_when_the_client_closes(own_server):
    client = own_server.connect()
    client.put(b"k", b"v")
    own_server.pause()
    told = []
    client.start_put(b"k", b"w", lambda *outcome: told.append(outcome))
    client.poll()
    client.close()
    ((version, error),) = told
    assert version is None and isinstance(error, plov.UnknownError) and error.key == b"k"
    own_server.resume()


def test_a_callback_may_use_the_client(client):
    client.put(b"a", b"1")
    seen = []

    def done(item, error):
        seen.append((item.value, client.get(b"a"), error))
        if len(seen) < 3:
            client.start_get(b"a", done)

    client.start_get(b"a", done)
    eventually(lambda: client.poll() == 0)
    assert seen == [(b"1", b"1", None)] * 3


def test_a_callback_may_close_the_client(client):
    told = []

    def done(item, error):
        told.append(error)
        client.close()

    for _ in range(10):
        client.start_get(b"a", done)
    client.poll()
    assert len(told) == 10
    with pytest.raises(plov.UsageError):
        client.poll()


def test_what_a_callback_raises_leaves_poll_after_all_were_called(client):
    told = []

    def done(item, error):
        told.append(item)
        raise LookupError(len(told))

    for _ in range(3):
        client.start_get(b"a", done)
    with pytest.raises(LookupError, match="1"):
        eventually(lambda: client.poll() == 0)
    assert told == [None] * 3
    assert client.poll() == 0


def test_wrong_arguments_start_nothing(client):
    for call in (
        lambda: client.start_get("text", print),
        lambda: client.start_get(b"k", None),
        lambda: client.start_get(b"k"),
        lambda: client.start_put(b"k", "text", print),
        lambda: client.start_put(b"k", b"v", print, ttl="1"),
        lambda: client.start_put(b"k", b"v", print, only_if_value="text"),
        lambda: client.start_append(b"k", "text", print),
        lambda: client.start_prepend(b"k", b"v", None),
        lambda: client.start_increment(b"k", 1.5, print),
        lambda: client.start_increment(b"k", 1, None),
        lambda: client.start_touch(b"k", "1", print),
        lambda: client.start_touch(b"k", 1, None),
        lambda: client.start_delete(b"k", print, only_if="absent"),
        lambda: client.start_update_vector(b"k", "add", 1, print),
        lambda: client.start_update_vector(b"k", "add", "1", print, type="int8"),
        lambda: client.start_update_vector(b"k", "add", 1, None, type="int8"),
    ):
        with pytest.raises(TypeError):
            call()
    assert client.poll() == 0 and client.next_poll() > 0


def test_a_client_that_its_callback_refers_to_is_collected(own_server):
    class Waiter:
        def __init__(self):
            self.client = own_server.connect()
            self.told = []
            self.client.start_put(b"k", b"v", self.done)
            self.client.poll()

        def done(self, version, error):
            self.told.append(error)

    with own_server.connect() as client:
        own_server.pause()
        waiter = weakref.ref(Waiter.__new__(Waiter))
        own_server.resume()
        waiter = Waiter()
        there = weakref.ref(waiter)
        del waiter
        gc.collect()
        assert there() is None
        eventually(lambda: client.server_stats()[0]["clients"] == "1")


def test_clients_and_scans_are_not_copied(client):
    scan = client.scan()
    for one in (client, scan):
        for call in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="not to be copied or pickled"):
                call(one)


@pytest.mark.parametrize("kind", [plov.Client, plov.Scan, plov.ScanSummary])
def test_there_are_none_but_what_plov_makes(kind):
    class Derived(kind):
        pass

    for new in (
        kind,
        Derived,
        lambda: kind.__new__(kind),
        lambda: Derived.__new__(Derived),
        lambda: object.__new__(kind),
        lambda: kind.__base__.__new__(kind),
    ):
        with pytest.raises(TypeError):
            new()


def test_a_client_ends_with_its_last_reference(server, client):
    other = server.connect()
    eventually(lambda: client.server_stats()[0]["clients"] == "2")
    del other
    eventually(lambda: client.server_stats()[0]["clients"] == "1")


def test_a_program_may_end_with_everything_open(server):
    program = """
import sys, plov
client = plov.connect(sys.argv[1])
client.put_many({b"%d" % i: bytes(50_000) for i in range(100)})
scan = client.scan()
next(scan)
client.start_get(b"1", print)
"""
    ended = subprocess.run([sys.executable, "-c", program, server.uri], capture_output=True,
                           text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("first", ["import plov", ""])
def test_other_interpreters_are_refused(first):
    program = f"""
{first}
import _xxsubinterpreters as interpreters
other = interpreters.create()
try:
    interpreters.run_string(other, "import plov")
except interpreters.RunFailedError as error:
    print(error)
interpreters.destroy(other)
import plov
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                           timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "plov works in the main interpreter only" in ended.stdout


def test_ctrl_c_ends_long_batches(server, client):
    """KeyboardInterrupt leaves the call long before it has gone through its keys."""
    keys = [b"k"] * 3_000_000

    def endless():
        i = 0
        while True:
            yield b"%d" % (i % 1000), b"v"
            i += 1

    for call in (lambda: client.get_many(keys), lambda: client.put_many(endless())):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                call()
        timer.join()
        assert client.get(b"nobody") is None
