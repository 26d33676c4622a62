"""The common part of the tests in this folder: they check a program and print one sentence per failed check."""

import argparse
import os
import pathlib
import tempfile

SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def judged(description, complaints, all_right, add_options=lambda parser: None):
    """Runs a test and returns its exit code.

    The code is 0 if `complaints(options, folder)` yields nothing, 1 if it yields sentences, and 77 if there is no
    program at --bin. `folder` is an empty folder that is deleted afterwards; `all_right` is printed if nothing fails.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    add_options(parser)
    options = parser.parse_args()
    if not os.access(options.bin, os.X_OK):
        print(f"skipped: there is no program {options.bin} (it is only built if nvcc is installed)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        wrong = list(complaints(options, pathlib.Path(folder)))
    print("\n".join(wrong) or all_right)
    return 1 if wrong else 0
