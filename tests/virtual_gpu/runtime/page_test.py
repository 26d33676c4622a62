#!/usr/bin/env python3
"""The whole way from kernels to pages on the virtual GPU: `micro` measures, and a report's limits come from its rows.

    page_test.py --bin paretoken-microbench-virtual

paretoken-microbench-virtual takes the place of paretoken-microbench beside a copy of `paretoken` (built in the same
folder). `paretoken micro` measures some rows and writes micro.json and a page. A run of a simulated server, labelled
as one on this GPU, is then joined with them by `paretoken report`. The clock is a model: the test checks which rows
are used and shown, not how fast they are, and every page names the virtual GPU. Exit codes: 0 if all checks hold, 1 if
one does not, 77 if there is no such program (no nvcc). Standard library only.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys

from judged import judged

GPU = "virtual GPU (sm_90)"
SETTINGS = "sm:90,memory:400M,graph_runs:1,races:off"
READ = "ceiling/read/mib:16/access:strided/backend:gpu/mode:ring"
WEIGHTS = "weights/preset:smollm2-135m/op:down/w:bf16/batch:1/backend:gpu/mode:ring"
LAUNCH = "launch/graph_node/backend:gpu/mode:ring"
ROWS = "^(launch/graph_node|ceiling/read/mib:16/|weights/preset:smollm2-135m/op:down/w:bf16/batch:1/).*backend:gpu"


class Tool:
    """A copy of `paretoken` that measures on the virtual GPU, with a cache folder of its own."""

    def __init__(self, microbench, folder):
        self.folder = folder
        shutil.copy(os.path.join(os.path.dirname(microbench), "paretoken"), folder / "paretoken")
        os.symlink(microbench, folder / "paretoken-microbench")

    def __call__(self, *arguments):
        argv = [str(self.folder / "paretoken"), *map(str, arguments)]
        done = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "PARETOKEN_VIRTUAL_GPU": SETTINGS,
                                   "XDG_CACHE_HOME": str(self.folder / "cache")})
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(argv)} exited {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout


def text_of(page):
    """The visible text of a page, with single spaces."""
    content = re.sub(r"<(script|style).*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", content)).split())


def run_on_the_gpu(tool, directory):
    """A run whose server is not a simulated one by its own record: its limits are then those of its hardware."""
    tool("run", "sim:smollm2-135m/h100", "--virtual", "--num-prompts", 50, "--gpu", GPU, "--out", directory)
    path = directory / "run.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    del result["provenance"]["simulator"]
    result["provenance"]["server_kind"] = "vllm"
    path.write_text(json.dumps(result), encoding="utf-8")


def complaints(options, folder):
    """Yields one sentence per check that does not hold."""
    tool = Tool(options.bin, folder)
    shown = tool("micro", "--quick", "--preset", "smollm2-135m", "--filter", ROWS, "--out", "micro.json",
                 "--report", "micro.html")
    micro = json.loads((folder / "micro.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in micro["benchmarks"]}
    names = [device["name"] for device in micro["context"]["devices"] if device["backend"] == "gpu"]
    if names != [GPU]:
        yield f"the GPUs of micro.json are {names}, not [{GPU}]"
    for name in (READ, WEIGHTS, LAUNCH):
        if name not in rows:
            yield f"micro.json has no row {name}"
        elif rows[name]["device"] != "gpu0" or rows[name].get("error_occurred") or not rows[name]["valid"]:
            yield f"the row {name} does not belong to gpu0, or it is not valid: {rows[name]}"
    if f"gpu0: {GPU}; it has no datasheet card" not in shown:
        yield "the console does not name the virtual GPU, or says that it has a datasheet card"

    page = text_of(folder / "micro.html")
    for part in (f"What {GPU} can do", "Weight bandwidth by batch", "read, strided, 16 MiB", "launch graph node"):
        if part not in page:
            yield f"the page of micro does not say {part!r}"

    run_on_the_gpu(tool, folder / "run")
    tool("report", "run", "--micro", "micro.json", "--model-card", "smollm2-135m", "--out", "report.html")
    configuration = json.loads((folder / "report.json").read_text(encoding="utf-8"))["configurations"][0]
    terms = {term["name"]: term for term in configuration["limit_terms"]}
    for term, row, value, unit in (("memory bandwidth", READ, rows[READ]["bytes_per_second"], 1e9),
                                   ("launches of a step's small kernels", LAUNCH, None, None)):
        held = terms.get(term)
        if held is None or row not in held["source"] or GPU not in held["source"]:
            yield f"the limit's term {term!r} does not come from {row}: {held}"
        elif value is not None and abs(held["value"] * unit / value - 1) > 0.05:
            yield f"the limit's {term} is {held['value']}, and the row measured {value / unit}"
    if not any(name.startswith("reached by our weight kernel") for name in terms):
        yield "the reachable limit does not use the row of our weight kernel"
    if not configuration["hard_limit"] or not configuration["reachable"]:
        yield "the report draws no hard limit, or no reachable one"
    if GPU not in text_of(folder / "report.html"):
        yield "the report does not name the virtual GPU"


if __name__ == "__main__":
    sys.exit(judged(__doc__, complaints, "page: rows of the virtual GPU are on the page, and limits come from them"))
