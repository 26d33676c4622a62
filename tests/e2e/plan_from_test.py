"""`paretoken plan --from`: other levels of a measured server, simulated or real."""

import json
import shlex
import unittest

from harness import ROOT, Case, paretoken


class FromAMeasuredServer(Case):
    """The simulated server is the truth: a server whose speeds differ from those of the card is measured, and its other levels are
    predicted from one of them."""
    CARD = ["--model-card", "llama-3.1-8b:weights=fp8", "--gpu", "h100"]
    OSL = "uniform:min=32,max=96"  # requests of equal lengths would run in step, which decides the median of TTFT

    def sweep(self, profile, *options):
        out = self.directory / "sweep"
        self.measures(paretoken("sweep", profile, "--virtual", "--concurrency", "1,2,8,32", "--isl", 512, "--osl", self.OSL,
                                "--num-prompts", 300, *options, "--out", out))
        return out

    def test_other_levels_are_predicted_from_one(self):
        slower = "reach.weight_bandwidth=.4&reach.kv_bandwidth=.5&reach.linear_narrow=.3&reach.output_head=.3&reach.attention=.2"
        run = self.sweep(f"sim:llama3-8b/h100/fp8?{slower}")
        out = self.directory / "plan"
        done = self.succeeds(paretoken("plan", "--from", run, *self.CARD, "--out", out))
        self.assertIn("estimated", done.stdout)
        self.matches_schema(out / "prediction.json", "prediction")
        fit = json.loads((out / "prediction.json").read_text())
        self.assertEqual(fit["load"], 2)
        self.assertGreater(fit["before"]["output_tokens_per_s"], 1.3 * fit["measured"]["output_tokens_per_s"])
        self.assertLess(fit["speeds"]["memory_share"], fit["usual_speeds"]["memory_share"])
        self.assertEqual([level["load"] for level in fit["levels"]], [1, 8, 32])
        for level in fit["levels"]:
            for figure, measured in level["measured"].items():
                delta = 0.25 if figure == "ttft_p50_s" else 0.15  # of few requests, which may begin in one step
                self.assertAlmostEqual(level["predicted"][figure] / measured, 1, delta=delta, msg=f"{figure} at {level['load']}")
                self.assertLessEqual(level["low"][figure], level["predicted"][figure])
                self.assertGreaterEqual(level["high"][figure], level["predicted"][figure])
        # The fitted server can be used like any other.
        again = self.directory / "again"
        self.measures(paretoken("run", f"sim:{out / 'profile.json'}", "--virtual", "--concurrency", 8, "--isl", 512, "--osl", self.OSL,
                                "--num-prompts", 300, "--out", again))
        measured = json.loads((again / "run.json").read_text())["metrics"]["itl_s"]["p50"]
        self.assertAlmostEqual(measured / fit["levels"][1]["predicted"]["itl_p50_s"], 1, delta=0.02)

    def test_one_run_predicts_the_levels_around_it_or_those_asked_for(self):
        run = self.sweep("sim:llama3-8b/h100/fp8") / "c0008"
        done = paretoken("plan", "--from", run, *self.CARD, "--json")
        fit = json.loads(done.stdout)
        self.assertEqual([level["load"] for level in fit["levels"]], [2, 4, 16, 32, 64])
        next_command = shlex.split(fit["certainty"][fit["certainty"].index("paretoken sweep"):])
        self.assertEqual(next_command[2], "sim:llama3-8b/h100/fp8")
        self.assertIn("--virtual", next_command, "it measures the server as it was measured")
        self.assertIn(self.OSL.replace(",", ";"), next_command, "with the same requests")
        self.assertEqual(next_command[-2:], ["--concurrency", "64"])
        self.measures(paretoken(*next_command[1:], "--out", self.directory / "next"))
        done = paretoken("plan", "--from", run, *self.CARD, "--at", "1,100", "--json")
        fit = json.loads(done.stdout)
        self.assertEqual([level["load"] for level in fit["levels"]], [1, 100])
        self.assertNotIn("profile", fit)
        self.assertNotIn("measured", fit["levels"][0])

    def test_the_ranges_hold_what_is_measured_in_nine_of_ten_cases(self):
        held = []
        for number, profile in enumerate(("", "?jitter=.1", "?linear_overlap_exponent=1")):
            run = self.directory / str(number)
            self.measures(paretoken("sweep", f"sim:llama3-8b/h100/fp8{profile}", "--virtual", "--concurrency", "1..64", "--isl",
                                    "uniform:min=256,max=768", "--osl", self.OSL, "--out", run))
            done = self.succeeds(paretoken("plan", "--from", run, *self.CARD, "--json"))
            for level in json.loads(done.stdout)["levels"]:
                for figure, measured in level["measured"].items():
                    held.append(level["low"][figure] <= measured <= level["high"][figure])
        self.assertEqual(len(held), 3 * 6 * 3)
        self.assertGreaterEqual(sum(held) / len(held), .9)

    def test_a_server_without_a_card_is_fitted_too(self):
        run = self.sweep("sim:llama3-8b/h100/fp8", "--gpu", "other:my accelerator")
        done = self.succeeds(paretoken("plan", "--from", run, *self.CARD[:2], "--json"))
        fit = json.loads(done.stdout)
        self.assertNotIn("before", fit)
        self.assertNotIn("memory_share", fit["speeds"])
        for level in fit["levels"]:
            self.assertAlmostEqual(level["predicted"]["itl_p50_s"] / level["measured"]["itl_p50_s"], 1, delta=0.15)

    def test_a_server_that_begins_requests_at_once_is_not_given_impossible_speeds(self):
        run = self.sweep("sim:llama3-8b-h100-bf16", "--gpu", "h100")
        fit = json.loads(self.succeeds(paretoken("plan", "--from", run, *self.CARD[:2], "--json")).stdout)
        self.assertLess(fit["speeds"]["linear_share"], 1)
        for level in fit["levels"]:
            self.assertAlmostEqual(level["predicted"]["output_tokens_per_s"] / level["measured"]["output_tokens_per_s"], 1, delta=0.1)

    def test_what_a_run_lacks_is_named(self):
        run = self.sweep("sim:llama3-8b/h100/fp8")
        mixed = self.directory / "classes"
        self.measures(paretoken("run", "sim:llama3-8b/h100/fp8", "--virtual", "--class", "a:concurrency=2", "--class",
                                "b:concurrency=3", "--duration", "5s", "--out", mixed))
        for arguments, words in (
                ([self.directory / "nothing"], ["nothing"]),
                ([mixed, *self.CARD], ["several classes"]),
                ([self.directory, *self.CARD], ["several servers or loads", "one run"]),
                ([run, "--model-card", "nonesuch"], ["nonesuch"]),
                ([run, *self.CARD[:2], "--gpu", "h900"], ["h900"]),
                ([run, *self.CARD, "--at", "0"], ["--at", "above 0"]),
                ([run, *self.CARD, "--isl", 100], ["--isl", "--from"])):
            with self.subTest(arguments):
                self.fails_clearly(paretoken("plan", "--from", *arguments), 2, *words)


class FromARealServer(Case):
    """Sweeps of a real llama.cpp server with SmolLM2-135M on two cores, as measured. The level with two requests in flight predicts
    those with 1, 4 and 8."""

    def predicted(self, name):
        directory = self.directory / name.replace(" ", "-")
        for line in (ROOT / "tests/golden/llamacpp/sweeps.jsonl").read_text().splitlines():
            row = json.loads(line)
            if row["sweep"] == name:
                level = directory / f"c{row['level']:04}"
                level.mkdir(parents=True)
                (level / "run.json").write_text(json.dumps(row["run"]))
        done = paretoken("plan", "--from", directory, "--out", directory / "plan")
        return self.succeeds(done).stdout, json.loads((directory / "plan/prediction.json").read_text())

    def is_near(self, level, *figures):
        for figure in figures:
            self.assertAlmostEqual(level["predicted"][figure] / level["measured"][figure], 1, delta=.25,
                                   msg=f"{figure} with {level['load']} in flight")

    def test_other_levels_are_predicted_within_a_quarter(self):
        for name in ("1 thread", "2 threads", "2 threads, other prompts"):
            with self.subTest(name):
                screen, fit = self.predicted(name)
                self.assertIn("on llamacpp", fit["server"])
                self.assertEqual((fit["load"], [level["load"] for level in fit["levels"]]), (2, [1, 4, 8]))
                self.assertEqual(fit["doubts"], [])
                self.assertIn("row_s", fit["speeds"])
                self.assertIn("3 other measured levels", " ".join(screen.split()))
                for level in fit["levels"]:
                    self.is_near(level, "output_tokens_per_s", "ttft_p50_s", "itl_p50_s")

    def test_requests_of_equal_lengths_are_doubted_because_they_run_in_step(self):
        screen, fit = self.predicted("2 threads, equal lengths")
        self.assertIn("run in step", fit["doubts"][-1])
        self.assertIn("run in step", " ".join(screen.split()))
        for level in fit["levels"]:
            self.is_near(level, "output_tokens_per_s", "itl_p50_s")


if __name__ == "__main__":
    unittest.main()
