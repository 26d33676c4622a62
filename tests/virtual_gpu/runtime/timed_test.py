#!/usr/bin/env python3
"""Timed rows of microbench on the virtual GPU: captured graphs run, and kernels read the bytes that their rows state.

    timed_test.py --bin paretoken-microbench-virtual

The clock is a model, so that the times are not checked; the bytes are counted exactly. Exit codes: 0 if all checks
hold, 1 if one does not, 77 if there is no such program (no nvcc). Standard library only.
"""

import json
import os
import subprocess
import sys

from judged import judged

# Largest relative difference of the bytes. Kernels also read partial sums of other thread blocks, which the row does
# not count.
MOST_OFF = 0.03
# Prefix of a row → the kernel that only this row runs.
ROWS = {"weights/preset:smollm2-135m/op:down/w:bf16/batch:1/": "multiply_weights<Bf16Weights, 1, 1, false>",
        "weights/preset:smollm2-135m/op:down/w:int4/batch:1/": "multiply_weights<Int4Weights, 1, 1, false>"}
# In graphs, a launch is executed once; repeated launches only take its modelled time.
SETTINGS = "sm:90,memory:400M,graph_runs:1,races:off"


def measured(program, folder):
    """({row: object}, report of the virtual GPU)"""
    result, report = folder / "rows.json", folder / "report.json"
    rows = "|".join(ROWS)
    argv = [program, "--quick", "--preset=smollm2-135m", f"--benchmark_filter=^(launch/|{rows}).*backend:gpu",
            f"--benchmark_out={result}", "--benchmark_out_format=json"]
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "PARETOKEN_VIRTUAL_GPU": SETTINGS,
                               "PARETOKEN_VIRTUAL_GPU_REPORT": str(report)})
    if done.returncode != 0 or not result.exists() or not report.exists():
        raise SystemExit(f"{' '.join(argv)} exited {done.returncode}:\n{done.stderr}")
    rows = json.loads(result.read_text(encoding="utf-8"))["benchmarks"]
    return {row["name"]: row for row in rows}, json.loads(report.read_text(encoding="utf-8"))


def complaints(options, folder):
    """Yields one sentence per check that does not hold."""
    rows, report = measured(options.bin, folder)
    for name, row in rows.items():
        if row.get("error_occurred"):
            yield f"{name}: {row.get('error_message')}"
    if not any(name.startswith("launch/graph_node/") for name in rows):
        yield "no graph was timed"
    yield from report["complaints"]
    yield from (f"{refusal['call']} was refused: {refusal['status']}" for refusal in report["refusals"])
    for kernel in report["kernels"]:
        yield from (f"{kernel['name']}: {fault}" for fault in kernel["faults"])
    for prefix, kernel_name in ROWS.items():
        row = next((row for name, row in rows.items() if name.startswith(prefix)), None)
        kernel = next((kernel for kernel in report["kernels"] if kernel_name in kernel["name"]), None)
        if row is None or kernel is None:
            yield f"{prefix}: there is no such row, or the kernel {kernel_name} was not launched"
            continue
        run = kernel["launches"] - kernel["timed_only"]
        off = kernel["read_bytes"] / run / row["read_bytes"] - 1
        if abs(off) > MOST_OFF:
            yield f"{prefix}: the bytes that {kernel_name} reads differ by {100 * off:+.1f} % from those of the row"
        if kernel["timed_only"] == 0:
            yield f"{prefix}: no launch of a graph was repeated"


if __name__ == "__main__":
    sys.exit(judged(__doc__, complaints, "timed: graphs run, and kernels read the bytes that their rows state"))
