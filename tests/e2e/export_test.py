"""`paretoken export` writes alerts, dashboards and runs in the formats of other programs."""

import collections
import json
import subprocess
import unittest

from harness import Case, http_server, llamacpp, paretoken, request_lines, run_json, simulated_server, tool
from watch_test import serving_watch

ENGINES = ("vllm", "sglang", "trtllm", "tgi", "llamacpp")
LOAD = ("--concurrency", 4, "--num-prompts", 40, "--isl", 64, "--osl", 32)
PROMTOOL = tool("promtool")
needs_promtool = unittest.skipUnless(PROMTOOL, "promtool is not installed; scripts/setup --test brings it")


def promtool(*arguments, stdin=None):
    return subprocess.run([PROMTOOL, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=120, check=False)


class Rules(Case):
    def baseline(self):
        out = self.directory / "baseline"
        self.succeeds(paretoken("run", "sim:llama3-8b-h100-bf16", "--virtual", *LOAD, "--out", out))
        return out

    def rules(self, engine, *arguments):
        path = self.directory / f"{engine}.yml"
        self.succeeds(paretoken("export", "--format", "prometheus-rules", "--engine", engine, "--out", path, *arguments))
        return path

    def test_every_engine_has_rules_for_what_it_exports_and_says_what_is_left_out(self):
        for engine in ENGINES:
            text = self.rules(engine).read_text()
            self.assertIn("queue_long", text)
            self.assertRegex(text, r"# ttft_high is left out: (it needs a --baseline|\w+ does not export)")
        self.assertIn("vllm:kv_cache_usage_perc) > 0.9", self.rules("vllm").read_text())
        self.assertIn("# kv_cache_full is left out: tgi does not export kv_usage", self.rules("tgi").read_text())

    def test_a_baseline_gives_its_values_to_the_rules_that_need_it(self):
        text = self.rules("vllm", "--baseline", self.baseline()).read_text()
        self.assertRegex(text, r"alert: ttft_high\n +expr: 'histogram_quantile\(0.95, .*\) > 0\.\d+'")

    @needs_promtool
    def test_promtool_accepts_the_rules_of_every_engine(self):
        baseline = self.baseline()
        for engine in ENGINES:
            for arguments in ((), ("--baseline", baseline)):
                path = self.rules(engine, *arguments)
                done = promtool("check", "rules", path)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr + path.read_text())
            config = self.directory / f"{engine}-scrape.yml"
            self.succeeds(paretoken("export", "--format", "scrape-config", "--engine", engine, "--target", "host:8000",
                                    "--out", config))
            done = promtool("check", "config", "--syntax-only", config)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr + config.read_text())

    @needs_promtool
    def test_each_alert_fires_on_a_recorded_series_and_stays_quiet_on_a_healthy_one(self):
        alerts = self.directory / "alerts.json"
        self.succeeds(paretoken("export", "--format", "alerts", "--out", alerts))
        table = json.loads(alerts.read_text())["alerts"]
        # Constants replace the baseline, so that no rule is left out.
        for alert in table:
            if alert["comparison"] == "above_baseline_times":
                alert.update(comparison="above", threshold=0.5)
            elif alert["comparison"] == "below_baseline_by":
                alert.update(comparison="below", threshold=0.4)
        table = [alert for alert in table if alert["series"] != "failed_ratio"]
        alerts.write_text(json.dumps({"schema": "paretoken/alerts/1", "alerts": table}))
        rules = self.rules("vllm", "--alerts", alerts)
        buckets = ("0.1", "0.25", "1", "10", "+Inf")

        def histogram(name, at, later=None):
            """A histogram whose observations all fall into the bucket `at`; after five hours into `later`, if it is given."""
            lines = []
            for edge in buckets:
                inside = float(edge) >= float(at)
                first = "0+60x300" if inside else "0+0x300"
                start = "18000" if inside else "0"
                grows = float(edge) >= float(later or at)
                then = f" {start}+60x120" if grows else f" {start}+0x120"
                lines.append({"series": f'vllm:{name}_bucket{{instance="a",le="{edge}"}}', "values": first + then})
            return lines

        def constant(name, value, grows=0):
            return {"series": f'vllm:{name}{{instance="a"}}', "values": f"{value}+{grows}x420"}

        def series(kv, waiting, preemptions, hits, ttft, later, itl):
            return [constant("kv_cache_usage_perc", kv), constant("num_requests_waiting", waiting),
                    constant("num_preemptions_total", 0, preemptions), constant("prefix_cache_queries_total", 0, 600),
                    constant("prefix_cache_hits_total", 0, hits),
                    *histogram("time_to_first_token_seconds", ttft, later), *histogram("inter_token_latency_seconds", itl)]

        def test_of(inputs, firing):
            return {"interval": "1m", "input_series": inputs, "alert_rule_test": [
                {"eval_time": "6h30m", "alertname": alert["name"],
                 "exp_alerts": [{"exp_labels": {"severity": alert["severity"], "instance": "a"},
                                 "exp_annotations": None}] if firing else []} for alert in table]}

        text = rules.read_text()
        for alert in table:
            self.assertIn(f"alert: {alert['name']}\n", text)
        summaries = dict(zip([line.split(": ")[1] for line in text.splitlines() if "- alert:" in line],
                             [line.split(": ", 1)[1].strip("'") for line in text.splitlines() if "summary:" in line]))
        cases = [test_of(series(0.95, 60, 3, 60, "0.25", "10", "1"), True),
                 test_of(series(0.5, 2, 0, 540, "0.1", None, "0.1"), False)]
        for case in cases:
            for rule in case["alert_rule_test"]:
                for expected in rule["exp_alerts"]:
                    expected["exp_annotations"] = {"summary": summaries[rule["alertname"]]}
        path = self.directory / "test.yml"
        path.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": cases}))
        done = promtool("test", "rules", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_dashboard_has_a_panel_for_each_thing_that_the_engine_tells(self):
        done = self.succeeds(paretoken("export", "--format", "grafana", "--engine", "vllm", "--price", "2.5"))
        dashboard = json.loads(done.stdout)
        titles = [panel["title"] for panel in dashboard["panels"]]
        for title in ("Time to first token", "Inter-token latency", "Requests", "KV cache in use", "Prefix cache hits",
                      "Preemptions per second", "Draft tokens accepted", "Output tokens per second",
                      "Dollars per million output tokens"):
            self.assertIn(title, titles)
        self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}), len(titles))
        places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]}
        self.assertEqual(len(places), len(titles))
        without = json.loads(paretoken("export", "--format", "grafana", "--engine", "tgi").stdout)
        self.assertNotIn("KV cache in use", [panel["title"] for panel in without["panels"]])

    @needs_promtool
    def test_promtool_accepts_what_a_watch_serves(self):
        with serving_watch(self.directory) as served:
            text = served()[1]
        done = promtool("check", "metrics", stdin=text)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), text)

    def test_what_cannot_be_exported_is_refused(self):
        for arguments, words in ((("--format", "excel"), ("excel", "prometheus-rules", "chrome-trace")),
                                 (("--format", "grafana", "--engine", "ollama"), ("ollama", "vllm", "llamacpp")),
                                 (("--format", "prometheus-rules"), ("--engine",)),
                                 (("--format", "chrome-trace"), ("run directory",)),
                                 (("--format", "grafana", "--engine", "vllm", "--price", "-1"), ("--price",)),
                                 ((self.directory, "--format", "alerts"), (str(self.directory),)),
                                 ((self.directory, "--format", "chrome-trace"), ("run.json",))):
            self.fails_clearly(paretoken("export", *arguments), 2, *words)


class ChromeTrace(Case):
    def trace_of(self, url, load=LOAD):
        out, path = self.directory / "run", self.directory / "trace.json"
        self.measures(paretoken("run", url, *load, "--out", out, timeout=500))
        self.succeeds(paretoken("export", out, "--format", "chrome-trace", "--out", path))
        return out, json.loads(path.read_text())["traceEvents"]

    def check(self, out, events):
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual({event["ph"] for event in events} - {"X", "C", "M"}, set())
        for event in spans:
            self.assertGreaterEqual(event["dur"], 0)
            self.assertIsInstance(event["ts"], float)
        lanes = collections.defaultdict(list)
        for event in spans:
            lanes[event["tid"]].append(event)
        requests = {}
        for lane in lanes.values():  # in a lane, a span lies inside the one before or behind it
            open_spans = []
            for event in sorted(lane, key=lambda event: (event["ts"], -event["dur"])):
                while open_spans and open_spans[-1]["ts"] + open_spans[-1]["dur"] <= event["ts"] + 0.002:
                    open_spans.pop()
                if open_spans:
                    self.assertLessEqual(event["ts"] + event["dur"], open_spans[-1]["ts"] + open_spans[-1]["dur"] + 0.002)
                if "outcome" in event["args"]:
                    self.assertEqual(open_spans, [])
                    requests[event["name"]] = phases = {}
                else:
                    phases[event["name"]] = event["dur"]
                open_spans.append(event)
        records = {record["id"]: record for record in request_lines(out)}
        self.assertEqual(set(requests), set(records))
        for name, phases in requests.items():
            record = records[name]
            self.assertAlmostEqual(phases["prefill"] + phases["decode"],
                                   (record["last_event_s"] - record["sent_s"]) * 1e6, delta=2)
        return requests

    def test_the_spans_of_a_simulated_run_nest_and_sum_to_each_latency(self):
        out, events = self.trace_of("sim:llama3-8b-h100-bf16")
        self.check(out, events)
        gauges = {event["name"] for event in events if event["ph"] == "C"}
        self.assertEqual(gauges, {"running", "waiting", "kv_usage"})

    def test_the_spans_of_a_llama_cpp_run_nest_and_sum_to_each_latency(self):
        with llamacpp() as url:
            out, events = self.trace_of(url, ("--concurrency", 2, "--num-prompts", 6, "--isl", 32, "--osl", 8))
        self.check(out, events)
        self.assertIn("running", {event["name"] for event in events if event["ph"] == "C"})


class Joining(Case):
    ANSWER = (b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
              b'data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":1}}\n\ndata: [DONE]\n\n')

    def traces_of(self, *arguments):
        seen = []

        def answer(method, path, headers, _):
            if path.endswith("/models"):
                return 200, "application/json", b'{"data":[{"id":"m"}]}'
            if method == "POST" and "completions" in path:
                seen.append(headers.get("traceparent"))
                return 200, "text/event-stream", self.ANSWER
            return 404, "text/plain", b""

        with http_server(answer) as url:
            paretoken("run", url, "--concurrency", 1, "--num-prompts", 10, "--isl", 8, "--osl", 1, "--overwrite",
                      "--out", self.directory / "run", *arguments)
        self.assertGreaterEqual(len(seen), 10)
        return [trace for trace in seen if trace]

    def test_every_request_carries_a_trace_of_its_own_and_none_without_being_asked(self):
        self.assertEqual(self.traces_of(), [])
        traces = self.traces_of("--traceparent")
        self.assertEqual((len(traces), len(set(traces))), (10, 10))
        for trace in traces:
            self.assertRegex(trace, r"^00-[0-9a-f]{32}-[0-9a-f]{16}-01$")
        self.assertCountEqual([trace.split("-")[1] for trace in traces],
                              [line["trace_id"] for line in request_lines(self.directory / "run")])

    def test_a_server_without_a_profiler_is_one_warning_for_each_call(self):
        with simulated_server("--profile", "llama3-8b-h100-bf16") as url:
            done = self.measures(paretoken("run", url, *LOAD, "--server-profile", "--out", self.directory / "run"))
        self.assertIn("/start_profile", done.stderr)
        self.assertIn("/stop_profile", done.stderr)
        self.assertEqual(run_json(self.directory / "run")["counts"]["ok"], 40)


if __name__ == "__main__":
    unittest.main()
