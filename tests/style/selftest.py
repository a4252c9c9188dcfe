#!/usr/bin/env python3
"""Shows that the style checker works: every rule is fed bad snippets, which it must catch, and
good ones, which it must spare."""

import io
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path

sys.dont_write_bytecode = True

import check  # noqa: E402
from sizes import functions  # noqa: E402
from source import Repository, blank  # noqa: E402

# Words are put together from halves, so that the rules do not find them in this file.
GOOGLE = "BasedOnStyle: Google\n"
LONG_NOTE, LONG = "  x();\n" * 80, "  x();\n" * 120
MAN = ".Dd January 1, 2026\n.Dt A 7\n.Os\n.Sh NAME\n.Nm a\n.Nd b\n.Sh DESCRIPTION\n{}\n"
BAD = {
    "include_table": {
        "verify/a.h": '#include "cuckoo/hash.h"\n',
        "verify/b.h": "#include <unistd.h>\n",
        "cuckoo/a.h": '#include "fabric/fabric.h"\n',
        "cuckoo/b.cc": "#include <fmt/format.h>\n",
        "fabric/a.h": '#include "verify/bucket.h"\n',
        "fabric/shm.h": "#include <infiniband/verbs.h>\n",
        "fabric/b.h": "#include <spdlog/spdlog.h>\n",
        "server/a.h": '#include "client/client.h"\n',
        "server/b.h": "#include <plov/client.h>\n",
        "server/c.h": "#include <rdma/rdma_cma.h>\n",
        "client/a.h": '#include "cuckoo/table.h"\n',
        "client/b.h": "#include <jemalloc/jemalloc.h>\n",
        "client/c.h": '#include "server/shard.h"\n',
        "client/d.h": '#include "tests/fake.h"\n',
        "client/e.h": '#include "bench/zipf.h"\n',
        "client/f.h": '#include "e.h"\n',
        "torture/a.h": '#include "server/store.h"\n',
        "torture/b.h": '#include "verify/bucket.h"\n',
        "tests/a.cc": '#include "server/main.cc"\n',
        "bench/a.cc": '#include "../verify/words.h"\n',
        "bench/shared/a.h": "#include <infiniband/verbs.h>\n",
        "bench/shared/b.h": '#include "tests/fake.h"\n',
    },
    "headers_alone": {
        "verify/a.h": "#pragma once\ninline std::string f() { return {}; }\n",
        "client/include/plov.h": '#pragma once\nextern "C" {\nint f(int& x);\n}\n',
    },
    "sources_in_cmake": {
        "verify/lost.cc": "",
        "cuckoo/CMakeLists.txt": "add_library(c other_lost.cc) # lost.cc\n",
        "cuckoo/lost.cc": "",
    },
    "function_length": {
        "verify/a.cc": "int f() {\n" + LONG + "}\n",
        "verify/b.h": "class A {\n public:\n  A() : a_{1}, b_(2) {\n" + LONG + "  }\n};\n",
        "verify/c.h": "namespace a {\ntemplate <class T>\nauto f(T t) -> T {\n" + LONG + "}\n}\n",
        "verify/d.cc": "TEST(A, B) {\n  if (a) {\n" + LONG + "  }\n}\n",
        "verify/e.cc": "bool A::operator==(const A& o) const {\n" + LONG + "}\n",
    },
    "file_length": {"verify/a.cc": "int a;\n" * 601},
    "banned_words": {
        "verify/a.cc": "vol" + "atile int a;\n",
        "verify/b.cc": "int a;  // FIX" + "ME: later\n",
        "verify/c.sh": "# TO" + "DO\n",
        "man/d.7": "XX" + "X say more\n",
        "tests/e.cc": "#define private public\n",
        "client/f.h": "using namespace std;\n",
        "client/g.cc": "auto* a = reinterpret_cast<char*>(b);\n",
    },
    "atomic_order": {
        "verify/a.cc": "int f() { return a.load(); }\n",
        "verify/b.cc": "void f() { a->store(x); }\n",
        "cuckoo/c.cc": "void f() { a.fetch_add(1); }\n",
        "fabric/d.cc": "void f() { b = a.exchange(g(memory_order)); a.exchange(2); }\n",
        "server/e.cc": "void f() { a.compare_exchange_strong(\n    x, y); }\n",
        "client/f.cc": "std::atomic<int> count_{0};\nvoid f() { ++count_; }\n",
        "client/g.h": "struct A { std::atomic<bool> stop_ = false; };\n",
        "client/g.cc": "void A::f() { stop_ = true; }\n",
    },
    "machine_paths": {
        "verify/a.cc": "// see /wor" + "k/main/x\n",
        "tests/b.sh": "cp x /roo" + "t/x\n",
        "man/c.7": "far" + "m-one\n",
        "tests/d.sh": "echo https://de" + "b.debian.org/debian\n",
    },
    "clang_format": {".clang-format": GOOGLE, "verify/a.cc": "int  f( ){return 1;}\n"},
    "man_flags": {
        "plovd": "#!/bin/sh\necho '--memory SIZE  --only-in-help'\n",
        "man/plovd.8": "MEMORY",
    },
    "man_lint": {"man/a.7": ".Dd x\n.Sh NAME\n.Bogus\n"},
    "man_render": {
        "man/dropped.7": MAN.replace("{}", ".Rs\n.%A Jinyang L" + "i\n.%T Pilaf\n.%D 2013\n.Re"),
        "man/warned.7": MAN.replace("{}", "a" * 100),
    },
    "retired_words": {"verify/a.h": "class Han" + "d;\n",
                      "verify/b.cc": "int TellPli" + "ghtOf();\n"},
    "shell_syntax": {"tests/a.sh": "if true; then\n", ".ci/run": "#!/usr/bin/env bash\nfoo() {\n"},
}
# Which files of BAD have nothing to be caught: they only set the scene.
SCENE = {".clang-format", "cuckoo/CMakeLists.txt", "plovd", "client/g.h"}

PAGE = (".Dd January 1, 2026\n.Dt {0} 8\n.Os\n.Sh NAME\n.Nm plovd\n.Nd a server\n"
        ".Sh DESCRIPTION\n{1}\n")
OWN_FLAG = ".Bl -tag -width Ds\n.It Fl -memory Ar SIZE\nHow much.\n"
BAD["man_flags"]["man/plovd.8"] = PAGE.format("PLOVD", OWN_FLAG + ".It Fl -only-in-page\nNo.\n.El")

GOOD = {
    "include_table": {
        "verify/a.h": "#include <xxhash.h>\n#include <atomic>\n#include <cstdint>\n",
        "cuckoo/a.h": '#include "verify/bucket.h"\n#include "cuckoo/hash.h"\n',
        "fabric/a.h": '#include <sys/mman.h>\n#include "verify/words.h"\n',
        "fabric/b.h": '#include "verify/error.h"\n#include "fabric/a.h"\n',
        "fabric/verbs/a.h": "#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\n",
        "server/a.h": "#include <jemalloc/jemalloc.h>\n#include <fmt/format.h>\n",
        "client/a.h": '#include <plov/client.h>\n#include "cuckoo/lookup.h"\n',
        "torture/a.h": '#include <plov/client.h>\n#include "verify/error.h"\n',
        "bench/shared/a.h": '#include <fmt/core.h>\n#include "program/process.h"\n',
        "bench/verbs/a.h": "#include <infiniband/verbs.h>\n",
        "tests/a.cc": '#include <gtest/gtest.h>\n#include "tests/a.h"\n#include "cuckoo/table.h"\n',
    },
    "headers_alone": {
        "verify/a.h": "#pragma once\n#include <string>\ninline std::string f() { return {}; }\n",
        "verify/built.h": "#pragma once\ninline std::string f() { return {}; }\n",
        "verify/built.cc": '#include "verify/built.h"\n\n#include <string>\n',
        "client/include/plov.h": '#pragma once\n#ifdef __cplusplus\nextern "C" {\n#endif\n'
                                 "int f(int x);\n#ifdef __cplusplus\n}\n#endif\n",
    },
    "sources_in_cmake": {
        "verify/CMakeLists.txt": "add_library(v a.cc sub/b.cc)\n", "verify/a.cc": "",
        "verify/sub/b.cc": "",
    },
    "function_length": {
        "verify/note.cc": "int f() {\n" + LONG_NOTE + "}\n",
        "verify/class.h": "struct alignas(8) A {\n" + "  void f() { x(); }\n" * 200 + "};\n",
        "verify/table.cc": "constexpr int kTable[] = {\n" + "  1,\n" * 200 + "};\n",
        "verify/string.cc": 'auto f() { return "{"; }\n' + "void g() { x(); }\n" * 200,
    },
    "file_length": {"verify/a.cc": "int a;\n" * 500, "man/long.7": "x\n" * 2000},
    "banned_words": {
        "verify/a.cc": "// No vol" + "atile here.\nauto* a = reinterpret_cast<char*>(b);\n",
        "client/b.cc": "using namespace std::literals;\n",
        "tests/c.cc": "auto* a = reinterpret_cast<char*>(b);\n",
        "tests/d.sh": "mktemp plov.XXXXXX\n",
    },
    "atomic_order": {
        "verify/a.cc": "int f() { return a.load(std::memory_order_acquire); }\n",
        "server/b.cc": "std::atomic<int> n_{0};\nbool f() { return config.Load() == n_count; }\n"
                       "void g(int m) { m = n_.load(\n    std::memory_order_relaxed); }\n",
        "tests/c.cc": "int f() { return a.load(); }\n",
    },
    "machine_paths": {"verify/a.cc": "// a/work/b, /etc/root, farming, https://www.debian.org\n"},
    "clang_format": {".clang-format": GOOGLE, "verify/a.cc": "int f() { return 1; }\n"},
    "man_flags": {
        "plovd": "#!/bin/sh\necho '--memory SIZE'\n",
        "man/plovd.8": PAGE.format(
            "PLOVD", "As with\n.Nm plov\n.Fl -timeout ,\nwait.\n" + OWN_FLAG + ".El"),
    },
    "man_lint": {"man/a.7": PAGE.format("A", "It serves.").replace(".Dt A 8", ".Dt A 7")},
    "man_render": {"man/a.7": MAN.replace("{}", ".Rs\n.%A Jinyang \\&Li\n.%T Pilaf\n.Re")},
    "retired_words": {"verify/a.h": "class Handle;\n// Han" + "d it over.\nHandServer s;\n"},
    "shell_syntax": {"tests/a.sh": "if true; then :; fi\n"},
}


def run_rule(rule, files):
    """(exit status, paths with a fatal finding, output) of a rule on a folder of `files`."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            place = Path(root, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
            place.chmod(0o755)
        arguments = ["--root", root, "--program", str(Path(root, "plovd")), rule]
        output = io.StringIO()
        with redirect_stdout(output):
            status = check.main(arguments)
    lines = [line for line in output.getvalue().splitlines() if ": note: " not in line]
    return status, {line.split(":")[0] for line in lines}, output.getvalue()


class Rules(unittest.TestCase):
    def test_every_rule_is_tried(self):
        self.assertEqual(set(BAD), set(check.RULES))
        self.assertEqual(set(GOOD), set(check.RULES))

    def test_every_rule_is_registered(self):
        registered = Path(__file__).with_name("CMakeLists.txt").read_text().split()
        for rule in check.RULES:
            self.assertIn(rule, {word.rstrip(")") for word in registered})

    def test_bad_files_are_caught(self):
        for rule, files in BAD.items():
            with self.subTest(rule=rule):
                status, caught, output = run_rule(rule, files)
                if status == check.SKIPPED:
                    self.skipTest(output)
                self.assertEqual(status, 1, output)
                self.assertEqual(caught, set(files) - SCENE, output)

    def test_good_files_are_spared(self):
        for rule, files in GOOD.items():
            with self.subTest(rule=rule):
                status, caught, output = run_rule(rule, files)
                if status == check.SKIPPED:
                    self.skipTest(output)
                self.assertEqual((status, caught), (0, set()), output)

    def test_man_flags_are_compared_both_ways(self):
        output = run_rule("man_flags", BAD["man_flags"])[2]
        self.assertIn("--only-in-help is in plovd --help", output)
        self.assertIn("--only-in-page is here", output)
        self.assertNotIn("--memory", output)

    def test_a_rule_without_its_tool_is_skipped(self):
        self.assertEqual(run_rule("man_flags", {})[0], check.SKIPPED)

    def test_long_functions_are_noted_before_they_fail(self):
        output = run_rule("function_length", GOOD["function_length"])[2]
        self.assertIn("verify/note.cc:1: function_length: note: f has 82 lines", output)


class Parsing(unittest.TestCase):
    def test_functions_are_found_with_name_line_and_length(self):
        code = blank(
            "// {\n#define M(x) {\nnamespace a {\nclass B : public C<int> {\n public:\n"
            "  explicit B(int x) : x_{x}, y_{\n    1} {\n    f([&] { g(); });\n  }\n"
            "  bool operator()(int a) const { return a == '{'; }\n  int x_ = 1'000;\n};\n"
            "enum class E { kA, kB };\nstruct stat f(struct stat* s)\n    noexcept {\n}\n}\n")
        self.assertEqual(
            [(name, line, lines) for name, line, lines in functions(code)],
            [("B", 6, 4), ("operator()", 10, 1), ("f", 14, 3)])

    def test_build_folders_and_links_are_not_the_repository(self):
        with tempfile.TemporaryDirectory() as root:
            for folder in ("build", "build-asan", ".git", "verify"):
                Path(root, folder).mkdir()
                Path(root, folder, "a.cc").write_text("")
            Path(root, "link.cc").symlink_to(Path(root, "verify/a.cc"))
            self.assertEqual(list(Repository(root).paths()), ["verify/a.cc"])


if __name__ == "__main__":
    unittest.main()
