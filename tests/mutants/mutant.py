"""What a mutant's file says, and what it makes of the functions of a source file."""

import os
import re
from typing import NamedTuple

from sizes import bodies
from source import blank

_CAUGHT = re.compile(r"caught by (\S+)(?: (\S+))?")
_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")


class Problem(Exception):
    """What is wrong with a mutant; the message begins with the mutant's name."""


class Hunk(NamedTuple):
    path: str
    right: str  # whole lines, as they stand in the source
    wrong: str


class Mutant(NamedTuple):
    name: str
    what: str  # plov does wrong
    catcher: str  # that is tried first, or ""
    filter: str  # of the catcher's tests, or ""
    hunks: list


class Body(NamedTuple):
    """A function of a source file: positions inside its braces."""

    begin: int
    end: int
    head: str


class Edit(NamedTuple):
    """What stands from `begin` to `end` becomes `text`."""

    begin: int
    end: int
    text: str


def _parse_hunk(name, text):
    path, _, rest = text.partition("\n")
    right, wrong = [], []
    for line in rest.strip("\n").split("\n"):
        mark, content = line[:1] or " ", line[1:] + "\n"
        if mark not in " -+":
            raise Problem(f"{name}: {path}: a line begins with none of ' ', '-' and '+': {line}")
        if mark != "+":
            right.append(content)
        if mark != "-":
            wrong.append(content)
    if right == wrong:
        raise Problem(f"{name}: {path}: the wrong text is the right one")
    return Hunk(path, "".join(right), "".join(wrong))


def parse(name, text):
    """The mutant that a file NAME.mutant describes; the format is in make_tree.py."""
    if not _NAME.fullmatch(name):
        raise Problem(f"{name}: the name is not of the form LikeThis")
    head, *hunks = re.split(r"^@@ ", text, flags=re.MULTILINE)
    what, *rest = head.rstrip().split("\n")
    caught = _CAUGHT.fullmatch("\n".join(rest) or "caught by -")
    if not what or "\t" in what or not caught:
        raise Problem(f"{name}: the file does not begin with what is wrong and who catches it")
    if not hunks:
        raise Problem(f"{name}: the file has no hunk")
    catcher, tests = caught.groups(default="") if rest else ("", "")
    return Mutant(name, what, catcher, tests, [_parse_hunk(name, hunk) for hunk in hunks])


def bodies_of(text):
    return [Body(opening + 1, closing, head) for head, opening, closing in bodies(blank(text))]


def _common(a, b):
    """How many letters a and b begin with together."""
    return len(os.path.commonprefix([a, b]))


def _edit(name, hunk, text):
    """What a hunk changes, without the lines and letters that stay."""
    places = [match.start() for match in re.finditer(f"^(?={re.escape(hunk.right)})", text, re.M)]
    if len(places) != 1:
        found = f"stands there {len(places)} times" if places else "is not there"
        first = hunk.right.strip().partition("\n")[0]
        raise Problem(f"{name}: {hunk.path}: the right text {found}: {first}")
    prefix = _common(hunk.right, hunk.wrong)
    right, wrong = hunk.right[prefix:], hunk.wrong[prefix:]
    suffix = _common(right[::-1], wrong[::-1])
    begin = places[0] + prefix
    return Edit(begin, begin + len(right) - suffix, wrong[: len(wrong) - suffix])


def _body_around(name, hunk, edit, functions):
    for body in functions:
        if body.begin <= edit.begin and edit.end <= body.end:
            if re.search(r"\bconsteval\b", body.head):
                raise Problem(f"{name}: {hunk.path}: a consteval function never runs")
            return body
    raise Problem(f"{name}: {hunk.path}: a hunk changes the inside of one function, no more")


def _applied(name, text, body, edits):
    """The text of a body with the edits of one mutant."""
    parts, at = [], body.begin
    for edit in sorted(edits):
        if edit.begin < at:
            raise Problem(f"{name}: two hunks overlap")
        parts += [text[at : edit.begin], edit.text]
        at = edit.end
    return "".join([*parts, text[at : body.end]])


def wrong_bodies(mutant, texts, functions):
    """Yields (path, body, its wrong text) for each function that a mutant changes.

    texts:     of a path, the source file's text; KeyError where there is none.
    functions: of a path, its bodies.
    """
    edits = {}
    for hunk in mutant.hunks:
        try:
            text = texts[hunk.path]
        except KeyError:
            raise Problem(f"{mutant.name}: {hunk.path}: there is no such source file") from None
        edit = _edit(mutant.name, hunk, text)
        body = _body_around(mutant.name, hunk, edit, functions[hunk.path])
        edits.setdefault((hunk.path, body), []).append(edit)
    for (path, body), changes in edits.items():
        yield path, body, _applied(mutant.name, texts[path], body, changes)


def _in_braces(text):
    return "{" + text + "}"


def switched(text, wrong):
    """A source file's text with a switch in each function that has wrong bodies.

    wrong: of a body, {mutant's name: its wrong text}.
    """
    for body in sorted(wrong, reverse=True):
        right = text[body.begin : body.end]
        cases = [
            f"    // Mutant {name}.\n    case ::plov::mutants::Mutant::k{name}: "
            f"{_in_braces(of_mutant)} break;\n"
            for name, of_mutant in sorted(wrong[body].items())
        ]
        chosen = (f"\n  switch (::plov::mutants::chosen) {{\n{''.join(cases)}"
                  f"    default: {_in_braces(right)}\n  }}\n")
        if re.search(r"\bconstexpr\b", body.head):  # the compiler computes what is right
            chosen = f"\n  if consteval {_in_braces(right)} else {_in_braces(chosen)}\n"
        text = text[: body.begin] + chosen + text[body.end :]
    return '#include "tests/mutants/chosen.h"\n' + text
