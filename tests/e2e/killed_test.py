"""Runs that are killed with SIGKILL at random moments: `report` reads the files that each of them left.

`KILLS=100 python3 -m unittest killed_test` kills 100 runs (default: 12). SEED=N chooses the moments.
"""

import json
import os
import random
import subprocess
import time
import unittest

from harness import BINARY, Case, environment, paretoken, refused_port, request_lines, simulated_server, started, wait_until

KILLS = int(os.environ.get("KILLS", "12"))
SEED = int(os.environ.get("SEED", "12"))
SECONDS = 1.0  # duration of each run's load


class Killed(Case):
    def kill_one(self, address, out, wait):
        """Starts a run and kills it `wait` seconds after its first request was recorded."""
        command = [BINARY, "run", address, "--concurrency", 8, "--duration", f"{SECONDS}s", "--num-warmups", 4, "--isl", 16,
                   "--osl", "uniform:min=1;max=12", "--out", out]
        lines = out / "requests.jsonl"
        with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                     env=environment()) as process:
            wait_until(lambda: lines.exists() and b"\n" in lines.read_bytes(), seconds=60, what="a recorded request")
            time.sleep(wait)
            process.kill()
            process.wait()

    def check_report(self, out):
        """Asserts that `report` counts every request that has a line, and calls the run invalid unless it had ended before.
        Returns whether it had."""
        page = self.directory / "page.html"
        done = paretoken("report", out, "--out", page)
        said = f"{out}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        ended = (out / "ended.json").exists()
        self.assertIn(done.returncode, (0, 4) if ended else (4,), said)
        points = [point for configuration in json.loads(page.with_suffix(".json").read_text())["configurations"]
                  for point in configuration["points"]]
        self.assertEqual(len(points), 1, said)
        counts = points[0]["run"]["counts"]
        lines = [line for line in request_lines(out) if not line.get("warmup") and line["outcome"] != "cancelled"]
        self.assertEqual(counts["requests"], len(lines), said)
        self.assertEqual(counts.get("without_events", 0), 0, said)
        self.assertEqual((out / "run.json").exists(), ended, said)
        if not ended:
            self.assertEqual(points[0]["run"]["validity"]["verdict"], "invalid", said)
            self.assertTrue(points[0]["run"]["partial"], said)
        return ended

    def test_at_any_moment_leaves_a_directory_that_report_reads(self):
        moments = random.Random(SEED)
        ended = 0
        with simulated_server("--profile", "ideal?ttft=5ms&itl=2ms") as address:
            for number in range(KILLS):
                with self.subTest(kill=number, seed=SEED):
                    out = self.directory / f"run{number}"
                    self.kill_one(address, out, moments.uniform(0, 1.2 * SECONDS))
                    ended += self.check_report(out)
        self.assertLess(ended, KILLS, "not one run was killed before its end")

    def test_a_run_that_did_not_end_is_shown_with_what_it_recorded(self):
        out = self.directory / "run"
        self.measures(paretoken("run", "sim:ideal", "--virtual", "--isl", 32, "--osl", 16, "--num-prompts", 60, "--out", out))
        for name in ("ended.json", "run.json"):
            (out / name).unlink()
        shown = self.succeeds(paretoken("show", out)).stdout
        self.assertIn("60", shown)
        self.assertIn("interrupted", json.loads(self.succeeds(paretoken("show", out, "--json")).stdout)["validity"]["reasons"][0]["check"])

    def test_records_that_are_not_those_of_the_run_are_refused_by_every_command(self):
        out = self.directory / "run"
        self.measures(paretoken("run", "sim:ideal", "--virtual", "--isl", 32, "--osl", 16, "--num-prompts", 200, "--out", out))
        records = (out / "requests.jsonl").read_text()
        half = "".join(records.splitlines(keepends=True)[:100])
        for damaged in ("", half, records.replace('"index":1', '"index":2', 1)):
            (out / "requests.jsonl").write_text(damaged)
            self.fails_clearly(paretoken("cost", "hedging", "--run", out), 2, "requests.jsonl", "restore")
            if len(damaged) != len(records):
                for command in ("report", "show"):
                    with self.subTest((command, len(damaged))):
                        self.fails_clearly(paretoken(command, out), 2, "requests.jsonl", "restore")
        (out / "requests.jsonl").write_text(records)
        self.succeeds(paretoken("cost", "hedging", "--run", out))

    def test_none_gives_back_its_result_where_run_json_was_deleted(self):
        loads = (("--concurrency", 4, "--num-warmups", 3, "--num-prompts", 60, "--goodput", "ttft:500", "--slo", "e2e_p90:9s"),
                 ("--request-rate", 40, "--num-prompts", 80, "--scrape", f"http://127.0.0.1:{refused_port()}/metrics"),
                 ("--class", "a:concurrency=2", "--class", "b:rate=20,isl=64", "--duration", "2s", "--events", "sample=3"))
        for number, load in enumerate(loads):
            with self.subTest(load=load):
                out = self.directory / f"kept{number}"
                paretoken("run", "sim:llama3-8b-h100-bf16", "--isl", 32, "--osl", 16, *load, "--out", out)
                before = (out / "run.json").read_text()
                (out / "run.json").unlink()
                paretoken("report", out, "--out", self.directory / "page.html")
                self.assertEqual((out / "run.json").read_text(), before)


if __name__ == "__main__":
    unittest.main()
