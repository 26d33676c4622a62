"""Tests the files in dist/, which scripts/release makes: `python3 tests/packaging [WORD…]` (only tests whose name contains one of the
words). It makes fresh Debian systems with mmdebstrap (as root) in a temporary directory and runs the programs in them. The last line
says how many tests passed, failed and were skipped. The exit code is 1 when a test failed or none passed."""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def main():
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{word}*" for word in sys.argv[1:]] or None
    suite = loader.discover(str(HERE), pattern="*_test.py", top_level_dir=str(HERE))
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors)
    passed = result.testsRun - failed - len(result.skipped)
    print(f"{passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or passed <= 0 else 0


if __name__ == "__main__":
    sys.exit(main())
