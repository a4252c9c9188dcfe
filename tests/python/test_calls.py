"""Calls for one item."""

import time

import pytest

import plov


def test_a_value_comes_back_with_its_version(client):
    assert client.get(b"user:1") is None
    assert client.item(b"user:1") is None
    version = client.put(b"user:1", b"Ada", flags=7)
    assert client.get(b"user:1") == b"Ada"
    item = client.item(b"user:1")
    assert item == (b"Ada", version, 7, 0)
    assert (item.value, item.version, item.flags, item.expiry) == item
    assert client.put(b"user:1", b"Ada L.") > version
    assert client.delete(b"user:1") is True
    assert client.delete(b"user:1") is False
    assert client.get(b"user:1") is None


@pytest.mark.parametrize("size", [0, 1, 100, 5_000, 100_000, 16 << 20])
def test_values_of_every_size(client, size):
    value = bytes(range(256)) * (size // 256) + bytes(size % 256)
    client.put(b"k", value)
    assert client.get(b"k") == value
    assert client.get_many([b"k", b"k"]) == [value, value]


def test_a_value_that_is_too_large(client):
    with pytest.raises(plov.TooLargeError) as error:
        client.put(b"k", bytes((16 << 20) + 1))
    assert error.value.code == plov.Code.TOO_LARGE
    assert isinstance(error.value, ValueError)


def test_keys_are_any_1_to_1024_bytes(client):
    for key in (b"\0", b"\0\xff\n ", b"k" * 1024):
        client.put(key, b"v" + key)
        assert client.get(key) == b"v" + key
    for key in (b"", b"k" * 1025):
        for call in (
            lambda: client.get(key),
            lambda: client.item(key),
            lambda: client.age(key),
            lambda: client.put(key, b""),
            lambda: client.append(key, b""),
            lambda: client.prepend(key, b""),
            lambda: client.increment(key),
            lambda: client.touch(key, 1),
            lambda: client.get_and_touch(key, 1),
            lambda: client.delete(key),
            lambda: client.get_many([b"good", key]),
            lambda: client.get_dict([key]),
            lambda: client.put_many({key: b""}),
        ):
            with pytest.raises(plov.InvalidArgumentError, match="keys are 1 to 1024 bytes") as error:
                call()
            assert error.value.key == key


def test_whatever_has_a_buffer_is_bytes(client):
    for key in (bytearray(b"key"), memoryview(b"key"), memoryview(b"xkeyx")[1:4]):
        for value in (bytearray(b"value"), memoryview(b"value")):
            client.put(key, value)
            assert client.get(key) == b"value"
            assert client.item(key).value == b"value"
            assert client.get_many([key]) == [b"value"]
            assert client.get_dict([key]) == {b"key": b"value"}
            assert client.delete(key)
            client.put_many([(key, value)])
            assert client.get(key) == b"value"


def test_a_buffer_is_released(client):
    key, value = bytearray(b"key"), bytearray(b"value")
    client.put(key, value)
    client.get(key)
    client.put_many({bytes(key): value})
    with pytest.raises(plov.InvalidArgumentError):
        client.put(bytearray(), value)
    key.append(1)  # BufferError while somebody holds it
    value.append(1)


def test_what_has_no_contiguous_bytes_is_refused(client):
    for wrong in ("text", 1, 1.5, None, [b"k"], object()):
        for call in (client.get, client.item, client.age, client.delete):
            with pytest.raises(TypeError):
                call(wrong)
        with pytest.raises(TypeError, match="a key is bytes"):
            client.put(wrong, b"")
        with pytest.raises(TypeError, match="a value is bytes"):
            client.put(b"k", wrong)
    with pytest.raises(TypeError, match="not str: encode it"):
        client.get("text")
    with pytest.raises(BufferError):
        client.get(memoryview(b"abcd")[::2])
    with pytest.raises(BufferError):
        client.put(b"k", memoryview(b"abcd")[::2])
    assert client.get(b"k") is None


def test_arguments_are_counted(client):
    for call in (
        lambda: client.get(),
        lambda: client.get(b"a", b"b"),
        lambda: client.put(b"a"),
        lambda: client.put(b"a", b"b", 1),
        lambda: client.put(b"a", b"b", unknown=1),
        lambda: plov.Client.get(1, b"a"),
        plov.Client,
    ):
        with pytest.raises(TypeError):
            call()


def test_writes_on_a_condition(client):
    with pytest.raises(plov.NotFoundError) as error:
        client.put(b"k", b"1", only_if="present")
    assert isinstance(error.value, KeyError)
    first = client.put(b"k", b"1", only_if="absent")
    with pytest.raises(plov.ExistsError):
        client.put(b"k", b"2", only_if="absent")
    second = client.put(b"k", b"2", only_if="present")
    with pytest.raises(plov.VersionMismatchError):
        client.put(b"k", b"3", only_if=first)
    third = client.put(b"k", b"3", only_if=second)
    with pytest.raises(plov.VersionMismatchError):
        client.delete(b"k", only_if=second)
    assert client.delete(b"k", only_if=third)
    with pytest.raises(plov.NotFoundError):
        client.put(b"k", b"4", only_if=third)
    for wrong in ("never", 0, -1, 1 << 64):
        with pytest.raises(ValueError):
            client.put(b"k", b"5", only_if=wrong)
    for wrong in (1.5, True, b"absent"):
        with pytest.raises(TypeError):
            client.put(b"k", b"5", only_if=wrong)
    with pytest.raises(TypeError):
        client.delete(b"k", only_if="present")
    assert client.get(b"k") is None


def test_items_expire(client):
    begin = time.time()
    client.put(b"short", b"v", ttl=1)
    client.put(b"long", b"v", ttl=1_000_000)
    client.put(b"ever", b"v", ttl=1 << 80)  # to February 2106
    assert begin + 999_000 < client.item(b"long").expiry < begin + 1_001_000
    assert client.item(b"ever").expiry == (1 << 32) - 1
    deadline = time.monotonic() + 60
    while client.get(b"short") is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    earliest, latest = client.time(b"k")
    assert begin - 1 < earliest <= latest < begin + 1000
    moment = int(latest) + 1000
    client.put(b"k", b"v", ttl=plov.Until(moment))
    assert client.item(b"k").expiry == moment
    client.touch(b"k", plov.Until(moment + 7))
    assert client.item(b"k").expiry == moment + 7
    client.put(b"k", b"v", ttl=plov.Until(1))
    assert client.get(b"k") is None and repr(plov.Until(1)) == "plov.Until(1)"
    with pytest.raises(TypeError):
        plov.Until(-1)
    for wrong in (0, -1, -(1 << 80)):
        with pytest.raises(ValueError, match="None is for ever"):
            client.put(b"k", b"v", ttl=wrong)
    for wrong in (0.5, 1.0, "1", True):
        with pytest.raises(TypeError, match="whole seconds"):
            client.put(b"k", b"v", ttl=wrong)


def test_flags_are_32_bits(client):
    client.put(b"k", b"v", flags=(1 << 32) - 1)
    assert client.item(b"k").flags == (1 << 32) - 1
    for wrong in (-1, 1 << 32, "1"):
        with pytest.raises(TypeError):
            client.put(b"k", b"v", flags=wrong)


def test_client_and_server_are_asked(client):
    client.put(b"k", b"v")
    client.get(b"k")
    stats = client.stats()
    assert stats["gets"] >= 1 and stats["hits"] >= 1 and stats["corrupt"] == 0
    (shard,) = client.server_stats()
    assert int(shard["items"]) >= 1  # others may have expired
    assert client.shard_count == 1
    assert 0 < client.ping() < 60
    for call in (client.sync, client.snapshot):  # this server has no log
        with pytest.raises(plov.InvalidArgumentError, match="log"):
            call()


@pytest.mark.parametrize("read_from", ["primary", "any-replica"])
def test_a_server_of_its_own_has_the_newest(server, read_from):
    with server.connect(read_from=read_from, max_age=1e-6) as client:
        client.put(b"k", b"v")
        assert client.get(b"k") == b"v"
        assert client.age(b"k") == 0.0


def test_options_out_of_their_range(server):
    for option in ({"timeout": 0}, {"timeout": -1}, {"timeout": float("nan")},
                   {"timeout": float("inf")}, {"window": 0}, {"window": 65}, {"spin": -1},
                   {"max_age": 0}, {"max_age": -1}, {"max_age": float("nan")}):
        with pytest.raises(plov.InvalidArgumentError, match="must be"):
            server.connect(**option)
    for option in ({"timeout": "1"}, {"window": 1.5}, {"window": -1}, {"unknown": 1},
                   {"read_from": 1}, {"max_age": None}):
        with pytest.raises(TypeError):
            server.connect(**option)
    for word in ("", "replica"):
        with pytest.raises(ValueError, match='"primary" or "any-replica"'):
            server.connect(read_from=word)
    with pytest.raises(plov.InvalidArgumentError):
        plov.connect("nonsense")
    with pytest.raises(plov.UnavailableError) as error:
        plov.connect(server.uri + ".nobody", timeout=0.1)
    assert isinstance(error.value, ConnectionError)
