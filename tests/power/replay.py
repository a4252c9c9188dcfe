#!/usr/bin/env python3
"""Makes a disk anew as it was when the power went, from qemu's log of it, and checks a plovd on it.

For tests/power/cut.sh, in its virtual machine. The log has dm-log-writes' format. A disk keeps what
was written before a flush; of what was written since, which lies in its cache, any 4 KiB may be
there or not, for a disk reorders. (Not 512 bytes: ext4's superblock has two of these.)
The ledger, behind the file system, is no part of the disk that loses power: it is always as it was.
"""

import argparse
import bisect
import os
import random
import re
import signal
import struct
import subprocess
import sys

SECTOR = 512
BLOCK = 4096
FLUSH = 1
MAGIC = 0x6A736677736872
URI = "shm:/run/plov-power"
MOUNTED = "/run/plov-power-disk"
LOG = MOUNTED + "/log"
# Fewer promises, in all cuts together for each cut, and a run says nothing.
PROMISES_A_CUT = 20


class DiskLog:
    """The writes and the flushes, as (place in the file, first byte, bytes), of a flush no bytes."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDONLY)
        magic, version, count, sector = struct.unpack("<QQQI", os.pread(self.file, 28, 0))
        if (magic, version, sector) != (MAGIC, 1, SECTOR):
            sys.exit(f"{path}: this is no log of blklogwrites")
        self.entries = []
        self.flushes = []  # their places in `entries`
        place = SECTOR
        for number in range(count):
            first, sectors, flags, _ = struct.unpack("<QQQQ", os.pread(self.file, 32, place))
            if flags & ~FLUSH:
                sys.exit(f"{path}: entry {number} has the flags {flags}")
            if flags & FLUSH:
                self.flushes.append(number)
            self.entries.append((place + SECTOR, first * SECTOR, sectors * SECTOR))
            place += (1 + sectors) * SECTOR

    def apply(self, number, disk, keeps=lambda: True):
        place, first, size = self.entries[number]
        while size > 0:
            piece = min(BLOCK - first % BLOCK, size)
            if keeps():
                os.pwrite(disk, os.pread(self.file, piece, place), first)
            place, first, size = place + piece, first + piece, size - piece


def choose_cuts(log, count, seed):
    """(entries before the cut, the chance of a block since the last flush to be there), in order."""
    chance = random.Random(seed)
    cuts = []
    for number in range(count):
        if number % 4 == 0:
            cuts.append((chance.choice(log.flushes) + 1, 1))
        elif number % 4 == 1:
            cuts.append((chance.randrange(1, len(log.entries)), 1))
        else:  # before a flush, when the most is under way
            cuts.append((chance.choice(log.flushes), chance.choice((0.1, 0.5, 0.9))))
    return sorted(cuts)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Violation(Exception):
    pass


def must(*command):
    result = run(*command)
    if result.returncode != 0:
        raise Violation(f"{' '.join(command)}: {result.stdout}{result.stderr}")
    return result.stdout


class Checker:
    def __init__(self, options):
        self.options = options
        self.mounts = self.torn = self.promised = self.shown = 0

    def check(self, device):
        """Of the disk that `device` is; whatever has happened, nothing uses it afterwards."""
        must("mount", "-t", self.options.fs, device, MOUNTED)
        self.mounts += 1
        try:
            if os.path.isdir(LOG):
                self.check_files()
            self.check_server(device)
        finally:
            must("umount", MOUNTED)

    def check_files(self):
        checked = run(f"{self.options.build}/client/plov", "log", "check", LOG)
        # A folder without a segment is no log yet.
        if checked.returncode not in (0, 1) and any(name.endswith(".log") for name in os.listdir(LOG)):
            raise Violation(f"plov log check: {checked.stdout}{checked.stderr}")
        self.torn += checked.returncode

    def check_server(self, device):
        options = self.options
        command = [f"{options.build}/server/plovd", "--listen", URI, "--memory", "64M", "--max-clients", "50",
                   "--log-segment", "1M", "--log", LOG, "--commit", options.commit, "--shards", options.shards]
        with open("/run/plovd", "w+", encoding="utf-8") as errors:
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
            try:
                if not server.stdout.readline().startswith("plovd: ready on"):
                    errors.seek(0)
                    raise Violation(f"plovd ended with {server.wait()}: {errors.read()}")
                said = must(f"{options.build}/tests/power/ledger", "check", URI, device, options.ledger,
                            options.all, options.commit)
            finally:
                server.send_signal(signal.SIGKILL)
                server.wait()
                server.stdout.close()
        promised, _, shown = (int(number) for number in re.findall(r"\d+", said))
        self.promised += promised
        self.shown += shown


def main():
    parser = argparse.ArgumentParser()
    for name in ("--seed", "--cuts", "--fs", "--commit", "--shards"):
        parser.add_argument(name)
    for name in ("build", "all", "disk", "log", "ledger"):
        parser.add_argument(name)
    options = parser.parse_args()
    log = DiskLog(options.log)
    disk = os.open(options.disk, os.O_WRONLY)
    sectors = os.lseek(disk, 0, os.SEEK_END) // SECTOR
    checker = Checker(options)
    keep = random.Random(options.seed)
    violations = done = 0
    for before, chance in choose_cuts(log, int(options.cuts), options.seed):
        # The disk itself goes from flush to flush; what came after is written to a snapshot of it,
        # as is all that the file system and plovd do with it.
        flushed = bisect.bisect_left(log.flushes, before)
        flushed = log.flushes[flushed - 1] + 1 if flushed > 0 else 0
        for number in range(done, flushed):
            log.apply(number, disk)
        done = max(done, flushed)
        os.fsync(disk)
        must("dmsetup", "create", "cut", "--table", f"0 {sectors} snapshot {options.disk} /dev/ram0 N 8")
        try:
            cut = os.open("/dev/mapper/cut", os.O_WRONLY)
            for number in range(done, before):
                if log.entries[number][1] >= int(options.ledger):
                    log.apply(number, cut)
                else:
                    log.apply(number, cut, lambda: keep.random() < chance)
            os.fsync(cut)
            os.close(cut)
            checker.check("/dev/mapper/cut")
        except Violation as violation:
            violations += 1
            print(f"cut after entry {before} of {len(log.entries)}, {before - done} after a flush,"
                  f" blocks kept {chance}: {violation}", flush=True)
        finally:
            must("dmsetup", "remove", "cut")
    print(f"{options.fs} {options.commit}: {options.cuts} cuts of {len(log.entries) - len(log.flushes)} writes"
          f" and {len(log.flushes)} flushes, {checker.mounts} mounts, {checker.torn} torn logs,"
          f" {checker.promised} promised writes and {checker.shown} reads checked, {violations} violations")
    if violations:
        sys.exit(1)
    if checker.promised < PROMISES_A_CUT * int(options.cuts):
        print("too little: few writes were promised; raise --writes")
        sys.exit(4)


main()
