#!/usr/bin/env python3
"""The virtual GPU must find the faults planted in scripts/gpu/canary.cu and count the bytes that its kernels read.

    canary_test.py --bin PROGRAM

Exit codes: 0 if all checks hold, 1 if one does not, 77 if there is no such program (no nvcc). Standard library only.
"""

import json
import os
import subprocess
import sys

from judged import judged

MIB = 2


def ran(program, arguments, report):
    settings = {"PARETOKEN_VIRTUAL_GPU": "memory:400M", "PARETOKEN_VIRTUAL_GPU_REPORT": str(report)}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **settings}, timeout=240)
    return done.returncode, done.stdout, done.stderr, json.loads(report.read_text(encoding="utf-8"))


def complaints(options, folder):
    """Yields one sentence per check that does not hold."""
    program, report = options.bin, folder / "report.json"
    for fault, status, words in (("oob", "illegal memory access", ("write_past_the_end",)),
                                 ("race", "unspecified launch failure", ("race",))):
        code, out, err, document = ran(program, [fault], report)
        faults = [text for kernel in document["kernels"] for text in kernel["faults"]]
        if code != 1 or status not in out or len(faults) != 1 or not all(word in err for word in words):
            yield (f"canary {fault}: exit code {code}, output '{out.strip()}', errors '{err.strip()}', "
                   f"reported faults {faults}")
    code, out, err, document = ran(program, ["read", str(MIB)], report)
    read = {kernel["name"]: kernel["read_bytes"] for kernel in document["kernels"]}
    if code != 0 or err or list(read.values()) != [MIB << 20]:
        yield f"canary read: exit code {code}, output '{out.strip()}', errors '{err.strip()}', bytes read {read}"


if __name__ == "__main__":
    sys.exit(judged(__doc__, complaints, "canary: all checks hold"))
