"""plov: a key-value store whose clients read the server's memory themselves.

    import plov

    with plov.connect("shm:default") as client:
        client.put(b"user:1", b"Ada")
        print(client.get(b"user:1"))

plov_python(3) has the rest; plov.aio is for asyncio.
"""

from plov import _plov
from plov._plov import (
    Client,
    Item,
    Scan,
    ScanSummary,
    Until,
    __version__,
    connect,
    elements,
    vector,
)
from plov.errors import (
    Code,
    CorruptError,
    Error,
    ExistsError,
    InUseError,
    InvalidArgumentError,
    NoSpaceError,
    NotANumberError,
    NotFoundError,
    OutOfRangeError,
    PermissionError,
    ProtocolError,
    SizeError,
    SystemError,
    TimeoutError,
    TooLargeError,
    UnavailableError,
    UnknownError,
    UsageError,
    VersionMismatchError,
    WrongTypeError,
)

_plov.refuse_other_interpreters()

__all__ = [
    "Client",
    "Code",
    "CorruptError",
    "Error",
    "ExistsError",
    "InUseError",
    "InvalidArgumentError",
    "Item",
    "NoSpaceError",
    "NotANumberError",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionError",
    "ProtocolError",
    "Scan",
    "ScanSummary",
    "SizeError",
    "SystemError",
    "TimeoutError",
    "TooLargeError",
    "UnavailableError",
    "UnknownError",
    "Until",
    "UsageError",
    "VersionMismatchError",
    "WrongTypeError",
    "__version__",
    "connect",
    "elements",
    "vector",
]
