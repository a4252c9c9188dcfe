#!/usr/bin/env python3
"""plov-door with --memcached-auth-file: users of both of memcached's protocols.

usage: authentication.py PLOVD PLOV_DOOR [TEST...]

Where memcached is here, its answers are compared byte for byte: with -Y to the text protocol, with -S and users of
Cyrus SASL to the binary one.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess

import differential
from binary_differential import Comparison, ask, ask_closing
from binary_protocol import *
from binary_scripts import get
from servers import WITHIN, Servers, run_tests, until

USER, PASSWORD = "user", "secret word"


def write_users(servers, text, mode=0o600):
    path = f"{servers.folder}/users"
    with open(path, "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
    return path


def start_door(servers, path, *options):
    return servers.start_door("127.0.0.1:0", options=("--threads", "2", "--memcached-auth-file", path, *options))


def plain(user, password, acts_as=""):
    return f"{acts_as}\0{user}\0{password}".encode()


GOOD = frame(SASL_AUTH, b"PLAIN", plain(USER, PASSWORD))
BAD = frame(SASL_AUTH, b"PLAIN", plain(USER, "wrong"))
A_SET = store(SET, b"a", b"1")

SASL_SCRIPTS = {
    "good": frame(VERSION) + frame(SASL_LIST) + GOOD + A_SET + get(b"a"),
    "a name with a zero byte": frame(SASL_AUTH, b"PLAIN\0x", plain(USER, PASSWORD)) + A_SET,
    "small letters": frame(SASL_AUTH, b"plain", plain(USER, PASSWORD)) + A_SET,
    "other mechanisms": frame(SASL_AUTH, b"PLAI", plain(USER, PASSWORD)) + frame(SASL_AUTH, b"X" * 40, plain(USER, PASSWORD))
    + frame(SASL_AUTH, b"X" * 32, plain(USER, PASSWORD)) + GOOD,
    "in two steps": frame(SASL_AUTH, b"PLAIN") + frame(SASL_STEP, b"PLAIN", plain(USER, PASSWORD)) + A_SET,
    "bad second step": frame(SASL_AUTH, b"PLAIN") + frame(SASL_STEP, b"PLAIN", plain(USER, "wrong"))
    + frame(SASL_STEP, b"PLAIN", plain(USER, PASSWORD)) + GOOD + GOOD + A_SET,
    "step alone": frame(SASL_STEP, b"PLAIN", plain(USER, PASSWORD)) + GOOD + A_SET,
    "as oneself": frame(SASL_AUTH, b"PLAIN", plain(USER, PASSWORD, USER)) + A_SET,
    "as another": frame(SASL_AUTH, b"PLAIN", plain(USER, PASSWORD, "root")) + GOOD,
    "no messages": frame(SASL_AUTH, b"PLAIN", b"x") + frame(SASL_AUTH, b"PLAIN", b"\0")
    + frame(SASL_AUTH, b"PLAIN", b"\0\0") + frame(SASL_AUTH, b"PLAIN", b"\0" + USER.encode())
    + frame(SASL_AUTH, b"PLAIN", plain(USER, PASSWORD) + b"\0") + frame(SASL_AUTH, b"PLAIN", plain("", PASSWORD))
    + frame(SASL_AUTH, b"PLAIN", plain(USER, "")) + frame(SASL_AUTH, b"PLAIN", plain(USER, "x" * 3000))
    + frame(SASL_AUTH, b"PLAIN", plain("nobody", PASSWORD)) + GOOD,
    "bad, then good": BAD + BAD + GOOD + A_SET,
    "good again": GOOD + GOOD + GOOD + A_SET + frame(SASL_AUTH, b"X", b"") + GOOD + A_SET,
    "a step after it": GOOD + frame(SASL_STEP, b"PLAIN", plain(USER, PASSWORD)) + GOOD + GOOD + A_SET,
    "three steps": frame(SASL_AUTH, b"PLAIN") + frame(SASL_STEP, b"PLAIN", b"x")
    + frame(SASL_STEP, b"OTHER", plain(USER, PASSWORD)) + A_SET,
    "begun twice": frame(SASL_AUTH, b"PLAIN") + frame(SASL_AUTH, b"PLAIN")
    + frame(SASL_STEP, b"PLAIN", plain(USER, PASSWORD)) + A_SET,
    "begun with another": frame(SASL_AUTH, b"PLAIN") + frame(SASL_AUTH, b"X")
    + frame(SASL_STEP, b"PLAIN", plain(USER, PASSWORD)) + GOOD,
}
SASL_CLOSING = {
    "nothing": A_SET + frame(NOOP),
    "get": get(b"a"),
    "quit": frame(QUIT),
    "unknown opcode": frame(0x55),
    "wrong lengths": frame(GET, b"aaaaa", lengths=(5, 0, 4)),
    "long key": frame(GET, b"k" * 251),
    "bad": BAD + A_SET + frame(NOOP),
    "without a second step": frame(SASL_AUTH, b"PLAIN") + A_SET,
    "listing forgets": GOOD + A_SET + frame(SASL_LIST) + A_SET,
    "a bad one forgets": GOOD + A_SET + BAD + A_SET,
    "a step forgets": GOOD + A_SET + frame(SASL_STEP, b"PLAIN", plain(USER, PASSWORD)) + A_SET,
}


def make_sasl_folder(servers):
    """Cyrus SASL's own users for memcached; None where it has no place for them."""
    folder = f"{servers.folder}/sasl"
    os.mkdir(folder)
    with open(f"{folder}/memcached.conf", "w", encoding="ascii") as file:
        file.write(f"pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: {folder}/db\nmech_list: plain\n")
    os.environ["SASL_CONF_PATH"] = folder
    try:
        sasl = ctypes.CDLL("libsasl2.so.2")
    except OSError:
        return None
    connection = ctypes.c_void_p()
    host = socket.gethostname().encode()
    create = 1
    text = PASSWORD.encode()
    made = (sasl.sasl_server_init(None, b"memcached") == 0
            and sasl.sasl_server_new(b"memcached", host, host, None, None, None, 0, ctypes.byref(connection)) == 0
            and sasl.sasl_setpass(connection, USER.encode(), text, len(text), None, 0, create) == 0)
    return folder if made else None


def sasl_is_answered_as_by_memcached(servers):
    folder = make_sasl_folder(servers) if shutil.which("memcached") else None
    if folder is None:
        print("left out: no memcached, or no Cyrus SASL with a file of users here")
        return
    path = write_users(servers, f"other:{PASSWORD}\n{USER}:{PASSWORD}\n")
    servers.environment["SASL_CONF_PATH"] = folder
    memcached = servers.start_memcached("-S")
    door = start_door(servers, path)
    comparison = Comparison(memcached, door, GOOD)
    for name, script in SASL_SCRIPTS.items():
        comparison.check(f"SASL {name}", lambda address, script=script: ask(address, [script]))
        pieces = [script[i:i + 1] for i in range(len(script))]
        comparison.check(f"SASL {name} in pieces", lambda address, pieces=pieces: ask(address, pieces))
    for name, script in SASL_CLOSING.items():
        comparison.check(f"SASL {name}", lambda address, script=script: ask_closing(address, script))
    assert comparison.end("SASL") == 0


def set_of(text, key=b"k", tail=b""):
    return b"set %s 0 0 %d%s\r\n%s\r\n" % (key, len(text), tail, text)


# Requests with one line of an answer each.
TEXT_SCRIPTS = {
    "right": [b"get a\r\n", set_of(b"hi"), set_of(b"foo bab"), set_of(b"foo bar"), set_of(b"hi"), b"mg k v\r\n"],
    "another user": [set_of(b"baaaz quux", b"x", b" 1 2 3"), b"mg x\r\n"],
    "no users": [set_of(b"foo quux"), set_of(b"baaaz bar"), set_of(b"foo ba"), set_of(b"fo bar"), set_of(b"foo barr"),
                 set_of(b"Foo bar"), set_of(b""), set_of(b"foo"), set_of(b"  "), set_of(b"foo\0bar"),
                 set_of(b"foo x" + b"y" * 3000), set_of(b"foo bar\0")],
    "many words": [set_of(b"  foo   bar  baz"), b"mn\r\n"],
    "spaces behind": [set_of(b"foo bar" + b" " * 9000), b"mn\r\n"],
    "other lines": [b"\r\n", b"version\r\n", b"quit\r\n", b"set\r\n", b"set a 0 0\r\n", b"set a 0 0 x\r\n", b"add a 0 0 7\r\n",
                    b"foo bar\r\n", b"ms a 7\r\n", b"set a 0 0 7x\r\n", b"set a 0 0 -7\r\n", b"set a 0 0 7\r\nfoo barxx",
                    b"set a x y 7\r\nfoo bar\r\n", b"mn\r\n"],
    "line ends": [b"set a 0 0 7\nfoo bar\r\n", b"mn\r\n"],
}


def text_answers(address, requests, size):
    with Servers.connect(address) as connection:
        answers = []
        for request in requests:
            # memcached forgets an answer that it has not sent when the next request comes.
            for at in range(0, len(request), size):
                connection.sendall(request[at:at + size])
            answers.append(differential.receive_until(connection, b"\n", WITHIN))
        return answers


def text_is_answered_as_by_memcached(servers):
    if shutil.which("memcached") is None:
        print("left out: no memcached here")
        return
    path = write_users(servers, "foo:bar\nbaaaz:quux\n")
    door = start_door(servers, path)
    memcached = servers.start_memcached("-Y", path)
    wrong = []
    for name, requests in TEXT_SCRIPTS.items():
        for size in (100_000, 7, 1):
            answers = [text_answers(address, requests, size) for address in (memcached, door)]
            if answers[0] != answers[1]:
                wrong.append((name, size, answers))
    assert not wrong, wrong
    for junk in (b"x" * 3000, b"set a 0 0 4294967295\r\n"):
        with Servers.connect(door) as connection:
            connection.sendall(junk)
            connection.settimeout(WITHIN)
            assert connection.recv(100) == b""


def say_text(connection, text):
    connection.sendall(text)
    return connection.recv(1000)


def text_answer(address, password):
    with Servers.connect(address) as connection:
        connection.settimeout(WITHIN)
        return say_text(connection, set_of(password))


def sasl_status(address, user, password):
    with Servers.connect(address) as connection:
        return say(connection, frame(SASL_AUTH, b"PLAIN", plain(user, password))).status


def one_file_has_the_users_of_both(servers):
    door = start_door(servers, write_users(servers, "one:a\n\ntwo:b:c\r\n"))
    for user, password in (("one", "a"), ("two", "b:c")):
        assert text_answer(door, f"{user} {password}".encode()) == b"STORED\r\n"
        assert sasl_status(door, user, password) == OK
    for user, password in (("one", "b:c"), ("two", "b"), ("three", "x"), ("", "a")):
        assert text_answer(door, f"{user} {password}".encode()).startswith(b"CLIENT_ERROR"), (user, password)
        assert sasl_status(door, user, password) == AUTH_ERROR, (user, password)
    with Servers.connect(door) as connection:
        connection.settimeout(WITHIN)
        say_text(connection, set_of(b"one a"))
        stats = say_text(connection, b"stats\r\n")
        assert b"STAT auth_cmds 12\r\n" in stats and b"STAT auth_errors 7\r\n" in stats, stats


def without_a_password_nothing_is_kept(servers):
    """Clients that send half of something and no password are many, and small."""
    door = start_door(servers, write_users(servers, "one:a\n"), "--memory", "8M")
    with Servers.connect(door) as connection:
        assert say(connection, frame(SET, b"k", extras=bytes(8), lengths=(1, 8, 1 << 20))).status == AUTH_ERROR
        assert Replies(connection).next() is None
    with Servers.connect(door) as connection:
        connection.sendall(frame(SASL_AUTH, b"PLAIN", lengths=(5, 0, 0xffffffff)) + b"x" * 100_000)
        assert Replies(connection).next().status == AUTH_ERROR


def sighup_reads_the_file_again(servers):
    log = f"{servers.folder}/log"
    door = start_door(servers, write_users(servers, "one:a\n"), "--log-output", log)
    with Servers.connect(door) as connected:
        connected.settimeout(WITHIN)
        assert say_text(connected, set_of(b"one a")) == b"STORED\r\n"
        write_users(servers, "two:b\n")
        assert sasl_status(door, "two", "b") == AUTH_ERROR
        servers.door.send_signal(signal.SIGHUP)
        until(lambda: sasl_status(door, "two", "b") == OK, "the new user is known")
        assert sasl_status(door, "one", "a") == AUTH_ERROR
        assert say_text(connected, b"get none\r\n") == b"END\r\n"
        write_users(servers, "three\n")
        servers.door.send_signal(signal.SIGHUP)

        def is_told():
            with open(log, encoding="utf-8") as file:
                return "line 1 is not user:password" in file.read()

        until(is_told, "the wrong line is told")
        assert sasl_status(door, "two", "b") == OK


def wrong_files_are_told(servers):
    def run(path):
        done = subprocess.run([servers.paths["door"], "--server", servers.uri, "--memcached", "127.0.0.1:0",
                               "--memcached-auth-file", path],
                              capture_output=True, text=True, env=servers.environment, timeout=WITHIN, check=False)
        return done.returncode, done.stderr

    for text, mode, part in (("a:b\n", 0o644, "its mode 644 lets others"), ("a:b\n", 0o620, "its mode 620"),
                             ("a:b\nx\n", 0o600, "line 2 is not user:password"), ("", 0o600, "no line")):
        status, message = run(write_users(servers, text, mode))
        assert status == 2 and part in message and message.count("\n") == 1, (status, message)
    status, message = run(f"{servers.folder}/none")
    assert status == 3 and "cannot read --memcached-auth-file" in message, (status, message)
    for path, part in (("", "is empty"), (servers.folder, "is not a file"), ("/dev/null", "is not a file")):
        status, message = run(path)
        assert status == 2 and part in message and message.count("\n") == 1, (status, message)
    start_door(servers, write_users(servers, "a:b\n", 0o640))


TESTS = [sasl_is_answered_as_by_memcached, text_is_answered_as_by_memcached, one_file_has_the_users_of_both,
         without_a_password_nothing_is_kept, sighup_reads_the_file_again, wrong_files_are_told]


if __name__ == "__main__":
    run_tests(TESTS)
