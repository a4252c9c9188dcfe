#!/usr/bin/env python3
"""A feature store: a matrix of the features of many users, filled without an object for each.

    feature_store.py [URI]
"""

import sys
import time

import numpy

import plov

USERS = 10_000
FEATURES = numpy.dtype(("f4", (16,)))
BATCH = 1_000


def key(user: int) -> bytes:
    return b"features:%d" % user


def store(client: plov.Client, features: numpy.ndarray) -> None:
    client.put_many((key(user), row.tobytes()) for user, row in enumerate(features))


def load(client: plov.Client, users: list[int]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The features of some users, zeros for those that have none, and who has some."""
    matrix = numpy.zeros(len(users), FEATURES)
    return matrix, client.get_many_into([key(user) for user in users], matrix)


def main(uri: str) -> None:
    random = numpy.random.default_rng(seed=1)
    features = random.random((USERS, 16), dtype="f4")
    with plov.connect(uri) as client:
        store(client, features)
        users = [int(user) for user in random.integers(0, USERS + 10, BATCH)]
        begin = time.perf_counter()
        matrix, known = load(client, users)
        took_us = (time.perf_counter() - begin) * 1e6
        right = all(
            (matrix[i] == (features[user] if known[i] else 0)).all()
            for i, user in enumerate(users)
        )
        print(f"{matrix.shape[0]} rows of {matrix.shape[1]} features: {'right' if right else 'WRONG'}")
        print(f"{took_us / BATCH:.2f} us for a row")


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "shm:default")
    except plov.Error as error:
        sys.exit(f"feature_store: {error}")
