"""Types of the module that is made from client/python/*.cc; plov_python(3) describes the calls."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Literal, TypeAlias, final

import numpy
from _typeshed import structseq

from plov.errors import Error

# What has a contiguous buffer, as far as types of Python 3.11 can say it.
_Bytes: TypeAlias = bytes | bytearray | memoryview
_OnlyIf: TypeAlias = Literal["absent", "present"] | int | None
_NumberMode: TypeAlias = Literal["signed", "unsigned_add", "unsigned_subtract"]
_ElementType: TypeAlias = Literal[
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"
]
_Reduction: TypeAlias = Literal["add", "min", "max", "and", "or", "xor"]
_VectorFunction: TypeAlias = Literal["assign"] | _Reduction
_Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

__version__: str

@final
class Until:
    """As a ttl: until this second of the server's clock; 0 is for ever."""

    def __init__(self, expiry: int) -> None: ...

_Ttl: TypeAlias = int | Until | None

@final
class Item(structseq[Any], tuple[bytes, int, int, int]):
    __match_args__: Final = ("value", "version", "flags", "expiry")
    @property
    def value(self) -> bytes: ...
    @property
    def version(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def expiry(self) -> int: ...

class Client:
    """A connection to every shard of one server; belongs to the thread that connected it."""

    # One item.
    def get(self, key: _Bytes, /) -> bytes | None: ...
    def item(self, key: _Bytes) -> Item | None: ...
    def age(self, key: _Bytes) -> float: ...
    def time(self, key: _Bytes) -> tuple[float, float]: ...
    def put(
        self,
        key: _Bytes,
        value: _Bytes,
        *,
        ttl: _Ttl = None,
        flags: int = 0,
        only_if: _OnlyIf = None,
        only_if_value: _Bytes | None = None,
    ) -> int: ...
    def append(
        self,
        key: _Bytes,
        value: _Bytes,
        *,
        create: bool = False,
        ttl: _Ttl = None,
        flags: int = 0,
        only_if: int | None = None,
    ) -> int: ...
    def prepend(
        self,
        key: _Bytes,
        value: _Bytes,
        *,
        create: bool = False,
        ttl: _Ttl = None,
        flags: int = 0,
        only_if: int | None = None,
    ) -> int: ...
    def increment(
        self,
        key: _Bytes,
        delta: int = 1,
        *,
        mode: _NumberMode = "signed",
        initial: int | None = None,
        min: int | None = None,
        max: int | None = None,
        ttl: _Ttl = None,
        flags: int = 0,
        only_if: int | None = None,
    ) -> int: ...
    def touch(self, key: _Bytes, ttl: _Ttl, *, only_if: int | None = None) -> int: ...
    def get_and_touch(self, key: _Bytes, ttl: _Ttl) -> bytes | None: ...
    def delete(self, key: _Bytes, *, only_if: int | None = None) -> bool: ...
    # Vectors.
    def update_vector(
        self,
        key: _Bytes,
        function: _VectorFunction,
        operand: float | Iterable[float],
        *,
        type: _ElementType | None = None,
        first: int = 0,
        count: int | None = None,
        only_if: int | None = None,
    ) -> int: ...
    def reduce_vector(
        self, key: _Bytes, function: _Reduction, *, first: int = 0, count: int | None = None
    ) -> int | float: ...
    def filter_vector(
        self,
        key: _Bytes,
        comparison: _Comparison,
        operand: float | Iterable[float],
        *,
        type: _ElementType | None = None,
        first: int = 0,
        count: int | None = None,
    ) -> list[tuple[int, int | float]]: ...
    # Many.
    def get_many(self, keys: Iterable[_Bytes]) -> list[bytes | None]: ...
    def get_dict(self, keys: Iterable[_Bytes]) -> dict[bytes, bytes]: ...
    def get_many_into(
        self, keys: Iterable[_Bytes], array: numpy.ndarray[Any, Any]
    ) -> numpy.ndarray[Any, numpy.dtype[numpy.bool_]]: ...
    def put_many(
        self,
        items: Mapping[bytes, _Bytes] | Iterable[tuple[_Bytes, _Bytes]],
        *,
        ttl: _Ttl = None,
        flags: int = 0,
        only_if: Literal["absent", "present"] | None = None,
    ) -> list[int]: ...
    def snapshot_of(self, keys: Iterable[_Bytes]) -> list[Item | None]: ...
    def commit(
        self,
        reads: Mapping[bytes, int | None] | Iterable[tuple[_Bytes, int | None]],
        writes: Mapping[bytes, _Bytes | None] | Iterable[tuple[_Bytes, _Bytes | None]],
        *,
        ttl: _Ttl = None,
        flags: int = 0,
    ) -> int: ...
    def scan(self) -> Scan: ...
    # The server.
    def ping(self) -> float: ...
    def flush(self, *, delay: int | None = None) -> int: ...
    def sync(self) -> None: ...
    def snapshot(self) -> list[int]: ...
    def server_stats(self) -> list[dict[str, str]]: ...
    @property
    def shard_count(self) -> int: ...
    # The client.
    def stats(self) -> dict[str, int]: ...
    def adopt(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Client: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    # The asynchronous form, for event loops.
    def start_get(
        self, key: _Bytes, done: Callable[[Item | None, Error | None], object]
    ) -> None: ...
    def start_put(
        self,
        key: _Bytes,
        value: _Bytes,
        done: Callable[[int | None, Error | None], object],
        *,
        ttl: _Ttl = None,
        flags: int = 0,
        only_if: _OnlyIf = None,
        only_if_value: _Bytes | None = None,
    ) -> None: ...
    def start_append(
        self,
        key: _Bytes,
        value: _Bytes,
        done: Callable[[int | None, Error | None], object],
        *,
        create: bool = False,
        ttl: _Ttl = None,
        flags: int = 0,
        only_if: int | None = None,
    ) -> None: ...
    def start_prepend(
        self,
        key: _Bytes,
        value: _Bytes,
        done: Callable[[int | None, Error | None], object],
        *,
        create: bool = False,
        ttl: _Ttl = None,
        flags: int = 0,
        only_if: int | None = None,
    ) -> None: ...
    def start_increment(
        self,
        key: _Bytes,
        delta: int,
        done: Callable[[int | None, Error | None], object],
        *,
        mode: _NumberMode = "signed",
        initial: int | None = None,
        min: int | None = None,
        max: int | None = None,
        ttl: _Ttl = None,
        flags: int = 0,
        only_if: int | None = None,
    ) -> None: ...
    def start_touch(
        self,
        key: _Bytes,
        ttl: _Ttl,
        done: Callable[[int | None, Error | None], object],
        *,
        only_if: int | None = None,
    ) -> None: ...
    def start_update_vector(
        self,
        key: _Bytes,
        function: _VectorFunction,
        operand: float | Iterable[float],
        done: Callable[[int | None, Error | None], object],
        *,
        type: _ElementType | None = None,
        first: int = 0,
        count: int | None = None,
        only_if: int | None = None,
    ) -> None: ...
    def start_delete(
        self,
        key: _Bytes,
        done: Callable[[bool | None, Error | None], object],
        *,
        only_if: int | None = None,
    ) -> None: ...
    def start_flush(
        self, done: Callable[[int | None, Error | None], object], *, delay: int | None = None
    ) -> None: ...
    def poll(self) -> int: ...
    def next_poll(self) -> float: ...
    def fileno(self) -> int: ...

@final
class ScanSummary:
    @property
    def items(self) -> int: ...
    @property
    def unreadable(self) -> int: ...
    @property
    def passes(self) -> int: ...
    @property
    def settled(self) -> bool: ...

@final
class Scan(Iterator[tuple[bytes, Item]]):
    def __next__(self) -> tuple[bytes, Item]: ...
    @property
    def summary(self) -> ScanSummary | None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Scan: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

def connect(
    uri: str = "shm:default",
    *,
    timeout: float = 1.0,
    location_cache_bytes: int = 16777216,
    window: int = 32,
    spin: float = 2e-05,
    read_from: Literal["primary", "any-replica"] = "primary",
    max_age: float = 1.0,
) -> Client: ...
def vector(type: _ElementType, elements: Iterable[float]) -> bytes: ...
def elements(value: _Bytes) -> array[Any] | None: ...
def refuse_other_interpreters() -> None: ...
