"""Alerts: which of them a run fires, with which baseline they compare, and the messages about wrong files of alerts."""

import json
import unittest

from harness import Case, paretoken, run_json

LOAD = ("--concurrency", 4, "--num-prompts", 40, "--isl", 64, "--osl", 32)
SIMULATED = ("sim:llama3-8b-h100-bf16", "--virtual", "--salt", "s")


class Alerts(Case):
    def file_with(self, *alerts):
        path = self.directory / "alerts.json"
        path.write_text(json.dumps({"schema": "paretoken/alerts/1", "alerts": alerts}))
        return path

    def run_of(self, name, *arguments):
        out = self.directory / name
        done = self.measures(paretoken("run", *arguments, *LOAD, "--out", out))
        return done, {alert["name"]: alert for alert in run_json(out)["alerts"]}, out

    def test_every_default_alert_is_judged_on_a_healthy_run_and_none_fires(self):
        done, alerts, _ = self.run_of("run", "sim:llama3-8b-h100-bf16")
        self.assertEqual(alerts["kv_cache_full"]["state"], "inactive")
        self.assertEqual(alerts["queue_long"]["state"], "inactive")
        self.assertEqual(alerts["preemptions_rising"]["state"], "inactive")
        self.assertEqual(alerts["ttft_high"]["state"], "unknown")
        self.assertIn("--baseline", alerts["ttft_high"]["note"])
        self.assertNotIn("alerts", done.stdout)

    def test_a_server_that_became_slower_fires_against_its_baseline(self):
        self.run_of("before", *SIMULATED)
        slow = ("sim:llama3-8b-h100-bf16?step_s=.1", "--virtual", "--salt", "s")
        done, alerts, out = self.run_of("after", *slow, "--baseline", self.directory / "before")
        self.assertEqual(alerts["itl_high"]["state"], "firing")
        self.assertGreater(alerts["itl_high"]["value"], alerts["itl_high"]["threshold"])
        self.assertIn("itl_high: itl_p95 is ", done.stdout)
        page = self.directory / "page.html"
        self.measures(paretoken("report", out, "--out", page))
        self.assertIn("itl_high: itl_p95 is ", page.read_text())
        _, alerts, _ = self.run_of("again", *SIMULATED, "--baseline", self.directory / "before")
        self.assertEqual({alerts[name]["state"] for name in ("itl_high", "ttft_high")}, {"inactive"})

    def test_a_baseline_of_another_workload_is_told(self):
        self.run_of("before", *SIMULATED)
        done, _, _ = self.run_of("after", *SIMULATED, "--baseline", self.directory / "before", "--temperature", ".5")
        self.assertIn("another workload", done.stderr)

    def test_a_file_of_alerts_takes_the_place_of_the_default_ones(self):
        path = self.file_with({"name": "any_answer", "series": "requests_per_s", "comparison": "above", "threshold": 0,
                               "severity": "fail"})
        done, alerts, _ = self.run_of("run", *SIMULATED, "--alerts", path)
        self.assertEqual(set(alerts), {"any_answer"})
        self.assertEqual((alerts["any_answer"]["state"], alerts["any_answer"]["severity"]), ("firing", "fail"))
        self.assertIn("any_answer: requests_per_s is ", done.stdout)

    def test_what_is_wrong_is_said_before_anything_is_measured(self):
        hot = self.file_with({"name": "hot", "series": "heat", "comparison": "above", "threshold": 2})
        for arguments, words in ((("--alerts", hot), ("alerts.json", "heat", "kv_usage")),
                                 (("--alerts", self.directory / "none.json"), ("none.json",)),
                                 (("--baseline", self.directory / "nothing"), ("nothing",)),
                                 (("--baseline", self.directory), ("run.json",))):
            out = self.directory / "refused"
            self.fails_clearly(paretoken("run", *SIMULATED, *LOAD, *arguments, "--out", out), 2, *words)
            self.assertFalse((out / "run.json").exists())


if __name__ == "__main__":
    unittest.main()
