#!/usr/bin/env python3
"""Makes a copy of plov's sources in which each mutant can be chosen when a program starts.

A mutant is a mistake that somebody could make in plov's code: a file tests/mutants/NAME.mutant.

    a READ may go outside the region
    caught by fabric *FabricConformance.*

    @@ fabric/shm/connection.cc
    -    return verify::WordsInside(op.offset, op.bytes, limits_.region_bytes);
    +    return true;

    @@ fabric/verbs/read_queue.cc
    -  return verify::WordsInside(read.offset, read.bytes, region_.bytes);
    +  return true;

The first line says what plov does wrong. The second, which may be left out, names the catcher of
tests/mutants.sh that is to notice it, and perhaps a filter for its tests (--gtest_filter). Then
come hunks, one or more, as in a diff: "@@ PATH", and lines that begin with ' ' and stay, with '-'
and belong to the right text only, or with '+' and belong to the wrong text only. An empty line is
one that stays.

The right text of a hunk stands exactly once in its file, in whole lines. What a hunk changes lies
inside one function. Several mutants may change one function or the same lines of it: each has a
function body of its own.

In the copy a function that mutants change has its right body and a wrong one for each of them, and
the environment variable PLOV_MUTANT=NAME chooses; where it is not set or is empty, all is right. A
program ends with exit status 2 when there is no mutant of that name. What the compiler computes is
always right. A file of the copy is written only when its text changes.
"""

import argparse
import shutil
import sys
from pathlib import Path
from string import Template

sys.dont_write_bytecode = True  # before our modules: leave nothing behind in the source tree
sys.path.append(str(Path(__file__).parents[1] / "style"))

from mutant import Problem, bodies_of, parse, switched, wrong_bodies  # noqa: E402
from source import CODE_SUFFIXES, Repository  # noqa: E402

FOLDER = "tests/mutants"
CHOSEN = f"{FOLDER}/chosen.h"
CHOSEN_TEXT = """\
// Which mutant this process is. Written by tests/mutants/make_tree.py.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace plov::mutants {

enum class Mutant {
  kNone,
  $enumerators
};

inline constexpr std::string_view kNames[] = {
  "",
  $names
};

// What PLOV_MUTANT names; ends the process, with exit status 2, when it names none.
inline Mutant OfEnvironment() {
  const char* name = std::getenv("PLOV_MUTANT");
  if (name == nullptr) return Mutant::kNone;
  int number = 0;
  for (const std::string_view known : kNames) {
    if (known == name) return static_cast<Mutant>(number);
    ++number;
  }
  std::fprintf(stderr, "plov: PLOV_MUTANT=%s: there is no such mutant\\n", name);
  std::_Exit(2);
}

inline const Mutant chosen = OfEnvironment();

}  // namespace plov::mutants
"""


def chosen_header(names):
    return Template(CHOSEN_TEXT).substitute(
        enumerators="\n  ".join(f"k{name}," for name in names),
        names="\n  ".join(f'"{name}",' for name in names))


def read_mutants(repository):
    """(mutants by name, problems)"""
    mutants, problems = [], []
    for path in repository.paths(".mutant"):
        try:
            mutants.append(parse(Path(path).stem, repository.text(path)))
        except Problem as problem:
            problems.append(str(problem))
    return mutants, problems


def mutated(repository, mutants):
    """({path: text of a file that mutants change}, problems)"""
    texts = {path: repository.text(path) for path in repository.paths(*CODE_SUFFIXES)}
    changed = {hunk.path for mutant in mutants for hunk in mutant.hunks} & set(texts)
    functions = {path: bodies_of(texts[path]) for path in changed}
    wrong, problems = {path: {} for path in changed}, []
    for mutant in mutants:
        try:
            for path, body, text in wrong_bodies(mutant, texts, functions):
                wrong[path].setdefault(body, {})[mutant.name] = text
        except Problem as problem:
            problems.append(str(problem))
    return {path: switched(texts[path], wrong[path]) for path in changed}, problems


def write_tree(repository, changed, tree):
    """Makes `tree` the repository's files, those in `changed` with another text."""
    if tree.exists() and any(tree.iterdir()) and not (tree / CHOSEN).exists():
        raise Problem(f"{tree} is no copy that this script has made: name another folder")
    wanted = {CHOSEN, *repository.paths()}
    for path in wanted:
        data = changed[path].encode() if path in changed else (repository.root / path).read_bytes()
        place = tree / path
        if not place.is_file() or place.read_bytes() != data:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        if path != CHOSEN:
            shutil.copymode(repository.root / path, place)
    for place in tree.rglob("*"):
        if place.is_file() and place.relative_to(tree).as_posix() not in wanted:
            place.unlink()


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="exit status: 0 done, 1 something is wrong with a mutant, 2 usage")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("tree", nargs="?", type=Path, metavar="FOLDER", help="makes the copy here")
    what.add_argument("--check", action="store_true", help="only looks whether it could be made")
    what.add_argument("--list", action="store_true",
                      help="prints of each mutant the name, what is wrong, catcher and filter")
    parser.add_argument("--root", default=Path(__file__).parents[2], help="the repository")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_arguments(arguments)
    repository = Repository(options.root)
    mutants, problems = read_mutants(repository)
    if options.list:
        for mutant in mutants:
            print(mutant.name, mutant.what, mutant.catcher, mutant.filter, sep="\t")
    else:
        changed, more = mutated(repository, mutants)
        changed[CHOSEN] = chosen_header([mutant.name for mutant in mutants])
        problems += more
        try:
            if options.tree and not problems:
                write_tree(repository, changed, options.tree)
        except Problem as problem:
            problems.append(str(problem))
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
