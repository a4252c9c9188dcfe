"""Rules on the length of functions and files, and the heuristic that finds functions."""

import re

from source import CODE_SUFFIXES, Finding, line_of

FUNCTION_LOOK, FUNCTION_LIMIT = 70, 100
FILE_LOOK, FILE_LIMIT = 400, 600

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_SCOPE = re.compile(
    r"^(?:(?:inline|static|typedef|export|friend)\s+)*"
    r"(?:namespace|class|struct|union|enum|extern\s*\"[^\"]*\"\s*$)")
_ATTRIBUTES = re.compile(
    r"\[\[[^\]]*\]\]|\b(?:alignas|decltype|requires|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)")
_MEMBER_INITIALIZER = re.compile(r"\)[^:?]*:(?!:)")


def _strip_templates(head):
    """Removes the leading `template <...>`s, whose <> may nest."""
    while match := re.match(r"\s*template\s*<", head):
        depth, at = 1, match.end()
        while at < len(head) and depth > 0:
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:]
    return head


def _kind(head):
    """What a brace opens, by the text before it: scope, member (one more initializer of a
    constructor, so its body is still to come), function or other."""
    head = _ATTRIBUTES.sub(" ", _strip_templates(head)).strip()
    if _SCOPE.match(head) and "(" not in head:
        return "scope"
    outside = re.sub(r"\boperator\s*(?:\(\)|\[\]|[=!<>+\-*/|&^%~]+)", "operator", head)
    outside = re.sub(r"\([^()]*\)", "()", re.sub(r"\([^()]*\)", "()", outside))
    if "(" not in outside or re.search(r"(?<![=!<>])=(?!=)", re.sub(r"\([^)]*\)", "", outside)):
        return "other"
    if _MEMBER_INITIALIZER.search(outside) and re.search(r"[\w>]$", outside):
        return "member"
    return "function"


def _closing(code, at):
    depth = 0
    for position in range(at, len(code)):
        depth += {"{": 1, "}": -1}.get(code[position], 0)
        if depth == 0:
            return position
    return len(code) - 1


def _name(head):
    head = _ATTRIBUTES.sub(" ", _strip_templates(head))
    match = re.search(r"(\boperator\s*(?:\(\)|[^\w\s(]+)|[\w:~]+)\s*\(", head)
    return match.group(1) if match else "a function"


def bodies(code):
    """Yields (head, position of the opening brace, of the closing one) of every function; `code`
    is blanked text."""
    code = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)
    at = start = 0
    while at < len(code):
        character = code[at]
        if character in ";}":
            start = at + 1
        elif character == ":" and re.fullmatch(r"\s*(public|private|protected)\s*", code[start:at]):
            start = at + 1
        elif character == "{":
            head = code[start:at]
            kind = _kind(head)
            if kind == "scope":
                start = at + 1
            else:
                end = _closing(code, at)
                if kind == "function":
                    yield head, at, end
                if kind != "member":
                    start = end + 1
                at = end
        at += 1


def functions(code):
    """Yields (name, first line, lines) of every function; `code` is blanked text."""
    for head, opening, closing in bodies(code):
        first = line_of(code, opening - len(head.lstrip()))
        yield _name(head), first, line_of(code, closing) - first + 1


def _judge(path, line, what, length, look, limit):
    if length > look:
        advice = f"at most {limit}" if length > limit else f"a hard look over {look}"
        yield Finding(path, line, f"{what} has {length} lines: {advice}", length > limit)


def function_length(repository, _options):
    for path in repository.paths(*CODE_SUFFIXES):
        for name, line, length in functions(repository.code(path)):
            yield from _judge(path, line, name, length, FUNCTION_LOOK, FUNCTION_LIMIT)


def file_length(repository, _options):
    for path in repository.paths(*CODE_SUFFIXES, ".py", ".sh", ".cmake"):
        length = len(repository.text(path).splitlines())
        yield from _judge(path, 1, "the file", length, FILE_LOOK, FILE_LIMIT)
