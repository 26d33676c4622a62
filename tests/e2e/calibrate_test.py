"""`paretoken calibrate` measures the load that this host's client can carry, and `run` warns before it tries more."""

import json
import unittest

from harness import Case, paretoken

LOAD = ("run", "sim:ideal", "--isl", 16, "--osl", 4, "--num-prompts", 20, "--request-rate", 50)


class Calibrate(Case):
    busy = True

    def setUp(self):
        super().setUp()
        self.ceiling = self.directory / "state" / "paretoken" / "client_ceiling.json"
        self.environment = {"XDG_STATE_HOME": str(self.ceiling.parents[1])}

    def run_with(self, text):
        self.ceiling.parent.mkdir(parents=True, exist_ok=True)
        self.ceiling.write_text(text)
        return self.measures(paretoken(*LOAD, "--out", self.directory / "run", env=self.environment))

    def this_cpu(self):
        self.measures(paretoken(*LOAD, "--out", self.directory / "first", env=self.environment))
        return json.loads((self.directory / "first" / "run.json").read_text())["provenance"]["host_cpu"]

    def test_stores_what_this_host_carries_or_says_why_it_cannot_tell(self):
        done = paretoken("calibrate", env=self.environment, timeout=120)
        if done.returncode == 4:  # a busy machine
            self.assertIn("nothing was stored", done.stderr)
            self.assertFalse(self.ceiling.exists())
            return
        self.succeeds(done)
        stored = json.loads(self.ceiling.read_text())
        self.assertEqual(stored["schema"], "paretoken/client-ceiling/1")
        self.assertGreater(stored["events_per_s"], 4000)
        self.assertGreater(stored["requests_per_s"], 100)
        self.assertIn(str(self.ceiling), done.stdout)

    def test_a_load_beyond_it_is_warned_of_before_it_is_tried(self):
        ceiling = {"schema": "paretoken/client-ceiling/1", "events_per_s": 100, "requests_per_s": 20, "streams": 1000,
                   "cpu": self.this_cpu(), "version": "0.1.0", "measured_at": "2026-11-21T00:00:00Z"}
        done = self.run_with(json.dumps(ceiling))
        self.assertRegex(done.stderr, r"warning: the load needs 50 requests per second, .* at most 20 ")
        self.assertRegex(done.stderr, r"warning: the load needs 200 stream events per second, .* at most 100 ")
        self.assertNotIn("open streams", done.stderr)

    def test_a_damaged_file_is_warned_of_and_ignored(self):
        done = self.run_with('{"schema": ')
        self.assertIn("warning: ", done.stderr)
        self.assertIn(str(self.ceiling), done.stderr)


if __name__ == "__main__":
    unittest.main()
