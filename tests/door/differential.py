#!/usr/bin/env python3
"""Sends the same bytes to memcached and to plov-door and compares the answers, byte for byte.

usage: differential.py PLOVD PLOV_DOOR

The numbers of cas are replaced by the order in which they come, so that only their changes are compared. Each
script is sent as a whole, and some in pieces that are split at every byte. Exit status 77: no memcached here.
"""

import re
import shutil
import socket
import sys
import threading
import time

from servers import Servers, skip

K250 = b"k" * 250
K251 = b"k" * 251


def value(command, key, data, flags=0, exptime=0, tail=b""):
    return b"%s %s %d %d %d%s\r\n%s\r\n" % (command, key, flags, exptime, len(data), tail, data)


SCRIPTS = {
    "set and get": value(b"set", b"a", b"hello", 5) + b"get a\r\nget a b\r\nget b a\r\nget b\r\n",
    "empty value": value(b"set", b"a", b"") + b"get a\r\n",
    "binary value": value(b"set", b"a", bytes(range(256))) + b"get a\r\n",
    "line ends in values": value(b"set", b"a", b"\r\nEND\r\n\r\n") + b"get a\r\n",
    "many keys": b"".join(value(b"set", b"k%d" % i, b"v%d" % i) for i in range(40))
    + b"get " + b" ".join(b"k%d" % i for i in range(60)) + b"\r\n",
    "add": value(b"add", b"a", b"1") + value(b"add", b"a", b"2") + b"get a\r\n",
    "replace": value(b"replace", b"a", b"1") + value(b"set", b"a", b"2")
    + value(b"replace", b"a", b"3", 7) + b"get a\r\n",
    "append": value(b"append", b"a", b"1") + value(b"set", b"a", b"2", 9)
    + value(b"append", b"a", b"3", 1) + value(b"append", b"a", b"") + b"get a\r\n",
    "prepend": value(b"prepend", b"a", b"1") + value(b"set", b"a", b"2", 9)
    + value(b"prepend", b"a", b"3", 1) + b"get a\r\n",
    "long append": value(b"set", b"a", b"x" * 20000, 3) + value(b"append", b"a", b"y" * 30000)
    + value(b"prepend", b"a", b"z" * 40000) + value(b"append", b"none", b"y" * 30000)
    + b"get a\r\n",
    "cas of nothing": value(b"cas", b"a", b"1", tail=b" 1") + value(b"cas", b"a", b"1", tail=b" 0")
    + value(b"set", b"a", b"2") + value(b"cas", b"a", b"1", tail=b" 0")
    + value(b"cas", b"a", b"1", tail=b" 99999999999") + b"get a\r\n",
    "delete": value(b"set", b"a", b"1") + b"delete a\r\ndelete a\r\ndelete a 0\r\ndelete a 1\r\n"
    b"delete a 0 noreply\r\ndelete a noreply\r\ndelete a 1 noreply\r\ndelete a b c d\r\ndelete\r\n"
    b"delete " + K251 + b"\r\n",
    "incr": value(b"set", b"n", b"10") + b"incr n 5\r\nincr n 0\r\nget n\r\nincr n 85\r\nget n\r\n"
    b"incr none 1\r\nincr n x\r\nincr n -1\r\nincr n 1 2\r\nincr n\r\nincr n 1 noreply\r\nget n\r\n"
    b"incr n 18446744073709551615\r\nget n\r\nincr n 18446744073709551616\r\n",
    "incr wraps": value(b"set", b"n", b"18446744073709551615") + b"incr n 1\r\nget n\r\nincr n 7\r\n"
    b"get n\r\n",
    "decr": value(b"set", b"n", b"10") + b"decr n 1\r\nget n\r\ndecr n 1\r\nget n\r\nincr n 2\r\n"
    b"get n\r\ndecr n 100\r\nget n\r\ndecr none 1\r\nincr n 1\r\nget n\r\nincr n 1000\r\nget n\r\n",
    "odd numbers": b"".join(
        value(b"set", b"n", number) + b"incr n 1\r\nget n\r\ndecr n 2\r\nget n\r\n"
        for number in (b"", b"x", b"-1", b"+5", b" 7", b"7 ", b"7x", b"0007", b"1.5", b"0x10",
                       b"18446744073709551616", b"9223372036854775807", b"99999999999999999999",
                       b"5\r\n", b"5\t", b"-", b"\x00", b"12\x003", b"1 2", b"00")),
    "flags stay": value(b"set", b"n", b"10", 77) + b"incr n 1\r\nget n\r\ndecr n 9\r\nget n\r\n",
    "touch": value(b"set", b"a", b"1") + b"touch a 100\r\ntouch a 0\r\ntouch none 1\r\ntouch a x\r\n"
    b"touch a\r\ntouch a 1 2 3\r\ntouch a 100 noreply\r\nget a\r\ntouch a -1\r\nget a\r\n",
    "gat": value(b"set", b"a", b"1", 3) + b"gat 100 a none\r\ngat 0 a a\r\ngat x a\r\ngat 1\r\ngat\r\n"
    b"gat 100 none\r\nget a\r\ngat -1 a\r\nget a\r\n",
    "gat keeps a long value": value(b"set", b"a", b"v" * 5000) + b"gat 100 a\r\nget a\r\n",
    "expired at once": value(b"set", b"a", b"1") + value(b"set", b"a", b"2", exptime=-1) + b"get a\r\n"
    + value(b"add", b"a", b"1", exptime=-1) + b"get a\r\n" + value(b"set", b"a", b"1")
    + value(b"add", b"a", b"2", exptime=-1) + b"get a\r\n"
    + value(b"replace", b"a", b"2", exptime=-1) + b"get a\r\n"
    + value(b"replace", b"a", b"2", exptime=-1) + value(b"set", b"a", b"1")
    + value(b"append", b"a", b"2", exptime=-1) + b"get a\r\n"
    + value(b"cas", b"a", b"2", exptime=-1, tail=b" 99999999999"),
    "absolute exptime": value(b"set", b"a", b"1", exptime=2592001) + b"get a\r\n"
    + value(b"set", b"a", b"1", exptime=2592000) + b"get a\r\n"
    + value(b"set", b"a", b"1", exptime=int(time.time()) + 1000) + b"get a\r\n"
    + value(b"set", b"a", b"1", exptime=1000000000) + b"get a\r\n",
    "odd exptimes and flags": value(b"set", b"a", b"1", exptime=4294967296 + 100) + b"get a\r\n"
    + value(b"set", b"a", b"1", flags=4294967295) + b"get a\r\n"
    + value(b"set", b"a", b"1", flags=4294967296) + b"get a\r\nset a -1 0 1\r\n1\r\n"
    b"set a 1x 0 1\r\n1\r\nset a +1 0 1\r\n1\r\nget a\r\nset a 0 x 1\r\n1\r\n",
    "noreply": value(b"set", b"a", b"1", tail=b" noreply") + value(b"add", b"a", b"2", tail=b" noreply")
    + value(b"append", b"a", b"2", tail=b" noreply") + value(b"replace", b"b", b"2", tail=b" noreply")
    + value(b"cas", b"a", b"2", tail=b" 5 noreply") + b"get a\r\ntouch a 0 noreply\r\n"
    b"decr a 1 noreply\r\nincr a x noreply\r\nget a\r\nverbosity 1 noreply\r\n"
    + value(b"set", b"a", b"3", tail=b" noreplx") + b"get a\r\n"
    + value(b"set", K251, b"3", tail=b" noreply") + b"version\r\n",
    # memcached drops the answers to what came before it in one piece.
    "long key of get": b"get " + K251 + b"\r\n",
    "long key of get after others": b"get a " + K250 + b" " + K251 + b" b\r\nversion\r\n",
    "long keys": value(b"set", K250, b"1") + b"get " + K250 + b"\r\n"
    + value(b"set", K251, b"get a")
    + b"touch " + K251 + b" 1\r\nincr " + K251 + b" 1\r\n",
    "long key of gat": b"gat 1 " + K251 + b"\r\n",
    "bad data chunk": b"set a 0 0 3\r\nabcdef\r\nget a\r\nset a 0 0 5\r\nabc\r\nget a\r\n\r\n"
    b"set a 0 0 3 noreply\r\nabcdef\r\nversion\r\n",
    "bad lines": b"\r\n\n \r\na\r\nx\r\nget\r\nget \r\ngets\r\nset\r\nset a\r\nset a 0 0\r\n"
    b"set a 0 0 x\r\nset a 0 0 -1\r\nset a 0 0 2147483647\r\nset a 0 0 1 2 3 4\r\ncas a 0 0 1\r\n"
    b"bogus\r\ngetx a\r\nGET a\r\n get a\r\nget  a  b \r\nget a\nget a\r\r\n"
    b"touch\r\nverbosity\r\nverbosity x\r\nverbosity 1\r\nverbosity 1 2 3\r\nversion x\r\n"
    b"flush_all 1 2 3\r\nmisbehave\r\nincr\r\ndecr a\r\nadd a\r\nmx\r\nm\r\nmz a\r\n",
    "zero bytes in lines": b"get a\x00b\r\nversion\x00x\r\n\x00\r\n" + value(b"set", b"a", b"1")
    + b"get a\x00 b\r\n",
    "flush_all": value(b"set", b"a", b"1") + value(b"set", b"b", b"2") + b"get a b\r\nflush_all\r\nget a b\r\n"
    + value(b"set", b"a", b"3") + b"get a b\r\nflush_all noreply\r\nget a\r\n"
    + value(b"add", b"a", b"4") + b"flush_all 0\r\nincr a 1\r\n" + value(b"set", b"a", b"5")
    + b"flush_all x\r\nflush_all 1x\r\nflush_all 99999999999\r\nflush_all 100 noreply\r\nget a\r\nflush_all 100\r\nget a\r\n"
    + b"flush_all -1\r\nget a\r\n" + value(b"set", b"a", b"6") + b"get a\r\n",
    "tabs": value(b"set", b"a\tb", b"1") + b"get a\tb\r\nget\ta\r\n",
    "non-ASCII keys": value(b"set", b"\xff\xfe\x80", b"1") + b"get \xff\xfe\x80\r\n",
    "too large": b"set a 0 0 5\r\nabcde\r\n" + value(b"set", b"a", b"x" * 1048577) + b"get a\r\n"
    + value(b"set", b"a", b"1") + value(b"add", b"b", b"x" * 1100000) + b"get a b\r\n"
    + value(b"append", b"a", b"x" * 1100000) + b"get a\r\n"
    + value(b"set", b"a", b"x" * 1200000, tail=b" noreply") + b"get a\r\n",
    "nearly too large": b"".join(
        value(b"set", b"abc", b"x" * (1048576 - 48 - 8 - 4 - 2 - less), flags)
        + b"gets missing\r\n" for less in (-1, 0, 1, 3, 4, 5) for flags in (0, 1)),
    "large values": value(b"set", b"a", b"x" * 500000) + b"get a a a\r\n"
    + value(b"set", b"b", b"y" * 1000000) + b"get b a b\r\n",
    "disabled": b"shutdown\r\n",
    "mg": value(b"set", b"a", b"hello", 5) + b"mg a\r\nmg a v\r\nmg a s v t f k Oabc\r\nmg b v\r\n"
    b"mg b v k Oabc\r\nmg b v q\r\nmg a v q\r\nmn\r\nmg\r\nmg " + K251 + b"\r\nmg a v v\r\n"
    b"mg a v !\r\nmg a Oabcdefghijklmnopqrstuvwxyz0123456\r\nmg a s s\r\nmg a O1 O2\r\nmg a u v\r\n"
    b"mg a T\r\nmg a Tx\r\nmg a T100 t\r\nmg a t\r\nmg a t T0 t\r\nmg a t\r\nmg b T1 k\r\n"
    b"mg a T-1 v\r\nmg a\r\nmg a 1 2 3 4 5 6 7 8 9 a c d e f g h i j k l\r\n",
    "mg base64": b"ms Zm9v 3 b\r\nbar\r\nget foo\r\nmg Zm9v b v k\r\nmg Zm9 b v\r\nmg !!!! b v\r\n"
    b"mg Zm8= b k\r\nmg Zg== b k v\r\nmg Z=== b\r\nms AAEC 2 b k\r\nxx\r\nmg AAEC b v k\r\n"
    b"md Zm9v b k q\r\nmg Zm9v b v\r\nma Zm9v b N0 J5 k v\r\nmg Zm9v b v\r\n",
    "ms": b"ms a 2\r\nhi\r\nmg a v f t\r\nms a 2 F7 T100 k Ox\r\nhi\r\nmg a v f t\r\nms a\r\n"
    b"ms a x\r\nms a -1\r\nms a 2 Fx\r\nhi\r\nms a 2 I !\r\nhi\r\nms a 3\r\nhi\r\nmn\r\n\r\nms a 2 q\r\nhi\r\n"
    b"mn\r\nms a 2 Mx\r\nhi\r\nms a 2 MEE\r\nhi\r\nms a 2 ME\r\nhi\r\nms b 2 ME\r\nhi\r\nms a 2 MA\r\nlo\r\n"
    b"ms a 2 MP\r\nlo\r\nms c 2 MA\r\nlo\r\nms c 2 MR\r\nlo\r\nms a 2 MR F3\r\nlo\r\nms a 2 MS\r\nlu\r\n"
    b"mg a v f\r\nms a 2 C1\r\nhi\r\nms none 2 C1\r\nhi\r\nms none 2 MR C1\r\nhi\r\nms a 2 MA C1\r\nhi\r\n"
    b"ms none 2 MA C1 q\r\nhi\r\nms a 2 T-1\r\nhi\r\nmg a\r\nms a 2 Oabcdefghijklmnopqrstuvwxyz01234567\r\nhi\r\n"
    b"ms a S2\r\nms a 2 Cx\r\nhi\r\n",
    "ms too large": b"ms a 2\r\nhi\r\nms a 2000000\r\n" + b"x" * 2000000 + b"\r\nmn\r\nmg a\r\n",
    "md": b"ms a 2\r\nhi\r\nmd a\r\nmd a\r\nmd a q\r\nms a 2\r\nhi\r\nmd a q k Oa\r\nmn\r\nms a 2\r\nhi\r\n"
    b"md a C1 k\r\nmd a k O1\r\nmd none C1 k\r\nmd\r\nmd a !\r\nmd a k k\r\nmd " + K251 + b"\r\n",
    "ma": b"ma n\r\nma n k Ox v\r\nma n N0 J10 v\r\nma n v\r\nma n D5 v\r\nma n MD v\r\nma n M- D100 v\r\n"
    b"ma n MI v\r\nma n M+ v k Ox\r\nma n MX\r\nma n Dx\r\nma n Jx\r\nma n t v\r\nma n T100 v\r\nma n t v\r\n"
    b"ma n q\r\nmn\r\nma n C1\r\nma n C1 k\r\nms n 1\r\nx\r\nma n v\r\nma n q\r\nma m N100 t v\r\nma m t v\r\n"
    b"ma n !\r\nma\r\nma " + K251 + b"\r\nms n 2\r\n10\r\nma n MD v\r\nmg n v s\r\n",
    "mn and unknown": b"mn\r\nmn x\r\nmq\r\nmm a\r\n",
    "unknown then good": b"foo\r\nbar baz\r\nversion\r\n",
}

# Lines that end the connection.
CLOSING = {
    "quit": b"version\r\nquit\r\nversion\r\n",
    "quit with words": b"quit x\r\nversion\r\n",
    "http": b"POST / HTTP/1.1\r\nversion\r\n",
    "long line": b"set " + b"k" * 3000,
    "half-closed": value(b"set", b"a", b"1") + b"get a\r\nget a b\r\n",
}

SPLIT = ("set and get", "many keys", "bad data chunk", "noreply", "ms", "mg", "long keys")


def normalize(answer):
    """Replaces numbers of cas by their order, and a second that has gone by."""
    seen = {}

    def number(match):
        return match.group(1) + b"<%d>" % seen.setdefault(match.group(2), len(seen))

    answer = re.sub(rb"(VALUE \S+ \d+ \d+ )(\d+)(?=\r\n)", number, answer)
    answer = re.sub(rb" t(99|101)(?=[ \r])", b" t100", answer)
    return re.sub(rb"((?:HD|VA \d+|EX|NS)(?: [^c\r\n]\S*)* c)(\d+)", number, answer)


def receive_until(connection, end, seconds=20):
    connection.settimeout(seconds)
    answer = b""
    while end is None or not answer.endswith(end):
        try:
            part = connection.recv(1 << 16)
        except TimeoutError:
            return answer + b"<no more>"
        if not part:
            break
        answer += part
    return answer


def flush(address, keys):
    with Servers.connect(address) as connection:
        for key in keys:
            connection.sendall(b"delete %s noreply\r\n" % key)
        connection.sendall(b"mn\r\n")
        receive_until(connection, b"MN\r\n")


# No script's answer ends with it but the one to this.
LAST = b"VERSION 1.6.18\r\nERROR\r\nVERSION 1.6.18\r\n"
ASK_LAST = b"version\r\nfence\r\nversion\r\n"


def ask(address, script, pieces=None):
    """The answer to a script that leaves the connection open."""
    with Servers.connect(address) as connection:
        if pieces is None:
            thread = threading.Thread(target=connection.sendall, args=(script + ASK_LAST,))
            thread.start()
            answer = receive_until(connection, LAST)
            thread.join()
        else:
            for piece in pieces:
                connection.sendall(piece)
            connection.sendall(ASK_LAST)
            answer = receive_until(connection, LAST)
    if not answer.endswith(LAST):
        return answer + b"<closed>"
    return answer[: -len(LAST)]


def ask_closing(address, script):
    with Servers.connect(address) as connection:
        connection.sendall(script)
        connection.shutdown(socket.SHUT_WR)
        try:
            return receive_until(connection, None)
        except ConnectionResetError:
            return b"<reset>"


KEYS = [b"a", b"b", b"c", b"n", b"m", b"foo", b"f", b"\x00\x01\x02", K250, b"none", b"abc", b"a\tb",
        b"\xff\xfe\x80"] + [b"k%d" % i for i in range(60)]


class Comparison:
    def __init__(self, memcached, door):
        self.memcached = memcached
        self.door = door
        self.failures = 0
        self.compared = 0

    def check(self, name, get):
        keys = [key for key in KEYS if b"\x00" not in key]
        answers = []
        for address in (self.memcached, self.door):
            flush(address, keys)
            with Servers.connect(address) as connection:
                connection.sendall(b"md AAEC b\r\nmn\r\n")
                receive_until(connection, b"MN\r\n")
            answers.append(normalize(get(address)))
        self.compared += 1
        if answers[0] == answers[1]:
            return
        self.failures += 1
        theirs, ours = (answer.split(b"\r\n") for answer in answers)
        at = next((i for i, (x, y) in enumerate(zip(theirs, ours)) if x != y),
                  min(len(theirs), len(ours)))
        print(f"{name}: answer {at} differs")
        print(f"  memcached {[line[:100] for line in theirs[max(0, at - 2):at + 3]]}")
        print(f"  plov-door {[line[:100] for line in ours[max(0, at - 2):at + 3]]}")


def cas_script(address):
    """gets, cas with its number, cas again."""
    answer = b""
    with Servers.connect(address) as connection:
        def say(text, end=b"\r\n"):
            nonlocal answer
            connection.sendall(text)
            part = receive_until(connection, end)
            answer += part
            return part

        say(value(b"set", b"a", b"1"))
        number = say(b"gets a\r\n", b"END\r\n").split()[4]
        say(value(b"cas", b"a", b"2", 5, tail=b" " + number))
        say(value(b"cas", b"a", b"3", tail=b" " + number))
        say(b"gets a\r\n", b"END\r\n")
        number = say(b"mg a c\r\n").split()[1][1:]
        say(b"ms a 1 C%s c\r\nx\r\n" % number)
        say(b"ms a 1 C%s c\r\nx\r\n" % number)
        number = say(b"mg a c v\r\n", b"x\r\n").split()[2][1:]
        say(b"ms a 1 MA C%s\r\ny\r\n" % number)
        say(b"ms a 1 MA C%s\r\ny\r\n" % number)
        say(value(b"set", b"n", b"5"))
        number = say(b"mg n c\r\n").split()[1][1:]
        say(b"ma n C%s v\r\n" % number, b"\r\n6\r\n")
        say(b"ma n C%s v\r\n" % number)
        number = say(b"mg n c\r\n").split()[1][1:]
        say(b"md n C1%s\r\n" % number)
        say(b"md n C%s\r\n" % number)
        say(value(b"set", b"a", b"1"))
        number = say(b"gets a\r\n", b"END\r\n").split()[4]
        say(value(b"cas", b"a", b"2", exptime=-1, tail=b" " + number))
        say(b"get a\r\n", b"END\r\n")
    return answer


def main():
    if shutil.which("memcached") is None:
        skip("no memcached here")
    with Servers(*sys.argv[1:3]) as servers:
        door = servers.start_door("127.0.0.1:0", options=("--threads", "1"))
        memcached = servers.start_memcached()
        comparison = Comparison(memcached, door)
        for name, script in SCRIPTS.items():
            comparison.check(name, lambda address, script=script: ask(address, script))
        comparison.check("cas", cas_script)
        for name, script in CLOSING.items():
            comparison.check(name, lambda address, script=script: ask_closing(address, script))
        for name in SPLIT:
            script = SCRIPTS[name]
            for size in (1, 7):
                pieces = [script[i:i + size] for i in range(0, len(script), size)]
                comparison.check(f"{name} in pieces of {size}",
                                 lambda address, pieces=pieces: ask(address, b"", pieces))
        print(f"{comparison.compared} scripts compared, {comparison.failures} differ")
        sys.exit(1 if comparison.failures else 0)


if __name__ == "__main__":
    main()
