"""`paretoken plan`: the commands of docs/plan.md, the fit against start-ups of real servers, and the simulator as its own truth."""

import json
import re
import shlex
import subprocess
import sys
import unittest

from harness import BINARY, ROOT, Case, paretoken

ROW = re.compile(r"^\| `(paretoken plan [^`]*)` \| (.*) \|$")
LIMITS = ["--slo", "ttft_p95:800", "--slo", "tpot_p95:50"]
LOAD = ["--isl", 1024, "--osl", 128]


def planned(*arguments):
    done = paretoken("plan", *arguments, "--json")
    return done, json.loads(done.stdout) if done.returncode == 0 else {}


class Documented(Case):
    def test_every_line_of_the_table_in_the_documents_is_in_the_output_of_its_command(self):
        rows = [found.groups() for found in map(ROW.match, (ROOT / "docs" / "plan.md").read_text().splitlines()) if found]
        self.assertGreaterEqual(len(rows), 6)
        for command, answer in rows:
            with self.subTest(command):
                self.assertIn(answer, self.succeeds(paretoken(*shlex.split(command)[1:])).stdout)


class Fidelity(Case):
    """The sizes that servers logged when they started, against what `plan` predicts from their flags."""

    @classmethod
    def setUpClass(cls):
        done = subprocess.run([sys.executable, ROOT / "scripts" / "fidelity", "--binary", BINARY], capture_output=True, text=True, check=False)
        cls.code, cls.text = done.returncode, done.stdout

    def share(self, kind, bound):
        return int(re.search(rf"^- {kind}: .* (\d+)% within {bound}%", self.text, re.MULTILINE)[1])

    def test_no_server_that_started_is_refused(self):
        self.assertEqual(self.code, 0, self.text)

    def test_the_documents_have_the_table_of_this_program(self):
        document = (ROOT / "docs" / "plan.md").read_text()
        self.assertIn(self.text.strip(), document)

    def test_dense_models_are_met_in_the_median(self):
        median = float(re.search(r"^- dense: .*÷ logged ([\d.]+)", self.text, re.MULTILINE)[1])
        self.assertLess(abs(median - 1), .03)

    def test_most_start_ups_are_near(self):
        self.assertGreaterEqual(self.share("dense", 10), DENSE_WITHIN_10)
        self.assertGreaterEqual(self.share("dense", 20), DENSE_WITHIN_20)
        self.assertGreaterEqual(self.share("MoE and MLA", 15), 70)


class Searches(Case):
    def test_the_load_of_a_cell_is_that_of_a_search_on_its_profile(self):
        out = self.directory / "plan"
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", "--weights", "fp8", *LOAD, *LIMITS, "--out", out)
        self.succeeds(done)
        cell = plan["cells"][0]
        self.assertGreater(cell["speed"]["load"], 1)
        sweep = self.directory / "sweep"
        paretoken("sweep", cell["profile"], "--virtual", "--seed", 0, "--salt", "plan", *LOAD, *LIMITS, "--request-rate", "1..100000",
                  "--search", "slo", "--precision", 1.05, "--max-runs", 16, "--out", sweep)
        found = json.loads((sweep / "sweep.json").read_text())["search"]
        self.assertEqual(cell["speed"]["load"], found["within"])
        self.matches_schema(out / "plan.json", "plan")
        self.assertTrue((out / "plan.html").read_text().startswith("<!"))
        self.assertIn("req/s", (out / "plan.md").read_text())

    def test_the_smallest_number_of_gpus_holds_and_one_fewer_misses(self):
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "l40sx1", *LOAD, *LIMITS, "--demand", "50rps")
        self.succeeds(done)
        cell = plan["cells"][plan["best"]]
        replicas = cell["fleet"]["replicas"]
        self.assertGreater(replicas, 1)
        self.assertAlmostEqual(cell["fleet"]["usd_per_month"], cell["usd_per_h"] * replicas * 720, places=3)
        self.assertIn(f"{cell['fleet']['gpus']} × l40s", plan["answer"])
        for servers in (replicas, replicas - 1):
            out = self.directory / f"with-{servers}"
            self.succeeds(paretoken("run", cell["profile"], "--virtual", "--salt", "other", *LOAD, "--request-rate", 50 / servers,
                                    "--num-prompts", 4000, "--out", out))
            run = json.loads((out / "run.json").read_text())
            self.assertEqual(is_within(run), servers == replicas, servers)

    def test_limits_that_no_load_meets_are_named_with_what_one_request_takes(self):
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", *LOAD, "--slo", "ttft_p95:1")
        self.succeeds(done)
        self.assertNotIn("speed", plan["cells"][0])
        self.assertIn("ttft_p95", plan["answer"])

    def test_users_are_requests_in_flight(self):
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", *LOAD, *LIMITS, "--users", 40)
        self.succeeds(done)
        cell = plan["cells"][0]
        self.assertEqual(cell["speed"]["load"], int(cell["speed"]["load"]))
        self.assertGreaterEqual(cell["fleet"]["replicas"] * cell["speed"]["load"], 40)


def is_within(run):
    """Whether LIMITS hold in a run whose arrivals the server kept up with. Percentiles of a run that diverged are absent."""
    limits = {"ttft_s": .8, "tpot_s": .05}
    return all((run["metrics"][metric].get("p95") or 1e9) <= limit for metric, limit in limits.items())


class BadInput(Case):
    def test_wrong_options_are_refused_by_name(self):
        card = ["--model-card", "llama3-8b"]
        for arguments, words in (
                ([*card], ["--gpu"]),
                ([*card, "--gpu", "h900"], ["--gpu", "h900"]),
                (["--model-card", "nonesuch", "--gpu", "h100"], ["nonesuch"]),
                ([*card, "--gpu", "h100", "--tp", 3], ["--tp 3", "32 attention heads"]),
                ([*card, "--gpu", "h100", "--tp", 0], ["--tp 0"]),
                ([*card, "--gpu", "h100", "--isl", 0], ["--isl"]),
                ([*card, "--gpu", "h100", "--osl", "-5"], ["--osl"]),
                ([*card, "--gpu", "h100", "--weights", "fp9"], ["--weights", "fp9"]),
                ([*card, "--gpu", "h100", "--memory-fraction", 1.5], ["--memory-fraction", "1.5"]),
                ([*card, "--gpu-memory", "24"], ["--gpu-memory", "24GiB"]),
                ([*card, "--gpu", "h100", "--engine", "tgi"], ["--engine", "vllm"]),
                ([*card, "--gpu", "h100", "--demand", "50rps"], ["--demand", "--slo"]),
                ([*card, "--gpu", "h100", *LIMITS, "--demand", "0"], ["--demand", "above 0"]),
                ([*card, "--gpu", "h100", *LIMITS, "--demand", "5", "--target-utilization", 2], ["--target-utilization", "2"]),
                ([*card, "--gpu", "h100", *LIMITS, "--demand", "5", "--users", 5], ["--demand", "--users"]),
                ([*card, "--gpu", "h100", "--slo", "nonsense"], ["nonsense"]),
                ([*card, "--gpu", "rtx-3090", "--price", "2026-11-cloud"], ["--price", "rtx-3090"]),
                ([*card, "--gpu", "h100", "--emit", "tgi"], ["--emit", "vllm"]),
                ([*card, "--gpu", "h100", "--isl", 200000], ["--isl", "context"])):
            with self.subTest(arguments):
                self.fails_clearly(paretoken("plan", *arguments), 2, *words)

    def test_a_model_that_fits_nowhere_is_told_what_is_missing_and_what_would_fit(self):
        done = self.succeeds(paretoken("plan", "--model-card", "llama-3.1-70b", "--gpu", "h100x1"))
        self.assertRegex(done.stdout, r"[\d.]+ GiB per GPU are missing")
        self.assertIn("would fit", done.stdout)


DENSE_WITHIN_10, DENSE_WITHIN_20 = 75, 80

if __name__ == "__main__":
    unittest.main()
