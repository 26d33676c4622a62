"""Result files of other load generators: imported, reported and judged by the gate; and runs in formats of other programs."""

import heapq
import http.server
import json
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import xml.etree.ElementTree

from harness import ROOT, Case, paretoken, tool

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
        said = " ".join(done.stdout.split())
        for tool in ("vLLM bench serve", "AIPerf 0.13.0", "GuideLLM 0.8.1"):
            self.assertIn(f"measured by {tool}", text)
            self.assertIn(f"1 point, measured by {tool}, 2026-11-21.", said)
        self.assertIn("per million", said)

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
        for command in (("report",), ("export", "--format", "json")):
            self.fails_clearly(paretoken(*command, file), 2, "mine.json: it has no results of another load generator")

    def gate(self, baseline, candidate):
        return paretoken("gate", "--baseline", *baseline, "--candidate", *candidate)

    def test_a_gate_on_files_of_vllm_finds_a_slower_server(self):
        baseline = [vllm_file(self.directory / f"a{i}.json", i) for i in range(3)]
        slower = [vllm_file(self.directory / f"b{i}.json", 10 + i, slower=1.08) for i in range(3)]
        equal = [vllm_file(self.directory / f"c{i}.json", 20 + i) for i in range(3)]
        done = self.gate(baseline, slower)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("Inter-token latency", " ".join(done.stdout.split()))
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
        self.assertRegex(done.stdout, r"\d \((\d+\.\d+ to \d+\.\d+|no interval)\)\n")
        reason = "A ratio has no interval where a run has no steady window"
        self.assertEqual("(no interval)" in done.stdout, reason in " ".join(done.stdout.split()))
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        alone = paretoken("compare", a)
        self.assertEqual(alone.returncode, 2)
        mixed = self.directory / "mixed"
        mixed.mkdir()
        shutil.copy(a, mixed)
        shutil.copy(SAMPLES / "guidellm" / "benchmarks.json", mixed)
        self.fails_clearly(paretoken("compare", a, mixed), 2, "GuideLLM 0.8.1", "side of their own")

    def summary_of(self, path):
        """Takes the requests out of a file of vLLM, as a benchmark without --save-detailed writes it."""
        result = json.loads(path.read_text())
        times = result["ttfts"]
        for name in ("input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "queue_times", "errors"):
            del result[name]
        for name, values in (("ttft", times), ("itl", [result["duration"] / result["total_output_tokens"] * 8])):
            values = sorted(values)
            result[f"median_{name}_ms"] = 1000 * values[len(values) // 2]
            result[f"p99_{name}_ms"] = 1000 * values[int(.99 * len(values))]
        path.write_text(json.dumps(result))
        return path

    def test_summaries_are_reported_in_columns_of_their_own_with_a_cost(self):
        out = self.directory / "report"
        done = paretoken("report", SAMPLES / "summaries", SAMPLES / "vllm-bench", "--gpu", "h100-sxm", "--price",
                         "2026-11-cloud", "--out", out, "--format", "html,md,json,csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = out.with_suffix(".md").read_text()
        for program in ("vLLM bench", "SGLang bench", "AIPerf", "genai-bench", "inference-benchmarker", "InferenceX"):
            self.assertIn(f"### As {program} defines it", text)
        self.assertIn("on no chart beside measured ones", text)
        self.assertIn("no figure of them is certified", text)
        self.matches_schema(out.with_suffix(".json"), "report")
        points = [point for configuration in json.loads(out.with_suffix(".json").read_text())["configurations"]
                  for point in configuration["points"] if "reported" in point["run"]]
        self.assertGreaterEqual(len(points), 6)
        for point in points:
            self.assertFalse(point.get("on_front"), point["load_label"])
            self.assertFalse(point.get("certified"), point["load_label"])
            self.assertGreater(point.get("reported_usd_per_m_output", 1), 0)
        self.assertTrue(any("reported_usd_per_m_output" in point for point in points))

    def test_the_figures_of_a_summary_are_shown_with_their_definition(self):
        out = self.directory / "imported"
        done = paretoken("import", SAMPLES / "summaries" / "vllm-bench.json", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("only a summary of", done.stdout)
        self.matches_schema(out / "run.json", "run")
        shown = paretoken("show", out).stdout
        self.assertRegex(shown, r"ttft_p50 as vLLM bench defines it +350 ms")
        self.assertIn("summary_only", shown)

    def test_a_summary_has_nothing_for_a_format_of_requests(self):
        done = paretoken("export", SAMPLES / "summaries" / "vllm-bench.json", "--format", "aiperf")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("only figures as vLLM bench defines them", done.stderr)
        self.assertEqual(paretoken("export", SAMPLES / "summaries" / "vllm-bench.json", "--format", "json").returncode, 0)
        for empty in ("csv", "inferencex"):
            done = paretoken("export", SAMPLES / "summaries" / "vllm-bench.json", "--format", empty)
            self.fails_clearly(done, 2, "summaries/vllm-bench.json has no single requests", "json takes such runs")

    def test_files_with_equal_names_are_all_kept(self):
        for name in ("a", "b"):
            (self.directory / name).mkdir()
            vllm_file(self.directory / name / "result.json", 1, requests=20)
        out = self.directory / "out"
        done = paretoken("import", self.directory / "a" / "result.json", self.directory / "b" / "result.json", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("a", "b"):
            self.assertIn(f"{out}/{name}/result  vLLM bench serve: 20 requests", done.stdout)

    def test_no_message_or_page_names_a_temporary_directory(self):
        file = vllm_file(self.directory / "a.json", 1)
        other = SAMPLES / "guidellm" / "benchmarks.json"
        refused = self.gate([file], [other])
        self.fails_clearly(refused, 2, f"{file} and {other} did not do the same work")
        table = paretoken("export", file, "--format", "csv").stdout
        self.assertIn(f'"{file}"', table)
        page = self.directory / "page"
        done = paretoken("report", file, other, "--anyway", "--gpu", "h100-sxm", "--out", page, "--format", "html,md,json")
        written = done.stdout + "".join(page.with_suffix(end).read_text() for end in (".html", ".md", ".json"))
        self.assertIn(str(file), written)
        compared = paretoken("compare", file, vllm_file(self.directory / "b.json", 2))
        for text in (refused.stderr, table, written, compared.stdout):
            self.assertNotIn("paretoken-import-", text)

    def test_a_run_without_a_known_start_has_no_invented_date(self):
        file = SAMPLES / "sglang-bench" / "sglang_1125_4_32_4.jsonl"
        out = self.directory / "out"
        self.assertEqual(paretoken("import", file, "--out", out).returncode, 0)
        run = out / "concurrency_2"
        self.assertNotIn("date", json.loads(paretoken("export", run, "--format", "vllm").stdout))
        scope = json.loads(paretoken("export", run, "--format", "otlp").stdout)["resourceMetrics"][0]["scopeMetrics"][0]
        for metric in scope["metrics"]:
            for point in metric.get("histogram", metric.get("gauge"))["dataPoints"]:
                self.assertNotIn("startTimeUnixNano", point)
                self.assertGreater(int(point["timeUnixNano"]), 1.7e18)
                if metric["name"] == "gen_ai.client.operation.duration":
                    self.assertGreater(point["min"], 0, "the failure has no known duration")

    def test_a_gate_on_summaries_judges_their_statistics_and_needs_three_of_each(self):
        baseline = [self.summary_of(vllm_file(self.directory / f"a{i}.json", i)) for i in range(3)]
        slower = [self.summary_of(vllm_file(self.directory / f"b{i}.json", 10 + i, slower=1.25)) for i in range(3)]
        done = self.gate(baseline, slower)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("as vLLM bench defines it", done.stdout)
        one = self.gate(baseline[:1], slower[:1])
        self.assertEqual(one.returncode, 5, one.stdout + one.stderr)

    def test_summaries_are_compared_by_the_definitions_of_their_program(self):
        a = self.summary_of(vllm_file(self.directory / "a.json", 1))
        b = self.summary_of(vllm_file(self.directory / "b.json", 2, slower=1.5))
        done = paretoken("compare", a, b)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ttft_p50 as vLLM bench defines it", done.stdout)

    def test_a_gate_refuses_files_of_different_tools_and_versions(self):
        baseline = [vllm_file(self.directory / f"a{i}.json", i) for i in range(3)]
        done = self.gate(baseline, [SAMPLES / "aiperf"] )
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("measured by: vLLM bench serve and AIPerf 0.13.0", done.stderr)
        sample = SAMPLES / "guidellm" / "benchmarks.json"
        older = self.directory / "older.json"
        older.write_text(sample.read_text().replace('"guidellm_version":"0.8.1"', '"guidellm_version":"0.7.0"'))
        done = self.gate([sample], [older])
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("measured by: GuideLLM 0.8.1 and GuideLLM 0.7.0", done.stderr)


class Definitions(Case):
    def test_a_run_is_recomputed_by_the_definitions_of_another_tool_with_the_reasons(self):
        out = self.directory / "run"
        done = paretoken("run", "sim:llama3-8b-h100-bf16", "--virtual", "--concurrency", 4, "--num-prompts", 80, "--isl", 64,
                         "--osl", 16, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = paretoken("show", out, "--definitions", "guidellm")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("the time to the first token is in it", " ".join(shown.stdout.split()))
        self.assertLessEqual(max(map(len, shown.stdout.splitlines())), 80)
        rows = {row["figure"]: row for row in json.loads(paretoken("show", out, "--definitions", "guidellm", "--json").stdout)["rows"]}
        self.assertGreater(rows["tpot"]["theirs"]["p50"], rows["tpot"]["ours"]["p50"])
        # vLLM's file of the same run holds the same figures.
        vllm = {row["figure"]: row["theirs"]
                for row in json.loads(paretoken("show", out, "--definitions", "vllm", "--json").stdout)["rows"]}
        file = json.loads(paretoken("export", out, "--format", "vllm").stdout)
        for figure, name in (("ttft", "ttft"), ("itl", "itl"), ("tpot", "tpot")):
            self.assertAlmostEqual(1000 * vllm[figure]["p50"], file[f"median_{name}_ms"], places=6)
            self.assertAlmostEqual(1000 * vllm[figure]["p99"], file[f"p99_{name}_ms"], places=6)
        self.assertAlmostEqual(vllm["output_tokens_per_s"]["mean"], file["output_throughput"], places=6)

    def test_unknown_definitions_and_runs_without_requests_are_refused(self):
        refused = paretoken("show", SAMPLES, "--definitions", "mine")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("guidellm", refused.stderr)
        out = self.directory / "summary"
        paretoken("import", SAMPLES / "summaries" / "vllm-bench.json", "--out", out)
        refused = paretoken("show", out, "--definitions", "vllm")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("only figures as vLLM bench defines them", refused.stderr)


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

    def test_a_benchmark_report_keeps_the_rules_of_its_schema(self):
        report = json.loads(self.exported("benchmark-report"))
        self.assertEqual(set(report), {"version", "run", "scenario", "results"})
        self.assertEqual(set(report["run"]), {"uid", "description", "time"})
        self.assertLessEqual(set(report["results"]), {"request_performance", "observability"})
        aggregate = report["results"]["request_performance"]["aggregate"]
        units = {"requests": {"input_length": "count", "output_length": "count"},
                 "latency": {"time_to_first_token": "s", "time_per_output_token": "s/token", "inter_token_latency": "s/token",
                             "request_latency": "s"},
                 "throughput": {"input_token_rate": "tokens/s", "output_token_rate": "tokens/s", "total_token_rate": "tokens/s",
                                "request_rate": "queries/s"}}
        self.assertEqual(set(aggregate), set(units))
        for group, fields in units.items():
            self.assertEqual(set(aggregate[group]) - {"total", "failures", "incomplete"}, set(fields))
            for name, unit in fields.items():
                statistic = aggregate[group][name]
                self.assertEqual(statistic["units"], unit, name)
                self.assertGreater(statistic["mean"], 0, name)
                self.assertLessEqual(set(statistic), {"units", "mean", "stddev", "min", "p0p1", "p1", "p5", "p10", "p25", "p50",
                                                      "p75", "p90", "p95", "p99", "p99p9", "max"})
        load = report["scenario"]["load"]
        self.assertEqual(set(load), {"metadata", "standardized", "native"})
        standardized = load["standardized"]
        self.assertEqual((standardized["tool"], standardized["source"]), ("paretoken", "unknown"))
        self.assertIn(standardized["input_seq_len"]["distribution"], ("fixed", "other"))
        self.assertIsInstance(standardized["concurrency"], int)
        back = self.directory / "back"
        file = self.directory / "report.json"
        file.write_text(json.dumps(report))
        self.succeeds(paretoken("import", file, "--out", back))
        run = json.loads((back / "run.json").read_text())
        self.assertEqual((run["concurrency"], run["reported"]["requests"]), (8, 400))

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

    def test_prometheus_takes_the_openmetrics_file(self):
        promtool = tool("promtool")
        if promtool is None:
            self.skipTest("promtool is missing (scripts/setup --test)")
        file = self.directory / "run.txt"
        file.write_text(self.exported("openmetrics"))
        done = subprocess.run([promtool, "tsdb", "create-blocks-from", "openmetrics", file, self.directory / "tsdb"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_otlp_has_the_client_metrics_of_the_conventions(self):
        file = json.loads(self.exported("otlp"))
        metrics = {m["name"]: m for m in file["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
        duration = metrics["gen_ai.client.operation.duration"]
        self.assertEqual(duration["unit"], "s")
        self.assertEqual(duration["histogram"]["aggregationTemporality"], 2)
        point = duration["histogram"]["dataPoints"][0]
        self.assertEqual(point["count"], "400")
        self.assertEqual(sum(map(int, point["bucketCounts"])), 400)
        self.assertEqual(len(point["bucketCounts"]), len(point["explicitBounds"]) + 1)
        self.assertAlmostEqual(point["explicitBounds"][0], 0.01)
        self.assertAlmostEqual(point["explicitBounds"][-1], 81.92)
        self.assertIsInstance(point["timeUnixNano"], str)
        self.assertGreater(int(point["timeUnixNano"]), int(point["startTimeUnixNano"]))
        names = {attribute["key"] for attribute in point["attributes"]}
        self.assertLessEqual({"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"}, names)
        usage = metrics["gen_ai.client.token.usage"]["histogram"]["dataPoints"]
        types = {a["value"]["stringValue"] for p in usage for a in p["attributes"] if a["key"] == "gen_ai.token.type"}
        self.assertEqual(types, {"input", "output"})
        self.assertIn("gen_ai.client.operation.time_to_first_chunk", metrics)
        p99 = metrics["paretoken.ttft_p99_s"]["gauge"]["dataPoints"][0]["asDouble"]
        self.assertEqual(p99, self.result["metrics"]["ttft_s"]["p99"])

    def test_runs_become_cases_of_junit(self):
        suite = xml.etree.ElementTree.fromstring(self.exported("junit")).find("testsuite")
        self.assertEqual([case.get("name") for case in suite], ["valid", None])
        self.assertEqual(suite.get("failures"), "0")

    def test_the_openmetrics_file_is_well_formed(self):
        lines = self.exported("openmetrics").splitlines()
        self.assertEqual(lines[-1], "# EOF")
        for line in lines[:-1]:
            self.assertRegex(line, r'^(# TYPE \w+ gauge|\w+\{(\w+="[^"]*",?)+\} \S+ \d+\.\d{3})$')
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


class Receiver:
    """An HTTP server on the loopback that keeps what is posted to it, and answers with the given statuses, then 200."""

    def __init__(self, statuses=()):
        self.posts, waiting = [], list(statuses)
        posts = self.posts

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                posts.append((self.path, dict(self.headers), body.decode()))
                self.send_response(waiting.pop(0) if waiting else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class ExportWhileMeasuring(Case):
    RUN = ("sim:llama3-8b-h100-bf16", "--virtual", "--num-prompts", 60, "--isl", 64, "--osl", 16)

    def test_a_file_that_is_a_link_or_a_device_is_written_and_not_replaced(self):
        target, link, run = self.directory / "target.json", self.directory / "link.json", self.directory / "run"
        link.symlink_to(target)
        self.succeeds(paretoken("run", *self.RUN, "--concurrency", 4, "--out", run, "--export", f"vllm={link}"))
        self.assertTrue(link.is_symlink())
        shown = self.succeeds(paretoken("export", run, "--format", "vllm")).stdout
        self.assertEqual(target.read_text(), shown)
        self.succeeds(paretoken("export", run, "--format", "vllm", "--out", link))
        self.assertTrue(link.is_symlink())
        self.assertEqual(target.read_text(), shown)

    def test_a_run_is_written_in_several_formats_and_the_result_says_whether_its_limits_are_met(self):
        junit, vllm = self.directory / "junit.xml", self.directory / "vllm.json"
        done = paretoken("run", *self.RUN, "--concurrency", 4, "--slo", "ttft_p50:0.001", "--out", self.directory / "run",
                         "--export", f"junit={junit}", "--export", f"vllm={vllm}")
        self.assertEqual(done.returncode, 1, done.stderr)
        suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual(suite.get("failures"), "1")
        self.assertIn("ttft_p50", suite.find("testcase/failure").get("message"))
        self.assertEqual(json.loads(vllm.read_text())["completed"], 60)

    def test_a_sweep_is_one_file_for_all_runs_or_a_directory(self):
        out, csv = self.directory / "vllm", self.directory / "all.csv"
        done = paretoken("sweep", *self.RUN, "--concurrency", "1,4", "--out", self.directory / "sweep",
                         "--export", f"vllm={out}", "--export", f"csv={csv}")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual(len(json.loads((out / "summary.json").read_text())), 2)
        self.assertEqual(len(csv.read_text().splitlines()), 3)

    def test_a_gate_writes_its_verdict_and_nothing_else(self):
        files = [vllm_file(self.directory / f"{i}.json", i) for i in range(6)]
        junit = self.directory / "junit.xml"
        done = paretoken("gate", "--baseline", *files[:3], "--candidate", *files[3:], "--export", f"junit={junit}")
        self.assertIn(done.returncode, (0, 5), done.stderr)
        self.assertEqual(xml.etree.ElementTree.parse(junit).getroot().find("testsuite").get("name"), "paretoken gate")
        refused = paretoken("gate", "--baseline", *files[:3], "--candidate", *files[3:], "--export", "vllm=x")
        self.assertEqual(refused.returncode, 2)

    def test_wrong_formats_are_refused_before_anything_is_measured(self):
        for wrong in ("xml=a", "vllm", "vllm="):
            done = paretoken("run", *self.RUN, "--out", self.directory / "run", "--export", wrong)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("FORMAT=FILE", done.stderr)
        done = paretoken("run", *self.RUN, "--out", self.directory / "run", "--push", "ftp://x")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse((self.directory / "run").exists())

    def test_figures_are_pushed_to_a_gateway_without_times(self):
        with Receiver() as gateway:
            done = paretoken("run", *self.RUN, "--concurrency", 4, "--out", self.directory / "run", "--push", gateway.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        (path, headers, body), = gateway.posts
        self.assertEqual(path, "/metrics/job/paretoken")
        self.assertIn("version=0.0.4", headers["Content-Type"])
        self.assertNotIn("# EOF", body)
        for line in body.splitlines():
            if not line.startswith("#"):
                self.assertRegex(line, r"^paretoken_\w+\{[^}]*\} [-+.\de]+$", "a gateway refuses times")

    def test_repeats_of_a_sweep_are_pushed_under_labels_of_their_own(self):
        with Receiver() as gateway:
            done = paretoken("sweep", *self.RUN, "--concurrency", "1,2", "--repeat", 2, "--out", self.directory / "sweep",
                             "--push", gateway.url)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        (_, _, body), = gateway.posts
        series = [line.rpartition(" ")[0] for line in body.splitlines() if not line.startswith("#")]
        self.assertEqual(len(series), len(set(series)), "a gateway refuses duplicates")
        self.assertTrue(any('repeat="2"' in name for name in series))

    def test_a_run_without_a_row_for_inferencex_is_named(self):
        done = paretoken("run", *self.RUN, "--request-rate", 5, "--out", self.directory / "run")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        done = paretoken("export", self.directory / "run", "--format", "inferencex")
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, []))
        self.assertIn("no row was written: the format inferencex has rows of closed loops", done.stderr)

    def test_figures_are_pushed_to_a_collector_with_the_headers_of_its_variables_and_again_if_it_is_busy(self):
        with Receiver([503]) as collector:
            done = paretoken("run", *self.RUN, "--concurrency", 4, "--out", self.directory / "run", "--push", "otlp",
                             env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
                                  "OTEL_EXPORTER_OTLP_HEADERS": "api-key=abc%20d,x=y"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path for path, _, _ in collector.posts], ["/v1/metrics"] * 2)
        self.assertEqual(collector.posts[1][1]["api-key"], "abc d")
        self.assertEqual(collector.posts[1][1]["Content-Type"], "application/json")
        self.assertIn("resourceMetrics", json.loads(collector.posts[1][2]))
        for file in (self.directory / "run").iterdir():
            self.assertNotIn(b"abc d", file.read_bytes(), "headers are in no file")

    def test_a_gateway_that_refuses_the_figures_is_named_and_the_run_is_kept(self):
        with Receiver([400]) as gateway:
            done = paretoken("run", *self.RUN, "--concurrency", 4, "--out", self.directory / "run", "--push", gateway.url)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("answered 400", done.stderr)
        self.assertTrue((self.directory / "run" / "run.json").exists())
