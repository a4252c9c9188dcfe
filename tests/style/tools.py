"""Rules that ask another program: clang-format, mandoc, groff, bash, and plov's own --help."""

import os
import re
import shutil
import subprocess
from itertools import zip_longest

from source import CODE_SUFFIXES, Finding, Skip

_FORMAT_VERSION = "14"  # Debian 12's; another version formats the same file otherwise
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]")
_PROGRAM = re.compile(r"(?<![\w./-])plov(?:d|-[a-z]+)?(?![\w(-])")
_SECTIONS = {"plovd": "8", "plov-door": "8"}  # every other program is in section 1


def _run(options, *command):
    """(exit status, stdout and stderr) of a command."""
    result = subprocess.run(
        [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=options.timeout, check=False)
    return result.returncode, result.stdout


def _find(*names):
    for name in names:
        if found := shutil.which(name):
            return found
    raise Skip(f"{names[-1]} is not installed")


def clang_format(repository, options):
    program = _find(f"clang-format-{_FORMAT_VERSION}", "clang-format")
    version = _run(options, program, "--version")[1].strip()
    if not re.search(rf"version {_FORMAT_VERSION}\.", version):
        raise Skip(f"clang-format {_FORMAT_VERSION} is needed, this is: {version}")
    paths = list(repository.paths(*CODE_SUFFIXES))
    if not paths:
        return
    files = [repository.root / path for path in paths]
    status, output = _run(options, program, "--dry-run", "-Werror", "--style=file", *files)
    told = set()
    for match in re.finditer(r"^(.+?):(\d+):\d+: error: (.*)$", output, re.MULTILINE):
        path = os.path.relpath(match.group(1), repository.root)
        if path not in told:  # one line a file: clang-format -i mends all of it
            told.add(path)
            yield Finding(path, int(match.group(2)), "is not as clang-format would have it")
    if status != 0 and not told:
        yield Finding(".clang-format", 1, output.strip()[:400])


def man_lint(repository, options):
    mandoc = _find("mandoc")
    for path in _pages(repository):
        page = repository.root / path
        status, output = _run(options, mandoc, "-T", "lint", "-W", "warning", page)
        for line in output.splitlines():
            number = re.match(r".*?:(\d+):\d+: (.*)", line)
            yield Finding(path, int(number[1]) if number else 1, number[2] if number else line)
        if status != 0 and not output:
            yield Finding(path, 1, f"mandoc ended with status {status}")


def _words(text):
    """The words of a rendered page, without its first and last line, which formatters make."""
    plain = re.sub(r"\x1b\[[\d;]*m|.\x08", "", text).strip()
    return re.findall(r"\w+", plain.partition("\n")[2].rpartition("\n")[0])


def man_render(repository, options):
    """groff has nothing to warn of, and shows the same words as mandoc: neither drops any."""
    mandoc, groff = _find("mandoc"), _find("groff")
    for path in _pages(repository):
        page = repository.root / path
        render = (groff, "-t", "-mandoc", "-Tutf8", "-ww")
        # lintian looks at a width of 120.
        for width in ((), ("-rLL=120n", "-rLT=120n")):
            for line in _run(options, *render, *width, "-z", page)[1].splitlines():
                number = re.match(r".*?:(\d+): ", line)
                yield Finding(path, int(number[1]) if number else 1, line)
        ours = _words(_run(options, *render, "-rLL=990n", "-rLT=990n", page)[1])
        theirs = _words(_run(options, mandoc, "-T", "utf8", "-O", "width=990", page)[1])
        for at, pair in enumerate(zip_longest(ours, theirs, fillvalue="the end")):
            if pair[0] != pair[1]:
                near = " ".join(theirs[max(0, at - 5):at])
                yield Finding(path, 1, f"after '{near}' groff has '{pair[0]}', mandoc '{pair[1]}'")
                break


def shell_syntax(repository, options):
    for path in repository.paths():
        first = repository.text(path).partition("\n")[0]
        if path.endswith(".sh") or re.match(r"#!.*\b(ba|da)?sh\b", first):
            status, output = _run(options, "bash", "-n", repository.root / path)
            if status != 0:
                yield Finding(path, 1, output.strip())


def _pages(repository):
    return [p for p in repository.paths(folders=("man",)) if re.search(r"\.[1-9]$", p)]


def _page_flags(text, program):
    """(all long flags of a page, those that are the program's own).

    A flag is another program's when that one is the last program named before it in its sentence.
    """
    every, own = set(), set()
    for match in _FLAG.finditer(text):
        sentence = re.split(r"[.;:]\s|\n", text[: match.start()])[-1]
        named = _PROGRAM.findall(sentence)
        every.add(match.group())
        if not named or named[-1] == program:
            own.add(match.group())
    return every, own


def man_flags(repository, options):
    programs = [path for path in options.program if os.access(path, os.X_OK)]
    if not programs:
        raise Skip("no program was built to ask for --help")
    mandoc = _find("mandoc")
    for program in sorted(set(options.program) - set(programs)):
        yield Finding(program, 1, "was not built, so its --help was not asked", fatal=False)
    for program in programs:
        name = os.path.basename(program)
        page = f"man/{name}.{_SECTIONS.get(name, '1')}"
        if page not in repository.paths():
            yield Finding(page, 1, f"is missing: {name} has no manual page")
            continue
        text = _run(options, mandoc, "-T", "ascii", "-O", "width=990", repository.root / page)[1]
        every, own = _page_flags(re.sub(r".\x08", "", text), name)
        status, text = _run(options, program, "--help")
        helped = set(_FLAG.findall(text))
        if status != 0 or not helped:
            yield Finding(page, 1, f"{name} --help ended with {status}, flags: {len(helped)}")
        for flag in sorted(helped - every):
            yield Finding(page, 1, f"{flag} is in {name} --help and not here")
        for flag in sorted(own - helped):
            yield Finding(page, 1, f"{flag} is here and not in {name} --help")
