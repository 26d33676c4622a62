"""Result files of other load generators: imported, reported and judged by the gate."""

import heapq
import json
import random

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
        self.assertIn("itl", done.stdout)
        done = self.gate(baseline, equal)
        self.assertIn(done.returncode, (0, 5), done.stdout + done.stderr)

    def test_a_gate_refuses_files_of_different_tools(self):
        baseline = [vllm_file(self.directory / f"a{i}.json", i) for i in range(3)]
        done = self.gate(baseline, [SAMPLES / "aiperf"] )
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
