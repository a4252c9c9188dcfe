"""Rules on what stands where: the include table, headers on their own, sources named in CMake."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath

from source import CODE_SUFFIXES, LIBRARY_FOLDERS, Finding, Skip

# The table of the design, section 2. `ours`: the folders or single headers a folder may include;
# `libraries`: what it may include besides the standard library, by the start of the header's name.
_POSIX = ("posix",)
_DEBIAN = ("posix", "fmt/", "spdlog/", "boost/", "nlohmann/", "xxhash.h")
TABLE = {
    "verify": {"ours": ("verify/",), "libraries": ("xxhash.h",)},
    # posix for zeroed_memory.cc alone: no other memory is cuckoo's own.
    "cuckoo": {"ours": ("cuckoo/", "verify/"), "libraries": _POSIX},
    "fabric": {
        # error.h is one more, deliberate edge: every fabric returns std::expected<T, Error>.
        "ours": ("fabric/", "verify/words.h", "verify/error.h"),
        "libraries": _POSIX,
    },
    "log": {
        "ours": ("log/", "verify/", "fabric/os.h", "fabric/spin.h"),
        "libraries": _POSIX,
    },
    "metrics": {
        "ours": ("metrics/", "verify/", "fabric/os.h"),
        "libraries": _POSIX + ("prometheus/",),
    },
    # Of cuckoo only how a hash is mapped to a range: slots are numbered as shards are.
    "cluster": {
        "ours": ("cluster/", "verify/", "fabric/os.h", "fabric/random.h", "cuckoo/hash.h"),
        "libraries": _POSIX + ("fmt/", "nlohmann/", "zookeeper/"),
    },
    "server": {
        "ours": ("server/", "service/", "cluster/", "metrics/", "log/", "fabric/", "cuckoo/", "verify/"),
        "libraries": _DEBIAN + ("jemalloc/",),
    },
    "client": {
        "ours": ("client/", "plov/", "plov.h", "plov_vectors.h", "fabric/", "cuckoo/", "verify/"),
        # the writer's half of cuckoo
        "never": ("cuckoo/growing_table.h", "cuckoo/table.h", "cuckoo/path.h"),
        "libraries": _DEBIAN,  # no jemalloc: the library brings no allocator into an application
    },
    # Measures anything; but what it does by verbs is in a folder of its own.
    "bench": {
        "ours": ("bench/", "torture/", "plov/", "client/", "server/", "cluster/", "fabric/",
                 "cuckoo/", "verify/"),
        "libraries": _DEBIAN,
    },
    # A user of the store like any other: it sees what applications see, and checks it.
    # Its own cluster's coordinator knows what is expected of it, and its servers can be cut off.
    "torture": {
        "ours": ("torture/", "plov/", "cluster/planner.h", "cluster/values.h", "fabric/cut_switch.h",
                 "fabric/os.h", "verify/error.h", "verify/quantity.h"),
        "libraries": _DEBIAN,
    },
    "service": {
        "ours": ("service/", "metrics/", "fabric/os.h", "verify/error.h", "verify/quantity.h"),
        "libraries": _DEBIAN,
    },
    # An application of the library.
    "door": {
        "ours": ("door/", "plov/", "service/", "metrics/exporter.h", "metrics/samples.h",
                 "fabric/os.h", "fabric/standard_files.h", "verify/error.h", "verify/quantity.h"),
        "libraries": _DEBIAN + ("event2/",),
    },
}
# Folders or the start of file names: the only users of rdma-core. The fabric, and the measurement
# of what RDMA could do besides what the fabric asks of it.
_VERBS = ("fabric/verbs", "bench/verbs")
_VERBS_LIBRARIES = ("infiniband/", "rdma/")
# What plov is compared with, each in a file of one folder.
_PEERS = "bench/peers"
_PEER_LIBRARIES = ("lmdb.h", "libcuckoo/", "hiredis/", "libmemcached/")
# The bindings for Python.
_PYTHON = "client/python/"
_PYTHON_LIBRARIES = ("Python.h", "pybind11/")
# `plov log` reads a server's log, `plov stats` shows counters as Prometheus does, `plov cluster` asks a
# cluster's coordinator: the client's library does none of it.
_CLI = "client/cli/"
_LIBRARY_ROOTS = (*_DEBIAN[1:], "event2/", "jemalloc/", "prometheus/", "zookeeper/", "gtest/", "gmock/")
_STANDARD_C = re.compile(r"^(assert|ctype|errno|float|inttypes|limits|locale|math|setjmp|signal"
                         r"|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|time)\.h$")


def _is_library(header):
    return header.startswith(_LIBRARY_ROOTS + _VERBS_LIBRARIES + _PEER_LIBRARIES + _PYTHON_LIBRARIES)


def _allowed(path, row, header):
    if header.startswith(row.get("never", ())):
        return False
    if re.fullmatch(r"[a-z0-9_]+", header) or _STANDARD_C.match(header):
        return True  # the standard library
    if header.startswith(row["ours"] + row["libraries"]):
        return True
    if path.startswith(_VERBS) and header.startswith(_VERBS_LIBRARIES):
        return True
    if path.startswith(_CLI) and header.startswith(("log/", "metrics/", "cluster/")):
        return True
    if path.startswith(_PYTHON) and header.startswith(_PYTHON_LIBRARIES):
        return True
    if path.startswith(_PEERS) and header.startswith(_PEER_LIBRARIES):
        return True
    is_ours = header.split("/")[0] in (*LIBRARY_FOLDERS, "plov", "plov.h", "tests", "bench")
    return "posix" in row["libraries"] and not is_ours and not _is_library(header)


def include_table(repository, _options):
    for path in repository.paths(*CODE_SUFFIXES):
        folder = path.split("/")[0]
        for line, quote, header in repository.includes(path):
            name = PurePosixPath(header).name
            if header.startswith("../") or "/../" in header:
                yield Finding(path, line, f"{header}: include by the path from the root")
            elif name.endswith((".cc", ".c")) or re.fullmatch(r"(\w+_)?main\.h", name):
                yield Finding(path, line, f"{header}: nothing includes a source file or a main")
            elif quote == '"' and "/" not in header and header != "plov.h" and folder in TABLE:
                yield Finding(path, line, f"{header}: include by the path from the root")
            elif folder in TABLE and not _allowed(path, TABLE[folder], header):
                yield Finding(path, line, f"{folder}/ may not include {header}")


def _compiled_first(repository):
    """Headers that a source file includes before anything else: the build compiles them alone."""
    for path in repository.paths(".cc"):
        first = next(iter(repository.includes(path)), None)
        if first is not None:
            yield first[2]


def headers_alone(repository, options):
    proven = set(_compiled_first(repository))
    # Those of tests take the longest, for their framework, and are nobody's but a test's.
    headers = [path for path in repository.paths(".h")
               if path not in proven and not path.startswith("tests/")]
    folders = [repository.root, repository.root / "client/include", *options.include]
    flags = [f"-I{folder}" for folder in folders]

    def compile_alone(path, compiler, *mode):
        # Through stdin, so that the header is not the main file, where #pragma once is odd.
        result = subprocess.run(
            [compiler, *mode, "-fsyntax-only", "-Wall", "-Werror", *flags, "-"],
            input=f'#include "{repository.root / path}"\n',
            capture_output=True, text=True, timeout=options.timeout, check=False)
        if result.returncode != 0:
            where = " ".join(mode)
            errors = [line for line in result.stderr.splitlines() if "error:" in line]
            first = (errors or result.stderr.splitlines() or ["no message"])[0]
            return Finding(path, 1, f"does not compile alone ({where}): {first}")
        return None

    jobs = [(path, options.cxx, "-x", "c++", "-std=c++23") for path in headers]
    for path in repository.paths(".h"):
        if re.search(r'extern\s+"C"', repository.text(path)):  # a header for C too
            jobs.append((path, options.cc, "-x", "c", "-std=c11"))
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            yield from filter(None, pool.map(lambda job: compile_alone(*job), jobs))
    except FileNotFoundError as error:
        raise Skip(f"no compiler: {error.filename}") from error


def sources_in_cmake(repository, _options):
    lists = {
        str(PurePosixPath(path).parent): re.sub(r"#[^\n]*", "", repository.text(path))
        for path in repository.paths("CMakeLists.txt")
    }
    for path in repository.paths(".cc", ".c"):
        for parent in PurePosixPath(path).parents:
            relative = re.escape(str(PurePosixPath(path).relative_to(parent)))
            named = re.compile(rf"(?<![\w./-])(?:\$\{{\w+_DIR\}}/)?{relative}(?![\w./-])")
            if named.search(lists.get(str(parent), "")):
                break
        else:
            yield Finding(path, 1, "is named in no CMakeLists.txt")
