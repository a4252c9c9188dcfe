"""Calls for many items."""

import sys
import threading
import time

import pytest

import plov

numpy = pytest.importorskip("numpy")

KEYS = [b"key:%d" % i for i in range(10_000)]


def test_many_come_in_the_order_of_their_keys(client):
    client.put_many((key, b"of " + key) for key in KEYS[::2])
    expected = [b"of " + key if i % 2 == 0 else None for i, key in enumerate(KEYS)]
    assert client.get_many(KEYS) == expected
    assert client.get_many(tuple(KEYS)) == expected
    assert client.get_many(key for key in KEYS) == expected
    assert client.get_dict(KEYS) == {key: b"of " + key for key in KEYS[::2]}
    assert client.get_many([]) == [] and client.get_dict([]) == {} and client.put_many([]) == []
    assert client.get_many([KEYS[0]] * 200) == [b"of " + KEYS[0]] * 200


def test_values_of_very_different_sizes(client):
    values = {b"k%d" % i: bytes([i]) * (1 << (i % 21)) for i in range(200)}
    client.put_many(values)
    assert client.get_dict(values) == values


def test_put_many_returns_versions_and_takes_options(client):
    versions = client.put_many({b"a": b"1", b"b": b"2"}, ttl=1000, flags=3)
    assert [client.item(key).version for key in (b"a", b"b")] == versions
    assert client.item(b"a").flags == 3 and client.item(b"a").expiry > 0
    assert client.put_many([(b"a", b"3"), [b"a", b"4"]])[1] == client.item(b"a").version
    assert client.get(b"a") == b"4"


def test_put_many_says_how_each_item_ended(client):
    client.put(b"there", b"old")
    with pytest.raises(plov.ExistsError) as error:
        client.put_many([(b"1", b"x"), (b"there", b"x"), (b"2", b"x")], only_if="absent")
    assert error.value.key == b"there"
    first, failed, last = error.value.results
    assert first == client.item(b"1").version and last == client.item(b"2").version
    assert failed is error.value
    assert client.get(b"there") == b"old"


@pytest.mark.parametrize("wrong", [b"abc", "abc", 1, None, [1], ["text"], [None], [[b"k"]]])
def test_keys_that_are_none(client, wrong):
    for call in (client.get_many, client.get_dict):
        with pytest.raises(TypeError):
            call(wrong)


@pytest.mark.parametrize(
    "wrong",
    [b"ab", "ab", 1, None, [b"ab"], ["ab"], [(b"k",)], [(b"k", b"v", 1)], [(b"k", "v")],
     [("k", b"v")], {b"k": 1}, [1]])
def test_items_that_are_none(client, wrong):
    with pytest.raises(TypeError):
        client.put_many(wrong)


def test_what_an_iterable_raises_comes_out(client):
    def failing(first):
        yield first
        raise LookupError("mine")

    for call in (client.get_many, client.get_dict):
        with pytest.raises(LookupError, match="mine"):
            call(failing(b"k"))
    with pytest.raises(LookupError, match="mine"):
        client.put_many(failing((b"k", b"v")))
    assert client.get(b"k") is None  # nothing of its part was sent


@pytest.mark.parametrize(
    "dtype", ["u1", "f4", "c16", "S8", "M8[s]", ("f4", (16,)), [("x", "i4"), ("y", "f8")]])
def test_arrays_of_every_fixed_size(client, dtype):
    rows = numpy.zeros(300, dtype)
    row_bytes = rows.nbytes // 300
    raw = numpy.random.default_rng(1).integers(0, 256, (300, row_bytes), "u1")
    client.put_many((KEYS[i], raw[i]) for i in range(300) if i % 3)
    found = client.get_many_into(KEYS[:300], rows)
    assert found.dtype == bool and found.tolist() == [i % 3 != 0 for i in range(300)]
    for i in range(300):
        expected = raw[i].tobytes() if i % 3 else bytes(row_bytes)
        assert rows[i : i + 1].tobytes() == expected


def test_rows_of_absent_keys_stay(client):
    rows = numpy.full((5_000, 4), 7, "u1")
    client.put(KEYS[4_321], b"abcd")
    found = client.get_many_into(KEYS[:5_000], rows)
    assert found.nonzero()[0].tolist() == [4_321]
    assert rows[4_321].tobytes() == b"abcd"
    assert (numpy.delete(rows, 4_321, axis=0) == 7).all()
    assert client.get_many_into([], numpy.zeros((0, 4))).tolist() == []


def test_a_value_of_another_size_names_its_key(client):
    client.put_many({b"good": b"1234", b"short": b"123", b"long": b"12345"})
    for key in (b"short", b"long"):
        with pytest.raises(plov.SizeError, match=f"{key.decode()}.*") as error:
            client.get_many_into([b"good", key], numpy.zeros((2, 4), "u1"))
        assert error.value.key == key and isinstance(error.value, ValueError)
        assert "bytes, a row of the array 4" in str(error.value)


def test_arrays_that_cannot_be_filled(client):
    client.put(b"k", bytes(8))
    read_only = numpy.zeros((2, 8), "u1")
    read_only.flags.writeable = False
    for array, why in (
        (read_only, "is read-only"),
        (numpy.zeros((2, 16), "u1")[:, ::2], "is not C-contiguous"),
        (numpy.zeros((2, 8), "u1")[::-1], "is not C-contiguous"),
        (numpy.zeros((2, 8), "u1", order="F"), "is not C-contiguous"),
        (numpy.zeros((3, 8), "u1"), "has not one row for each of the 2 keys"),
        (numpy.zeros((), "u8"), "has not one row for each"),
        (numpy.zeros(2, object), "holds Python objects"),
        (numpy.zeros(2, [("o", object)]), "holds Python objects"),
    ):
        before = array.copy()
        with pytest.raises(ValueError, match=why):
            client.get_many_into([b"k", b"k"], array)
        assert (array == before).all()
    for wrong in (bytearray(8), [0], None, memoryview(bytearray(8))):
        with pytest.raises(TypeError, match="numpy.ndarray"):
            client.get_many_into([b"k"], wrong)


@pytest.fixture
def only_released():
    """Threads get the GIL only when another one gives it up."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1_000)
    yield
    sys.setswitchinterval(interval)


def test_other_threads_run_meanwhile(client, only_released):
    client.put_many((key, b"v" * 32) for key in KEYS)
    rows = numpy.zeros((len(KEYS), 32), "u1")
    counted = 0
    ended = False

    def count():
        nonlocal counted
        while not ended:
            counted += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for call in (
            lambda: client.get_many(KEYS),
            lambda: client.get_dict(KEYS),
            lambda: client.get_many_into(KEYS, rows),
            lambda: client.put_many([(b"k", b"v")]),
        ):
            before, deadline = counted, time.monotonic() + 60
            while counted == before:
                call()
                assert time.monotonic() < deadline
    finally:
        ended = True
        thread.join()


def test_the_list_may_change_while_it_is_read(client):
    """The keys of the call are those that were there when it began."""
    client.put_many((key, key) for key in KEYS)
    keys = list(KEYS)
    ended = threading.Event()

    def shuffle():
        while not ended.is_set():
            keys[:] = [bytes(key) for key in KEYS]
            keys.clear()
            keys.extend(KEYS)

    thread = threading.Thread(target=shuffle)
    thread.start()
    try:
        for _ in range(20):
            assert set(client.get_many(keys)) <= set(KEYS)
    finally:
        ended.set()
        thread.join()
