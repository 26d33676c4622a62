"""Makes a file of jobs in Weka's form, of a size and shape like published traces of coding agents (about 100,000 input tokens per request), and measures how long
`paretoken` takes to read it and to replay it in virtual time:

    python3 benchmarks/agent_jobs.py [--jobs 393] [--requests 98827] [--binary build/release/paretoken]

It prints the seconds and the peak memory of `dataset describe` and of a replay on sim:ideal with a context of two million tokens.
"""

import argparse
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

BLOCK = 64
MOST_BLOCKS = 15000  # a context of about a million tokens


class Ids:
    """Hash ids of one job, from 0."""

    def __init__(self):
        self.next = 0

    def some(self, count):
        first, self.next = self.next, self.next + count
        return list(range(first, self.next))


def agent(draw, ids, turns, prefix, begin):
    """Returns the requests of an agent: contexts that grow, and at times are shortened."""
    blocks, requests, at = prefix + ids.some(draw.randint(2, 40)), [], begin
    for turn in range(turns):
        if turn > 0:
            at += draw.lognormvariate(0.5, 1)
            if draw.random() < 0.017:
                blocks = blocks[:len(prefix)] + ids.some(draw.randint(10, 100))
            if len(blocks) > MOST_BLOCKS:
                blocks = blocks[:len(prefix)] + ids.some(500)
            blocks = blocks + ids.some(min(600, 1 + int(draw.lognormvariate(3.5, 1.2))))
        out, took = 1 + int(draw.lognormvariate(4.5, 1)), draw.uniform(0.5, 8)
        requests.append({"t": round(at, 3), "type": "s", "model": "m", "in": len(blocks) * BLOCK + draw.randint(0, BLOCK - 1),
                         "out": out, "hash_ids": list(blocks), "api_time": round(took, 3), "stop": "tool_use",
                         "think_time": None if turn == 0 else round(draw.lognormvariate(0.5, 1), 3),
                         "input_types": ["tool_result" if turn else "text"]})
        at += took
    return requests, at


def job(draw, number, requests):
    """Returns a job of about 58 % of its requests in sub-agents."""
    ids = Ids()
    prefix = ids.some(200)
    of_agents = int(requests * 0.58)
    main, _ = agent(draw, ids, max(1, requests - of_agents), prefix, 0)
    entries = list(main)
    while of_agents > 0:
        turns = min(of_agents, draw.randint(4, 40))
        of_agents -= turns
        begin = draw.choice(main)["t"]
        own, end = agent(draw, ids, turns, prefix[:120], 0)
        entries.append({"type": "subagent", "t": begin, "agent_id": f"a{len(entries)}", "subagent_type": "explore",
                        "duration_ms": int(end * 1e3), "status": "completed", "requests": own})
    entries.sort(key=lambda entry: entry["t"])
    return {"id": f"job-{number}", "models": ["m"], "block_size": BLOCK, "hash_id_scope": "local", "requests": entries}


def write(path, jobs, requests, seed=1):
    draw = random.Random(seed)
    weights = [draw.lognormvariate(0, 1.1) for _ in range(jobs)]
    cuts = [round(requests * sum(weights[:i]) / sum(weights)) for i in range(jobs + 1)]
    with open(path, "w", encoding="utf-8") as out:
        for number in range(jobs):
            out.write(json.dumps(job(draw, number, max(1, cuts[number + 1] - cuts[number])), separators=(",", ":")) + "\n")


def measured(command):
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=393)
    parser.add_argument("--requests", type=int, default=98827)
    parser.add_argument("--binary", default="build/release/paretoken")
    parser.add_argument("--keep", help="write the file here and keep it")
    parser.add_argument("--concurrency", type=int, default=32)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(arguments.keep or pathlib.Path(directory) / "jobs.jsonl")
        if not path.exists():
            write(path, arguments.jobs, arguments.requests)
        print(f"file: {path.stat().st_size / 1e6:.0f} MB")
        seconds, memory = measured([arguments.binary, "dataset", "describe", path])
        print(f"describe: {seconds:.1f} s, {memory:.0f} MB")
        profile = pathlib.Path(directory) / "ideal.json"
        profile.write_text(json.dumps({"name": "ideal", "timing": "fixed", "ttft": "20ms", "itl": "10ms", "vocabulary": 128256,
                                       "max_model_len": 2_000_000, "answer_tokens": 200}))
        seconds, memory = measured([arguments.binary, "run", f"sim:{profile}", "--virtual", "--dataset-path", path, "--concurrency",
                                    str(arguments.concurrency), "--num-prompts", "all", "--events", "none", "--out",
                                    pathlib.Path(directory) / "run"])
        print(f"replay: {seconds:.1f} s, {memory:.0f} MB")


if __name__ == "__main__":
    sys.exit(main())
