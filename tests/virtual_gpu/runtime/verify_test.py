#!/usr/bin/env python3
"""Every kernel of microbench on the virtual GPU: each row passes, and fails once a fault is planted in its operands.

    verify_test.py --bin paretoken-microbench-virtual [--sm 90] [--multiprocessors 4] [--filter REGEX]

The virtual GPU must report no error: no access out of bounds, no race, no read of bytes that were never written, no
call that the runtime refuses. Rows of libraries are left out because they need a GPU. Exit codes: 0 if all checks
hold, 1 if one does not, 77 if there is no such program (no nvcc). Standard library only.
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
    """Yields one sentence per check that does not hold."""
    rows, report, _ = rows_of(options, folder, [])
    if not rows:
        yield "no row was verified"
    for name, row in rows.items():
        if row.get("error_occurred"):
            yield f"{name}: {row.get('error_message')}"
    yield from faults_of(report)
    verified = set(rows)
    rows, report, _ = rows_of(options, folder, ["--plant-fault"])
    # The program omits the rows launch/… when a fault is planted, since an empty launch computes nothing. This check
    # reports them as missing unless --filter leaves them out.
    for name in sorted(verified - set(rows)):
        yield f"{name}: the row is missing when a fault is planted"
    for name, row in rows.items():
        if "verification failed" not in row.get("error_message", ""):
            yield f"{name}: verification does not fail with a planted fault ({row.get('error_message', 'no error')})"
    yield from faults_of(report)


def add_options(parser):
    parser.add_argument("--sm", type=int, default=90)
    parser.add_argument("--multiprocessors", type=int, default=4,
                        help="multiprocessors of the virtual GPU; more of them split the work into smaller shares")
    parser.add_argument("--filter", help="regular expression of the rows to run")


if __name__ == "__main__":
    sys.exit(judged(__doc__, complaints, "verify: all checks hold", add_options))
