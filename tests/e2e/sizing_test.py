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


class Emitted(Case):
    """Commands of servers that cannot be started here, against the options of their parsers."""
    # vllm/engine/arg_utils.py of vLLM 0.6.6: types and choices.
    VLLM = {"--tensor-parallel-size": int, "--gpu-memory-utilization": float, "--max-model-len": int, "--max-num-seqs": int,
            "--max-num-batched-tokens": int, "--kv-cache-dtype": {"auto", "fp8", "fp8_e5m2", "fp8_e4m3"}}

    def test_vllm_has_every_option_with_such_a_value(self):
        for kv in ("auto", "fp8"):
            done = self.succeeds(paretoken("plan", "--model-card", "llama-3.1-8b", "--gpu", "h100x2", "--kv", kv, "--emit", "vllm"))
            words = shlex.split(done.stdout)
            self.assertEqual(words[:3], ["vllm", "serve", "llama-3.1-8b"])
            flags = dict(zip(words[3::2], words[4::2]))
            self.assertEqual(set(flags), set(self.VLLM))
            for flag, value in flags.items():
                allowed = self.VLLM[flag]
                self.assertTrue(value in allowed if isinstance(allowed, set) else allowed(value) > 0, f"{flag} {value}")
            self.assertLessEqual(float(flags["--gpu-memory-utilization"]), 1)


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


class FromAMeasuredServer(Case):
    """The simulated server is the truth: a server whose speeds differ from those of the card is measured, and its other levels are
    predicted from one of them."""
    CARD = ["--model-card", "llama-3.1-8b:weights=fp8", "--gpu", "h100"]

    def sweep(self, profile, *options):
        out = self.directory / "sweep"
        self.measures(paretoken("sweep", profile, "--virtual", "--concurrency", "1,2,8,32", "--isl", 512, "--osl", 64,
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
                self.assertAlmostEqual(level["predicted"][figure] / measured, 1, delta=0.15, msg=f"{figure} at {level['load']}")
                self.assertLessEqual(level["low"][figure], level["predicted"][figure])
                self.assertGreaterEqual(level["high"][figure], level["predicted"][figure])
        # The fitted server can be used like any other.
        again = self.directory / "again"
        self.measures(paretoken("run", f"sim:{out / 'profile.json'}", "--virtual", "--concurrency", 8, "--isl", 512, "--osl", 64,
                                "--num-prompts", 300, "--out", again))
        measured = json.loads((again / "run.json").read_text())["metrics"]["itl_s"]["p50"]
        self.assertAlmostEqual(measured / fit["levels"][1]["predicted"]["itl_p50_s"], 1, delta=0.02)

    def test_one_run_predicts_the_levels_around_it_or_those_asked_for(self):
        run = self.sweep("sim:llama3-8b/h100/fp8") / "c0008"
        done = paretoken("plan", "--from", run, *self.CARD, "--json")
        self.assertEqual([level["load"] for level in json.loads(done.stdout)["levels"]], [2, 4, 16, 32, 64])
        done = paretoken("plan", "--from", run, *self.CARD, "--at", "1,100", "--json")
        fit = json.loads(done.stdout)
        self.assertEqual([level["load"] for level in fit["levels"]], [1, 100])
        self.assertNotIn("profile", fit)
        self.assertNotIn("measured", fit["levels"][0])

    def test_a_server_without_a_card_is_fitted_too(self):
        run = self.sweep("sim:llama3-8b/h100/fp8", "--gpu", "other:my accelerator")
        done = self.succeeds(paretoken("plan", "--from", run, *self.CARD[:2], "--json"))
        fit = json.loads(done.stdout)
        self.assertNotIn("before", fit)
        self.assertNotIn("memory_share", fit["speeds"])
        for level in fit["levels"]:
            self.assertAlmostEqual(level["predicted"]["itl_p50_s"] / level["measured"]["itl_p50_s"], 1, delta=0.15)

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


class FromAFile(Case):
    """The lengths and the demand of a file of requests."""

    def log(self, rows, name="log.jsonl"):
        path = self.directory / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def test_a_log_gives_the_lengths_and_the_rate_of_its_busiest_hour(self):
        # An hour with 2 requests per second follows one with 1.
        rows = [{"at": i if i < 3600 else 3600 + (i - 3600) / 2, "prompt_tokens": 500 + i % 100, "completion_tokens": 100}
                for i in range(3600 + 7200)]
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "l40sx1", *LIMITS, "--log", self.log(rows))
        self.succeeds(done)
        self.assertAlmostEqual(plan["demand"]["requests_per_s"], 2, delta=.01)
        self.assertAlmostEqual(plan["lengths"]["input_tokens_mean"], 549.5, places=3)
        self.assertEqual(plan["lengths"]["tokens_max"], 699)
        self.assertGreaterEqual(plan["cells"][0]["fleet"]["replicas"], 1)
        done, again = planned("--model-card", "llama3-8b", "--gpu", "l40sx1", *LIMITS, "--log", self.log(rows), "--demand", "30rps")
        self.succeeds(done)
        self.assertEqual(again["demand"]["requests_per_s"], 30, "what the user says counts")

    def test_a_dataset_gives_the_lengths_alone(self):
        file = self.log({"input_tokens": 1000 * (1 + i % 3), "output_tokens": 50} for i in range(30))
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", "--dataset", file)
        self.succeeds(done)
        self.assertEqual((plan["lengths"]["input_tokens_mean"], plan["lengths"]["tokens_max"]), (2000, 3050))
        self.assertEqual(plan["cells"][0]["suggested"]["max_model_len"], 3660)
        self.assertNotIn("requests_per_s", plan["demand"])
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", "--dataset", file, *LIMITS)
        self.succeeds(done)
        self.assertGreater(plan["cells"][0]["speed"]["load"], 1)

    def test_files_that_say_too_little_are_refused_by_name(self):
        card = ["--model-card", "llama3-8b", "--gpu", "h100x1"]
        lengths = self.log([{"input_tokens": 10, "output_tokens": 5}], "lengths.jsonl")
        texts = self.log([{"prompt": "How are you?"}], "texts.jsonl")
        for arguments, words in (
                (["--log", lengths], ["--log", "no times", "--dataset"]),
                (["--dataset", texts], ["--dataset", "tokenizer", "--isl"]),
                (["--dataset", lengths, "--log", lengths], ["--log and --dataset"]),
                (["--log", lengths, "--isl", 100], ["--isl"]),
                (["--log", self.directory / "nothing.jsonl"], ["nothing.jsonl"])):
            with self.subTest(arguments):
                done = paretoken("plan", *card, *arguments)
                self.assertIn(done.returncode, (2, 3))
                for word in words:
                    self.assertIn(word, done.stderr)


class BadInput(Case):
    def test_wrong_options_are_refused_by_name(self):
        card = ["--model-card", "llama3-8b"]
        for arguments, words in (
                (["--gpu", "h100"], ["--model-card"]),
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
