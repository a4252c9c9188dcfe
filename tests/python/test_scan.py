"""The iterator over all items."""

import gc
import threading

import pytest

import plov


def fill(client, count, size=10):
    items = {b"key:%d" % i: b"%d" % i * size for i in range(count)}
    client.put_many(items, flags=5)
    return items


def test_it_visits_every_item(client):
    items = fill(client, 5_000)
    scan = client.scan()
    assert iter(scan) is scan
    assert scan.summary is None
    seen = {key: item.value for key, item in scan}
    assert seen == items
    assert scan.summary.settled and scan.summary.items >= 5_000
    assert scan.summary.unreadable == 0 and scan.summary.passes >= 1
    assert next(scan, None) is None and next(scan, None) is None


def test_items_have_all_their_parts(client):
    version = client.put(b"k", b"v", ttl=1000, flags=5)
    ((key, item),) = client.scan()
    assert (key, item) == (b"k", client.item(b"k"))
    assert item.version == version


def test_the_client_goes_on_meanwhile(client):
    items = fill(client, 2_000)
    for key, item in client.scan():
        assert client.get(key) == item.value
        client.put(b"another", b"value")
    for key, _ in client.scan():
        client.delete(key)
    assert client.get_many(items) == [None] * len(items)


def test_it_does_not_run_far_ahead(client):
    fill(client, 200, size=1 << 16)  # 60 MiB or so
    scan = client.scan()
    next(scan)
    # What it holds by now was READ before this; of what it has not READ it tells the new values.
    client.put_many((b"key:%d" % i, b"new") for i in range(200))
    old = sum(item.value != b"new" for _, item in scan)
    assert old < 50


def test_it_may_be_left_early(client):
    fill(client, 200, size=1 << 14)
    before = threading.active_count()
    for i in range(20):
        scan = client.scan()
        next(scan)
        if i % 3 == 0:
            scan.close()
            scan.close()
        elif i % 3 == 1:
            with pytest.raises(LookupError), scan:
                raise LookupError
        del scan
    gc.collect()
    assert threading.active_count() == before
    assert int(client.server_stats()[0]["clients"]) <= 3  # of them, those not yet noticed


def test_a_closed_scan_ends(client):
    fill(client, 100)
    with client.scan() as scan:
        next(scan)
    assert len(list(scan)) <= 99
    assert scan.summary is None


def test_an_exception_leaves_the_loop(client):
    fill(client, 100)
    with pytest.raises(ZeroDivisionError):
        for _ in client.scan():
            1 / 0
    assert client.get(b"key:1") is not None


def test_it_needs_a_client_that_works(server):
    client = server.connect()
    client.close()
    with pytest.raises(plov.UsageError, match="closed"):
        client.scan()


def take_by_threads(scan):
    seen, failures = [], []

    def take():
        while True:
            try:
                seen.append(next(scan)[0])
            except plov.UsageError as error:
                assert "one thread at a time" in str(error)
            except StopIteration:
                return
            except BaseException as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return sorted(seen)


def test_threads_that_share_it_are_told(client):
    """One at a time may wait; each item comes once, whoever gets it."""
    items = fill(client, 2_000, size=1_000)
    assert take_by_threads(client.scan()) == sorted(items)


def test_threads_that_share_it_all_see_its_end(client):
    items = fill(client, 1)
    for _ in range(100):
        assert take_by_threads(client.scan()) == sorted(items)


def test_it_ends_when_its_server_does(own_server):
    with own_server.connect(timeout=0.5) as client:
        fill(client, 300, size=1 << 14)
        scan = client.scan()
        next(scan)
        own_server.kill()
        with pytest.raises(plov.Error):
            list(scan)
        assert next(scan, None) is None
        with pytest.raises(plov.UnavailableError):
            client.scan()
