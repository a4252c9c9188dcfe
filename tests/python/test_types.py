"""The types: what mypy --strict says of the package, of a program, and of wrong programs."""

import inspect
import pathlib
import subprocess
import sys

import pytest

import plov
import plov.aio

pytest.importorskip("mypy")

PACKAGE = pathlib.Path(plov.__file__).parent
PROGRAM = '''
import array
import asyncio
from typing import Iterator

import numpy

import plov
import plov.aio


def use(client: plov.Client) -> int:
    rows_of = array.array("b", [1])
    value: bytes | None = client.get(b"k")
    age: float = client.age(b"k")
    item: plov.Item | None = client.item(bytearray(b"k"))
    times: tuple[float, float] = client.time(b"k")
    client.touch(b"k", plov.Until(int(times[1])))
    if item is not None:
        value = item.value
        version: int = client.put(b"k", value, ttl=60, flags=1, only_if=item.version)
        return version
    client.put(b"k", b"v", only_if="absent")
    client.put(b"k", b"w", only_if_value=bytearray(b"v"))
    added: int = client.append(b"k", b"v", create=True, ttl=1) + client.prepend(b"k", b"v")
    number: int = client.increment(b"n", -1, mode="signed", initial=added, min=0, max=9)
    touched: int = client.touch(b"k", None, only_if=number)
    value = client.get_and_touch(b"k", touched)
    client.put(b"w", plov.vector("float", [1, 2.5]) + plov.vector("int8", rows_of))
    changed: int = client.update_vector(b"w", "add", 0.5, type="float", count=1, only_if=touched)
    client.update_vector(b"w", "assign", array.array("f", [1]), first=changed)
    total: float = client.reduce_vector(b"w", "max", first=1)
    for index, element in client.filter_vector(b"w", "<=", total):
        print(index + 1, element + 1)
    all_of_it: array.array[float] | None = plov.elements(value or b"")
    print(all_of_it)
    client.start_update_vector(b"w", "or", 1, lambda version, error: print(version), type="int8")
    values: list[bytes | None] = client.get_many([b"k"])
    found: dict[bytes, bytes] = client.get_dict([b"k"] * len(values))
    rows = numpy.zeros((1, 4), "f4")
    there = client.get_many_into(found, rows)
    versions: list[int] = client.put_many({b"k": b"v"}) + client.put_many([(b"k", b"v")])
    removed: bool = client.delete(b"k", only_if=versions[0])
    client.start_get(b"k", lambda item, error: print(item and item.value, error and error.code))
    client.start_increment(b"n", 1, lambda number, error: print((number or 0) + 1, error))
    return int(there.sum()) + removed + client.stats()["gets"]


def keys(client: plov.Client) -> Iterator[bytes]:
    with client.scan() as scan:
        for key, item in scan:
            yield key[: item.flags]
    if scan.summary is not None and scan.summary.settled:
        print(scan.summary.items)


async def main() -> None:
    async with await plov.aio.connect(timeout=0.5) as client:
        value: bytes | None = await client.get(b"k")
        version: int = await client.put(b"k", value or b"")
        number: int = await client.increment(b"n", mode="unsigned_add", initial=0)
        version = await client.update_vector(b"w", "min", [1, 2], type="int8", count=version)
        version = await client.append(b"k", b"v") + await client.touch(b"k", number)
        print(version, await client.get_many([b"k"]))


try:
    with plov.connect("shm:default", read_from="any-replica") as client:
        use(client)
except plov.TimeoutError as error:
    code: plov.Code = error.code
    key: bytes | None = error.key
asyncio.run(main())
'''
WRONG = {
    "client.get('text')": "arg-type",
    "client.get(b'k').decode()": "union-attr",
    "client.put(b'k', 1)": "arg-type",
    "client.put(b'k', b'v', ttl=0.5)": "arg-type",
    "client.put(b'k', b'v', only_if='never')": "arg-type",
    "client.put(b'k', b'v', only_if_value='v')": "arg-type",
    "client.append(b'k', b'v', only_if='absent')": "arg-type",
    "client.increment(b'k', 1.5)": "arg-type",
    "client.increment(b'k', mode='unsigned')": "arg-type",
    "client.touch(b'k')": "call-arg",
    "client.delete(b'k', only_if='absent')": "arg-type",
    "client.get_many_into([b'k'], bytearray(4))": "arg-type",
    "client.update_vector(b'k', 'plus', 1)": "arg-type",
    "client.update_vector(b'k', 'add', 'text')": "arg-type",
    "client.reduce_vector(b'k', 'assign')": "arg-type",
    "client.filter_vector(b'k', '=', 1)": "arg-type",
    "plov.vector('int', [1])": "arg-type",
    "plov.vector('int8', 1)": "arg-type",
    "plov.connect(read_from='replica')": "arg-type",
    "client.no_such_call()": "attr-defined",
}


def mypy(tmp_path, *arguments):
    # The tree of the package is not where packages are installed, so its types are looked at, too.
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir",
         str(tmp_path / "cache"), *arguments],
        cwd=tmp_path, env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=300, check=False)


def test_they_are_right(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    wrong = tmp_path / "wrong.py"
    lines = ["import plov", "", "client = plov.connect()", *WRONG]
    wrong.write_text("\n".join(lines) + "\n")
    checked = mypy(tmp_path, "-p", "plov")
    assert (checked.stdout, checked.returncode) == ("", 0)
    checked = mypy(tmp_path, str(program))
    assert (checked.stdout, checked.returncode) == ("", 0)
    found = mypy(tmp_path, str(wrong)).stdout
    for number, code in enumerate(WRONG.values(), 4):
        assert any(line.startswith(f"wrong.py:{number}: ") and line.endswith(f"[{code}]")
                   for line in found.splitlines()), found


# pybind11's own: the class of the classes, and a constructor that refuses to construct.
ALLOWED = r"plov\._plov\.(Client|Scan|ScanSummary|Until)(\.__init__)?"


def test_the_module_has_what_its_types_say(tmp_path):
    """stubtest compares names and the signatures that a compiled module can tell."""
    allowed = tmp_path / "allowed"
    allowed.write_text(ALLOWED + "\n")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "plov._plov", "--allowlist", str(allowed)],
        cwd=tmp_path, env={"PYTHONPATH": str(PACKAGE.parent), "MYPYPATH": str(PACKAGE.parent),
                           "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=300, check=False)
    assert checked.returncode == 0, checked.stdout


def test_aio_connects_with_the_same_options():
    parameters = inspect.signature(plov.aio.connect).parameters
    for name, parameter in parameters.items():
        shown = repr(parameter.default)
        assert f"{name}: " in plov.connect.__doc__ and f"= {shown}" in plov.connect.__doc__
