"""Writes that make their value of the one that is there."""

import time

import pytest

import plov
from conftest import eventually

SIGNED_MAX = (1 << 63) - 1
SIGNED_MIN = -(1 << 63)
UNSIGNED_MAX = (1 << 64) - 1


def is_about(expiry, seconds_from_now):
    return abs(expiry - time.time() - seconds_from_now) < 60


def test_append_and_prepend_add_to_the_value_that_is_there(client):
    for call in (client.append, client.prepend):
        with pytest.raises(plov.NotFoundError) as error:
            call(b"k", b"v")
        assert error.value.key == b"k"
    client.put(b"k", b"b", flags=7, ttl=1000)
    version = client.append(b"k", bytearray(b"c"))
    last = client.prepend(memoryview(b"k"), b"a", only_if=version)
    item = client.item(b"k")
    assert item[:3] == (b"abc", last, 7) and last > version
    assert is_about(item.expiry, 1000)
    for call in (client.append, client.prepend):
        with pytest.raises(plov.VersionMismatchError):
            call(b"k", b"d", only_if=version)
    assert client.get(b"k") == b"abc"


def test_append_may_create(client):
    for call in (client.append, client.prepend):
        version = call(b"k", b"b", create=True, flags=7, ttl=1000)
        assert client.item(b"k")[:3] == (b"b", version, 7)
        call(b"k", b"", create=True, flags=8)  # they count for what is created
        item = client.item(b"k")
        assert (item.value, item.flags) == (b"b", 7) and is_about(item.expiry, 1000)
        client.delete(b"k")
        with pytest.raises(plov.NotFoundError):
            call(b"k", b"b", create=True, only_if=version)


def test_what_is_appended_has_a_limit(client):
    client.put(b"k", bytes(1 << 20))
    client.append(b"k", bytes(16 << 10))
    assert client.get(b"k") == bytes((1 << 20) + (16 << 10))
    for call in (client.append, client.prepend):
        with pytest.raises(plov.TooLargeError):
            call(b"k", bytes((16 << 10) + 1))
    client.put(b"k", bytes(16 << 20))
    with pytest.raises(plov.TooLargeError):
        client.append(b"k", b"1")


def test_put_over_a_value(client):
    with pytest.raises(plov.NotFoundError):
        client.put(b"k", b"1", only_if_value=b"")
    first = client.put(b"k", b"1", flags=7, ttl=1000)
    for wrong in (b"", b"2", b"11"):
        with pytest.raises(plov.VersionMismatchError):
            client.put(b"k", b"2", only_if_value=wrong)
    second = client.put(b"k", b"2", only_if_value=bytearray(b"1"))
    assert client.item(b"k") == (b"2", second, 0, 0)
    with pytest.raises(plov.VersionMismatchError):
        client.put(b"k", b"3", only_if=first, only_if_value=b"2")
    with pytest.raises(plov.VersionMismatchError):
        client.put(b"k", b"3", only_if=second, only_if_value=b"1")
    client.put(b"k", b"", only_if=second, only_if_value=b"2", flags=9)
    assert client.item(b"k").flags == 9
    client.put(b"k", b"4", only_if_value=b"")
    with pytest.raises(plov.TooLargeError):
        client.put(b"k", bytes(10_000), only_if_value=bytes(10_000))
    for word in ("absent", "present"):
        with pytest.raises(ValueError, match="beside only_if_value"):
            client.put(b"k", b"5", only_if=word, only_if_value=b"4")
    for wrong in ("4", 4, True, [b"4"]):
        with pytest.raises(TypeError, match="only_if_value is bytes"):
            client.put(b"k", b"5", only_if_value=wrong)
    assert client.get(b"k") == b"4"


def test_increment(client):
    with pytest.raises(plov.NotFoundError) as error:
        client.increment(b"n")
    assert error.value.key == b"n"
    client.put(b"n", b"10", flags=7, ttl=1000)
    assert client.increment(b"n") == 11
    assert client.increment(b"n", 31) == 42
    assert client.increment(b"n", delta=-50) == -8
    item = client.item(b"n")
    assert (item.value, item.flags) == (b"-8", 7) and is_about(item.expiry, 1000)
    assert client.increment(b"n", only_if=item.version) == -7
    with pytest.raises(plov.VersionMismatchError):
        client.increment(b"n", only_if=item.version)
    assert type(client.increment(b"n", 0)) is int


def test_increment_may_create(client):
    assert client.increment(b"n", 5, initial=100, flags=7, ttl=1000) == 105
    assert client.increment(b"n", 5, initial=100, flags=8) == 110
    item = client.item(b"n")
    assert (item.value, item.flags) == (b"110", 7) and is_about(item.expiry, 1000)
    assert client.increment(b"zero", initial=0) == 1


@pytest.mark.parametrize("value", [b"", b"x", b"1x", b"1.5", b" 1", b"9223372036854775808"])
def test_what_is_no_number_is_not_incremented(client, value):
    client.put(b"n", value)
    with pytest.raises(plov.NotANumberError) as error:
        client.increment(b"n")
    assert error.value.code == plov.Code.NOT_A_NUMBER
    assert client.get(b"n") == value


def test_increment_has_limits(client):
    assert client.increment(b"n", 5, initial=5, min=0, max=10) == 10
    for delta in (1, -11):
        with pytest.raises(plov.OutOfRangeError) as error:
            client.increment(b"n", delta, min=0, max=10)
        assert error.value.code == plov.Code.OUT_OF_RANGE
    with pytest.raises(plov.OutOfRangeError):
        client.increment(b"absent", initial=10, max=10)
    assert client.get(b"absent") is None
    assert client.increment(b"n", -10, min=0) == 0
    assert client.increment(b"n", SIGNED_MAX, max=SIGNED_MAX) == SIGNED_MAX
    with pytest.raises(plov.OutOfRangeError):
        client.increment(b"n")
    assert client.increment(b"n", SIGNED_MIN, min=SIGNED_MIN) == -1


def test_unsigned_numbers_count_as_memcacheds_do(client):
    assert client.increment(b"n", mode="unsigned_add", initial=UNSIGNED_MAX - 1) == UNSIGNED_MAX
    assert client.get(b"n") == b"%d" % UNSIGNED_MAX
    assert client.increment(b"n", 0, mode="unsigned_subtract") == UNSIGNED_MAX
    assert client.increment(b"n", 3, mode="unsigned_add") == 2
    assert client.increment(b"n", 1, mode="unsigned_subtract") == 1
    assert client.increment(b"n", UNSIGNED_MAX, mode="unsigned_subtract") == 0


def test_numbers_are_in_their_range(client):
    client.put(b"n", b"0")
    for name in ("delta", "initial", "min", "max"):
        for wrong in (SIGNED_MAX + 1, SIGNED_MIN - 1, 1 << 80):
            with pytest.raises(ValueError, match=f"{name} is -2\\*\\*63 to 2\\*\\*63-1"):
                client.increment(b"n", **{name: wrong})
        for wrong in (1.0, "1", True, b"1"):
            with pytest.raises(TypeError, match=f"{name} is an integer"):
                client.increment(b"n", **{name: wrong})
    with pytest.raises(TypeError, match="delta is an integer"):
        client.increment(b"n", None)
    for mode in ("unsigned_add", "unsigned_subtract"):
        for name in ("delta", "initial"):
            for wrong in (-1, UNSIGNED_MAX + 1):
                with pytest.raises(ValueError, match=f"{name} is 0 to 2\\*\\*64-1"):
                    client.increment(b"n", mode=mode, **{name: wrong})
        for name in ("min", "max"):
            with pytest.raises(ValueError, match='mode="signed"'):
                client.increment(b"n", mode=mode, **{name: 1})
    for wrong in ("", "unsigned", "Signed"):
        with pytest.raises(ValueError, match="mode is"):
            client.increment(b"n", mode=wrong)
    with pytest.raises(TypeError):
        client.increment(b"n", mode=None)
    assert client.get(b"n") == b"0"


def test_touch(client):
    with pytest.raises(plov.NotFoundError):
        client.touch(b"k", 1000)
    first = client.put(b"k", b"v", flags=7)
    second = client.touch(b"k", 1000)
    item = client.item(b"k")
    assert item[:3] == (b"v", second, 7) and second > first
    assert is_about(item.expiry, 1000)
    with pytest.raises(plov.VersionMismatchError):
        client.touch(b"k", None, only_if=first)
    client.touch(b"k", None, only_if=second)
    assert client.item(b"k").expiry == 0
    client.touch(b"k", 1 << 80)  # to February 2106
    assert client.item(b"k").expiry == (1 << 32) - 1
    client.touch(b"k", 1)
    eventually(lambda: client.get(b"k") is None)


@pytest.mark.parametrize("size", [0, 10, 5_000, 2_000_000])
def test_get_and_touch(client, size):
    assert client.get_and_touch(b"k", 1000) is None
    value = bytes(range(256)) * (size // 256) + bytes(size % 256)
    version = client.put(b"k", value, flags=7)
    assert client.get_and_touch(b"k", 1000) == value
    item = client.item(b"k")
    assert (item.value, item.flags) == (value, 7) and item.version > version
    assert is_about(item.expiry, 1000)
    assert client.get_and_touch(bytearray(b"k"), None) == value
    assert client.item(b"k").expiry == 0


def test_flush(client):
    for key in (b"a", b"b"):
        client.put(key, b"v")
    assert client.flush(delay=1000) == 0
    assert client.get(b"a") == b"v"
    assert client.flush() == 2
    assert client.get(b"a") is None
    client.put(b"a", b"v")
    client.flush(delay=1)
    eventually(lambda: client.get(b"a") is None)
    told = []
    client.put(b"a", b"v")
    client.start_flush(lambda deleted, error: told.append((deleted, error)))
    eventually(lambda: client.poll() == 0)
    assert told == [(1, None)]
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="delay is 1 second or more"):
            client.flush(delay=wrong)
    with pytest.raises(TypeError, match="delay is whole seconds or None"):
        client.flush(delay=0.5)
    with pytest.raises(TypeError):
        client.flush(1)


def test_wrong_arguments_change_nothing(client):
    client.put(b"k", b"v")
    for call in (
        lambda **options: client.append(b"k", b"v", **options),
        lambda **options: client.prepend(b"k", b"v", **options),
        lambda **options: client.increment(b"k", **options),
    ):
        for options in ({"ttl": 0}, {"ttl": -1}, {"only_if": 0}, {"only_if": 1 << 64}):
            with pytest.raises(ValueError):
                call(**options)
        for options in ({"ttl": 1.5}, {"only_if": "absent"}, {"only_if": True}, {"flags": -1},
                        {"unknown": 1}):
            with pytest.raises(TypeError):
                call(**options)
    for call in (client.touch, client.get_and_touch):
        for wrong in (0, -1):
            with pytest.raises(ValueError, match="None is for ever"):
                call(b"k", wrong)
        for wrong in (0.5, "1", True):
            with pytest.raises(TypeError, match="whole seconds"):
                call(b"k", wrong)
        with pytest.raises(TypeError):
            call(b"k")
    for wrong in ("text", 1, None):
        for call in (client.increment, lambda key: client.touch(key, 1),
                     lambda key: client.get_and_touch(key, 1), lambda key: client.append(key, b"")):
            with pytest.raises(TypeError, match="a key is bytes"):
                call(wrong)
        for call in (client.append, client.prepend):
            with pytest.raises(TypeError, match="a value is bytes"):
                call(b"k", wrong)
    assert client.get(b"k") == b"v" and client.item(b"k").expiry == 0


def test_started_ones_are_told_how_they_ended(client):
    told = []

    def done(result, error):
        assert (result is None) != (error is None)
        told.append(result if error is None else type(error))

    expected = bytearray(b"x")
    client.start_increment(b"n", 1, done)
    client.start_increment(b"n", 2, done, initial=40, max=42)
    client.start_increment(b"n", 1, done, max=42)
    client.start_append(b"n", b"0", done)
    client.start_prepend(b"n", b"-", done)
    client.start_increment(b"n", -80, done)
    client.start_increment(b"n", 1, done, mode="unsigned_add")
    client.start_put(b"n", b"x", done, only_if_value=b"-500")
    client.start_put(b"n", b"y", done, only_if_value=expected)
    expected[:] = b"z"  # what was started has its own
    client.start_touch(b"n", 1000, done)
    client.start_touch(b"n", 1000, done, only_if=999_999_999)
    client.start_prepend(b"p", b"v", done, create=True, flags=7)
    client.start_increment(b"u", 1, done, mode="unsigned_add", initial=UNSIGNED_MAX - 1)
    eventually(lambda: client.poll() == 0)
    item = client.item(b"n")
    last = client.item(b"p").version
    # Those of one key end in their order.
    u = told.pop(told.index(UNSIGNED_MAX))
    told.remove(last)
    assert told[:3] == [plov.NotFoundError, 42, plov.OutOfRangeError]
    assert told[5:7] == [-500, plov.NotANumberError]
    assert told[-1] is plov.VersionMismatchError
    versions = [told[i] for i in (3, 4, 7, 8, 9)]
    assert versions == sorted(versions) and versions[-1] == item.version
    assert item.value == b"y" and is_about(item.expiry, 1000)
    assert client.item(b"p").flags == 7 and client.get(b"u") == b"%d" % u


def test_increments_of_many_clients_all_count(server, client):
    others = [server.connect() for _ in range(4)]
    numbers = []
    for _ in range(100):
        for other in others:
            other.start_increment(b"n", 1, lambda number, error: numbers.append(number), initial=0)
    while any([other.poll() for other in others]):
        pass
    assert sorted(numbers) == list(range(1, 401))
    assert client.get(b"n") == b"400"
    for other in others:
        other.close()
