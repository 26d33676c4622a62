"""What the tests here have in common: a program to judge, and sentences about what does not hold."""

import argparse
import os
import pathlib
import tempfile

SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def judged(description, complaints, all_right, add_options=lambda parser: None):
    """Exit code: 0 when `complaints(options, folder)` yields nothing, 1 when it does, 77 with nothing at --bin.

    `folder` is empty and goes away; `all_right` is printed when all holds.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    add_options(parser)
    options = parser.parse_args()
    if not os.access(options.bin, os.X_OK):
        print(f"skipped: there is no {options.bin} (is nvcc here?)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        wrong = list(complaints(options, pathlib.Path(folder)))
    print("\n".join(wrong) or all_right)
    return 1 if wrong else 0
