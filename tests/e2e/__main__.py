"""Runs the end-to-end tests: `python3 tests/e2e [--jobs N] [WORD…]` (only tests whose name contains one of the words).

The tests of one class run one after the other, in a process of their own. Most classes wait most of the time, so that several
run at the same time. Classes that are marked `busy` use the processors most of the time: one of them runs at a time, beside the
others and with a lower priority. The last line says how many tests passed, failed and were skipped. The exit code is 1 when a
test failed or none passed.
"""

import argparse
import concurrent.futures
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")


def processor_s():
    """Returns the seconds of processor time that this process and its ended child processes have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Result(unittest.TextTestResult):
    """Prints the name of every test, and the seconds and the processor time that it took."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.passed = 0

    def startTest(self, test):
        self._began, self._used = time.monotonic(), processor_s()
        super().startTest(test)

    def addSuccess(self, test):
        self.passed += 1
        super().addSuccess(test)

    def stopTest(self, test):
        took, used = time.monotonic() - self._began, processor_s() - self._used
        self.stream.writeln(f"      {took:.1f} s, of the processor {used:.1f} s")
        super().stopTest(test)

    def getDescription(self, test):
        return test.id()


def discovered(words):
    """Returns {class name: its tests} for the tests whose name contains one of the words."""
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{word}*" for word in words] or None
    classes, waiting = {}, [loader.discover(str(HERE), pattern="*_test.py", top_level_dir=str(HERE))]
    while waiting:
        found = waiting.pop()
        if isinstance(found, unittest.TestSuite):
            waiting += reversed(list(found))
        else:
            # unittest turns a module that cannot be imported into a test that fails under the module's name.
            name = unittest.util.strclass(type(found))
            classes.setdefault(name, unittest.TestSuite()).addTest(found)
    return classes


def run_here(suite):
    """Runs tests in this process. Returns how many passed, failed and were skipped."""
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result, stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    return result.passed, failed, len(result.skipped)


def run_class(name, words, priority):
    """Runs a class in a process of its own, prints its output when it has ended, and returns its three counts. A process
    that ends without a summary counts as one failed test."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:  # not a pipe: a process that is left behind would keep it open
        done = subprocess.run(["nice", "-n", str(priority), sys.executable, str(HERE), "--class", name, *words], stdout=said,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
        said.seek(0)
        text = said.read()
    print(text, end="", flush=True)
    counts = SUMMARY.match(text.splitlines()[-1] if text else "")
    if counts:
        return tuple(map(int, counts.groups()))
    print(f"FAIL: {name} ended with {done.returncode} before its summary", flush=True)
    return 0, 1, 0


def run_all(classes, words, jobs):
    """Runs every class, and returns the three counts of each. Classes that are marked `long` begin first, so that none
    of them runs alone at the end."""
    def has(mark, name):
        return any(getattr(test, mark, False) for test in classes[name])

    busy = [name for name in classes if has("busy", name)]
    waiting = sorted((name for name in classes if name not in busy), key=lambda name: not has("long", name))
    with concurrent.futures.ThreadPoolExecutor(1) as one, concurrent.futures.ThreadPoolExecutor(jobs) as several:
        runs = [one.submit(run_class, name, words, 10) for name in busy]
        runs += [several.submit(run_class, name, words, 0) for name in waiting]
        return [run.result() for run in runs]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="run only tests whose name contains one of these words")
    parser.add_argument("--jobs", type=int, default=2, help="number of classes that run at the same time, besides a busy one (2)")
    parser.add_argument("--class", dest="only", help="run only this class, in this process")
    arguments = parser.parse_args()
    # The tests interrupt programs, which inherit what nohup or a background job of a shell ignores.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    classes = discovered(arguments.words)
    if arguments.only:
        counts = [run_here(classes[arguments.only])]
    else:
        counts = run_all(classes, arguments.words, max(1, arguments.jobs))
    passed, failed, skipped = map(sum, zip((0, 0, 0), *counts))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
