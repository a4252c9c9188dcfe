"""asyncio."""

import array
import asyncio
import gc
import threading
import weakref

import pytest

import plov
import plov.aio
from conftest import eventually


def run(body):
    """asyncio.run, in which what a callback of the loop raises is an error, too."""
    failures = []

    async def main():
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: failures.append(context))
        return await asyncio.wait_for(body(), 60)

    result = asyncio.run(main())
    assert failures == []
    return result


def test_every_call(server, client):
    async def body():
        async with await plov.aio.connect(server.uri) as client:
            assert await client.get(b"k") is None
            version = await client.put(b"k", b"v", ttl=1000, flags=3)
            assert await client.get(b"k") == b"v"
            item = await client.item(b"k")
            assert (item.version, item.flags) == (version, 3)
            assert await client.get_many([b"k", b"absent"]) == [b"v", None]
            with pytest.raises(plov.ExistsError):
                await client.put(b"k", b"w", only_if="absent")
            with pytest.raises(plov.VersionMismatchError):
                await client.delete(b"k", only_if=version + 1)
            await client.put(b"k", b"w", only_if_value=b"v")
            with pytest.raises(plov.VersionMismatchError):
                await client.put(b"k", b"x", only_if_value=bytearray(b"v"))
            await client.append(b"k", b">")
            version = await client.prepend(bytearray(b"k"), memoryview(b"<"))
            assert await client.get(b"k") == b"<w>"
            assert await client.touch(b"k", 1000, only_if=version) > version
            assert (await client.item(b"k")).expiry > 0
            await client.touch(b"k", None)
            assert (await client.item(b"k")).expiry == 0
            assert await client.delete(b"k") is True
            await client.put(b"k", b"v")
            assert await client.flush(delay=1000) == 0
            assert await client.flush() == 1
            await client.append(b"k", b"v", create=True, flags=3)
            assert (await client.item(b"k")).flags == 3
            with pytest.raises(plov.NotANumberError):
                await client.increment(b"k")
            assert await client.delete(b"k") is True
            assert await client.delete(b"k") is False
            assert await client.increment(b"n", 2, initial=40, max=42) == 42
            with pytest.raises(plov.OutOfRangeError):
                await client.increment(b"n", max=42)
            assert await client.increment(b"u", mode="unsigned_add", initial=(1 << 64) - 2) == (
                (1 << 64) - 1)
            with pytest.raises(ValueError):
                await client.increment(b"n", 1 << 63)
            with pytest.raises(plov.NotFoundError):
                await client.touch(b"absent", 1)
            await client.put(b"w", plov.vector("int16", [1, 2]))
            each = array.array("h", [10, 20])
            version = await client.update_vector(b"w", "add", each)
            assert await client.update_vector(
                b"w", "add", 1, type="int16", first=1, only_if=version) > version
            assert plov.elements(await client.get(b"w")) == array.array("h", [11, 23])
            with pytest.raises(plov.WrongTypeError):
                await client.update_vector(b"w", "add", [1, 2], type="float")
            with pytest.raises(TypeError):
                await client.update_vector(b"w", "add", 1)
            with pytest.raises(plov.InvalidArgumentError):
                await client.get(b"")
            with pytest.raises(TypeError):
                await client.get("text")

    run(body)


def test_a_thousand_gets_at_once(server, client):
    items = {b"key:%d" % i: b"%d" % i for i in range(1_000)}
    client.put_many(items)

    async def body():
        async with await plov.aio.connect(server.uri) as client:
            values = await asyncio.gather(*(client.get(key) for key in items))
            assert values == list(items.values())
            assert await client.get_many(items) == list(items.values())
            await asyncio.gather(*(client.put(key, b"new") for key in items))
            values = await asyncio.gather(*(client.get(key) for key in items))
            assert values == [b"new"] * len(items)
            numbers = await asyncio.gather(*(client.increment(b"n", initial=0) for _ in items))
            assert numbers == list(range(1, len(items) + 1))

    run(body)


def test_more_than_can_be_under_way(server, client):
    """Their timeout begins when they are started, and what they were given is kept."""
    items = {b"key:%d" % i: b"%d" % i for i in range(20_000)}
    client.put_many(items)

    async def body():
        async with await plov.aio.connect(server.uri, timeout=1) as client:
            values = await asyncio.gather(*(client.get(key) for key in items))
            assert values == list(items.values())
            value = bytearray(b"first")
            puts = [asyncio.ensure_future(client.put(key, value)) for key in items]
            await asyncio.sleep(0)
            value[:] = b"other"
            await asyncio.gather(*puts)
            assert set(await client.get_many(items)) == {b"first"}
            results = await asyncio.gather(
                *(client.get(key) for key in items), client.get("text"), return_exceptions=True)
            assert isinstance(results[-1], TypeError)
            left = [asyncio.ensure_future(client.get(key)) for key in items]
            await asyncio.sleep(0)
            left[-1].cancel()
        results = await asyncio.gather(*left, return_exceptions=True)
        assert {type(result) for result in results} <= {
            bytes, plov.UnavailableError, asyncio.CancelledError}
        assert isinstance(results[-2], plov.UnavailableError)

    run(body)


def test_operands_of_updates_that_wait_are_kept(own_server):
    each = array.array("i", [1, 2])
    numbers = [1, 2]

    async def body():
        async with await plov.aio.connect(own_server.uri, timeout=60) as client:
            await client.put(b"w", plov.vector("int32", [0, 0]))
            own_server.pause()
            updates = [
                asyncio.ensure_future(client.update_vector(b"w", "add", operand, type="int32"))
                for _ in range(500) for operand in (each, memoryview(each), numbers)]
            await asyncio.sleep(0)
            each[0] = numbers[0] = 100
            own_server.resume()
            await asyncio.gather(*updates)
            assert list(plov.elements(await client.get(b"w"))) == [1500, 3000]

    run(body)


def test_large_values(server, client):
    async def body():
        async with await plov.aio.connect(server.uri) as client:
            value = bytearray(b"v" * (1 << 20))
            put = asyncio.ensure_future(client.put(b"large", value))
            await asyncio.sleep(0)
            value[:] = b"w" * len(value)  # what was started has its own
            await put
            assert await client.get(b"large") == b"v" * (1 << 20)

    run(body)


def test_cancelled_operations(server, client):
    client.put(b"k", b"v")

    async def body():
        async with await plov.aio.connect(server.uri) as client:
            tasks = [asyncio.ensure_future(client.get(b"k")) for _ in range(1_000)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(result, asyncio.CancelledError) for result in results[::2])
            assert results[1::2] == [b"v"] * 500
            assert await client.get(b"k") == b"v"

    run(body)


def test_an_operation_outlives_its_cancellation(own_server):
    async def body():
        async with await plov.aio.connect(own_server.uri, timeout=20) as client:
            own_server.pause()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.put(b"k", b"v"), 0.05)
            own_server.resume()
            # Operations of one key take effect in their order.
            assert await client.get(b"k") == b"v"

    run(body)


def test_time_outs_end_operations_and_the_loop_sleeps(own_server, monkeypatch):
    """While it waits for a server that is stopped, or dead, it does not poll all the time."""
    polls = 0
    poll = plov.aio.Client._poll

    def count(self):
        nonlocal polls
        polls += 1
        return poll(self)

    monkeypatch.setattr(plov.aio.Client, "_poll", count)

    async def body():
        async with await plov.aio.connect(own_server.uri, timeout=1) as client:
            await client.put(b"k", b"v")
            own_server.pause()
            assert await client.get(b"k") == b"v"
            with pytest.raises(plov.TimeoutError):
                await client.put(b"k", b"v")
            own_server.kill()
            with pytest.raises(plov.UnavailableError):
                await client.get(b"k")
            assert polls < 5_000  # in three seconds; without rests there are ten times as many
            own_server.start()
            assert await client.get(b"k") is None

    run(body)


def test_closing_ends_what_is_under_way(own_server):
    async def body():
        client = await plov.aio.connect(own_server.uri, timeout=60)
        own_server.pause()
        put = asyncio.ensure_future(client.put(b"k", b"v"))
        await asyncio.sleep(0.05)
        client.close()
        with pytest.raises(plov.UnknownError):
            await put
        with pytest.raises(plov.UsageError):
            await client.get(b"k")
        client.close()
        own_server.resume()

    run(body)


def test_closing_in_the_turn_of_a_start(server):
    async def body():
        client = await plov.aio.connect(server.uri)
        get = asyncio.ensure_future(client.get(b"k"))
        await asyncio.sleep(0)
        client.close()
        with pytest.raises(plov.UnavailableError):
            await get

    run(body)


def test_an_idle_client_is_collected(server, client):
    async def body():
        other = await plov.aio.connect(server.uri)
        await other.put(b"k", b"v")
        await asyncio.gather(*(other.get(b"k") for _ in range(100)))
        there = weakref.ref(other)
        del other
        gc.collect()
        assert there() is None

    run(body)
    eventually(lambda: client.server_stats()[0]["clients"] == "1")


def test_a_loop_that_ends_with_operations_under_way(own_server):
    async def body():
        client = await plov.aio.connect(own_server.uri, timeout=60)
        own_server.pause()
        asyncio.ensure_future(client.put(b"k", b"v"))
        await asyncio.sleep(0.01)

    asyncio.run(body())
    gc.collect()
    own_server.resume()
    with own_server.connect() as client:
        eventually(lambda: client.server_stats()[0]["clients"] == "1")


def test_loops_of_many_threads(server):
    errors = []

    def work(i):
        async def body():
            async with await plov.aio.connect(server.uri) as client:
                keys = [b"%d:%d" % (i, j) for j in range(100)]
                await asyncio.gather(*(client.put(key, key) for key in keys))
                assert await client.get_many(keys) == keys

        try:
            asyncio.run(body())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
