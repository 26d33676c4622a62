"""The simulator against published speeds of real servers, and simulated servers that change while they run."""

import csv
import json
import re
import subprocess
import sys
import unittest

from harness import BINARY, ROOT, Case, paretoken

PUBLISHED = ROOT / "tests" / "simulator" / "published" / "speeds.csv"
SERVER = "sim:llama3-8b-h100-bf16"
LOAD = ("--virtual", "--concurrency", 16, "--isl", 256, "--osl", 64, "--num-prompts", 4000)

# The medians and the share of rows within the band that each class must reach.
REQUIRED = {
    "dense, one GPU": (.95, 1.05, 80),
    "dense, NVLink": (.95, 1.05, 80),
    "dense, PCIe": (.85, 1.15, 80),
    "dense, network": (.5, 2, 100),
    "MoE": (.85, 1.15, 80),
    "MLA": (.85, 1.15, 80),
    "fp4": (.95, 1.05, 80),
    "prompt-heavy": (.85, 1.15, 80),
}


def fidelity(*arguments):
    return subprocess.run([sys.executable, ROOT / "scripts" / "fidelity", "--binary", BINARY, *arguments], capture_output=True,
                          text=True, check=False)


class PublishedSpeeds(Case):
    """Throughput and latency that were published, against what the simulator predicts from the deployments."""

    busy = True
    long = True

    @classmethod
    def setUpClass(cls):
        done = fidelity(PUBLISHED)
        cls.code, cls.text = done.returncode, done.stdout
        rows = re.findall(r"^\| ([^|]+) \| tokens/s \| \d+ \| ([\d.]+) \| [\d.]+ \| [\d.]+ \| (\d+)% \|", done.stdout, re.MULTILINE)
        cls.classes = {name: (float(median), int(within)) for name, median, within in rows}

    def test_every_row_on_gpus_has_a_prediction(self):
        self.assertEqual(self.code, 0, self.text)

    def test_each_class_is_met_in_the_median_and_in_most_rows(self):
        for name, (least, most, share) in REQUIRED.items():
            with self.subTest(name):
                median, within = self.classes[name]
                self.assertGreaterEqual(median, least)
                self.assertLessEqual(median, most)
                self.assertGreaterEqual(within, share)

    def test_the_times_of_first_and_later_tokens_are_met_in_every_class_that_has_some(self):
        times = re.findall(r"^\| ([^|]+) \| (TPOT|TTFT) \| \d+ \| ([\d.]+) \| [\d.]+ \| [\d.]+ \| (\d+)% \|", self.text, re.MULTILINE)
        self.assertIn("TTFT", [metric for _, metric, _, _ in times])
        for name, metric, median, within in times:
            with self.subTest(name, metric=metric):
                self.assertTrue(.8 <= float(median) <= 1.15)
                self.assertGreaterEqual(int(within), 80)

    def test_the_documents_have_the_table_of_this_program(self):
        self.assertIn(self.text.strip(), (ROOT / "docs" / "simulator.md").read_text())

    def test_the_documents_have_the_table_of_the_rows_that_were_collected_later(self):
        done = fidelity("--no-rows", PUBLISHED.with_name("later.csv"))  # 1: some classes are outside their band
        self.assertIn("| MLA | TTFT |", done.stdout, done.stderr)
        self.assertIn(done.stdout.strip(), (ROOT / "docs" / "simulator.md").read_text())


class Fitting(Case):
    def test_constants_can_be_fitted_again_without_a_model(self):
        rows = list(csv.DictReader(PUBLISHED.open(newline="")))
        few = self.directory / "few.csv"
        with few.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(row for row in rows if row["id"] in ("S114", "S140", "S146"))
        done = fidelity("--leave-one-out", few)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\| `reach.link_share` \| 3 \| 3 \| [\d.]+ to [\d.]+ \| [\d.]+ \| \d+% \|")


class Changing(Case):
    """Servers whose speed drifts or falls."""

    def run_of(self, profile, name):
        out = self.directory / name
        paretoken("run", profile, *LOAD, "--out", out)
        return json.loads((out / "run.json").read_text())

    def test_a_server_that_drifts_has_no_steady_state_and_one_that_does_not_has(self):
        for drift, steady in (("", True), ("?drift=1000%/h", False), ("?drift=5000%/h", False)):
            with self.subTest(drift):
                run = self.run_of(SERVER + drift, f"run{len(drift)}{drift[-6:-3]}".replace("%", "").replace("/", ""))
                self.assertEqual(run["window"]["steady"], steady, run["window"]["how"])
                self.assertEqual(any(reason["check"] == "no_steady_state" for reason in run["validity"]["reasons"]), not steady)

    def test_a_fall_ends_the_steady_window(self):
        run = self.run_of(f"{SERVER}?from=60s:step_s=0.02", "fall")
        self.assertLess(run["window"]["end_s"], 61)
        self.assertIn("rose", run["window"]["how"])
        self.assertGreater(run["window"]["run_s"], 120)

    def test_a_watch_reports_a_drift_and_a_fall(self):
        for change in ("drift=100%/h", "from=30m:step_s=0.005"):
            with self.subTest(change):
                out = self.directory / change[:4]
                done = self.succeeds(paretoken("watch", f"{SERVER}?{change}", "--virtual", "--duration", "60m", "--out", out))
                lines = [json.loads(line) for line in (out / "watch.jsonl").read_text().splitlines()]
                self.assertFalse(any(line["drift"].get("tpot", {}).get("drifted") for line in lines[:12]))
                self.assertTrue(all(line["drift"]["tpot"]["drifted"] for line in lines[-10:]))
                self.assertIn("tpot drifted to", done.stdout)

    def test_a_gate_across_a_drifting_candidate_fails_it_and_says_that_it_was_not_steady(self):
        out = self.directory / "gate"
        done = paretoken("gate", "--baseline-url", SERVER, "--candidate-url", f"{SERVER}?drift=1000%/h", *LOAD, "--max-pairs", 4, "--out", out)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("no steady state", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
