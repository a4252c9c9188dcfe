"""What redis_differential.py sends to Redis and to plov-door: transactions, and what is stored at once."""

from redis_scripts import AHEAD, request, script

TRANSACTION_SCRIPTS = {
    "msetnx": script("""
        msetnx a 1 b 2
        msetnx b 3 c 4
        mget a b c
        msetnx c 1 c 2
        get c
        msetnx d
        msetnx d 1 m
        msetnx d \\e
        get d
        setex l 100 x
        msetnx l 1
        ttl l"""),
    "multi": script("""
        multi
        set a 1
        get a
        incr a
        append a 0
        get b
        mget a b none
        mset b 1 c 2
        del a none b
        exists a b c c
        strlen c
        getrange c 0 -1
        type a
        setrange d 3 x
        getset d y
        getdel d
        incrbyfloat n 1.5
        setnx n 1
        set n 2 xx get
        decrby n 5
        ping
        echo hi
        select 0
        client setname me
        client getname
        unwatch
        exec
        client getname
        mget a b c d n"""),
    "multi expiry": script(f"""
        set a 1
        multi
        expire a 100
        ttl a
        persist a
        ttl a
        setex b 100 1
        ttl b
        incr b
        ttl b
        append b x
        ttl b
        set b y keepttl
        ttl b
        getex b persist
        ttl b
        expireat a {AHEAD}
        expiretime a
        expire a 100 nx
        expire none 100
        pexpire a -1
        exists a
        set c 1 exat 1
        get c
        exec
        ttl a
        ttl b
        mget a b c"""),
    "multi errors of single commands": script("""
        set a text
        multi
        incr a
        set b 1
        set a 1 bogus
        set a 1 ex 0
        mset a 1 c
        msetnx a 1 c
        select 16
        incrby b x
        incrbyfloat a 1
        decrby b -9223372036854775808
        incrby b 9223372036854775807
        getrange a x 1
        config get save
        auth default x
        expire b x
        incr b
        exec
        mget a b c"""),
    "multi is aborted": script("""
        multi
        set a 1
        bogus
        set a 2
        exec
        get a
        multi
        get
        ping
        exec
        ping
        multi
        set a 1
        multi b
        exec
        get a
        bogus
        multi
        ping
        exec
        multi
        bogus
        exec x
        exec
        exec x
        multi
        bogus
        discard
        multi
        set a 3
        exec
        get a"""),
    "multi and its like": script("""
        exec
        discard
        unwatch
        multi
        multi
        watch a
        set a 1
        exec
        get a
        multi
        exec
        multi
        set a 2
        discard
        get a
        exec
        multi
        set a 3
        reset
        exec
        get a
        multi
        discard x
        discard
        watch
        multi
        msetnx a 1 b 2
        msetnx b 1 c 2 b 3
        mget a b c
        exec
        mget a b c
        MULTI
        Get a
        ExEc"""),
    "watch": script("""
        watch a
        multi
        set a 1
        exec
        watch a
        set a 2
        multi
        set a 3
        exec
        get a
        multi
        set a 4
        exec
        watch a b none
        del none
        multi
        get a
        exec
        watch none
        set none 1
        multi
        exec
        watch none
        del none
        multi
        set a 5
        exec
        get a
        watch a
        expire a 100
        multi
        ping
        exec
        watch a
        set a 6
        unwatch
        multi
        set a 7
        exec
        watch a
        set a 8
        multi
        discard
        multi
        set a 9
        exec
        watch a
        set a 10
        reset
        multi
        set a 11
        exec
        get a
        watch a
        set a 12
        watch a
        multi
        exec
        watch a a a
        multi
        exec
        watch a
        set a 13
        exec
        discard
        multi
        bogus
        exec
        multi
        exec
        watch a
        flushall
        multi
        set a 14
        exec
        get a
        watch b
        flushall
        multi
        set b 14
        exec"""),
    "the protocol's version in multi": script("""
        watch a
        set a 1
        multi
        hello 3
        exec
        get none
        watch a
        set a 1
        multi
        hello 2
        exec
        get none"""),
    "many in multi": request("multi") + b"".join(
        request("set", f"k{i % 50}", i) + request("incr", f"k{i % 40}") + request("get", f"k{i % 60}") for i in range(500))
    + request("exec") + request("mget", *(f"k{i}" for i in range(60))),
    "large values in multi": request("set", "a", "v" * 300000) + request("multi") + request("get", "a")
    + request("strlen", "a") + request("getrange", "a", 0, 9) + request("set", "b", "w" * 15000) + request("get", "a")
    + request("set", "b", "x" * 16000) + request("get", "b") + request("del", "a") + request("get", "a")
    + request("exec") + request("mget", "a", "b"),
}
# Those that are sent in pieces as well.
SPLIT_TRANSACTIONS = ("multi", "watch", "the protocol's version in multi", "msetnx")
