#!/usr/bin/env python3
"""How long a report of many runs takes to write, load and sort, and how large its page is.

    benchmarks/report_page.py [--runs 1000] [--binary build/release/paretoken]

Makes one simulated run in virtual time, repeats its run.json under other loads and labels, and measures the report of all of them:
writing (html, md and json), the size of the page, the time until Chromium has drawn the charts, and sorting the table by a column.
The goals for 1,000 runs are 2 s, 3 MB, 2 s and 100 ms on an idle machine. Needs Chromium and its driver (scripts/setup --test).
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

LOADS = 50  # of each configuration

# Navigation to the end of the script that draws, and the median of five sorts until they are laid out.
TIMES = """
const drawn = performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd;
const header = document.querySelector('.numbers th[data-column] .sort');
const sorts = [];
for (let i = 0; i < 5; ++i) {
    const begin = performance.now();
    header.click();
    document.body.getBoundingClientRect();
    sorts.push(performance.now() - begin);
}
return [drawn, sorts.sort((a, b) => a - b)[2], document.querySelectorAll('.numbers tbody tr').length];
"""


def make_runs(binary, directory, count):
    base = directory / "base"
    subprocess.run([binary, "run", "sim:llama3-8b/h100/bf16", "--virtual", "--concurrency", "16", "--isl", "256", "--osl", "64",
                    "--num-prompts", "400", "--out", base], check=True, stdout=subprocess.DEVNULL)
    run = json.loads((base / "run.json").read_text())
    rates = dict(run["throughput"])
    for i in range(count):
        build, load = divmod(i, LOADS)
        scale = (load + 1) / 16 * (1 - build / 1000)
        run["concurrency"] = load + 1
        run["provenance"]["metadata"] = {"build": f"b{build:03}"}
        for key in ("output_tokens_per_s", "input_tokens_per_s", "requests_per_s", "mean_in_flight"):
            run["throughput"][key] = rates[key] * scale
        place = directory / "runs" / f"b{build:03}-c{load + 1:03}"
        place.mkdir(parents=True)
        (place / "run.json").write_text(json.dumps(run))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "release" / "paretoken")
    options = parser.parse_args()
    from pages import Browser

    with tempfile.TemporaryDirectory(prefix="paretoken-page-") as held:
        directory = pathlib.Path(held)
        make_runs(options.binary.resolve(), directory, options.runs)
        page = directory / "report.html"
        begin = time.monotonic()
        done = subprocess.run([options.binary.resolve(), "report", directory / "runs", "--out", page], stdout=subprocess.DEVNULL,
                              check=False)
        wrote = time.monotonic() - begin
        if done.returncode not in (0, 4):
            sys.exit(f"paretoken report ended with {done.returncode}")
        with Browser() as browser:
            browser.open(page)
            drawn, sorted_in, rows = browser.evaluate(TIMES)
        print(f"runs                  {rows}")
        print(f"written in            {wrote:.2f} s")
        print(f"page                  {page.stat().st_size / 1e6:.2f} MB")
        print(f"charts drawn after    {drawn / 1e3:.2f} s")
        print(f"table sorted in       {sorted_in:.0f} ms")


if __name__ == "__main__":
    main()
