#!/usr/bin/env python3
"""Reads reports as other programs do: JSON by Python's own reader, EDN by a strict one.

usage: formats.py SAMPLES    (the program samples.cc)

Both must be well formed and tell the same operations, and the EDN must be what Knossos takes: from
each process one operation at a time, none after one that never ended, and a right history must be
one of its cas-register that begins :absent. Wrong ones may not be wrong there, as that register
knows no versions, but about half are.
"""

import json
import re
import subprocess
import sys
from collections import Counter

TOKEN = re.compile(
    r"""(?P<space>[\s,]+)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<string>"(?:[^"\\]|\\["\\nrt])*")"""
    r"""|(?P<keyword>:[a-z][a-z-]*)(?=[\s,\]}]|$)|(?P<number>0|-?[1-9][0-9]*)(?=[\s,\]}]|$)"""
    r"""|(?P<nil>nil)(?=[\s,\]}]|$)"""
)
FOREVER = float("inf")


class Keyword(str):
    """:name, which is not the string."""


def parse_edn(text):
    """One EDN value, of the kinds that reports have; ValueError where there is anything else."""
    stack, at = [[]], 0
    opened = []
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"no EDN at {at}: {text[at:at + 30]!r}")
        at, kind, word = match.end(), match.lastgroup, match.group()
        if kind == "open":
            stack.append([])
            opened.append(word)
        elif kind == "close":
            if not opened or opened.pop() + word not in ("[]", "{}"):
                raise ValueError(f"unbalanced {word} at {at}")
            items = stack.pop()
            stack[-1].append(items if word == "]" else map_of(items))
        elif kind != "space":
            stack[-1].append(scalar(kind, word))
    if opened or len(stack[0]) != 1:
        raise ValueError("not one value")
    return stack[0][0]


def map_of(items):
    keys = items[::2]
    if len(items) % 2 != 0 or len(set(keys)) != len(keys):
        raise ValueError(f"no map: {items}")
    return dict(zip(keys, items[1::2]))


def scalar(kind, word):
    if kind == "string":
        return re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r", "t": "\t"}.get(m[1], m[1]), word[1:-1])
    if kind == "keyword":
        return Keyword(word[1:])
    return None if kind == "nil" else int(word)


class Call:
    """An invocation and what became of it; `end` in events."""

    def __init__(self, event):
        self.kind, self.client, self.start_time = event["kind"], event["client"], event["time"]
        self.f, self.value = event["f"], event["value"]
        self.start, self.end = event["index"], FOREVER
        self.type = self.end_time = None


def calls_of(events):
    """Pairs events by process; ValueError where Knossos would not."""
    calls, open_calls, crashed, time = [], {}, set(), 0
    for index, event in enumerate(events):
        process, kind = event["process"], event["type"]
        if event["index"] != index or event["time"] < time or process in crashed:
            raise ValueError(f"out of order: {event}")
        time = event["time"]
        if kind == "invoke":
            if process in open_calls:
                raise ValueError(f"a process does two things: {event}")
            open_calls[process] = Call(event)
            calls.append(open_calls[process])
            continue
        call = open_calls.pop(process)
        is_read = call.f == "read" and kind == "ok"
        if event["f"] != call.f or (event["value"] != call.value and not is_read):
            raise ValueError(f"not what was invoked: {event}")
        call.type, call.value = kind, event["value"]
        if kind == "info":
            crashed.add(process)
        elif kind in ("ok", "fail"):
            call.end, call.end_time = index, time
        else:
            raise ValueError(f"no type: {event}")
    if open_calls:
        raise ValueError("an operation without its end")
    return calls


def step(call, state):
    """The register's state after the call, or None where it cannot have happened."""
    if call.f == "read":
        return state if call.value in (None, state) else None
    if call.f == "write":
        return call.value
    if call.f != "cas":
        raise ValueError(f"no operation of a register: {call.f}")
    expected, value = call.value
    return value if state == expected else None


def is_linearizable(calls):
    """By trying every order, as Knossos does: failed ones did nothing, crashed ones may have."""
    calls = [c for c in calls if c.type == "ok" or (c.type == "info" and c.f != "read")]
    needed = sum(1 << i for i, c in enumerate(calls) if c.type == "ok")
    todo, seen = [(0, Keyword("absent"))], set()
    while todo:
        done, state = todo.pop()
        if done & needed == needed:
            return True
        first_end = min(c.end for i, c in enumerate(calls) if not done >> i & 1)
        for i, call in enumerate(calls):
            if done >> i & 1 or call.start > first_end:
                continue
            after = (done | 1 << i, step(call, state))
            if after[1] is not None and after not in seen:
                seen.add(after)
                todo.append(after)
    return False


def check(sample):
    """Whether the history is one of the register; ValueError where a report is not in order."""
    report = json.loads(sample["report"])
    lines = sample["edn"].splitlines()
    calls = calls_of([parse_edn(line) for line in lines])
    told = Counter((o["kind"], o["start"], o["end"]) for o in report["operations"])
    if report["initial"] == "anything":
        told["PUT", 0, None] += 1  # the foreign value
    if told != Counter((c.kind, c.start_time, c.end_time) for c in calls):
        raise ValueError("EDN and JSON tell different operations")
    return is_linearizable(calls)


def main():
    text = subprocess.run([sys.argv[1]], check=True, capture_output=True, timeout=100).stdout
    right = wrong = found = 0
    for line in text.decode().splitlines():
        sample = json.loads(line)
        try:
            is_good = check(sample)
            if sample["right"] and not is_good:
                raise ValueError("a right history is wrong in EDN")
        except (ValueError, KeyError, TypeError) as error:
            print(f"FAILED: {error!r}\n{sample['report']}\n{sample['edn']}")
            return 1
        right += sample["right"]
        wrong += not sample["right"]
        found += not is_good
    print(f"{right} right histories; {wrong} wrong ones, {found} of them wrong as a register too")
    return 0 if right >= 100 and found >= 100 and 3 * found > wrong else 1


if __name__ == "__main__":
    sys.exit(main())
