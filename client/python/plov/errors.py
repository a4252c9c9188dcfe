"""What plov's calls raise: an Error with the code of the library, of a class for each code."""

import builtins
import enum
from typing import Any


class Code(enum.IntEnum):
    """The codes of plov/error.h."""

    NOT_FOUND = 1
    EXISTS = 2
    VERSION_MISMATCH = 3
    NO_SPACE = 4
    INVALID_ARGUMENT = 5
    TOO_LARGE = 6
    UNAVAILABLE = 7
    TIMEOUT = 8
    UNKNOWN = 9
    CORRUPT = 10
    PERMISSION = 11
    PROTOCOL = 12
    IN_USE = 13
    BUFFER_TOO_SMALL = 14
    SYSTEM = 15
    NOT_A_NUMBER = 17
    OUT_OF_RANGE = 18
    WRONG_TYPE = 19


class Error(Exception):
    """What happened and what to do, in one line, which `code` says in one word.

    `key` is the key that the call, or in a batch the failed item, was for.
    """

    code: Code
    key: bytes | None
    #: Of put_many: for each item in order its version or its Error; what is missing was not sent.
    results: "list[int | Error] | None"

    def __init__(self, message: str, code: int = Code.SYSTEM, key: bytes | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = Code(code)
        self.key = key
        self.results = None

    def __str__(self) -> str:
        if self.key is None:
            return self.message
        quoted = repr(self.key)
        return f"{self.message} (key {quoted if len(quoted) <= 80 else quoted[:77] + '...'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.code, self.key), self.__dict__


class NotFoundError(Error, KeyError):
    """A conditional write of a key that is absent."""


class ExistsError(Error):
    """A put(..., only_if="absent") of a key that is present."""


class VersionMismatchError(Error):
    """A conditional write of a key that has another version or value."""


class NoSpaceError(Error):
    """Memory, or the disk of the log, is full; everything stored stays."""


class InvalidArgumentError(Error, ValueError):
    """A key, value or option that can never be accepted."""


class UsageError(InvalidArgumentError, RuntimeError):
    """A call against the rules: of a closed client, of another thread's, after fork()."""

    def __init__(
        self, message: str, code: int = Code.INVALID_ARGUMENT, key: bytes | None = None
    ) -> None:
        super().__init__(message, code, key)


class TooLargeError(Error, ValueError):
    """A value over the server's --max-value."""


class UnavailableError(Error, ConnectionError):
    """No server within the timeout; nothing was applied."""


class TimeoutError(Error, builtins.TimeoutError):
    """The server lives but did not answer; a write may have been applied, or may be yet."""


class UnknownError(Error, ConnectionError):
    """A write was sent and the server died: it was applied or not."""


class CorruptError(Error):
    """Stored bytes are damaged."""


class PermissionError(Error, builtins.PermissionError):
    """The system or the server does not let this process in, or not write."""


class ProtocolError(Error):
    """The peer speaks another version of the format, or garbage."""


class InUseError(Error):
    """Another server serves this name."""


class SizeError(Error, ValueError):
    """A value has not the size of a row of the array."""


class SystemError(Error, OSError):
    """Memory ran out, or a call of the operating system failed."""


class NotANumberError(Error, ValueError):
    """An increment of a value that is not the text of such a number."""


class OutOfRangeError(Error, OverflowError):
    """An increment beyond its limits, a slice beyond its vector's end; nothing was changed."""


class WrongTypeError(Error, TypeError):
    """A value that is no vector, or one of elements of another type."""


_CLASSES: dict[Code, type[Error]] = {
    Code.NOT_FOUND: NotFoundError,
    Code.EXISTS: ExistsError,
    Code.VERSION_MISMATCH: VersionMismatchError,
    Code.NO_SPACE: NoSpaceError,
    Code.INVALID_ARGUMENT: InvalidArgumentError,
    Code.TOO_LARGE: TooLargeError,
    Code.UNAVAILABLE: UnavailableError,
    Code.TIMEOUT: TimeoutError,
    Code.UNKNOWN: UnknownError,
    Code.CORRUPT: CorruptError,
    Code.PERMISSION: PermissionError,
    Code.PROTOCOL: ProtocolError,
    Code.IN_USE: InUseError,
    Code.BUFFER_TOO_SMALL: SizeError,
    Code.SYSTEM: SystemError,
    Code.NOT_A_NUMBER: NotANumberError,
    Code.OUT_OF_RANGE: OutOfRangeError,
    Code.WRONG_TYPE: WrongTypeError,
}


def exception_of(code: int, message: str, key: bytes | None) -> Error:
    """The exception for an error of the library."""
    return _CLASSES[Code(code)](message, code, None if key is None else bytes(key))
