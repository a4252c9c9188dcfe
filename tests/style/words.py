"""Rules on words: banned and retired ones, atomics without an order, this machine's paths."""

import re

from source import CODE_SUFFIXES, LIBRARY_FOLDERS, Finding, line_of

# Written so that this file does not match itself.
_UNFINISHED = re.compile(r"\b(FIX[M]E|TO[D]O|XX[X])\b")
_HACK = re.compile(r"#\s*define\s+(private|protected)\b")
_MACHINE = re.compile(
    r"(?<![\w.-])/(?:wor[k]|roo[t])/"
    r"|\bfar[m]-"
    r"|\b(?:deb|security|ftp|httpredir|snapshot|archive)(?:\.\w+)?\.(?:debian\.org|ubuntu\.com)")

# Private metaphors, each with the field's word for it. No name in the code has one, not even as a
# part; where \b ends it, only the whole name counts. Whoever renames one adds it here.
RETIRED = {
    "Aim": "find",
    "Bury": "close",
    "Casualty": "exit",
    "Conductor": "runner",
    "Crew": "pool",
    "Doom": "gone",
    "Foresee": "prefetch",
    "Gate": "endpoint or barrier",
    r"\bHand\b": "worker or owner",
    "Hurry": "deadline",
    "Judge": "check",
    r"\bLane\b": "ring",
    "LetGo": "what it does",
    "Patience": "timeout",
    "Plight": "state",
    "Seat": "registration",
}
_RETIRED = {re.compile(rf"(?<![A-Z]){word}(?![a-z])"): better for word, better in RETIRED.items()}

_ATOMIC_CALL = re.compile(
    r"(?:\.|->)\s*(load|store|exchange|fetch_\w+|compare_exchange_\w+|test_and_set)\s*\(")
_ATOMIC_NAME = re.compile(r"\bstd::atomic(?:_\w+)?\s*(?:<[^;(){}]*>)?\s+(\w+)\s*[;{=(\[]")


def _matches(pattern, text):
    for match in pattern.finditer(text):
        yield line_of(text, match.start()), match


def _code_words(path, code):
    """Yields (line, word) for what only code can do wrong."""
    banned = [re.compile(r"\bvolatile\b"), _HACK]
    if path.endswith(".h"):
        banned.append(re.compile(r"\busing\s+namespace\b"))
    if path.split("/")[0] not in ("verify", "fabric", "tests"):
        banned.append(re.compile(r"\breinterpret_cast\b"))
    for pattern in banned:
        for line, match in _matches(pattern, code):
            yield line, " ".join(match.group().split())


def banned_words(repository, _options):
    for path in repository.paths():
        for line, match in _matches(_UNFINISHED, repository.text(path)):
            yield Finding(path, line, f"{match.group()}: finish it, or file an issue")
    for path in repository.paths(*CODE_SUFFIXES):
        for line, word in _code_words(path, repository.code(path)):
            yield Finding(path, line, f"{word} is banned here")


def _arguments(code, at):
    """The text between the parenthesis that ends at `at` and the one that closes it."""
    depth = 1
    for position in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[position], 0)
        if depth == 0:
            return code[at:position]
    return code[at:]


def _implicit(names, code):
    """Yields (line, expression) where an operator stands for a sequentially consistent call."""
    for name in sorted(names):
        operator = re.compile(
            rf"(?:\+\+|--)\s*(?:\w+(?:\.|->))*{name}\b(?!\s*(?:\.|->|\[))"
            rf"|(?<![\w>]\s)(?<![\w*&>]){name}\s*(?:\+\+|--|(?:[-+|&^])?=(?!=))")
        for line, match in _matches(operator, code):
            yield line, " ".join(match.group().split())


def atomic_order(repository, _options):
    for path in repository.paths(*CODE_SUFFIXES, folders=LIBRARY_FOLDERS):
        code = repository.code(path)
        for line, match in _matches(_ATOMIC_CALL, code):
            if "memory_order" not in _arguments(code, match.end()):
                yield Finding(path, line, f"{match.group(1)}() names no memory order")
        names = set(_ATOMIC_NAME.findall(code))
        header = re.sub(r"\.cc?$", ".h", path)
        if header != path and header in repository.paths(".h"):
            names |= set(_ATOMIC_NAME.findall(repository.code(header)))
        for line, expression in _implicit(names, code):
            yield Finding(path, line, f"`{expression}` on an atomic names no memory order")


def machine_paths(repository, _options):
    for path in repository.paths():
        for line, match in _matches(_MACHINE, repository.text(path)):
            yield Finding(path, line, f"{match.group()} is known on one machine only")


def retired_words(repository, _options):
    for path in repository.paths(*CODE_SUFFIXES):
        for pattern, better in _RETIRED.items():
            for line, match in _matches(pattern, repository.code(path)):
                yield Finding(path, line, f"{match.group()} is a retired name: say {better}")
