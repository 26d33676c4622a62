"""Runs the end-to-end tests: `python3 tests/e2e [WORD…]` (only tests whose name holds one of the words).

The last line says how many passed and failed; the exit code is 1 when one failed.
"""

import pathlib
import sys
import time
import unittest


class Result(unittest.TextTestResult):
    """Names every test with the seconds it took."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.passed = 0

    def startTest(self, test):
        self._began = time.monotonic()
        super().startTest(test)

    def addSuccess(self, test):
        self.passed += 1
        super().addSuccess(test)

    def stopTest(self, test):
        self.stream.writeln(f"      {time.monotonic() - self._began:.1f} s")
        super().stopTest(test)

    def getDescription(self, test):
        return test.id()


def main(words):
    here = pathlib.Path(__file__).resolve().parent
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{word}*" for word in words] or None
    suite = loader.discover(str(here), pattern="*_test.py", top_level_dir=str(here))
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result, stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or result.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
