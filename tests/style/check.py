#!/usr/bin/env python3
"""Checks the style rules of plov, or only the ones named.

Exit status: 0 all hold, 1 one does not, 77 skipped (one rule was named and the machine lacks what
it needs). A finding is one line, PATH:LINE: RULE: MESSAGE; a "note" does not fail the rule.
"""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # before our modules: leave nothing behind in the source tree

import includes  # noqa: E402
import sizes  # noqa: E402
import tools  # noqa: E402
import words  # noqa: E402
from source import Repository, Skip  # noqa: E402

SKIPPED = 77
RULES = {
    rule.__name__: rule
    for rule in (
        includes.include_table,
        includes.headers_alone,
        includes.sources_in_cmake,
        sizes.function_length,
        sizes.file_length,
        words.banned_words,
        words.atomic_order,
        words.machine_paths,
        words.retired_words,
        tools.clang_format,
        tools.man_flags,
        tools.man_lint,
        tools.man_render,
        tools.shell_syntax,
    )
}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(RULES))
    parser.add_argument("--root", default=Path(__file__).parents[2], help="the repository")
    parser.add_argument("--cxx", default="g++", help="the C++ compiler for headers_alone")
    parser.add_argument("--cc", default="gcc", help="the C compiler for headers_alone")
    parser.add_argument("--include", action="append", default=[], help="one more include folder")
    parser.add_argument("--program", action="append", default=[], help="has --help and a page")
    parser.add_argument("--timeout", type=int, default=100, help="seconds for one command")
    options = parser.parse_args(arguments)
    for rule in options.rules:
        if rule not in RULES:
            parser.error(f"no such rule: {rule}")
    return options


def check(repository, rule, options):
    """Prints what one rule finds; returns its exit status."""
    try:
        findings = list(RULES[rule](repository, options))
    except Skip as reason:
        print(f"{rule}: skipped: {reason}")
        return SKIPPED
    for finding in findings:
        kind = "" if finding.fatal else "note: "
        print(f"{finding.path}:{finding.line}: {rule}: {kind}{finding.message}")
    return int(any(finding.fatal for finding in findings))


def main(arguments):
    options = parse(arguments)
    repository = Repository(options.root)
    statuses = [check(repository, rule, options) for rule in options.rules or RULES]
    if statuses == [SKIPPED]:
        return SKIPPED
    return int(1 in statuses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
