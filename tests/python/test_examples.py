"""The examples, run as a user would."""

import pathlib
import re
import subprocess
import sys

import pytest


def run(pytestconfig, name, *arguments):
    example = pytestconfig.rootpath / "client/python/examples" / name
    return subprocess.run([sys.executable, str(example), *arguments], capture_output=True,
                          text=True, timeout=60, check=False)


def test_read_through(pytestconfig, server, client):
    for queries in (6, 4):  # the second finds what the first has left
        ran = run(pytestconfig, "read_through.py", server.uri)
        assert ran.stderr == ""
        assert ran.stdout.splitlines()[-1] == f"{queries} queries for 10 answers"


def test_feature_store(pytestconfig, server, client):
    pytest.importorskip("numpy")
    ran = run(pytestconfig, "feature_store.py", server.uri)
    assert ran.stderr == ""
    assert re.fullmatch(r"1000 rows of 16 features: right\n[0-9.]+ us for a row\n", ran.stdout)


@pytest.mark.parametrize("name", ["read_through.py", "feature_store.py"])
def test_without_a_server_they_say_so_in_a_line(pytestconfig, server, name):
    if name == "feature_store.py":
        pytest.importorskip("numpy")
    ran = run(pytestconfig, name, server.uri + ".nobody")
    assert ran.returncode == 1 and ran.stdout == ""
    assert ran.stderr.startswith(f"{pathlib.Path(name).stem}: no server on")
    assert len(ran.stderr.splitlines()) == 1
