"""The exceptions."""

import builtins
import pickle
import re

import pytest

import plov


def test_every_code_of_the_library_has_a_class_of_its_own(pytestconfig):
    header = (pytestconfig.rootpath / "verify/error.h").read_text()
    codes = {
        re.sub(r"\B(?=[A-Z])", "_", name).upper(): int(number)
        for name, number in re.findall(r"^  k(\w+) =\s+(\d+),", header, re.MULTILINE)
    }
    assert codes.pop("OK") == 0
    codes.pop("NO_SHARD")  # libplov returns none
    assert codes == {code.name: code.value for code in plov.Code}
    classes = {type(plov.errors.exception_of(code, "m", None)) for code in plov.Code}
    assert len(classes) == len(plov.Code)
    assert all(issubclass(each, plov.Error) and each is not plov.Error for each in classes)


def test_they_are_what_python_would_catch():
    assert issubclass(plov.TimeoutError, builtins.TimeoutError)
    assert issubclass(plov.UnavailableError, ConnectionError)
    assert issubclass(plov.UnknownError, ConnectionError)
    assert issubclass(plov.NotFoundError, KeyError)
    assert issubclass(plov.NotANumberError, ValueError)
    assert issubclass(plov.OutOfRangeError, OverflowError)
    assert issubclass(plov.WrongTypeError, TypeError)
    assert issubclass(plov.PermissionError, builtins.PermissionError)
    assert issubclass(plov.UsageError, RuntimeError)


@pytest.mark.parametrize("code", list(plov.Code))
def test_they_say_what_happened_and_survive_a_pickle(code):
    error = plov.errors.exception_of(code, "what happened", b"k\xff")
    assert str(error) == r"what happened (key b'k\xff')"
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (copy.code, copy.key, str(copy)) == (code, b"k\xff", str(error))
    assert str(plov.errors.exception_of(code, "what happened", None)) == "what happened"


def test_a_long_key_is_cut():
    assert len(str(plov.Error("what happened", plov.Code.SYSTEM, b"k" * 1024))) < 120
