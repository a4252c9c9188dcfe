"""What is sent in memcached's binary protocol to memcached and to plov-door; see binary_differential.py."""

import struct

from binary_protocol import *

K250 = b"k" * 250
BIG = 1048576
PAST, FAR = 2592001, 4294967295


def each(opcodes, make):
    return b"".join(make(opcode) for opcode in opcodes)


def get(key, opcode=GET, **rest):
    return frame(opcode, key, **rest)


def get_now(key):
    """memcached changes no item at its place to which a reply refers that waits; a noop sends those."""
    return get(key) + frame(NOOP)


SCRIPTS = {
    "set and get": store(SET, b"a", b"hello", 5, opaque=7) + get(b"a", opaque=8) + get(b"b", opaque=9),
    "all gets": store(SET, b"a", b"hello", 0xdeadbeef)
    + each((GET, GETQ, GETK, GETKQ), lambda op: get(b"a", op, opaque=op) + get(b"b", op, opaque=op)),
    "empty value": store(SET, b"a", b"") + get(b"a") + get(b"a", GETK),
    "binary value and key": store(SET, b"\x00 \r\n\xff", bytes(range(256))) + get(b"\x00 \r\n\xff", GETK)
    + frame(DELETE, b"\x00 \r\n\xff"),
    "many quiet gets": each(range(40), lambda i: store(SETQ, b"k%d" % i, b"v%d" % i, i, opaque=i))
    + each(range(60), lambda i: get(b"k%d" % i, GETKQ if i % 2 else GETQ, opaque=1000 + i))
    + frame(NOOP, opaque=5),
    "add": store(ADD, b"a", b"1") + store(ADD, b"a", b"2") + store(ADDQ, b"a", b"3", opaque=3)
    + store(ADDQ, b"b", b"4", opaque=4) + get(b"a") + get(b"b"),
    "replace": store(REPLACE, b"a", b"1") + store(REPLACEQ, b"a", b"1", opaque=1) + store(SET, b"a", b"2")
    + store(REPLACE, b"a", b"3", 7) + get(b"a") + store(REPLACEQ, b"a", b"4") + get(b"a"),
    "append and prepend": frame(APPEND, b"a", b"1") + frame(PREPENDQ, b"a", b"1", opaque=1)
    + store(SET, b"a", b"2", 9) + frame(APPEND, b"a", b"3") + frame(PREPEND, b"a", b"1") + get(b"a")
    + frame(APPENDQ, b"a", b"4") + frame(PREPENDQ, b"a", b"0") + frame(APPEND, b"a", b"") + get(b"a")
    + frame(APPEND, b"a", b"x", cas=99999999999) + frame(APPENDQ, b"none", b"x", cas=5) + get(b"a"),
    "long append": store(SET, b"a", b"x" * 20000, 3) + frame(APPEND, b"a", b"y" * 30000)
    + frame(PREPENDQ, b"a", b"z" * 40000) + frame(APPEND, b"none", b"y" * 30000) + get(b"a"),
    "cas of nothing": each((SET, ADD, REPLACE, SETQ, ADDQ, REPLACEQ),
                           lambda op: store(op, b"a", b"1", cas=99999999999, opaque=op))
    + store(SET, b"a", b"2")
    + each((SET, ADD, REPLACE, SETQ, ADDQ, REPLACEQ),
           lambda op: store(op, b"a", b"1", cas=99999999999, opaque=op)) + get(b"a"),
    "delete": frame(DELETE, b"a") + frame(DELETEQ, b"a", opaque=1) + store(SET, b"a", b"1")
    + frame(DELETE, b"a", cas=99999999999) + frame(DELETEQ, b"a", cas=99999999999) + get(b"a")
    + frame(DELETE, b"a", opaque=2) + store(SET, b"a", b"1") + frame(DELETEQ, b"a") + get(b"a"),
    "increment": arithmetic(INCREMENT, b"n", 5, 10, NEVER_MADE) + arithmetic(INCREMENT, b"n", 5, 10)
    + arithmetic(INCREMENT, b"n", 5, 10) + get_now(b"n") + arithmetic(DECREMENT, b"n", 20) + get_now(b"n")
    + arithmetic(DECREMENT, b"m", 1, 2**64 - 1) + get_now(b"m") + arithmetic(INCREMENT, b"m", 3) + get_now(b"m")
    + arithmetic(INCREMENT, b"n", 2**64 - 1) + arithmetic(INCREMENT, b"n", 0) + get_now(b"n")
    + arithmetic(DECREMENT, b"n", 2**64 - 1) + arithmetic(INCREMENT, b"n", 1000) + get_now(b"n"),
    "quiet increment": arithmetic(INCREMENTQ, b"n", 5, 10, NEVER_MADE, opaque=1)
    + arithmetic(INCREMENTQ, b"n", 5, 10) + arithmetic(DECREMENTQ, b"n", 1) + get_now(b"n")
    + arithmetic(DECREMENTQ, b"m", 1, 7) + get_now(b"m") + store(SET, b"a", b"x")
    + arithmetic(INCREMENTQ, b"a", 1, opaque=2) + arithmetic(DECREMENTQ, b"a", 1, cas=99999999999, opaque=3),
    "odd numbers": b"".join(
        store(SET, b"n", number, 3) + arithmetic(INCREMENT, b"n", 1) + get_now(b"n") + arithmetic(DECREMENT, b"n", 2)
        + get_now(b"n") + arithmetic(INCREMENT, b"n", 1, cas=99999999999)
        for number in (b"", b"x", b"-1", b"+5", b" 7", b"7 ", b"7x", b"0007", b"1.5", b"0x10",
                       b"18446744073709551616", b"9223372036854775807", b"99999999999999999999",
                       b"5\r\n", b"5\t", b"-", b"\x00", b"12\x003", b"1 2", b"00", b"10")),
    "flush": store(SET, b"a", b"1") + frame(FLUSH) + get(b"a") + store(SET, b"a", b"2") + frame(FLUSHQ, opaque=1)
    + get(b"a") + store(ADD, b"a", b"3") + frame(FLUSH, extras=struct.pack(">I", 0)) + get(b"a")
    + store(SET, b"a", b"4") + frame(FLUSH, extras=struct.pack(">I", 100)) + get(b"a")
    + frame(FLUSHQ, extras=struct.pack(">I", 100)) + frame(FLUSH, extras=struct.pack(">I", PAST)) + get(b"a"),
    "noop, version, unknown statistics": frame(NOOP, opaque=1) + frame(VERSION, opaque=2)
    + frame(STAT, b"bogus", opaque=3) + frame(STAT, b"detail", opaque=4) + frame(STAT, b"ite", opaque=5),
    "cas and type where they are not looked at": frame(NOOP, cas=5) + frame(VERSION, cas=5) + get(b"a", cas=5)
    + store(SET, b"a", b"1") + get(b"a", cas=7)
    + b"\x80\x0a\x00\x00\x00\x07\x12\x34" + bytes(16),
    "unknown opcodes": each((VERBOSITY, 0x1f, 0x25, 0x30, 0x7f, 0x80, 0xff), lambda op: frame(op, opaque=op))
    + frame(0x55, value=b"passed over", opaque=1) + frame(SASL_LIST, opaque=2)
    + frame(SASL_AUTH, b"PLAIN", b"\x00u\x00p", opaque=3) + frame(SASL_STEP, b"PLAIN", b"\x00u\x00p", opaque=4)
    + get(b"a"),
    "long keys": store(SET, K250, b"1") + get(K250, GETK) + get(b"x" * 250, GETK) + frame(DELETE, K250),
    "too large": store(SET, b"a", b"1") + store(SET, b"a", b"x" * (BIG + 1), opaque=1) + get(b"a")
    + store(SET, b"a", b"1") + store(ADD, b"b", b"x" * 1100000, opaque=2) + get(b"a") + get(b"b")
    + frame(APPEND, b"a", b"x" * 1100000, opaque=3) + get(b"a")
    + store(REPLACEQ, b"a", b"x" * 1200000, opaque=4) + get(b"a")
    + store(SETQ, b"a", b"x" * 1200000, opaque=5) + get(b"a") + store(SET, b"a", b"2", cas=5)
    + store(SET, b"b", b"1") + store(SET, b"b", b"x" * 1200000, cas=5) + get(b"b"),
    "nearly too large": b"".join(
        store(SET, b"abc", b"x" * (BIG - 48 - 8 - 4 - 2 - less), flags)
        for less in (-1, 0, 1, 3, 4, 5) for flags in (0, 1)),
    "large values": store(SET, b"a", b"x" * 500000) + get(b"a") + get(b"a", GETK) + get(b"a", GETQ)
    + store(SETQ, b"b", b"y" * 1000000) + get(b"b"),
}

# Where the door gives an item another cas than memcached, because it was touched, or none of its own, because it has
# expired: only whether there is one is compared.
OTHER_CAS = {
    "exptimes": each((2592000, 2592001, 1000000000, FAR - 1, FAR),
                     lambda exptime: store(SET, b"a", b"1", exptime=exptime) + get(b"a"))
    + arithmetic(INCREMENT, b"n", 1, 5, FAR - 1) + get(b"n"),
    "expired at once": store(SET, b"a", b"1") + store(SET, b"a", b"2", exptime=PAST) + get(b"a")
    + store(ADD, b"a", b"1", exptime=PAST) + get(b"a") + store(SET, b"a", b"1")
    + store(ADD, b"a", b"2", exptime=PAST) + get(b"a") + store(REPLACE, b"a", b"2", exptime=PAST) + get(b"a")
    + store(REPLACE, b"a", b"2", exptime=PAST) + store(SETQ, b"a", b"2", exptime=PAST) + get(b"a")
    + arithmetic(INCREMENT, b"n", 1, 5, PAST) + get(b"n"),
    "touch": touch(TOUCH, b"a", 100) + store(SET, b"a", b"1", 77) + touch(TOUCH, b"a", 100, opaque=1)
    + touch(TOUCH, b"a", 0) + get(b"a") + touch(TOUCH, b"a", PAST) + get(b"a"),
    "gat": each((GAT, GATQ, GATK, GATKQ), lambda op: touch(op, b"a", 100, opaque=op))
    + store(SET, b"a", b"hello", 77)
    + each((GAT, GATQ, GATK, GATKQ), lambda op: touch(op, b"a", op, opaque=op)) + get(b"a")
    + touch(GAT, b"a", FAR) + touch(GATK, b"a", PAST) + get(b"a"),
    "gat of a long value": store(SET, b"a", b"v" * 5000) + touch(GAT, b"a", 100) + touch(TOUCH, b"a", 100) + get(b"a"),
}

WRONG = [frame(NOOP, key=b"a"), frame(NOOP, value=b"a"), frame(NOOP, extras=b"a"), frame(VERSION, key=b"a"),
         frame(QUIT, key=b"a"), frame(QUITQ, value=b"a"), frame(GET), frame(GET, b"a", b"v"),
         frame(GET, b"a", extras=b"1234"), frame(GETKQ), frame(SET, b"a", b"v"), frame(SET, b"", b"v", bytes(8)),
         frame(SETQ, b"a", b"v", bytes(9)), frame(ADD, b"a", b"v", bytes(7)), frame(DELETE), frame(DELETE, b"a", b"v"),
         frame(DELETEQ, b"a", extras=bytes(4)), frame(INCREMENT, b"a"), frame(INCREMENT, b"", extras=bytes(20)),
         frame(DECREMENTQ, b"a", b"v", bytes(20)), frame(APPEND, b"", b"v"), frame(PREPEND, b"a", b"v", bytes(8)),
         frame(FLUSH, b"a"), frame(FLUSH, extras=bytes(8)), frame(FLUSHQ, value=b"abcd"), frame(STAT, extras=bytes(4)),
         frame(TOUCH, b"a"), frame(TOUCH, b"", extras=bytes(4)), frame(GAT, b"a", extras=bytes(8)),
         frame(SASL_LIST, b"a"), frame(SASL_AUTH), frame(SASL_AUTH, b"PLAIN", extras=b"a"),
         frame(GET, b"k" * 251), store(SET, b"k" * 251, b"v"), frame(0x55, b"k" * 300),
         frame(GET, b"aaaaa", lengths=(5, 0, 4)), frame(SET, b"aaaaa", extras=bytes(8), lengths=(5, 8, 12)),
         frame(NOOP, b"a", lengths=(1, 0, 0))]

# What ends the connection.
CLOSING = {
    "quit": frame(NOOP) + frame(QUIT, opaque=1) + frame(NOOP, opaque=2),
    "quiet quit": frame(NOOP) + frame(QUITQ, opaque=1) + frame(NOOP, opaque=2),
    "half-closed": store(SET, b"a", b"1") + get(b"a") + get(b"a", GETQ),
    "half a header": frame(NOOP) + frame(NOOP)[:10],
    "another magic": frame(NOOP, magic=0x81) + frame(NOOP),
    "text after binary": frame(NOOP) + b"get a\r\nget a\r\nget a\r\nget a\r\n",
    **{f"wrong lengths {i}": wrong for i, wrong in enumerate(WRONG)},
}

SPLIT = ("set and get", "all gets", "many quiet gets", "append and prepend", "increment", "unknown opcodes", "delete")
