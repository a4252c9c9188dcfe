"""memcached's binary protocol as a client speaks it: requests as bytes, and replies taken from them."""

import struct

HEADER = struct.Struct(">BBHBBHIIQ")

(GET, SET, ADD, REPLACE, DELETE, INCREMENT, DECREMENT, QUIT, FLUSH, GETQ, NOOP, VERSION, GETK, GETKQ,
 APPEND, PREPEND, STAT, SETQ, ADDQ, REPLACEQ, DELETEQ, INCREMENTQ, DECREMENTQ, QUITQ, FLUSHQ, APPENDQ,
 PREPENDQ, VERBOSITY, TOUCH, GAT, GATQ) = range(0x1f)
SASL_LIST, SASL_AUTH, SASL_STEP, GATK, GATKQ = range(0x20, 0x25)

OK, NOT_FOUND, EXISTS, TOO_LARGE, INVALID, NOT_STORED, NOT_A_NUMBER = range(7)
AUTH_ERROR, AUTH_CONTINUE, UNKNOWN, NO_MEMORY, TEMPORARY = 0x20, 0x21, 0x81, 0x82, 0x86

NEVER_MADE = 0xffffffff  # the exptime of an increment that makes no item


def frame(opcode, key=b"", value=b"", extras=b"", opaque=0, cas=0, magic=0x80, lengths=None):
    """lengths: of key, extras and body, where the header lies about them."""
    keys, extra, body = lengths or (len(key), len(extras), len(extras) + len(key) + len(value))
    return (HEADER.pack(magic, opcode, keys, extra, 0, 0, body, opaque, cas) + extras + key + value)


def store(opcode, key, value, flags=0, exptime=0, **rest):
    return frame(opcode, key, value, struct.pack(">II", flags, exptime), **rest)


def arithmetic(opcode, key, delta, initial=0, exptime=0, **rest):
    return frame(opcode, key, extras=struct.pack(">QQI", delta, initial, exptime), **rest)


def touch(opcode, key, exptime, **rest):
    return frame(opcode, key, extras=struct.pack(">I", exptime), **rest)


class Reply:
    def __init__(self, head, body):
        (self.magic, self.opcode, self.key_bytes, self.extras_bytes, self.type, self.status, _,
         self.opaque, self.cas) = HEADER.unpack(head)
        self.extras = body[:self.extras_bytes]
        self.key = body[self.extras_bytes:self.extras_bytes + self.key_bytes]
        self.value = body[self.extras_bytes + self.key_bytes:]

    def __repr__(self):
        return (f"<{self.magic:x} opcode={self.opcode:x} status={self.status:x} opaque={self.opaque:x} "
                f"cas={self.cas} extras={self.extras!r} key={self.key[:40]!r} value={self.value[:60]!r}>")


class Replies:
    """Those of one connection, in their order."""

    def __init__(self, connection, seconds=60):
        self.connection = connection
        self.left = b""
        connection.settimeout(seconds)

    def _take(self, count):
        while len(self.left) < count:
            part = self.connection.recv(1 << 20)
            if not part:
                return None
            self.left += part
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def next(self):
        """None: the connection is closed."""
        try:
            head = self._take(HEADER.size)
        except ConnectionResetError:  # closed before all was read
            return None
        if head is None:
            return None
        body = self._take(HEADER.unpack(head)[6])
        assert body is not None, "closed within a reply"
        return Reply(head, body)

    def until(self, opaque):
        """All up to the one with this opaque, without it; with None at the end if there is no such one."""
        replies = []
        while True:
            reply = self.next()
            if reply is not None and reply.opaque == opaque:
                return replies
            replies.append(reply)
            if reply is None:
                return replies


def say(connection, request):
    """One request and its reply."""
    connection.sendall(request)
    return Replies(connection).next()
