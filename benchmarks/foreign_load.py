#!/usr/bin/env python3
"""How often the check "foreign_load" says that another client was there when none was, and when one was.

    benchmarks/foreign_load.py [--runs 50] [--binary build/release/paretoken]

Runs go over the loopback against the simulated server, alternately a closed loop and an open one, each alone on a server of its own;
then a tenth as many pairs of runs load one server at the same time. Alone none should be told of a stranger; of each pair both
should be. Every run has at least the 1,000 output tokens below which the check does not judge.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

PROFILE = "llama3-8b-h100-bf16"
LOADS = (("--concurrency", "8", "--num-prompts", "80"), ("--request-rate", "40", "--num-prompts", "80"))
LENGTHS = ("--isl", "128", "--osl", "64")


def started(binary, target, load, out):
    return subprocess.Popen([binary, "run", target, *load, *LENGTHS, "--out", out], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def told(directory):
    """Whether the run was judged at all, and whether it was told of another client."""
    run = json.loads((directory / "run.json").read_text())
    judged = run.get("server", {}).get("asked", {}).get("generation_tokens", 0) >= 1000
    return judged, any(reason["check"] == "foreign_load" for reason in run["validity"]["reasons"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "release" / "paretoken")
    options = parser.parse_args()
    import harness  # after the arguments: it asks for the binary
    harness.BINARY = options.binary
    alone, together = [], []
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        for i in range(options.runs):
            out = place / f"alone-{i}"
            started(options.binary, f"sim:{PROFILE}", LOADS[i % 2], out).wait()
            alone.append(told(out))
        for i in range(max(1, options.runs // 10)):
            with harness.simulated_server("--profile", PROFILE) as url:
                outs = [place / f"pair-{i}-{side}" for side in "ab"]
                for process in [started(options.binary, url, LOADS[i % 2], out) for out in outs]:
                    process.wait()
            together += [told(out) for out in outs]
    for name, runs in (("alone", alone), ("beside another", together)):
        judged = sum(was_judged for was_judged, _ in runs)
        print(f"{name}: {len(runs)} runs, {judged} judged, {sum(said for _, said in runs)} told of another client")
    return 0 if not any(said for _, said in alone) and all(said for _, said in together) else 1


if __name__ == "__main__":
    sys.exit(main())
