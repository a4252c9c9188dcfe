"""Vectors: their values, and update, reduce and filter where they are."""

import array
import math

import pytest

import plov
from conftest import eventually

CODES = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H",
         "uint32": "I", "uint64": "Q", "float": "f", "double": "d"}
INTEGERS = [kind for kind in CODES if "int" in kind]


def range_of(kind):
    bits = 8 * array.array(CODES[kind]).itemsize
    return (0, (1 << bits) - 1) if kind[0] == "u" else (-1 << (bits - 1), (1 << (bits - 1)) - 1)


@pytest.mark.parametrize("kind", CODES)
def test_a_value_has_the_elements_that_it_was_made_of(kind):
    own = array.array(CODES[kind], [1, 2, 3])
    for elements in ([1, 2, 3], (1, 2, 3), iter([1, 2, 3]), own, memoryview(own)):
        value = plov.vector(kind, elements)
        assert value[:4] == b"plv\xfe" and value[4] == list(CODES).index(kind) + 1
        assert value[8:] == own.tobytes()
        got = plov.elements(value)
        assert (got, got.typecode) == (own, CODES[kind])
    assert plov.elements(plov.vector(kind, [])) == array.array(CODES[kind])


def test_what_is_no_vector_has_no_elements():
    value = plov.vector("int16", [1])
    for other in (b"", b"text", value[:-1], b"x" + value[1:], value[:4] + b"\0" + value[5:]):
        assert plov.elements(other) is None
    assert list(plov.elements(bytearray(value))) == [1]
    with pytest.raises(TypeError):
        plov.elements("text")


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_out_of_range_are_never_wrapped(client, kind):
    least, greatest = range_of(kind)
    value = plov.vector(kind, [least, greatest])
    assert list(plov.elements(value)) == [least, greatest]
    client.put(b"v", value)
    for wrong in (least - 1, greatest + 1, 1 << 70, -1 << 70):
        for call in (lambda: plov.vector(kind, [wrong]),
                     lambda: client.update_vector(b"v", "add", wrong, type=kind),
                     lambda: client.update_vector(b"v", "add", [0, wrong]),
                     lambda: client.filter_vector(b"v", "<", wrong)):
            with pytest.raises(OverflowError, match=kind):
                call()
    for wrong in (1.5, 1.0, "1", None, b"1"):
        with pytest.raises(TypeError):
            plov.vector(kind, [wrong])
    assert client.get(b"v") == value


def test_floats_are_the_nearest_ones():
    assert plov.elements(plov.vector("float", [0.1]))[0] == array.array("f", [0.1])[0]
    assert list(plov.elements(plov.vector("float", [math.inf, -math.inf]))) == [math.inf, -math.inf]
    assert math.isnan(plov.elements(plov.vector("double", [math.nan]))[0])
    for kind, wrong in (("float", 1e39), ("float", -1e39), ("double", 1 << 2000)):
        with pytest.raises(OverflowError):
            plov.vector(kind, [wrong])
    with pytest.raises(TypeError):
        plov.vector("float", ["1"])


def test_a_buffer_of_another_type_is_refused(client):
    for elements in (array.array("h", [1]), b"12", memoryview(b"1234").cast("?")):
        with pytest.raises(TypeError):
            plov.vector("int32", elements)
    with pytest.raises(BufferError):
        plov.vector("int8", memoryview(array.array("b", [1, 2, 3]))[::2])
    client.put(b"v", plov.vector("int32", [1]))
    with pytest.raises(TypeError, match="int16, not int32"):
        client.update_vector(b"v", "add", array.array("h", [1]), type="int32")
    with pytest.raises(plov.WrongTypeError):
        client.update_vector(b"v", "add", array.array("h", [1]))
    # Its size tells what it is, not the platform's name.
    longs = array.array("l", [7])
    assert list(plov.elements(plov.vector(f"int{8 * longs.itemsize}", longs))) == [7]


def test_numpy(client):
    numpy = pytest.importorskip("numpy")
    client.put(b"v", plov.vector("float", numpy.arange(4, dtype="<f4")))
    client.update_vector(b"v", "add", numpy.full(4, 0.5, "f4"))
    client.update_vector(b"v", "max", numpy.float64(1.5))
    client.update_vector(b"v", "min", numpy.int32(3))
    found = numpy.array(plov.elements(client.get(b"v")))
    assert found.dtype == "f4" and found.tolist() == [1.5, 1.5, 2.5, 3]
    with pytest.raises(TypeError):
        plov.vector("float", numpy.zeros(2, ">f4"))
    with pytest.raises(ValueError):
        plov.vector("float", numpy.zeros(4, "f4")[::2])


def test_update_changes_elements(client):
    with pytest.raises(plov.NotFoundError) as error:
        client.update_vector(b"v", "add", 1)
    assert error.value.key == b"v"
    client.put(b"v", plov.vector("int8", [1, 2, 3, 4]), flags=7)
    changes = [("add", 10, {}, [11, 12, 13, 14]), ("assign", 0, {"first": 3}, [11, 12, 13, 0]),
               ("min", 12, {"first": 1, "count": 2}, [11, 12, 12, 0]),
               ("max", [1, 2, 30, 4], {}, [11, 12, 30, 4]),
               ("xor", array.array("b", [1, 1]), {"first": 2}, [11, 12, 31, 5]),
               ("and", 3, {"type": "int8"}, [3, 0, 3, 1]), ("or", (4, 8), {"first": 0, "count": 2},
                                                          [7, 8, 3, 1])]
    for function, operand, options, then in changes:
        version = client.update_vector(b"v", function, operand, **options)
        assert list(plov.elements(client.get(b"v"))) == then
    item = client.item(b"v")
    assert item[1:3] == (version, 7)
    with pytest.raises(plov.VersionMismatchError):
        client.update_vector(b"v", "add", 1, only_if=version - 1)
    assert client.update_vector(bytearray(b"v"), "add", 1, only_if=version) > version
    client.append(b"v", bytes([5]))
    assert list(plov.elements(client.get(b"v"))) == [8, 9, 4, 2, 5]


def test_reduce_says_what_a_function_makes_of_elements(client):
    client.put(b"i", plov.vector("int32", [-7, 1, 2]))
    client.put(b"u", plov.vector("uint64", [(1 << 64) - 1, 6]))
    client.put(b"f", plov.vector("float", [0.5, 0.25]))
    assert client.reduce_vector(b"i", "add") == -4
    assert client.reduce_vector(b"i", "max", first=0, count=2) == 1
    assert client.reduce_vector(b"i", "min", first=1) == 1
    assert client.reduce_vector(b"i", "add", count=0) == 0
    assert client.reduce_vector(b"u", "max") == (1 << 64) - 1
    assert client.reduce_vector(b"u", "and") == 6
    total = client.reduce_vector(b"f", "add")
    assert isinstance(total, float) and total == 0.75
    assert isinstance(client.reduce_vector(b"i", "xor"), int)


def test_filter_finds_elements_and_where_they_are(client):
    client.put(b"v", plov.vector("int16", [5, -1, 7, -1]))
    for comparison, found in (("==", [(1, -1), (3, -1)]), ("!=", [(0, 5), (2, 7)]), ("<", []),
                              ("<=", [(1, -1), (3, -1)]), (">", [(0, 5), (2, 7)]),
                              (">=", [(0, 5), (1, -1), (2, 7), (3, -1)])):
        assert client.filter_vector(b"v", comparison, -1) == found
        assert client.filter_vector(b"v", comparison, array.array("h", [-1])) == found
    assert client.filter_vector(b"v", ">", -1, type="int16", first=1, count=2) == [(2, 7)]
    client.put(b"f", plov.vector("float", [0.5, math.nan]))
    assert client.filter_vector(b"f", "<", 1) == [(0, 0.5)]
    client.put(b"many", plov.vector("uint32", range(100_000)))
    assert client.filter_vector(b"many", ">=", 10) == [(i, i) for i in range(10, 100_000)]


def test_the_type_costs_a_message_where_it_is_asked_for(client):
    def messages(call):
        before = int(client.server_stats()[0]["requests"])
        call()
        return int(client.server_stats()[0]["requests"]) - before

    if "requests" not in client.server_stats()[0]:
        pytest.skip("the server does not count requests")
    client.put(b"v", plov.vector("int8", [1]))
    known = messages(lambda: client.filter_vector(b"v", "<", 1, type="int8"))
    assert messages(lambda: client.filter_vector(b"v", "<", 1)) == known + 1
    assert messages(lambda: client.filter_vector(b"v", "<", array.array("b", [1]))) == known


def test_what_does_not_fit_is_refused(client):
    client.put(b"text", b"text")
    client.put(b"v", plov.vector("float", [1, 2]))
    for call in (lambda: client.update_vector(b"text", "add", 1),
                 lambda: client.update_vector(b"text", "add", 1, type="int8"),
                 lambda: client.update_vector(b"v", "add", 1, type="int8"),
                 lambda: client.reduce_vector(b"text", "add"),
                 lambda: client.reduce_vector(b"v", "and"),
                 lambda: client.filter_vector(b"v", "<", 1, type="double")):
        with pytest.raises(plov.WrongTypeError) as error:
            call()
        assert isinstance(error.value, TypeError) and error.value.key in (b"text", b"v")
    for call in (lambda: client.update_vector(b"v", "add", 1, first=1, count=2),
                 lambda: client.reduce_vector(b"v", "add", first=3),
                 lambda: client.filter_vector(b"v", "<", 1, first=0, count=3)):
        with pytest.raises(plov.OutOfRangeError):
            call()
    for call in (lambda: client.update_vector(b"v", "xor", 1),
                 lambda: client.update_vector(b"v", "add", []),
                 lambda: client.update_vector(b"v", "add", [1, 2], count=1),
                 lambda: client.reduce_vector(b"v", "assign"),
                 lambda: client.filter_vector(b"v", "<", [1, 2]),
                 lambda: client.update_vector(b"", "add", 1)):
        with pytest.raises(plov.InvalidArgumentError):
            call()
    for call in (lambda: client.update_vector(b"v", "plus", 1),
                 lambda: client.reduce_vector(b"v", ""),
                 lambda: client.filter_vector(b"v", "=", 1),
                 lambda: client.update_vector(b"v", "add", 1, type="int"),
                 lambda: plov.vector("int", [1])):
        with pytest.raises(ValueError, match="is one of"):
            call()
    for call in (lambda: client.update_vector("v", "add", 1),
                 lambda: client.update_vector(b"v", 1, 1),
                 lambda: client.update_vector(b"v", "add", None),
                 lambda: client.update_vector(b"v", "add", "1"),
                 lambda: client.update_vector(b"v", "add", 1, type=1),
                 lambda: client.update_vector(b"v", "add", 1, first=-1),
                 lambda: client.update_vector(b"v", "add", 1, count=-1),
                 lambda: client.update_vector(b"v", "add", 1, only_if="absent"),
                 lambda: plov.vector("int8", 1)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(plov.TooLargeError):
        client.update_vector(b"v", "add", array.array("f", bytes(4 * 5000)))
    assert list(plov.elements(client.get(b"v"))) == [1, 2]


def test_started_updates_are_told_how_they_ended(client):
    told = []

    def done(version, error):
        told.append(version if error is None else type(error))

    client.put(b"v", plov.vector("int8", [1, 2]))
    each = array.array("b", [10, 20])
    client.start_update_vector(b"v", "add", each, done)
    each[0] = 99  # what was started has its own
    client.start_update_vector(b"v", "add", 1, done, type="int8", first=1, count=1)
    client.start_update_vector(b"v", "add", [1, 2], done, type="int16")
    client.start_update_vector(b"v", "add", 1, done, type="int8", first=3)
    client.start_update_vector(b"v", "xor", 1, done, type="float")
    with pytest.raises(TypeError, match="need a type"):
        client.start_update_vector(b"v", "add", 1, done)
    with pytest.raises(OverflowError):
        client.start_update_vector(b"v", "add", 128, done, type="int8")
    eventually(lambda: client.poll() == 0)
    told.remove(plov.InvalidArgumentError)
    assert told[1] == client.item(b"v").version > told[0]
    assert told[2:] == [plov.WrongTypeError, plov.OutOfRangeError]
    assert list(plov.elements(client.get(b"v"))) == [11, 23]
