"""What redis_differential.py sends to Redis and to plov-door: scripts of whole requests, and what ends a connection."""

import time


def request(*arguments):
    parts = [argument if isinstance(argument, bytes) else str(argument).encode()
             for argument in arguments]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


def script(text):
    """A request of each line, of words; \\s is a space and \\e nothing, as they are within words."""
    words = (line.split() for line in text.strip().splitlines())
    return b"".join(
        request(*(word.replace("\\s", " ").replace("\\e", "") for word in line)) for line in words)


NUMBERS = ("", "x", "-1", "+5", " 7", "7 ", "7x", "007", "-0", "0", "1.5", "0x10", "-", "1e3",
           "9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "-9223372036854775809", "18446744073709551615", "9" * 40, "\t5", "5\n")
FLOATS = NUMBERS + ("3.0e3", "-1.2", "inf", "-inf", "nan", "1e500", "1e-500", ".5", "5.", "0.1",
                    "1e17", "10.50", "1234567890123456789.123456789")
# Those that are offered, with how many arguments they have (Redis counts the name; below 0 at least so many).
ARITIES = {"append": 3, "discard": 1, "exec": 1, "msetnx": -3, "multi": 1, "unwatch": 1, "watch": -2, "auth": -2, "client": -2, "config": -2, "dbsize": 1, "decr": 2, "decrby": 3, "del": -2,
           "echo": 2, "exists": -2, "expire": -3, "expireat": -3, "expiretime": 2, "get": 2,
           "getdel": 2, "getex": -2, "getrange": 4, "getset": 3, "incr": 2, "incrby": 3,
           "incrbyfloat": 3, "keys": 2, "mget": -2, "mset": -3, "persist": 2, "pexpire": -3, "pexpireat": -3,
           "pexpiretime": 2, "psetex": 4, "pttl": 2, "randomkey": 1, "reset": 1, "scan": -2, "select": 2, "set": -3, "setex": 4,
           "setnx": 3, "setrange": 4, "strlen": 2, "substr": 4, "ttl": 2, "type": 2, "unlink": -2}


def wrong_arities():
    for name, arity in ARITIES.items():
        for count in range(1, abs(arity) + 3):
            if (count < -arity) if arity < 0 else (count != arity):
                yield request(name, *["a"] * (count - 1))
    yield script("mset a\nmset a 1 b\nping a b\nclient getname a\nclient id a\nclient setname"
                 "\nclient setname a b\nclient no-evict\nclient info a\nconfig get\ncommand count x")


AHEAD = int(time.time()) + 1000
SCRIPTS = {
    "set and get": script("set a hello\nget a\nget b\nSET a x\nGeT a\nset a \\e\nget a\nstrlen a\nstrlen b"),
    "binary": request("set", "a", bytes(range(256))) + request("get", "a")
    + request("set", b"\r\n\x00", "1") + request("get", b"\r\n\x00") + request("echo", b"\x00\r\n$"),
    "set options": script("""
        set a 1 nx
        set a 2 nx
        get a
        set b 1 xx
        set a 3 xx
        get a
        set a 4 get
        set b 1 get
        set b 2 nx get
        set c 2 nx get
        set d 2 xx get
        set a 5 xx get
        set a 1 ex 100
        ttl a
        set a 2 keepttl
        ttl a
        set a 3 keepttl get
        ttl a
        set a 3
        ttl a
        set a 1 px 100000
        ttl a
        set a 1 EX 100 EX 200
        ttl a
        set none 1 keepttl
        ttl none"""),
    "set syntax": script("""
        set a 1 nx xx
        set a 1 xx nx
        set a 1 ex
        set a 1 ex 0
        set a 1 ex -1
        set a 1 ex x
        set a 1 ex 9223372036854775807
        set a 1 px 9223372036854775807
        set a 1 px 9223372036854775
        set a 1 exat 0
        set a 1 ex 10 px 10
        set a 1 ex 10 keepttl
        set a 1 keepttl ex 10
        set a 1 keepttl keepttl
        set a 1 bogus
        set a 1 persist
        set a 1 get get
        set a 1 nx nx
        get a
        ttl a"""),
    "set in the past": script("""
        set a 1
        set a 2 exat 1
        get a
        set a 2 pxat 1 nx
        get a
        set a 1
        set a 2 exat 1 nx
        get a
        set a 2 exat 1 get
        get a
        set b 2 exat 1 xx"""),
    "setnx setex": script("""
        setnx a 1
        setnx a 2
        get a
        setex a 100 5
        ttl a
        psetex a 100000 5
        ttl a
        setex a 0 1
        setex a -1 1
        setex a x 1
        psetex a 0 1
        setex a 9223372036854775807 1
        get a"""),
    "getset getdel": script("""
        getset a 1
        getset a 2
        expire a 100
        getset a 3
        ttl a
        getdel a
        getdel a
        get a"""),
    "getex": script("""
        getex a
        getex a ex 10
        getex a ex bogus
        set a 1
        getex a
        getex a ex 100
        ttl a
        getex a persist
        ttl a
        getex a persist
        getex a px 100000
        ttl a
        getex a ex 0
        getex a ex x
        getex a ex 10 px 10
        getex a ex 10 persist
        getex a persist ex 10
        getex a ex
        getex a nx
        getex a keepttl
        getex a exat 1
        get a"""),
    "flush": script("mset a 1 b 2\nflushall\nmget a b\nset a 3\nget a\nflushdb async\nexists a\nset a 4\nflushall sync"
                    "\nget a\nset a 5\nflushall now\nflushdb async sync\nget a"),
    "dbsize keys scan": script("""
        dbsize
        keys *
        randomkey
        scan 0
        set a 1
        dbsize
        keys *
        keys b*
        randomkey
        scan 0
        scan 0 count 1000 match a type string
        SCAN 0 MATCH b* COUNT 1000
        scan 0 type list
        scan 0 type STRING
        setex b 100 2
        dbsize
        keys b
        del a
        keys *
        scan 0 count 1000
        flushall
        dbsize
        keys *"""),
    "scan syntax": script("""
        scan x
        scan -
        scan 0x1
        scan 18446744073709551616
        scan 0 count
        scan 0 match
        scan 0 type
        scan 0 bogus 1
        scan 0 count 0
        scan 0 count -1
        scan 0 count x
        scan 0 count 99999999999999999999
        scan x count x
        scan 0 count 5 bogus"""),
    "mget mset": script("mset a 1 b 2 c 3\nmget a b none c a\nmget none\nmset a 1 a 2\nmget a\ndel a a b\nexists a c c"),
    "many keys": request("mset", *(x for i in range(600) for x in (f"k{i}", i)))
    + request("mget", *(f"k{i}" for i in range(700))) + request("exists", *(f"k{i}" for i in range(700)))
    + request("del", *(f"k{i}" for i in range(700))) + request("mget", *(f"k{i}" for i in range(2000))),
    "append": script("append a x\nappend a y\nget a\nappend a \\e\nstrlen a\nappend b \\e\nget b\nexists b\n"
                     "setex a 100 x\nappend a z\nttl a\nget a"),
    "long append": request("append", "a", "x" * 20000) + request("append", "a", "y" * 30000)
    + request("append", "a", "z" * 16384) + request("strlen", "a") + request("get", "a"),
    "ranges": request("set", "a", "This is a string")
    + b"".join(request(name, "a", first, last) for name in ("getrange", "substr") for first, last in
               ((0, 3), (-3, -1), (0, -1), (10, 100), (5, 3), (-5, -8), (-100, 3), (100, 200), (0, 0),
                ("x", 1), (1, "x"), (0, 2**63 - 1), (-2**63, -2**63), (2**63, 1), (16, 20)))
    + request("getrange", "none", 0, 1) + request("getrange", "none", "x", 1),
    "setrange": script("""
        setrange a 5 hello
        get a
        setrange a 0 \\e
        setrange none 3 \\e
        exists none
        setrange a 2 xx
        get a
        setrange a -1 x
        setrange a x x
        setrange a 536870912 x
        setrange a 9223372036854775807 x
        expire a 100
        setrange a 20 tail
        ttl a
        get a"""),
    "incr": script("""
        incr n
        incr n
        decr n
        incrby n 10
        decrby n 3
        get n
        incrby n x
        decrby n 1.5
        decrby n -9223372036854775808
        incrby n 9223372036854775807
        decrby n 9223372036854775807
        decrby n 100
        get n
        expire n 100
        incr n
        ttl n"""),
    "set expiry and incr": script("setex n 100 5\nincr n\nttl n\nincrby n -6\nget n\nincrbyfloat n 1.5\nttl n\nget n"),
    # Apart, as one reads what the one before it wrote: what comes together is done by the server alone.
    "float steps": b"".join(request("set", "n", x) + request("incrbyfloat", "n", "1.5") + request("get", "n")
                            + request("incrbyfloat", "m", x) + request("get", "m") + request("del", "m")
                            for x in FLOATS),
    "number arguments": b"".join(
        request("set", "n", "1") + request("incrby", "n", x) + request("decrby", "n", x)
        + request("setrange", "n", x, "") + request("expire", "none", x) + request("getrange", "n", x, x)
        + request("select", x) if x not in ("0", "-1") else b"" for x in NUMBERS),
    "expire": script(f"""
        expire a 100
        set a 1
        ttl a
        pttl a
        expiretime a
        pexpiretime a
        ttl none
        pttl none
        expiretime none
        pexpiretime none
        expire a 100
        ttl a
        persist a
        persist a
        persist none
        ttl a
        expireat a {AHEAD}
        expiretime a
        pexpiretime a
        pexpireat a {AHEAD}000
        expiretime a
        pexpire a 200000
        ttl a
        expire a 0
        get a
        set a 1
        expire a -1
        get a
        set a 1
        expireat a 1
        get a
        expire a x
        expire a 9223372036854775807
        pexpire a 9223372036854775807
        expire a -9223372036854775808
        pexpire a -9223372036854775808
        expireat a 9223372036854775807
        ttl a"""),
    "expire conditions": script("""
        set a 1
        expire a 100 xx
        expire a 100 gt
        expire a 100 lt
        ttl a
        expire a 200 lt
        expire a 200 gt
        ttl a
        expire a 100 nx
        persist a
        expire a 100 nx
        ttl a
        expire a 300 xx
        ttl a
        expire a 300 nx xx
        expire a 300 gt lt
        expire a 300 nx gt
        expire a 400 xx gt
        expire a 300 bogus
        expire a x bogus
        expire a x nx
        expire none 10 nx
        pexpire a 500000 gt
        ttl a
        expire a -1 nx
        expire a -1 lt
        get a"""),
    "types": script("set a 1\ntype a\ntype none\nexists a\nexists none\nexists a a none\nunlink a none\ndel none\nexists a"),
    "connection": script("""
        ping
        ping hello
        echo hi
        select 0
        select -1
        select 16
        select x
        client setname me
        client getname
        client setname a\\sb
        client setname \\e
        client getname
        client no-evict on
        client no-evict off
        client no-evict x
        client bogus
        auth x
        auth default x
        auth nobody x
        auth a b c
        hello 4
        hello x
        hello 2 bogus
        hello 2 auth nobody x
        hello 2 setname a\\sb
        hello 2 auth
        reset
        client getname"""),
    "unknown": script("bogus\nbogus a b\nbogus " + "x" * 200 + " y\n" + "z" * 200 + "\nconfig bogus\ncommand bogus\nconfig get save\n"
                      "config get appendonly\nconfig get bogus\nconfig get sav[e]\nconfig get a[p]pendonl?\nconfig get SAVE save"),
    "unknown with line ends": request("bo\r\ngus", "a\nb") + request("b\r", "c"),
    "arities": b"".join(wrong_arities()),
    "empty requests": b"*0\r\n*-1\r\n\r\n\n   \r\nping\r\n",
    "inline": b"set a 1\r\nget a\nSET b \"x\\x41\\n\\\"y\" \r\nget b\r\n  get   'a'\r\nset 'a\\'b' \"\"\r\nget \"a'b\"\r\n"
    b"set a \"\\q\\t\\b\\a\\r\\x4g\\\"\"\r\nget a\r\nbogus 'a b'\r\n",
    "large": request("set", "a", "v" * 300000) + request("get", "a") + request("strlen", "a")
    + request("getset", "a", "w" * 100000) + request("append", "a", "x" * 100000) + request("getdel", "a"),
    "pipeline": b"".join(script(f"set k{i % 7} {i}\nget k{i % 7}\nincr n\nappend l x\nmget k1 n l") for i in range(200)),
}

# Each value in a turn of its own.
TURNS = {f"number {text!r}": [request("set", "n", text), request("incr", "n"), request("get", "n"),
                              request("decrby", "n", 2), request("get", "n")] for text in NUMBERS}

CLOSING = {
    "quit in multi": script("multi\nset a 1\nquit\nexec"),
    "an end in multi": script("watch a\nset a 1\nmulti\nset a 2"),
    "an end behind exec": script("watch a\nmulti\nset a 2\nexec\nget a"),
    "quit": script("set a 1\nquit\nget a"),
    "quit inline": b"QUIT\r\nping\r\n",
    "bad count": b"*x\r\n",
    "count with a sign": b"*+1\r\n$4\r\nping\r\n",
    "count beyond": b"*2147483648\r\n",
    "no dollar": script("ping") + b"*1\r\n:4\r\nping\r\n",
    "a line for a dollar": b"*1\r\n\r\nping\r\n",
    "bad length": b"*1\r\n$x\r\nping\r\n",
    "negative length": b"*1\r\n$-1\r\nping\r\n",
    "length beyond": b"*2\r\n$3\r\nget\r\n$536870913\r\n",
    "open quote": b"ping\r\nset a \"x\r\n",
    "text behind a quote": b"set a 'x'y\r\n",
    "long line": b"a" * 70000,
    "long count": b"*" + b"1" * 70000,
    "long length": b"*1\r\n$" + b"1" * 70000,
}
# Those that are sent in pieces as well.
SPLIT = ("set and get", "set options", "mget mset", "append", "incr", "inline", "binary", "expire conditions",
         "unknown", "empty requests", "dbsize keys scan")
KEYS = ["a", "b", "c", "d", "n", "m", "l", "none", "a'b", "\r\n\x00", *(f"k{i}" for i in range(700))]
