#!/usr/bin/env python3
"""Compares the registers and spills of every GPU kernel, as ptxas reports them, with budget.json in this folder.

    budget_test.py            Compiles the kernels for one architecture. Exits with 1 if a kernel is above its budget or
                              has no budget, or if a budget has no kernel. Exits with 77 (skipped) if there is no nvcc
                              or if its version differs from that of the budget.
    budget_test.py --update   Writes the measured numbers to budget.json. Registers are rounded up to a multiple of 8,
                              which is the unit in which the hardware allocates them.
    budget_test.py --print    Only prints the table.

The test needs no GPU and uses only the standard library.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "microbench" / "gpu"
BUDGET = pathlib.Path(__file__).with_name("budget.json")
ARCHITECTURE = "sm_90"
SKIPPED = 77
FLAGS = ["-std=c++20", f"-I{ROOT}", "--expt-relaxed-constexpr", "-lineinfo", "-DPARETOKEN_HAS_CUDA",
         "-DFMT_USE_CONSTEXPR=1", "-cubin", f"-arch={ARCHITECTURE}", "-Xptxas", "-v"]


def nvcc():
    """Returns the path of the compiler, or None."""
    candidates = (os.environ.get("CUDACXX"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc")
    return next((path for path in candidates if path and shutil.which(path)), None)


def version_of(compiler):
    output = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release (\d+\.\d+)", output).group(1)


def has_kernels(path, seen=None):
    """Returns whether a source file, or a header of this folder that it includes, defines a kernel."""
    seen = set() if seen is None else seen
    if path in seen or not path.is_file():
        return False
    seen.add(path)
    text = path.read_text(encoding="utf-8")
    if "__global__" in text:
        return True
    included = re.findall(r'#include "(microbench/gpu/[^"]+)"', text)
    return any(has_kernels(ROOT / name, seen) for name in included)


def demangled(names):
    if not shutil.which("c++filt"):
        raise SystemExit("budget_test: c++filt (binutils) is needed to read kernel names")
    output = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    # Removes the namespace, the return type and the arguments. A result is multiply_weights<Bf16Weights, 1, 1>.
    short = []
    for name in output.splitlines():
        name = name.replace("paretoken::microbench::gpu::", "").replace("(anonymous namespace)::", "")
        name = re.sub(r"^void ", "", name)
        depth = 0
        for i, c in enumerate(name):
            depth += (c == "<") - (c == ">")
            if c == "(" and depth == 0:
                name = name[:i]
                break
        short.append(re.sub(r"\((?:[\w: ]+)\)(?=\d)", "", name))
    return short


def kernels_of(report):
    """Returns {kernel: {registers, spill_bytes}} from the output of ptxas -v."""
    mangled, found = [], []
    for line in report.splitlines():
        if entry := re.search(r"Compiling entry function '(\S+)'", line):
            mangled.append(entry.group(1))
            found.append({"registers": 0, "spill_bytes": 0})
        elif spills := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if found:
                found[-1]["spill_bytes"] = int(spills.group(1)) + int(spills.group(2))
        elif used := re.search(r"Used (\d+) registers", line):
            found[-1]["registers"] = int(used.group(1))
    return dict(zip(demangled(mangled), found)) if mangled else {}


def compiled(compiler, source):
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, *FLAGS, str(source), "-o", f"{folder}/kernels.cubin"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"budget_test: {source.name} does not compile:\n{result.stderr[-3000:]}")
    return kernels_of(result.stderr + result.stdout)


def measured(compiler):
    sources = sorted(path for path in FOLDER.rglob("*.cu") if has_kernels(path))
    kernels = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda source: compiled(compiler, source), sources):
            kernels.update(found)
    return kernels


def complaints(kernels, budget):
    for name, used in sorted(kernels.items()):
        if name not in budget:
            yield f"{name}: no budget; run {pathlib.Path(__file__).name} --update and review the change"
            continue
        for key, value in used.items():
            if value > budget[name][key]:
                yield f"{name}: {value} {key.replace('_', ' ')}, {budget[name][key]} budgeted"
    for name in sorted(set(budget) - set(kernels)):
        yield f"{name}: has a budget but the kernel no longer exists; run this test with --update"


def rounded(used):
    return {"registers": -(-used["registers"] // 8) * 8, "spill_bytes": used["spill_bytes"]}


def main(argv):
    compiler = nvcc()
    if compiler is None:
        print("budget_test: skipped, because nvcc was not found")
        return SKIPPED
    version = version_of(compiler)
    document = json.loads(BUDGET.read_text(encoding="utf-8")) if BUDGET.exists() else {"nvcc": version, "kernels": {}}
    if argv[1:] == [] and document["nvcc"] != version:
        print(f"budget_test: skipped, because the budget is for nvcc {document['nvcc']} and this is nvcc {version}")
        return SKIPPED
    kernels = measured(compiler)
    for name, used in sorted(kernels.items()):
        print(f"{used['registers']:4} registers {used['spill_bytes']:5} spill bytes  {name}")
    if argv[1:] == ["--print"]:
        return 0
    if argv[1:] == ["--update"]:
        document = {"nvcc": version, "architecture": ARCHITECTURE,
                    "kernels": {name: rounded(kernels[name]) for name in sorted(kernels)}}
        BUDGET.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        return 0
    wrong = list(complaints(kernels, document["kernels"]))
    for line in wrong:
        print(line)
    return 1 if wrong or not kernels else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
