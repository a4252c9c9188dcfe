"""What the rules look at: the repository's files, and C++ text freed of comments and strings."""

import os
import re
from pathlib import Path
from typing import NamedTuple

LIBRARY_FOLDERS = ("verify", "cuckoo", "fabric", "log", "metrics", "cluster", "service", "server", "client", "torture", "door")
CODE_SUFFIXES = (".h", ".cc", ".c")

_OPAQUE = re.compile(
    r"""//[^\n]*|/\*.*?\*/                     # comments
      |R"([^()\\\s]*)\(.*?\)\1"                # raw strings
      |"(?:\\.|[^"\\\n])*"                     # strings
      |(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'     # characters, but not the ' of 1'000
    """,
    re.DOTALL | re.VERBOSE,
)
_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"\n]+)[>"]')


class Finding(NamedTuple):
    path: str
    line: int
    message: str
    fatal: bool = True  # False: reported, and the rule still passes


class Skip(Exception):
    """The machine lacks what a rule needs."""


def blank(text):
    """Replaces comments and what is inside quotes by spaces; lines and columns stay."""

    def spaces(match):
        found = re.sub(r"[^\n]", " ", match.group())
        return found if match.group()[0] == "/" else '"' + found[1:-1] + '"'

    return _OPAQUE.sub(spaces, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Repository:
    """The files under `root` that belong to it: no build folders, no links."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self._texts = {}
        self._paths = sorted(self._walk())

    def _walk(self):
        for folder, names, files in os.walk(self.root):
            at_root = Path(folder) == self.root
            names[:] = [n for n in names if not self._foreign(n, at_root)]
            for name in files:
                path = Path(folder) / name
                if name != ".git" and path.is_file() and not path.is_symlink():
                    yield path.relative_to(self.root).as_posix()

    @staticmethod
    def _foreign(name, at_root):
        return name in (".git", "__pycache__") or (at_root and name.startswith("build"))

    def paths(self, *suffixes, folders=None):
        """The paths that end in one of `suffixes` (any, if none) under one of `folders`."""
        for path in self._paths:
            if suffixes and not path.endswith(suffixes):
                continue
            if folders is None or path.split("/")[0] in folders:
                yield path

    def text(self, path):
        """The file's text, or the empty string when it is not text."""
        if path not in self._texts:
            data = (self.root / path).read_bytes()
            self._texts[path] = "" if b"\0" in data else data.decode(errors="replace")
        return self._texts[path]

    def lines(self, path):
        return enumerate(self.text(path).splitlines(), 1)

    def code(self, path):
        return blank(self.text(path))

    def includes(self, path):
        """Yields (line number, '<' or '"', what is included)."""
        for number, line in self.lines(path):
            match = _INCLUDE.match(line)
            if match:
                yield number, match.group(1), match.group(2)
