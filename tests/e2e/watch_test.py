"""`paretoken watch`: readable lines after a crash, drift, alerts that decide the exit code, and metrics for Prometheus."""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
import unittest
import urllib.request

from harness import BINARY, Case, address_from, environment, paretoken, refused_port, started
import hostile_server as hostile
from hostile_server import HostileServer

FAST = "llama3-8b-h100-bf16"
PROBES = ("--request-rate", 20, "--every", "1s", "--isl", 32, "--osl", 16)


def lines_of(directory):
    path = directory / "watch.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that in time")


@contextlib.contextmanager
def server_on(port, profile):
    """Runs the simulated server on this port. Yields its address."""
    with started([BINARY, "serve", "--port", port, "--profile", profile], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                 env=environment()) as process:
        yield address_from(process)


@contextlib.contextmanager
def serving_watch(directory):
    """Runs a watch with --listen. Yields, after its first interval, a function that asks for its metrics."""
    command = [BINARY, "watch", f"sim:{FAST}", *PROBES, "--listen", "127.0.0.1:0", "--out", directory / "watch"]
    with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                 env=environment()) as process:
        text = ""
        while not re.search(r"http://[0-9.]+:\d+/metrics\n", text):
            ready, _, _ = select.select([process.stderr], [], [], 60)
            chunk = os.read(process.stderr.fileno(), 4096).decode() if ready else ""
            if not chunk:
                raise AssertionError(f"no address from the watch: {text!r}")
            text += chunk
        url = re.search(r"http://[0-9.]+:\d+/metrics", text).group()

        def served(**headers):
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
                return answer.headers["Content-Type"], answer.read().decode()

        wait_for(lambda: "paretoken_requests_total" in served()[1])
        yield served
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


class Watch(Case):
    def begun(self, *arguments, stderr=subprocess.PIPE):
        return started([BINARY, "watch", *arguments, "--out", self.directory / "watch"], stdout=subprocess.PIPE,
                       stderr=stderr, stdin=subprocess.DEVNULL, env=environment())

    def lines(self):
        return lines_of(self.directory / "watch")

    def test_there_is_a_line_per_interval_with_latencies_and_what_the_server_says(self):
        done = self.succeeds(paretoken("watch", f"sim:{FAST}", *PROBES, "--duration", "3s", "--out", self.directory / "watch"))
        lines = self.lines()
        self.assertGreaterEqual(len(lines), 2)
        self.assertEqual([line["interval"] for line in lines], list(range(1, len(lines) + 1)))
        for line in lines:
            self.assertLess(line["begin_s"], line["end_s"])
            self.assertIn(line["at"], done.stdout)
        self.assertGreater(sum(line["requests"] for line in lines), 5)
        busy = max(lines, key=lambda line: line["requests"])
        for key in ("ttft_p50_s", "ttft_p95_s", "itl_p95_s", "running", "waiting", "kv_usage"):
            self.assertIn(key, busy)

    def test_a_watch_in_virtual_time_is_made_of_as_many_intervals_as_it_would_take(self):
        self.succeeds(paretoken("watch", f"sim:{FAST}", "--virtual", "--duration", "30m", "--out", self.directory / "watch"))
        lines = self.lines()
        self.assertEqual(len(lines), 30)
        self.assertEqual(lines[-1]["end_s"], 1800)
        self.assertAlmostEqual(sum(line["requests"] for line in lines), 180, delta=60)
        self.assertFalse(any(line["alerts"] for line in lines))
        self.assertFalse(any(drift["drifted"] for line in lines for drift in line["drift"].values()))
        self.assertTrue(any(line["drift"] for line in lines))

    def test_a_server_that_comes_back_slower_is_named_within_three_intervals(self):
        port = refused_port()
        with server_on(port, FAST) as url:
            watch = self.begun(url, *PROBES)
            process = watch.__enter__()
            self.addCleanup(watch.__exit__, None, None, None)
            wait_for(lambda: any(line["drift"] for line in self.lines()))
        with server_on(port, f"{FAST}?step_s=.05"):
            back = len(self.lines())
            wait_for(lambda: sum(line["requests"] > line["failed"] for line in self.lines()[back + 1:]) >= 3)
            after = [line for line in self.lines()[back + 1:] if line["requests"] > line["failed"]][:3]
            self.assertTrue(any(line["drift"].get("tpot", {}).get("drifted") for line in after), after)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)

    def test_an_alert_of_severity_fail_ends_in_exit_code_one_and_one_of_warn_does_not(self):
        for severity, code in (("fail", 1), ("warn", 0)):
            alerts = self.directory / "alerts.json"
            alerts.write_text(json.dumps({"schema": "paretoken/alerts/1", "alerts": [
                {"name": "any", "series": "ttft_p50", "comparison": "above", "threshold": 0, "severity": severity}]}))
            out = self.directory / severity
            done = paretoken("watch", f"sim:{FAST}", "--virtual", "--duration", "5m", "--alerts", alerts, "--out", out)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(lines_of(out)[-1]["alerts"], ["any"])
            self.assertIn("ALERT any", done.stdout)
            self.assertEqual("any: ttft_p50 is " in done.stderr, code == 1)

    def test_a_baseline_is_what_alerts_and_drift_compare_with(self):
        before = self.directory / "before"
        probes = ("--virtual", "--isl", 128, "--osl", 32)
        self.measures(paretoken("run", f"sim:{FAST}", *probes, "--request-rate", .1, "--duration", "20m", "--out", before))
        slow = f"sim:{FAST}?step_s=.2"
        done = paretoken("watch", slow, *probes, "--duration", "10m", "--baseline", before, "--out", self.directory / "slow")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("itl_high", done.stderr)
        drift = lines_of(self.directory / "slow")[2]["drift"]["tpot"]
        self.assertTrue(drift["drifted"])
        self.assertGreater(drift["ci95"][0], 1.1)
        self.succeeds(paretoken("watch", f"sim:{FAST}", *probes, "--duration", "10m", "--baseline", before, "--out",
                                self.directory / "same"))

    def test_a_watch_that_is_killed_leaves_lines_that_read(self):
        with self.begun(f"sim:{FAST}", *PROBES) as process:
            wait_for(lambda: len(self.lines()) >= 2)
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=60)
        text = (self.directory / "watch" / "watch.jsonl").read_text()
        whole = text[:text.rfind("\n")].splitlines()
        self.assertGreaterEqual(len(whole), 2)
        for line in whole:
            self.assertIn("interval", json.loads(line))

    def test_its_figures_are_served_for_prometheus_in_both_formats(self):
        with serving_watch(self.directory) as served:
            kind, plain = served()
            self.assertTrue(kind.startswith("text/plain; version=0.0.4"))
            self.assertRegex(plain, r'(?m)^paretoken_alert_firing\{alert="kv_cache_full",severity="warn"\} 0$')
            self.assertNotIn("# EOF", plain)
            kind, text = served(Accept="application/openmetrics-text; version=1.0.0")
            self.assertTrue(kind.startswith("application/openmetrics-text"))
            self.assertTrue(text.endswith("# EOF\n"))
            self.assertIn("# TYPE paretoken_requests counter\n", text)

    def test_pairs_of_lengths_take_no_length_of_answers_beside_them(self):
        config = json.loads(self.succeeds(paretoken("watch", "--isl", "pairs:16/4", "--print-config")).stdout)
        self.assertEqual(config["isl"], "pairs:16/4")
        self.assertNotIn("osl", config)

    def test_a_request_fails_after_a_minute_unless_another_time_is_given(self):
        for arguments, timeout in (((), "60s"), (("--timeout", "5m"), "300s")):
            config = json.loads(self.succeeds(paretoken("watch", *arguments, "--print-config")).stdout)
            self.assertEqual(config["timeout"], timeout)

    def test_its_own_options_are_part_of_a_configuration_file(self):
        path = self.directory / "watch.json"
        common = ("watch", f"sim:{FAST}", "--virtual")
        path.write_text(self.succeeds(paretoken(*common, "--every", "10s", "--duration", "60s", "--print-config")).stdout)
        self.assertEqual(self.succeeds(paretoken("watch", "--config", path, "--print-config")).stdout, path.read_text())
        self.succeeds(paretoken("watch", "--config", path, "--every", "20s", "--out", self.directory / "watch"))
        self.assertEqual([line["end_s"] for line in self.lines()], [20, 40, 60])

    def test_intervals_of_a_server_that_hangs_begin_on_time_and_its_alerts_fire(self):
        with HostileServer("stall", good_first=20) as server:
            done = paretoken("watch", server.address, *PROBES, "--duration", "4s", "--timeout", "3s", "--out",
                             self.directory / "watch")
        self.assertEqual(done.returncode, 1, done.stderr)  # requests_failing has the severity fail
        lines = self.lines()
        self.assertEqual([line["interval"] for line in lines], [1, 2, 3, 4])
        for line in lines:
            self.assertGreater(line["failed"], 0)
        for before, line in zip(lines, lines[1:]):
            self.assertAlmostEqual(line["begin_s"], before["end_s"], delta=.5)  # whatever was still in flight

    def test_answers_of_another_model_are_told_once(self):
        def other_model(x):
            finishes = [None] * (x.count - 1) + ["length"]
            x.send(hostile.STREAM_HEAD)
            for finish in finishes:
                x.send(hostile.event({**hostile.word(finish), "model": "small"}))
                time.sleep(0.002)
            x.send(hostile.usage(x.count), hostile.DONE, hostile.END)

        with HostileServer(other_model) as server:
            done = paretoken("watch", server.address, *PROBES, "--duration", "3s", "--out", self.directory / "watch")
        self.assertEqual(done.stderr.count("other_model (interval 1)"), 1, done.stderr)
        self.assertEqual(done.stderr.count("other_model"), 1, done.stderr)
        self.assertIn("'small'", done.stderr)

    def test_what_cannot_be_watched_is_refused(self):
        common = ("watch", f"sim:{FAST}", "--out", self.directory / "no")
        for arguments, words in ((("--every", "100ms"), ("--every", "1s")),
                                 (("--duration", "soon"), ("soon",)),
                                 (("--listen", "9464", "--duration", "1s"), ("--listen", "host:port")),
                                 (("--virtual",), ("--duration",)),
                                 (("--request-rate", "inf"), ("--request-rate inf", "a number of requests per second")),
                                 (("--concurrency", "4"), ("--concurrency",))):
            self.fails_clearly(paretoken(*common, *arguments), 2, *words)
        (self.directory / "no").mkdir()
        (self.directory / "no" / "watch.jsonl").write_text("{}\n")
        self.fails_clearly(paretoken(*common, "--duration", "1s"), 2, "--overwrite")


if __name__ == "__main__":
    unittest.main()
