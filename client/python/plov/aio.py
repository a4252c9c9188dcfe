"""plov for asyncio: the operations of one turn of the event loop travel together.

    async with await plov.aio.connect("shm:default") as client:
        values = await asyncio.gather(*(client.get(key) for key in keys))

However many are awaited, some hundreds are under way; the others wait, and their timeout begins when
they are started. A client belongs to the thread of its event loop. A cancelled operation goes on, and
nobody is told how it ends: a write that was started may be applied.
"""

import asyncio
import collections
import copy
import functools
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Literal

from plov import _plov
from plov._plov import Item, Until
from plov.errors import UnavailableError

# Between two looks at a descriptor that stays readable with nothing to do, as a dead connection does.
_REST_SECONDS = 0.001
# Operations that are under way; enough for all of them to travel together.
_STARTED_MAX = 512
_STARTED_PER_POLL = 64

_Start = Callable[..., None]
_ElementType = Literal[
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"
]


def _kept(data: bytes) -> bytes:
    """What may be changed while the operation waits."""
    return bytes(data) if isinstance(data, (bytearray, memoryview)) else data


def _kept_operand(operand: Any) -> Any:
    if isinstance(operand, memoryview):
        return memoryview(operand.tobytes()).cast(operand.format)
    may_change = isinstance(operand, (list, bytearray)) or hasattr(operand, "__copy__")
    return copy.copy(operand) if may_change else operand


def _resolve(
    future: "asyncio.Future[Any]", result: object, exception: BaseException | None
) -> None:
    if future.done():
        return
    if exception is None:
        future.set_result(result)
    else:
        future.set_exception(exception)


async def connect(
    uri: str = "shm:default",
    *,
    timeout: float = 1.0,
    location_cache_bytes: int = 16 << 20,
    window: int = 32,
    spin: float = 20e-6,
    read_from: Literal["primary", "any-replica"] = "primary",
    max_age: float = 1.0,
) -> "Client":
    """Connects as plov.connect does, without blocking the event loop."""
    connecting = functools.partial(
        _plov.connect,
        uri,
        timeout=timeout,
        location_cache_bytes=location_cache_bytes,
        window=window,
        spin=spin,
        read_from=read_from,
        max_age=max_age,
    )
    client = await asyncio.get_running_loop().run_in_executor(None, connecting)
    client.adopt()
    return Client(client)


class Client:
    """A plov.Client whose operations are awaited, in the event loop that runs when it is made."""

    def __init__(self, client: _plov.Client) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._soon: asyncio.Handle | None = None  # of the poll after what this turn starts
        self._timer: asyncio.TimerHandle | None = None
        self._watched: int | None = None  # the descriptor
        self._left = 0  # operations that were started and have not ended, as far as is known
        self._waiting: collections.deque[tuple[_Start, asyncio.Future[Any]]] = collections.deque()

    async def get(self, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        item = await self.item(key)
        return None if item is None else item.value

    async def item(self, key: bytes) -> Item | None:
        """Value, version, flags and expiry of a key, or None."""
        start = functools.partial(self._client.start_get, _kept(key))
        item: Item | None = await self._start(start)
        return item

    async def get_many(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """The values of many keys, None where there is none."""
        started = [
            self._start(functools.partial(self._client.start_get, _kept(key))) for key in keys
        ]
        items: list[Item | None] = await asyncio.gather(*started)
        return [None if item is None else item.value for item in items]

    async def put(
        self,
        key: bytes,
        value: bytes,
        *,
        ttl: int | Until | None = None,
        flags: int = 0,
        only_if: str | int | None = None,
        only_if_value: bytes | None = None,
    ) -> int:
        """Stores a value and returns its version."""
        return await self._write(
            self._client.start_put,
            _kept(key),
            _kept(value),
            ttl=ttl,
            flags=flags,
            only_if=only_if,
            only_if_value=None if only_if_value is None else _kept(only_if_value),
        )

    async def append(
        self,
        key: bytes,
        value: bytes,
        *,
        create: bool = False,
        ttl: int | Until | None = None,
        flags: int = 0,
        only_if: int | None = None,
    ) -> int:
        """Adds to the end of a value; the new one's version."""
        return await self._write(
            self._client.start_append,
            _kept(key),
            _kept(value),
            create=create,
            ttl=ttl,
            flags=flags,
            only_if=only_if,
        )

    async def prepend(
        self,
        key: bytes,
        value: bytes,
        *,
        create: bool = False,
        ttl: int | Until | None = None,
        flags: int = 0,
        only_if: int | None = None,
    ) -> int:
        """Adds to the beginning of a value; the new one's version."""
        return await self._write(
            self._client.start_prepend,
            _kept(key),
            _kept(value),
            create=create,
            ttl=ttl,
            flags=flags,
            only_if=only_if,
        )

    async def increment(
        self,
        key: bytes,
        delta: int = 1,
        *,
        mode: Literal["signed", "unsigned_add", "unsigned_subtract"] = "signed",
        initial: int | None = None,
        min: int | None = None,
        max: int | None = None,
        ttl: int | Until | None = None,
        flags: int = 0,
        only_if: int | None = None,
    ) -> int:
        """Adds to the number that the value is the text of; the new number."""
        return await self._write(
            self._client.start_increment,
            _kept(key),
            delta,
            mode=mode,
            initial=initial,
            min=min,
            max=max,
            ttl=ttl,
            flags=flags,
            only_if=only_if,
        )

    async def touch(self, key: bytes, ttl: int | Until | None, *, only_if: int | None = None) -> int:
        """Gives an item another lifetime; its new version."""
        return await self._write(self._client.start_touch, _kept(key), ttl, only_if=only_if)

    async def update_vector(
        self,
        key: bytes,
        function: Literal["assign", "add", "min", "max", "and", "or", "xor"],
        operand: float | Iterable[float],
        *,
        type: _ElementType | None = None,
        first: int = 0,
        count: int | None = None,
        only_if: int | None = None,
    ) -> int:
        """Changes elements of a vector; its new version. Numbers need their type."""
        return await self._write(
            self._client.start_update_vector,
            _kept(key),
            function,
            _kept_operand(operand),
            type=type,
            first=first,
            count=count,
            only_if=only_if,
        )

    async def delete(self, key: bytes, *, only_if: int | None = None) -> bool:
        """Removes a key; whether it was there."""
        start = functools.partial(self._client.start_delete, _kept(key), only_if=only_if)
        removed: bool = await self._start(start)
        return removed

    async def flush(self, *, delay: int | None = None) -> int:
        """Deletes every item, now or `delay` seconds from now on; how many."""
        return await self._write(self._client.start_flush, delay=delay)

    def close(self) -> None:
        """Ends what is under way with UnavailableError, or UnknownError where a write was sent."""
        if self._soon is not None:
            self._soon.cancel()
        self._wait_no_more()
        self._client.close()
        while self._waiting:
            _resolve(self._waiting.popleft()[1], None, UnavailableError("the client was closed"))

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def _write(self, start: _Start, *arguments: object, **options: object) -> int:
        """What a write ends with: the version, or the number."""
        result: int = await self._start(functools.partial(start, *arguments, **options))
        return result

    def _start(self, start: _Start) -> "asyncio.Future[Any]":
        future: asyncio.Future[Any] = self._loop.create_future()
        if self._left >= _STARTED_MAX and len(self._waiting) % _STARTED_PER_POLL == 0:
            self._poll()  # the loop may first begin many thousands, and time goes on meanwhile
        if self._left >= _STARTED_MAX or self._waiting:
            self._waiting.append((start, future))
        else:
            self._begin(start, future)
        return future

    def _begin(self, start: _Start, future: "asyncio.Future[Any]") -> None:
        if self._soon is None:
            self._soon = self._loop.call_soon(self._poll_soon)
        start(done=functools.partial(_resolve, future))
        self._left += 1

    def _begin_waiting(self) -> None:
        while self._waiting and self._left < _STARTED_MAX:
            start, future = self._waiting.popleft()
            if future.done():  # cancelled
                continue
            try:
                self._begin(start, future)
            except Exception as exception:
                _resolve(future, None, exception)

    def _poll_soon(self) -> None:
        self._soon = None
        if self._left > 0:  # else nothing could be started
            self._poll()

    def _poll(self) -> int:
        """Returns how many operations had not ended then, before others were started."""
        left = self._left = self._client.poll()
        self._begin_waiting()
        if self._left == 0:
            self._wait_no_more()
            return left
        if self._watched is None:
            self._watched = self._client.fileno()
            self._loop.add_reader(self._watched, self._readable)
        self._poll_in(self._client.next_poll())
        return left

    def _readable(self) -> None:
        before = self._left
        left = self._poll()
        if 0 < before <= left:
            self._wait_no_more()
            self._poll_in(min(self._client.next_poll(), _REST_SECONDS))

    def _poll_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._poll)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._watched is not None:
            self._loop.remove_reader(self._watched)
            self._watched = None
