#!/usr/bin/env python3
"""Clients of memcached's binary protocol against plov-door as they are: libmemcached, its tools and its checks.

usage: binary_clients.py PLOVD PLOV_DOOR

Exit status 77: none of them is here.
"""

import ctypes
import os
import shutil
import subprocess
import sys

from servers import Servers, skip

WITHIN = 120
# enum memcached_behavior_t and memcached_return_t of libmemcached-1.0
SUPPORT_CAS, BUFFER_REQUESTS, BINARY_PROTOCOL = 7, 10, 18
SUCCESS, DATA_EXISTS, NOTSTORED, NOTFOUND, END, BUFFERED = 0, 12, 14, 16, 21, 32
E2BIG = 37


class Library:
    """A connection of libmemcached's, which speaks the binary protocol."""

    def __init__(self, address, user=None, password=None):
        self.lib = ctypes.CDLL("libmemcached.so.11")
        self.lib.memcached_create.restype = ctypes.c_void_p
        self.lib.memcached_get.restype = ctypes.c_void_p
        self.lib.memcached_fetch_result.restype = ctypes.c_void_p
        self.lib.memcached_result_cas.restype = ctypes.c_uint64
        self.lib.memcached_result_value.restype = ctypes.c_void_p
        self.lib.memcached_result_length.restype = ctypes.c_size_t
        self.memc = ctypes.c_void_p(self.lib.memcached_create(None))
        host, port = address
        self.behave(BINARY_PROTOCOL)
        self.behave(SUPPORT_CAS)
        assert self.lib.memcached_server_add(self.memc, host.encode(), port) == SUCCESS
        if user is not None:
            assert self.lib.memcached_set_sasl_auth_data(self.memc, user, password) == SUCCESS

    def behave(self, behavior, value=1):
        assert self.lib.memcached_behavior_set(self.memc, behavior, ctypes.c_uint64(value)) == SUCCESS

    def store(self, name, key, value, flags=0, cas=None):
        size = ctypes.c_size_t
        more = () if cas is None else (ctypes.c_uint64(cas),)
        return getattr(self.lib, f"memcached_{name}")(self.memc, key, size(len(key)), value, size(len(value)),
                                                      ctypes.c_long(0), ctypes.c_uint32(flags), *more)

    def get(self, key):
        """The value and its flags, or None; and the return code."""
        size, flags, code = ctypes.c_size_t(), ctypes.c_uint32(), ctypes.c_int()
        value = self.lib.memcached_get(self.memc, key, ctypes.c_size_t(len(key)), ctypes.byref(size),
                                       ctypes.byref(flags), ctypes.byref(code))
        if code.value != SUCCESS:
            return None, code.value
        return (ctypes.string_at(value, size.value) if value else b"", flags.value), code.value

    def get_many(self, keys):
        """Values and cas numbers, by quiet gets and a noop."""
        count = len(keys)
        texts = (ctypes.c_char_p * count)(*keys)
        sizes = (ctypes.c_size_t * count)(*map(len, keys))
        assert self.lib.memcached_mget(self.memc, texts, sizes, ctypes.c_size_t(count)) == SUCCESS
        found, code = [], ctypes.c_int()
        while result := self.lib.memcached_fetch_result(self.memc, None, ctypes.byref(code)):
            result = ctypes.c_void_p(result)
            value = ctypes.string_at(self.lib.memcached_result_value(result), self.lib.memcached_result_length(result))
            found.append((value, self.lib.memcached_result_cas(result)))
            self.lib.memcached_result_free(result)
        assert code.value in (SUCCESS, END, NOTFOUND), code
        return found

    def change(self, name, key, *numbers):
        result = ctypes.c_uint64()
        code = getattr(self.lib, f"memcached_{name}")(self.memc, key, ctypes.c_size_t(len(key)), *numbers,
                                                      ctypes.byref(result))
        return code, result.value

    def key(self, name, key, *rest):
        return getattr(self.lib, f"memcached_{name}")(self.memc, key, ctypes.c_size_t(len(key)), *rest)

    def close(self):
        self.lib.memcached_free(self.memc)


def libmemcached(address):
    client = Library(address)
    assert client.store("set", b"a", b"hello", 77) == SUCCESS
    assert client.get(b"a") == ((b"hello", 77), SUCCESS)
    assert client.get(b"none") == (None, NOTFOUND)
    assert client.store("add", b"a", b"x") in (NOTSTORED, DATA_EXISTS)
    assert client.store("replace", b"none", b"x") in (NOTSTORED, NOTFOUND)
    assert client.store("append", b"a", b" you") == SUCCESS
    assert client.store("prepend", b"a", b"oh ") == SUCCESS
    assert client.get(b"a") == ((b"oh hello you", 77), SUCCESS)
    cas = client.get_many([b"a"])[0][1]
    assert client.store("cas", b"a", b"new", 0, cas) == SUCCESS
    assert client.store("cas", b"a", b"newer", 0, cas) == DATA_EXISTS
    keys = [b"k%d" % i for i in range(500)]
    client.behave(BUFFER_REQUESTS)
    for key in keys:
        assert client.store("set", key, key) in (SUCCESS, BUFFERED)
    assert client.lib.memcached_flush_buffers(client.memc) == SUCCESS
    client.behave(BUFFER_REQUESTS, 0)
    assert sorted(value for value, _ in client.get_many(keys + [b"none"])) == sorted(keys)
    delta, initial, never = ctypes.c_uint64(5), ctypes.c_uint64(2**63), ctypes.c_long(0)
    assert client.change("increment_with_initial", b"n", delta, initial, never) == (SUCCESS, 2**63)
    assert client.change("increment", b"n", ctypes.c_uint32(5)) == (SUCCESS, 2**63 + 5)
    assert client.change("decrement", b"n", ctypes.c_uint32(6)) == (SUCCESS, 2**63 - 1)
    assert client.key("touch", b"n", ctypes.c_long(100)) == SUCCESS
    assert client.key("exist", b"n") == SUCCESS and client.key("exist", b"none") == NOTFOUND
    assert client.key("delete", b"n", ctypes.c_long(0)) == SUCCESS
    assert client.key("delete", b"n", ctypes.c_long(0)) == NOTFOUND
    large = os.urandom(1_000_000)
    assert client.store("set", b"large", large) == SUCCESS
    assert client.get(b"large") == ((large, 0), SUCCESS)
    assert client.store("set", b"large", large + large) == E2BIG
    assert client.get(b"large") == (None, NOTFOUND)
    client.close()


def libmemcached_with_password(servers):
    path = f"{servers.folder}/users"
    with open(path, "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write("one:a:b\n")
    address = servers.start_door("127.0.0.1:0", options=("--memcached-auth-file", path))
    client = Library(address, b"one", b"a:b")
    assert client.store("set", b"a", b"hello") == SUCCESS
    assert client.get(b"a") == ((b"hello", 0), SUCCESS)
    client.close()
    for user, password in ((b"one", b"a"), (b"two", b"a:b"), (None, None)):
        client = Library(address, user, password)
        assert client.store("set", b"a", b"other") != SUCCESS
        assert client.get(b"a")[0] is None
        client.close()
    client = Library(address, b"one", b"a:b")
    assert client.get(b"a") == ((b"hello", 0), SUCCESS)
    client.close()


def memccapable(address):
    host, port = address
    done = subprocess.run(["memccapable", "-h", host, "-p", str(port), "-b"], capture_output=True,
                          text=True, timeout=WITHIN, check=False)
    lines = [line for line in (done.stdout + done.stderr).split("\n") if line.startswith("binary ")]
    assert len(lines) > 20, done
    wrong = [line for line in lines if "[pass]" not in line]
    assert not wrong, wrong


def tools(address, folder):
    """Files in and out, by libmemcached's tools, with names that are keys."""
    options = (f"--servers={address[0]}:{address[1]}", "--binary")

    def use(tool, *arguments):
        return subprocess.run([tool, *options, *arguments], timeout=WITHIN, check=False).returncode

    path = f"{folder}/file"
    with open(path, "wb") as file:
        file.write(b"line\r\n" * 10_000)
    assert use("memccp", path) == 0
    assert use("memccat", f"--file={path}.out", "file") == 0
    with open(path, "rb") as file, open(f"{path}.out", "rb") as out:
        assert file.read() == out.read()
    assert use("memctouch", "--expire=100", "file") == 0
    assert use("memcexist", "file") == 0
    assert use("memcrm", "file") == 0
    assert use("memcexist", "file") != 0


def has_library():
    try:
        ctypes.CDLL("libmemcached.so.11")
    except OSError:
        return False
    return True


def main():
    tried = 0
    with Servers(*sys.argv[1:3]) as servers:
        address = servers.start_door("127.0.0.1:0")
        for name, is_here, use in (
                ("memccapable", shutil.which("memccapable"), lambda: memccapable(address)),
                ("libmemcached's tools", shutil.which("memccat"), lambda: tools(address, servers.folder)),
                ("libmemcached", has_library(), lambda: libmemcached(address)),
                ("libmemcached", has_library(), lambda: libmemcached_with_password(servers))):
            if not is_here:
                print(f"left out: no {name} here")
                continue
            use()
            tried += 1
    if tried == 0:
        skip("no client of memcached's binary protocol here")


if __name__ == "__main__":
    main()
