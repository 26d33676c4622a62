#!/usr/bin/env python3
"""Every kernel of microbench on the virtual GPU: each row is right, and wrong once its operands are spoilt.

    verify_test.py --bin paretoken-microbench-virtual [--sm 90] [--multiprocessors 4] [--filter REGEX]

Nothing may be found on the way: no access out of bounds, no race, no byte that is used before it was written, no call
that the runtime refuses. Rows of libraries are left out, as they need a GPU. Exit codes: 0 all hold, 1 one does not,
77 there is no such program (no nvcc). Standard library only.
"""

import json
import os
import subprocess
import sys

from judged import judged

LIBRARY = ("gemm_lib/", "prefill/gemm/", "ceiling/flops/lib/")


def rows_of(options, folder, flags):
    """({row: object}, report of the virtual GPU, standard error)"""
    result, report = folder / "rows.json", folder / "report.json"
    for path in (result, report):
        path.unlink(missing_ok=True)
    argv = [options.bin, "--gpu-verify", *flags, f"--benchmark_out={result}", "--benchmark_out_format=json"]
    if options.filter:
        argv.append(f"--benchmark_filter={options.filter}")
    settings = {"PARETOKEN_VIRTUAL_GPU": f"sm:{options.sm},multiprocessors:{options.multiprocessors}",
                "PARETOKEN_VIRTUAL_GPU_REPORT": str(report)}
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, **settings})
    if not result.exists() or not report.exists():
        raise SystemExit(f"{' '.join(argv)} exited {done.returncode} and wrote nothing:\n{done.stderr}")
    rows = {row["name"]: row for row in json.loads(result.read_text(encoding="utf-8"))["benchmarks"]}
    ours = {name: row for name, row in rows.items() if not name.startswith(LIBRARY)}
    return ours, json.loads(report.read_text(encoding="utf-8")), done.stderr


def faults_of(report):
    for kernel in report["kernels"]:
        for fault in kernel["faults"]:
            yield f"{kernel['name']}: {fault}"
    yield from report["complaints"]
    for refusal in report["refusals"]:
        yield f"{refusal['call']} was refused {refusal['count']} times: {refusal['status']}"


def complaints(options, folder):
    """What does not hold, in sentences."""
    rows, report, _ = rows_of(options, folder, [])
    if not rows:
        yield "no row was verified"
    for name, row in rows.items():
        if row.get("error_occurred"):
            yield f"{name}: {row.get('error_message')}"
    yield from faults_of(report)
    verified = set(rows)
    rows, report, _ = rows_of(options, folder, ["--plant-fault"])
    # Those of launches have nothing to spoil.
    for name in sorted(verified - set(rows)):
        yield f"{name}: is not there with a planted fault"
    for name, row in rows.items():
        if "verification failed" not in row.get("error_message", ""):
            yield f"{name}: passes with a planted fault ({row.get('error_message', 'no error')})"
    yield from faults_of(report)


def add_options(parser):
    parser.add_argument("--sm", type=int, default=90)
    parser.add_argument("--multiprocessors", type=int, default=4, help="many make many thread blocks with small shares")
    parser.add_argument("--filter", help="only these rows")


if __name__ == "__main__":
    sys.exit(judged(__doc__, complaints, "verify: every row holds", add_options))
