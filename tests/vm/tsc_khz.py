#!/usr/bin/env python3
"""Prints the frequency of this machine's time stamp counter in kHz, or nothing where it has none.

A guest of TCG has the host's counter. It measures its frequency against a timer that TCG emulates,
and on a busy host takes it for a tenth of what it is: then all its clocks run ten times too fast.
"""

import ctypes
import mmap
import platform
import time

RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl rdx, 32; or rax, rdx; ret


def reading(counter):
    """(nanoseconds, ticks) of one instant: of several tries the one least interrupted."""
    tries = []
    for _ in range(50):
        before = time.monotonic_ns()
        ticks = counter()
        after = time.monotonic_ns()
        tries.append((after - before, (before + after) // 2, ticks))
    return min(tries)[1:]


def main():
    if platform.machine() != "x86_64":
        return
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(RDTSC)
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
    first = reading(counter)
    time.sleep(0.05)
    last = reading(counter)
    print(round((last[1] - first[1]) * 1e6 / (last[0] - first[0])))


if __name__ == "__main__":
    main()
