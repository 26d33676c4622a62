"""The whole way on a real server: llama.cpp with SmolLM2-135M, a sweep, a CPU microbenchmark, a report."""

import json
import os
import unittest

from harness import ROOT, Case, llamacpp, llamacpp_model, paretoken, request_lines, run_json
from pages import Browser, look_at


class RealServer(Case):
    def test_a_sweep_becomes_a_report_below_the_hardware_limit(self):
        out, micro = self.directory / "sweep", self.directory / "micro.json"
        self.succeeds(paretoken("micro", "--quick", "--out", micro, timeout=180))
        threads = max(1, (os.cpu_count() or 1) - 1)  # its threads spin, and one core is for the client
        with llamacpp("--threads", threads) as address:
            swept = paretoken("sweep", address, "--concurrency", "1..4", "--isl", 64, "--osl", 24, "--num-prompts", 16,
                              "--num-warmups", 4, "--out", out, timeout=600)
        self.measures(swept)
        page = self.directory / "report.html"
        self.measures(paretoken("report", out, "--micro", micro, "--model-card", llamacpp_model(), "--price",
                                "2026-11-cpu", "--out", page))
        self.matches_schema(page.with_suffix(".json"), "report")
        configuration = json.loads(page.with_suffix(".json").read_text())["configurations"][0]
        self.assertEqual(configuration["errors"], [])
        self.assertEqual([point["load_label"] for point in configuration["points"]], ["c=1", "c=2", "c=4"])
        for point in configuration["points"]:
            self.assertGreater(point["of_limit"], 0)
            self.assertLessEqual(point["of_limit"], 1)
            self.assertGreater(point["cost"]["usd_per_m_output"], 0)
        with Browser() as browser:
            look_at(self, browser, page, "light")

    def test_prompts_have_the_length_that_was_asked_for(self):
        with llamacpp("--threads", "1") as address:
            for endpoint, form in (("completions", "token ids"), ("chat", "text")):
                with self.subTest(endpoint):
                    out = self.directory / endpoint
                    self.measures(paretoken("run", address, "--endpoint-type", endpoint, "--concurrency", 2,
                                            "--num-prompts", 10, "--isl", 200, "--osl", 8, "--out", out))
                    workload = run_json(out)["workload"]
                    self.assertEqual(workload["prompt_form"], form)
                    self.assertAlmostEqual(workload["achieved_input_tokens"], 200, delta=4)
                    self.assertEqual(workload["achieved_output_tokens"], 8)

    def test_a_sweep_starts_the_server_for_each_number_of_threads(self):
        out = self.directory / "sweep"
        arguments = ("sweep", "--server-cmd", f"{ROOT}/scripts/servers/llamacpp --port {{port}} --threads {{threads}}",
                     "--grid", "threads=1,2", "--concurrency", "1,2,4", "--isl", 64, "--osl", 16, "--num-prompts", 12,
                     "--out", out)
        self.measures(paretoken(*arguments, timeout=900))
        points = json.loads((out / "sweep.json").read_text())["points"]
        self.assertEqual([(p["cell"]["threads"], p["load"], p["state"]) for p in points],
                         [(threads, load, "done") for threads in ("1", "2") for load in (1, 2, 4)])
        for point in points:
            server = run_json(out / point["directory"])["provenance"]["server"]
            self.assertIn(f"--threads {point['cell']['threads']}", server["command"])
            self.assertEqual(server.get("restarts", 0), int(point["cell"]["threads"]) - 1)
            self.assertGreater(server["ready_s"], 0)
            self.assertTrue(server["version"], "llama.cpp tells its build")

    def test_connections_that_the_server_closes_are_no_failures(self):
        out = self.directory / "run"
        with llamacpp("--threads", "1") as address:
            self.measures(paretoken("run", address, "--concurrency", 1, "--num-prompts", 120, "--isl", 16, "--osl", 4,
                                    "--out", out, timeout=300))
        result = run_json(out)
        self.assertEqual(sum(1 for line in request_lines(out) if not line.get("warmup")), 120)
        self.assertGreaterEqual(result["client"]["connections_opened"], 2)
        # The model may answer with half a character, which streams no text; nothing else may go wrong.
        self.assertLessEqual(set(result["counts"]["by_outcome"]), {"ok", "empty"})
        self.assertGreater(result["counts"]["ok"], 100)


if __name__ == "__main__":
    unittest.main()
