#!/usr/bin/env python3
"""Shows that make_tree.py works: on a small program with mutants of every kind, and on mutants that
it must refuse."""

import io
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

sys.dont_write_bytecode = True

import make_tree  # noqa: E402

CXX = "g++"
SOURCES = {
    "demo/seed.h": """\
#pragma once

constexpr int Seed(int x) { return x + 1; }
static_assert(Seed(1) == 2);
""",
    "demo/main.cc": """\
#include <cstdio>

#include "demo/seed.h"

class Log {
 public:
  Log() : digits_(0) {}

  void Add(int digit) {
    digits_ *= 10;
    digits_ += digit;
  }
  int digits() const { return digits_; }

 private:
  int digits_;
};

int Steps(int one) {
  Log log;
  log.Add(one);
  log.Add(one + 1);
  log.Add(one + 2);
  return log.digits();
}

int main() {
  const int seed = Seed(std::getchar() == EOF ? 0 : 1);
  std::printf("%d %d\\n", seed, Steps(seed));
}
""",
}
SEED = """\
it does not add

@@ demo/seed.h
-constexpr int Seed(int x) { return x + 1; }
+constexpr int Seed(int x) { return x; }
"""
SWAP = """\
the second step comes first
caught by demo Steps.*

@@ demo/main.cc
-  log.Add(one);
   log.Add(one + 1);
+  log.Add(one);
"""
# Overlaps with what SWAP changes, and is inside of it.
OVERLAP = """\
the third step comes second

@@ demo/main.cc
-  log.Add(one + 1);
   log.Add(one + 2);
+  log.Add(one + 1);
"""
TWO_HUNKS = """\
digits are summed up, the third is left out

@@ demo/main.cc
-  log.Add(one + 2);

@@ demo/main.cc
-    digits_ *= 10;
"""
GOOD = {"Seed": SEED, "Swap": SWAP, "Overlap": OVERLAP, "TwoHunks": TWO_HUNKS}
HUNK = "it is wrong\n\n@@ demo/main.cc\n"
BAD = {  # of each what is wrong, and a part of the message
    "NotThere": (HUNK + "-  log.Add(two);\n", "the right text is not there: log.Add(two);"),
    "LineOfAnother": (HUNK + "-  log.Add(one\n", "the right text is not there"),
    "Twice": (HUNK + "-}\n", "the right text stands there 2 times"),
    "Same": (HUNK + "   Log log;\n", "the wrong text is the right one"),
    "Outside": (HUNK + "-#include <cstdio>\n", "a hunk changes the inside of one function"),
    "Signature": (HUNK + "-int Steps(int one) {\n+int Steps(int) {\n", "inside of one function"),
    "Both": (HUNK + "-  return log.digits();\n }\n \n int main() {\n+  return 0;\n", "one function"),
    "Overlaps": (SWAP + "\n@@ demo/main.cc\n-  log.Add(one);\n-  log.Add(one + 1);\n",
                 "two hunks overlap"),
    "NoFile": ("it is wrong\n\n@@ demo/lost.cc\n-a\n", "demo/lost.cc: there is no such source"),
    "NoHunk": ("it is wrong\n", "the file has no hunk"),
    "NoCatcher": ("it is wrong\ncaught\n\n@@ demo/main.cc\n-a\n", "does not begin with"),
    "NoMark": (HUNK + "log.Add(one);\n", "a line begins with none of"),
    "not-a-name": (SEED, "the name is not of the form LikeThis"),
}


class Folders:
    """A repository with mutants, and a place for its copy."""

    def __init__(self, case, mutants, sources=None):
        folder = tempfile.TemporaryDirectory()
        case.addCleanup(folder.cleanup)
        self.root, self.tree = Path(folder.name, "root"), Path(folder.name, "tree")
        for path, text in (sources or SOURCES).items():
            self.write(path, text)
        for name, text in mutants.items():
            self.write(f"tests/mutants/{name}.mutant", text)

    def write(self, path, text):
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def run(self, *arguments):
        """(exit status, what it printed) of make_tree.py."""
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed):
            status = make_tree.main(["--root", str(self.root), *map(str, arguments)])
        return status, printed.getvalue()


class Refused(unittest.TestCase):
    def test_each_bad_mutant_is_named_and_nothing_is_written(self):
        for name, (text, message) in BAD.items():
            with self.subTest(mutant=name):
                folders = Folders(self, {"Good": SEED, name: text})
                for arguments in (["--check"], [folders.tree]):
                    status, printed = folders.run(*arguments)
                    self.assertEqual(status, 1)
                    self.assertIn(f"{name}: ", printed)
                    self.assertIn(message, printed)
                    self.assertEqual(len(printed.splitlines()), 1, printed)
                self.assertFalse(folders.tree.exists())

    def test_a_mutant_of_a_consteval_function_cannot_run(self):
        sources = {"demo/seed.h": SOURCES["demo/seed.h"].replace("constexpr", "consteval")}
        folders = Folders(self, {"Seed": SEED.replace("constexpr", "consteval")}, sources)
        self.assertIn("Seed: demo/seed.h: a consteval function never runs", folders.run("--check")[1])

    def test_a_folder_with_other_things_in_it_is_left_alone(self):
        folders = Folders(self, GOOD)
        status, printed = folders.run(folders.root)
        self.assertEqual(status, 1)
        self.assertIn("name another folder", printed)
        self.assertTrue((folders.root / "demo/main.cc").exists())


class Made(unittest.TestCase):
    def test_mutants_are_listed_with_their_catchers(self):
        status, printed = Folders(self, GOOD).run("--list")
        self.assertEqual(status, 0)
        self.assertEqual(printed.splitlines()[0], "Overlap\tthe third step comes second\t\t")
        self.assertIn("Swap\tthe second step comes first\tdemo\tSteps.*\n", printed)

    def test_files_are_written_when_their_text_changes_and_go_with_their_source(self):
        folders = Folders(self, GOOD, {**SOURCES, "demo/other.txt": "", "demo/gone.txt": ""})
        folders.run(folders.tree)
        for place in folders.tree.rglob("*"):
            os.utime(place, (1, 1))
        folders.write("demo/seed.h", SOURCES["demo/seed.h"] + "// More.\n")
        (folders.root / "demo/gone.txt").unlink()
        self.assertEqual(folders.run(folders.tree), (0, ""))
        written = {place.name for place in folders.tree.rglob("*.*") if place.stat().st_mtime != 1}
        self.assertEqual(written, {"seed.h"})
        self.assertFalse((folders.tree / "demo/gone.txt").exists())


class Built(unittest.TestCase):
    def test_the_environment_chooses_a_mutant_or_ends_the_process(self):
        folders = Folders(self, GOOD)
        self.assertEqual(folders.run(folders.tree), (0, ""))
        program = folders.tree / "demo/main"
        subprocess.run([CXX, "-std=c++23", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-o", program,
                        "-I", folders.tree, folders.tree / "demo/main.cc"], check=True)

        def outcome(**environment):
            result = subprocess.run([program], env=environment, stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, check=False)
            return result.returncode, result.stdout + result.stderr

        self.assertEqual(outcome(), (0, "1 123\n"))
        self.assertEqual(outcome(PLOV_MUTANT=""), (0, "1 123\n"))
        self.assertEqual(outcome(PLOV_MUTANT="Seed"), (0, "0 12\n"))
        self.assertEqual(outcome(PLOV_MUTANT="Swap"), (0, "1 213\n"))
        self.assertEqual(outcome(PLOV_MUTANT="Overlap"), (0, "1 132\n"))
        self.assertEqual(outcome(PLOV_MUTANT="TwoHunks"), (0, "1 3\n"))
        self.assertEqual(outcome(PLOV_MUTANT="kSeed"),
                         (2, "plov: PLOV_MUTANT=kSeed: there is no such mutant\n"))


if __name__ == "__main__":
    if "--cxx" in sys.argv:
        at = sys.argv.index("--cxx")
        CXX = sys.argv[at + 1]
        del sys.argv[at : at + 2]
    unittest.main()
