"""Several keys at one instant: snapshot_of and commit."""

import threading

import pytest

import plov


def test_a_commit_applies_all_of_its_writes(client):
    first = client.put(b"a", b"1")
    version = client.commit({b"a": first, b"b": None}, {b"a": None, b"b": b"2", b"c": b"3"})
    assert version == first + 1
    items = client.snapshot_of([b"a", b"b", bytearray(b"c"), b"none"])
    assert items[0] is None and items[3] is None
    assert items[1][:2] == (b"2", version + 1) and items[2][:2] == (b"3", version + 2)


def test_a_commit_applies_nothing_where_a_read_does_not_stand(client):
    version = client.put(b"a", b"1")
    for reads in ([(b"a", None)], [(b"a", version), (b"b", version)], {b"a": version + 1}):
        with pytest.raises(plov.VersionMismatchError):
            client.commit(reads, [(b"a", b"2"), (b"b", b"2")])
    assert client.snapshot_of([b"a", b"b"]) == [client.item(b"a"), None]
    assert client.get(b"a") == b"1"
    assert client.commit({b"a": version, b"b": None}, {}) == 0


def test_flags_and_lifetime_are_those_of_all_that_is_stored(client):
    client.commit({}, {b"a": b"1", b"b": b"2"}, ttl=1000, flags=7)
    assert all(item.flags == 7 and item.expiry > 0 for item in client.snapshot_of([b"a", b"b"]))


def test_what_is_no_commit_is_refused(client):
    with pytest.raises(plov.InvalidArgumentError):
        client.commit({}, {})
    with pytest.raises(plov.InvalidArgumentError):
        client.commit({}, {b"": b"1"})
    with pytest.raises(plov.TooLargeError):
        client.commit({}, {b"a": b"x" * (16 << 10)})
    for reads, writes in (([b"ab"], {}), ({b"a": "1"}, {}), ({}, [(b"a",)]), ({}, {b"a": 1})):
        with pytest.raises((TypeError, ValueError)):
            client.commit(reads, writes)


def test_no_unit_is_lost_between_accounts(server, client):
    names = [b"account%d" % i for i in range(4)]
    client.commit({}, {name: b"100" for name in names})
    wrong = []

    def transfer(seed):
        with plov.connect(server.uri, timeout=20) as own:
            for i in range(200):
                one, other = names[(seed + i) % 4], names[(seed + i // 4 + 1) % 4]
                while one != other:
                    was = own.snapshot_of([one, other])
                    amounts = [int(item.value) for item in was]
                    try:
                        own.commit({one: was[0].version, other: was[1].version},
                                   {one: b"%d" % (amounts[0] - 1), other: b"%d" % (amounts[1] + 1)})
                        break
                    except plov.VersionMismatchError:
                        pass
                if sum(int(item.value) for item in own.snapshot_of(names)) != 400:
                    wrong.append(i)

    threads = [threading.Thread(target=transfer, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(int(client.get(name)) for name in names) == 400
