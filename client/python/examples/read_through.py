#!/usr/bin/env python3
"""A read-through cache: rows of an SQLite table, read from plov while they are there.

    read_through.py [URI]
"""

import sqlite3
import sys

import plov

TTL_SECONDS = 60  # how old a row may be that somebody has changed behind our back


class Users:
    def __init__(self, database: sqlite3.Connection, cache: plov.Client) -> None:
        self.database = database
        self.cache = cache
        self.queries = 0

    def name(self, number: int) -> str | None:
        key = b"user:%d" % number
        try:
            cached = self.cache.get(key)
        except (plov.UnavailableError, plov.TimeoutError):
            return self._query(number)  # a cache that is away costs time, and no answer
        if cached is not None:
            return cached.decode()
        name = self._query(number)
        if name is not None:
            self._keep(key, name)
        return name

    def rename(self, number: int, name: str) -> None:
        with self.database:
            self.database.execute("UPDATE users SET name = ? WHERE number = ?", (name, number))
        self.cache.delete(b"user:%d" % number)

    def _query(self, number: int) -> str | None:
        self.queries += 1
        row = self.database.execute(
            "SELECT name FROM users WHERE number = ?", (number,)
        ).fetchone()
        return None if row is None else str(row[0])

    def _keep(self, key: bytes, name: str) -> None:
        try:
            self.cache.put(key, name.encode(), ttl=TTL_SECONDS, only_if="absent")
        except plov.ExistsError:
            pass  # somebody else was faster


def main(uri: str) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE users (number INTEGER PRIMARY KEY, name TEXT)")
    database.executemany("INSERT INTO users VALUES (?, ?)", [(1, "Ada"), (2, "Grace")])
    with plov.connect(uri) as cache:
        users = Users(database, cache)
        for _ in range(3):
            print(users.name(1), users.name(2), users.name(3))
        users.rename(1, "Ada Lovelace")
        print(users.name(1))
        print(f"{users.queries} queries for 10 answers")


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "shm:default")
    except plov.Error as error:
        sys.exit(f"read_through: {error}")
