#!/usr/bin/env python3
"""The faults planted in scripts/gpu/canary.cu must be found by the virtual GPU, and the bytes that it reads counted.

    canary_test.py --bin PROGRAM

Exit codes: 0 all found, 1 one is not, 77 there is no such program (no nvcc). Standard library only.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
MIB = 2


def ran(program, arguments, report):
    settings = {"PARETOKEN_VIRTUAL_GPU": "memory:400M", "PARETOKEN_VIRTUAL_GPU_REPORT": str(report)}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **settings}, timeout=240)
    return done.returncode, done.stdout, done.stderr, json.loads(report.read_text(encoding="utf-8"))


def complaints(program, report):
    """What does not hold, in sentences."""
    for fault, status, words in (("oob", "illegal memory access", ("write_past_the_end",)),
                                 ("race", "unspecified launch failure", ("race",))):
        code, out, err, document = ran(program, [fault], report)
        faults = [text for kernel in document["kernels"] for text in kernel["faults"]]
        if code != 1 or status not in out or len(faults) != 1 or not all(word in err for word in words):
            yield f"canary {fault}: exited {code}, said '{out.strip()}' and '{err.strip()}', reported {faults}"
    code, out, err, document = ran(program, ["read", str(MIB)], report)
    read = {kernel["name"]: kernel["read_bytes"] for kernel in document["kernels"]}
    if code != 0 or err or list(read.values()) != [MIB << 20]:
        yield f"canary read: exited {code}, said '{out.strip()}' and '{err.strip()}', counted {read}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, type=os.path.abspath)
    options = parser.parse_args()
    if not os.access(options.bin, os.X_OK):
        print(f"skipped: there is no {options.bin} (is nvcc here?)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        wrong = list(complaints(options.bin, pathlib.Path(folder) / "report.json"))
    print("\n".join(wrong) or "canary: all found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
