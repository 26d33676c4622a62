"""Result files of other load generators: imported, reported and judged by the gate; and runs in formats of other programs."""

import heapq
import json
import pathlib
import random
import shutil
import tempfile

from harness import ROOT, Case, paretoken

SAMPLES = ROOT / "tests/reports/files/interop/samples"


def vllm_file(path, seed, slower=1.0, requests=240, concurrency=8):
    """Writes what `vllm bench serve --save-detailed` writes of a server whose tokens take 10 ms × `slower`."""
    chance = random.Random(seed)
    free = [0.0] * concurrency
    starts, ttfts, itls, latencies = [], [], [], []
    for _ in range(requests):
        start = heapq.heappop(free)
        ttft = 0.050 * chance.lognormvariate(0, 0.05)
        gaps = [0.010 * slower * chance.lognormvariate(0, 0.05) for _ in range(chance.randint(20, 40))]
        starts.append(100 + start)
        ttfts.append(ttft)
        itls.append(gaps)
        latencies.append(ttft + sum(gaps))
        heapq.heappush(free, start + latencies[-1])
    lens = [len(gaps) + 1 for gaps in itls]
    duration = max(free)
    path.write_text(json.dumps({
        "date": "20261125-080325", "endpoint_type": "openai-chat", "backend": "vllm", "model_id": "m",
        "num_prompts": requests, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": concurrency,
        "duration": duration, "completed": requests, "failed": 0, "total_input_tokens": 64 * requests,
        "total_output_tokens": sum(lens), "request_throughput": requests / duration,
        "output_throughput": sum(lens) / duration, "input_lens": [64] * requests, "output_lens": lens, "ttfts": ttfts,
        "itls": itls, "latencies": latencies, "start_times": starts, "queue_times": [0.0] * requests,
        "errors": [""] * requests}))
    return path


class Import(Case):
    def test_files_of_three_tools_are_on_one_page_that_says_who_measured(self):
        page = self.directory / "report.html"
        done = paretoken("report", SAMPLES / "vllm-bench", SAMPLES / "aiperf" / "profile_export.jsonl", SAMPLES / "guidellm",
                         "--gpu", "h100-sxm", "--price", "2026-11-cloud", "--anyway", "--out", page, "--format", "html,md")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.with_suffix(".md").read_text()
        for tool in ("vLLM bench serve", "AIPerf 0.13.0", "GuideLLM 0.8.1"):
            self.assertIn(f"measured by {tool}", text)
        self.assertIn("per million", done.stdout)

    def test_an_import_is_a_run_like_any_other(self):
        out = self.directory / "imported"
        done = paretoken("import", SAMPLES / "aiperf", "--out", out, "--gpu", "h200x2", "--metadata", "who=me")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("6 requests, 0 failed", done.stdout)
        run = json.loads((out / "run.json").read_text())
        self.assertEqual(run["provenance"]["metadata"], {"who": "me"})
        self.assertEqual(run["provenance"]["hardware_count"], 2)
        trace = paretoken("export", out, "--format", "chrome-trace")
        self.assertEqual(trace.returncode, 0, trace.stderr)
        again = paretoken("import", SAMPLES / "aiperf", "--out", out)
        self.assertEqual(again.returncode, 2)
        self.assertIn("not an empty directory", again.stderr)

    def test_a_file_of_no_tool_is_refused_with_the_tools(self):
        file = self.directory / "mine.json"
        file.write_text('{"a": 1}')
        done = paretoken("import", file, "--out", self.directory / "out")
        self.assertEqual(done.returncode, 2)
        self.assertIn("GuideLLM", done.stderr)

    def gate(self, baseline, candidate):
        return paretoken("gate", "--baseline", *baseline, "--candidate", *candidate)

    def test_a_gate_on_files_of_vllm_finds_a_slower_server(self):
        baseline = [vllm_file(self.directory / f"a{i}.json", i) for i in range(4)]
        slower = [vllm_file(self.directory / f"b{i}.json", 10 + i, slower=1.08) for i in range(4)]
        equal = [vllm_file(self.directory / f"c{i}.json", 20 + i) for i in range(4)]
        done = self.gate(baseline, slower)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("Inter-token latency", done.stdout)
        done = self.gate(baseline, equal)
        self.assertIn(done.returncode, (0, 5), done.stdout + done.stderr)

    def test_results_of_any_origin_are_compared_side_by_side(self):
        a = vllm_file(self.directory / "a.json", 1)
        b = vllm_file(self.directory / "b.json", 2, slower=1.5)
        done = paretoken("compare", a, b, "--gpu", "h100-sxm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("c=8", done.stdout)
        self.assertRegex(done.stdout, r"has a \d+ % longer\s+inter-token\s+latency")
        self.assertRegex(done.stdout, r"costs \d+ %\s+more")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        alone = paretoken("compare", a)
        self.assertEqual(alone.returncode, 2)

    def test_a_gate_refuses_files_of_different_tools(self):
        baseline = [vllm_file(self.directory / f"a{i}.json", i) for i in range(3)]
        done = self.gate(baseline, [SAMPLES / "aiperf"] )
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)


class Export(Case):
    @classmethod
    def setUpClass(cls):
        cls.made = pathlib.Path(tempfile.mkdtemp(prefix="paretoken-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        cls.run_directory = cls.made / "run"
        done = paretoken("run", "sim:llama3-8b-h100-bf16", "--virtual", "--concurrency", 8, "--num-prompts", 400, "--isl", 128,
                         "--osl", "40", "--range-ratio", "0.5", "--metadata", "params=x", "--out",
                         cls.run_directory)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.result = json.loads((cls.run_directory / "run.json").read_text())

    def exported(self, name):
        done = paretoken("export", self.run_directory, "--format", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_file_of_vllm_holds_what_its_readers_need(self):
        file = json.loads(self.exported("vllm"))
        for key, value in file.items():
            self.assertIsNotNone(value, key)
            if key.endswith("ms"):  # readers take float() of all of these
                self.assertGreater(float(value), 0, key)
        for name in ("ttft", "tpot", "itl", "e2el"):
            self.assertIn(f"mean_{name}_ms", file)
        self.assertIsInstance(file["max_concurrency"], int)
        self.assertEqual(file["request_rate"], "inf")
        self.assertEqual(file["completed"], 400)
        self.assertRegex(file["date"], r"^\d{8}-\d{6}$")
        self.assertAlmostEqual(file["median_ttft_ms"], 1000 * self.result["metrics"]["ttft_s"]["p50"], delta=2)

    def test_a_run_that_goes_to_vllms_format_and_back_keeps_its_metrics(self):
        file = self.directory / "result.json"
        file.write_text(self.exported("vllm"))
        done = paretoken("import", file, "--out", self.directory / "back")
        self.assertEqual(done.returncode, 0, done.stderr)
        back = json.loads((self.directory / "back" / "run.json").read_text())
        self.assertEqual(back["counts"]["requests"], self.result["counts"]["requests"])
        for metric in ("ttft_s", "itl_s", "tpot_s", "e2e_s"):
            for p in ("p50", "p95"):
                self.assertAlmostEqual(back["metrics"][metric][p], self.result["metrics"][metric][p], delta=1e-6,
                                       msg=f"{metric} {p}")

    def test_files_of_aiperf_and_of_a_benchmark_report_hold_the_same_run(self):
        aiperf = json.loads(self.exported("aiperf"))
        self.assertEqual(aiperf["schema_version"], "1.4")
        self.assertEqual(aiperf["request_count"]["avg"], 400)
        self.assertEqual(aiperf["input_config"]["phases"][0]["concurrency"], 8)
        report = json.loads(self.exported("benchmark-report"))
        self.assertEqual(report["version"], "0.2.1")
        aggregate = report["results"]["request_performance"]["aggregate"]
        self.assertEqual(aggregate["requests"]["total"], 400)
        self.assertAlmostEqual(aggregate["latency"]["time_to_first_token"]["p95"] * 1000,
                               aiperf["time_to_first_token"]["p95"], delta=1e-6)
        self.assertRegex(report["run"]["time"]["duration"], r"^PT[\d.]+S$")

    def test_files_for_histories_of_benchmarks_have_values_and_intervals(self):
        measures = next(iter(json.loads(self.exported("bencher")).values()))
        ttft = measures["ttft-p50-s"]
        self.assertEqual(ttft["value"], self.result["metrics"]["ttft_s"]["p50"])
        self.assertLessEqual(ttft["lower_value"], ttft["value"])
        smaller = {row["name"].split(": ")[1] for row in json.loads(self.exported("github-benchmark-smaller"))}
        bigger = {row["name"].split(": ")[1] for row in json.loads(self.exported("github-benchmark-bigger"))}
        self.assertIn("ttft_p95_s", smaller)
        self.assertIn("output_tokens_per_s", bigger)
        self.assertFalse(smaller & bigger)

    def test_the_openmetrics_file_is_well_formed(self):
        lines = self.exported("openmetrics").splitlines()
        self.assertEqual(lines[-1], "# EOF")
        for line in lines[:-1]:
            self.assertRegex(line, r'^(# TYPE \w+ gauge|\w+\{(\w+="[^"]*",?)+\} \S+)$')
        self.assertTrue(any(line.startswith("paretoken_ttft_p95_s{") for line in lines))

    def test_a_sweep_becomes_a_directory_that_vllms_plots_read(self):
        sweep = self.directory / "sweep"
        done = paretoken("sweep", "sim:llama3-8b-h100-bf16", "--virtual", "--concurrency", "1,4", "--num-prompts", 60, "--isl",
                         64, "--osl", 16, "--out", sweep)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        refused = paretoken("export", sweep, "--format", "vllm")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--out", refused.stderr)
        out = self.directory / "vllm"
        done = paretoken("export", sweep, "--format", "vllm", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads((out / "summary.json").read_text())
        self.assertEqual([run["max_concurrency"] for run in summary], [1, 4])
