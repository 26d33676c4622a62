"""Measures how often a run in virtual time says that its server does not keep up, at shares of the server's capacity:

    python3 benchmarks/overload.py [--seeds 40] [--burstiness .11] [--binary build/release/paretoken]

The server is a simulated GPU with 16 slots, the lengths are lognormal. Its capacity is what it completes when all requests of a long run
start at once. It prints one row per share and number of requests, with the runs that are called overloaded in per cent: below the capacity
these are wrong, above it they are right.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import tempfile

SERVER = "sim:llama3-8b-h100-bf16?max_num_seqs=16"
LENGTHS = ["--isl", "lognormal:mean=512;cv=1", "--osl", "lognormal:mean=128;cv=1"]
SHARES = (0.6, 0.8, 0.9, 0.95, 1.05, 1.2, 1.5, 3.0)
REQUESTS = (80, 160, 320, 640, 1280, 2560)


def run_json(binary, folder, seed, *options):
    """Returns the result of one run."""
    subprocess.run([binary, "run", SERVER, "--virtual", *LENGTHS, "--seed", str(seed), "--out", str(folder), *options],
                   capture_output=True, check=False)
    return json.loads((folder / "run.json").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--burstiness", default="1", help="of the arrivals, as for paretoken run; 1 is a Poisson process")
    parser.add_argument("--binary", default="build/release/paretoken")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor() as pool:
        folder = pathlib.Path(scratch)
        whole = run_json(options.binary, folder / "all", 1, "--request-rate", "inf", "--num-prompts", "20000")
        capacity = whole["throughput"]["requests_per_s"]
        print(f"capacity {capacity:.4g} requests/s; runs called overloaded, per cent of {options.seeds}, for numbers of requests")
        print("| share of the capacity | " + " | ".join(f"{count:,}" for count in REQUESTS) + " |")
        print("|--:" * (len(REQUESTS) + 1) + "|")

        def is_overloaded(share, count, seed):
            how = ["--request-rate", f"{share * capacity:.6g}", "--burstiness", options.burstiness]
            return run_json(options.binary, folder / f"{share}-{count}-{seed}", seed, "--num-prompts", str(count),
                            *how)["window"]["overloaded"]

        for share in SHARES:
            cells = []
            for count in REQUESTS:
                told = list(pool.map(lambda seed: is_overloaded(share, count, seed), range(1000, 1000 + options.seeds)))
                cells.append(f"{100 * sum(told) / len(told):.3g}")
            print(f"| {share} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
