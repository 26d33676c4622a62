#!/usr/bin/env python3
"""Tests of what scripts/tidy, scripts/mutate, scripts/build_profile and scripts/quickstart compute, and of the list of mutations."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def script(name):
    """A script without a suffix, as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module
    loader.exec_module(module)
    return module


tidy, mutate, build_profile = script("tidy"), script("mutate"), script("build_profile")


class Tidy(unittest.TestCase):
    def test_finds_the_lines_that_a_difference_adds(self):
        diff = ("--- a/core/result/slo.cpp\n+++ b/core/result/slo.cpp\n@@ -3 +3,2 @@ f\n+a\n+b\n@@ -9,2 +10,0 @@\n-c\n-d\n@@ -20 +19 @@\n+e\n"
                "--- a/core/gone.cpp\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n")
        self.assertEqual(tidy.changed_lines(diff), {"core/result/slo.cpp": [[3, 4], [19, 19]]})

    def test_takes_the_compiled_files_with_the_most_changes(self):
        lines = {"a.cpp": [[1, 2]], "b.cpp": [[1, 9]], "c.cpp": [[1, 99]], "d.cpp": [[1, 1], [5, 6]]}
        self.assertEqual(tidy.chosen(lines, {"a.cpp", "b.cpp", "d.cpp"}, 2), ["b.cpp", "d.cpp"])


class Mutate(unittest.TestCase):
    mutation = mutate.Mutation("core/x.cpp", "return a;", "return b;", "X.is_a")

    def test_replaces_one_line_and_keeps_its_indentation(self):
        self.assertEqual(mutate.replaced("int f() {\n    return a;\n}\n", self.mutation), "int f() {\n    return b;\n}\n")

    def test_does_not_guess_when_the_line_is_gone_or_stands_twice(self):
        self.assertIsNone(mutate.replaced("return c;\n", self.mutation))
        self.assertIsNone(mutate.replaced("return a;\n  return a;\n", self.mutation))

    def test_knows_what_a_test_program_did(self):
        ran = "[==========] 1 test from 1 test suite ran. (0 ms total)\n"
        self.assertEqual(mutate.outcome_of(0, ran + "[  PASSED  ] 1 test.\n"), "passed")
        self.assertEqual(mutate.outcome_of(1, ran + "[  PASSED  ] 0 tests.\n[  FAILED  ] 1 test, listed below:\n"), "failed")
        self.assertEqual(mutate.outcome_of(-6, ""), "failed")
        none = "[==========] 0 tests from 0 test suites ran. (0 ms total)\n[  PASSED  ] 0 tests.\n"
        self.assertEqual(mutate.outcome_of(0, none), "missing")

    def test_every_line_and_every_test_of_the_list_is_there(self):
        self.assertEqual([(m.file, m.test, mutate.outdated(m)) for m in mutate.MUTATIONS if mutate.outdated(m)], [])


class BuildProfile(unittest.TestCase):
    def test_takes_the_last_time_that_something_was_built(self):
        log = "# ninja log v5\n0\t100\t0\ta.o\tx\n200\t1700\t0\ta.o\ty\n5\t30\t0\tlibb.a\tz\n"
        self.assertEqual(build_profile.steps(log), {"a.o": 1.5, "libb.a": 0.025})

    def test_sums_by_folder(self):
        for output, folder in {"CMakeFiles/core.dir/core/result/slo.cpp.o": "core",
                               "CMakeFiles/core_test.dir/tests/core/result/slo_test.cpp.o": "tests/core",
                               "CMakeFiles/cli.dir/Unity/unity_cli_0_cxx.cxx.o": "cli",
                               "CMakeFiles/cards_test.dir/Unity/unity_tests_cards_0_cxx.cxx.o": "tests/cards",
                               "CMakeFiles/paretoken_pch_std.dir/cmake_pch.hxx.gch": "precompiled headers",
                               "libparetoken_core.a": "linking and the rest"}.items():
            self.assertEqual(build_profile.folder_of(output), folder)


class Quickstart(unittest.TestCase):
    """Which program scripts/quickstart takes."""
    VERSION = re.search(r"^project\(paretoken VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)

    def chosen(self, says):
        """Returns the program that is chosen if a paretoken is installed that prints `says` as its version; None: none is."""
        function = re.search(r"^installed_program\(\) \{.*?^\}", (ROOT / "scripts" / "quickstart").read_text(), re.M | re.S).group()
        with tempfile.TemporaryDirectory() as folder:
            if says is not None:
                program = pathlib.Path(folder) / "paretoken"
                program.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo {shlex.quote(says)}\n")
                program.chmod(0o755)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"{function}\ninstalled_program"], cwd=ROOT, check=True,
                                  capture_output=True, text=True, env={**os.environ, "PATH": f"{folder}:/usr/bin:/bin"})
            return done.stdout.strip().replace(folder, "installed")

    def test_an_installed_program_of_the_version_of_the_clone_is_taken(self):
        self.assertEqual(self.chosen(f"paretoken {self.VERSION} (abc, Release)"), "installed/paretoken")

    def test_another_version_and_no_program_are_not_taken(self):
        for says in ("paretoken 0.0.1 (abc, Release)", f"paretoken {self.VERSION}1 (abc)", "something else", None):
            self.assertEqual(self.chosen(says), "", says)


if __name__ == "__main__":
    unittest.main()
