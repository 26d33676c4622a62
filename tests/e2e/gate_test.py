"""`paretoken gate` measures pairs of runs in turn: on the simulator, on servers that it starts by commands, and on
llama.cpp."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

from harness import BINARY, ROOT, Case, environment, paretoken, simulated_server, started, wait_until

LOAD = ("--virtual", "--isl", 2048, "--osl", 32, "--concurrency", 4, "--num-prompts", 40)
SERVER = "sim:llama3-8b-h100-bf16"
SLOWER = SERVER + "?weight_bytes_per_s=2.0328e12"


def gate_json(out):
    return json.loads((pathlib.Path(out) / "gate.json").read_text())


STEADY = "'ideal?ttft=50ms&itl=20ms'"  # slow enough for any host to read in time


class Gate(Case):
    def gate(self, code, candidate=SLOWER, *options, **more):
        self.out = self.directory / "gate"
        done = paretoken("gate", "--baseline-url", SERVER, "--candidate-url", candidate, *LOAD, "--out", self.out, *options,
                         **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_a_slower_candidate_fails_and_says_why(self):
        done = self.gate(1)
        self.assertRegex(done.stdout, r"(?m)^FAIL: ")
        self.assertIn("ITL is worse and TTFT is ", done.stdout)
        self.assertEqual(sum(line.startswith("paretoken: ") for line in done.stderr.splitlines()), 1, done.stderr)
        verdict = gate_json(self.out)
        self.assertEqual((verdict["schema"], verdict["verdict"]), ("paretoken/gate/1", "fail"))
        self.assertTrue((self.out / "gate.md").read_text().startswith("# FAIL: "))
        # The same command continues from the existing verdict and measures nothing again.
        again = self.gate(1)
        self.assertEqual(again.stderr.count("already measured"), 2 * verdict["pairs"], again.stderr)

    def test_an_equal_candidate_passes_and_a_better_one_is_called_so(self):
        self.gate(0, SERVER)
        self.assertEqual(gate_json(self.out)["verdict"], "pass")
        self.assertIn("Better: ", self.gate(0, SERVER + "?weight_bytes_per_s=3e12", "--overwrite").stdout)

    def test_a_noisy_comparison_is_inconclusive_and_tells_what_would_decide(self):
        done = self.gate(5, SERVER + "?jitter=.8", "--max-pairs", 3, "--policy", self.policy({"metrics": [
            {"metric": "itl_p50", "tolerance": 0.02}]}))
        self.assertIn("INCONCLUSIVE", done.stdout)
        self.assertRegex(done.stdout, r"would\s+have\s+failed")
        self.assertRegex(done.stdout, r"About\s+\d+\s+pairs\s+would\s+decide")

    def policy(self, content):
        path = self.directory / "policy.json"
        path.write_text(json.dumps(content, indent=1))
        return path

    def test_the_page_and_a_report_of_a_failed_gate_begin_with_fail(self):
        self.gate(1)
        page = (self.out / "gate.html").read_text()
        self.assertRegex(page, r"<title>FAIL: ")
        self.assertRegex(page, r"<h1[^>]*>FAIL: ")
        done = paretoken("report", self.out, "--out", self.directory / "report.html", "--no-micro")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("FAIL: "), done.stdout)
        report = (self.directory / "report.html").read_text()
        self.assertRegex(report, r"<title>FAIL: ")
        self.assertLess(report.index(">Verdict</h2>"), report.index("Can it be trusted</h2>"))
        shown = self.succeeds(paretoken("show", self.out)).stdout
        self.assertIn("\nFAIL: ", shown)
        self.assertNotRegex(shown, r"<details|&lt;|^#|\\_")
        # Several gates are a list of their verdicts.
        equal = self.directory / "equal"
        paretoken("gate", "--baseline-url", SERVER, "--candidate-url", SERVER, *LOAD, "--seed", 9, "--out", equal)
        done = paretoken("report", self.directory, "--out", self.directory / "list.html", "--no-micro")
        self.assertEqual(done.returncode, 0, done.stderr)
        verdicts = re.findall(r'class="badge (?:in)?valid">(pass|fail)<', (self.directory / "list.html").read_text())
        self.assertEqual(sorted(verdicts)[:2], ["fail", "pass"])

    def test_junit_follows_its_schema(self):
        if not shutil.which("xmllint"):
            self.skipTest("xmllint is not installed (libxml2-utils)")
        schema = ROOT / "tests" / "reports" / "analysis" / "gate" / "junit.xsd"
        for candidate, code in ((SERVER, 0), (SLOWER, 1)):
            self.gate(code, candidate, "--overwrite")
            checked = subprocess.run(["xmllint", "--noout", "--schema", schema, self.out / "junit.xml"],
                                     capture_output=True, text=True, check=False)
            self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_what_should_be_known_before_a_rollout_is_shown_or_named_with_its_command(self):
        done = self.gate(0, SERVER + "?answers=recall", "--checklist", "--probe", "recall:ctx=256,n=20", "--policy",
                         self.policy({"metrics": [{"metric": "itl_p50", "tolerance": 0.05}]}))
        items = {item["what"]: item for item in gate_json(self.out)["checklist"]}
        self.assertEqual(len(items), 13)
        self.assertTrue(items["answers probed"]["shown"])
        self.assertIn("recall:ctx=256,n=20", items["answers probed"]["text"])
        self.assertTrue(items["prefix-cache hits at this load"]["shown"])
        self.assertIn("per million output tokens", items["cost"]["text"])
        for what, command in (("KV cache in use, p95", "--scrape"), ("preemptions", "--scrape"),
                              ("KV pool for this load", "--scrape"), ("requests are batched", "--scrape"),
                              ("longest context", "--max-model-len"), ("attention kernels", "--server-cmd"),
                              ("limits certified", "--limit"), ("prompts begin alike (static head)", "paretoken dataset audit")):
            self.assertFalse(items[what]["shown"], items[what])
            self.assertIn(command, items[what]["text"])
        self.assertIn("[x] answers probed", done.stdout)
        self.assertIn("## Before a rollout", (self.out / "gate.md").read_text())

    def test_a_policy_can_be_printed_and_given_back_and_a_wrong_one_names_its_line(self):
        printed = self.succeeds(paretoken("gate", "--print-policy")).stdout
        path = self.directory / "policy.json"
        path.write_text(printed)
        self.gate(1, SLOWER, "--policy", path)
        path.write_text(printed.replace("ttft_p95", "ttft_p96"))
        line = 1 + printed[:printed.index("ttft_p95")].count("\n")
        self.fails_clearly(paretoken("gate", "--baseline-url", SERVER, "--candidate-url", SERVER, *LOAD, "--policy", path), 2,
                           f"policy.json:{line}:", "ttft_p96")

    def test_a_limit_on_the_candidate_is_judged_beside_the_comparison(self):
        done = paretoken("gate", "--baseline-url", SERVER, "--candidate-url", SERVER, "--virtual", "--isl", 256, "--osl", 16,
                         "--concurrency", 2, "--num-prompts", 400, "--limit", "ttft_p50<1ms", "--limit", "ttft_p50<10s",
                         "--out", self.directory / "gate")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        rows = {row["metric"]: row["verdict"] for row in gate_json(self.directory / "gate")["rows"]}
        self.assertEqual((rows["ttft_p50<1ms"], rows["ttft_p50<10000ms"]), ("fail", "pass"))
        self.fails_clearly(paretoken("gate", "--baseline-url", SERVER, "--candidate-url", SERVER, "--limit", "ttft<1"), 2,
                           "--limit", "ttft")

    def test_a_limit_that_the_candidate_is_within_without_that_being_shown_does_not_pass(self):
        done = paretoken("gate", "--baseline-url", SERVER, "--candidate-url", SERVER, "--virtual", "--isl", 256, "--osl", 16,
                         "--concurrency", 2, "--num-prompts", 400, "--limit", "ttft_p999<10s", "--out", self.directory / "gate")
        rows = {row["metric"]: row["verdict"] for row in gate_json(self.directory / "gate")["rows"]}
        self.assertEqual((done.returncode, rows.pop("ttft_p999<10000ms"), set(rows.values())), (5, "inconclusive", {"pass"}),
                         done.stdout + done.stderr)

    def test_a_candidate_that_does_not_keep_up_does_not_pass(self):
        load = ("--virtual", "--isl", 512, "--osl", 128, "--request-rate", 27, "--num-prompts", 800)
        for slots, code, said in ((16, 5, "cannot be judged. Lower the rate."), (8, 1, "The candidate's capacity is lower")):
            done = paretoken("gate", "--baseline-url", SERVER + "?max_num_seqs=16", "--candidate-url",
                             f"{SERVER}?max_num_seqs={slots}", *load, "--out", self.directory / str(slots))
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            text = " ".join(done.stdout.split())
            self.assertIn("Neither side keeps up with 27 req/s (13.", text)
            self.assertIn(said, text)

    def test_sides_that_are_missing_twice_or_unlike_are_refused(self):
        for words in ((), ("--baseline-url", SERVER), ("--baseline-url", SERVER, "--candidate", "."),
                      ("--baseline-url", SERVER, "--baseline-cmd", "x", "--candidate-url", SERVER)):
            self.fails_clearly(paretoken("gate", *words), 2)

    def test_a_gate_that_measured_nothing_keeps_no_directory(self):
        self.gate(2, SERVER + "?no_such_field=1")
        self.gate(0, SERVER)

    def test_another_model_or_other_hardware_is_refused_before_anything_is_measured(self):
        for allowed, refused in (((), "model"), (("--across", "model"), "hardware")):
            self.fails_clearly(self.gate(2, "sim:llama3-8b-h100-fp8", *allowed), 2, "are not to be compared",
                               f"--across {refused}")
            self.assertFalse((self.out / "pairs").exists())

    def test_options_of_several_differences_add_up(self):
        self.gate(0, "sim:llama3-8b-h100-fp8", "--across", "model", "--across", "hardware")

    def test_dry_run_measures_nothing(self):
        done = self.succeeds(paretoken("gate", "--baseline-url", SERVER, "--candidate-url", SERVER, "--duration", "60s",
                                       "--dry-run", "--out", self.directory / "dry"))
        self.assertIn("6 to 32 minutes", done.stdout)
        self.assertFalse((self.directory / "dry").exists())


class Answers(Case):
    """Candidates that are faster because their answers are different."""

    def test_a_faster_server_that_says_garbage_fails(self):
        done = paretoken("gate", "--baseline-url", SERVER + "?answers=recall", "--candidate-url",
                         SERVER + "?answers=garbage&weight_bytes_per_s=6e12", *LOAD, "--probe", "recall:ctx=256,n=40", "--out",
                         self.directory / "gate")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        rows = {row["metric"]: row for row in gate_json(self.directory / "gate")["rows"]}
        self.assertEqual((rows["quality"]["verdict"], rows["quality"]["baseline"], rows["quality"]["candidate"]), ("fail", 1, 0))
        self.assertEqual(rows["repeated_answers"]["verdict"], "fail")
        self.assertIn(" the the the", done.stdout)
        self.assertLess(rows["itl_p50"]["shift"], 0)
        checked = (self.directory / "gate" / "pairs" / "01" / "candidate" / "probe.jsonl").read_text().splitlines()
        self.assertEqual(len(checked), 40)

    def test_questions_of_a_file_are_asked_and_their_score_is_in_the_report(self):
        questions = self.directory / "questions.jsonl"
        right = {"messages": [{"role": "user", "content": 'The code of "a" is 17. What is the code of "a"?'}]}
        questions.write_text("\n".join(json.dumps(row) for row in (
            {**right, "expect": {"number": 17}}, {**right, "expect": {"exact": "17"}}, {**right, "expect": {"regex": "^1.$"}},
            {**right, "expect": {"contains": "18"}})))
        out = self.directory / "run"
        done = paretoken("run", "sim:ideal?answers=recall", "--isl", 16, "--osl", 4, "--num-prompts", 8, "--concurrency", 2,
                         "--probe", questions, "--out", out)
        self.assertIn(done.returncode, (0, 4), done.stdout + done.stderr)  # a busy host
        quality = json.loads((out / "run.json").read_text())["quality"]
        self.assertEqual((quality["score"], quality["n"]), (0.75, 4))
        self.assertTrue(quality["probe"].startswith("questions.jsonl "))
        self.assertIn("75 % of 4 answers right", done.stdout)
        questions.write_text('{"prompt": "x", "expect": {"regex": "("}}')
        self.fails_clearly(paretoken("run", "sim:ideal", "--probe", questions, "--out", self.directory / "bad"), 2,
                           "questions.jsonl:1:", "regular expression")
        self.fails_clearly(paretoken("run", "sim:ideal", "--probe", "nowhere.jsonl", "--out", self.directory / "bad"), 2,
                           "--probe nowhere.jsonl")


class Recipe(Case):
    def test_the_recipe_of_the_documentation_runs_as_it_stands(self):
        text = (ROOT / "docs" / "gate.md").read_text()
        recipe = re.search(r"## A recipe before a rollout.*?```sh\n(.*?)```", text, re.DOTALL).group(1)
        (self.directory / "paretoken").symlink_to(BINARY)
        done = subprocess.run(["bash", "-c", recipe], capture_output=True, text=True, check=False, cwd=self.directory,
                              env=environment({"PATH": f"{self.directory}:{os.environ['PATH']}"}))
        verdicts = [gate_json(self.directory / "gates" / name)["verdict"] for name in ("same", "candidate", "limit")]
        self.assertEqual(verdicts, ["pass", "fail", "pass"], done.stdout + done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)


class Baselines(Case):
    def test_a_baseline_has_a_name_and_candidates_are_compared_with_it(self):
        store = ("--store", self.directory / "store")
        for side, url in (("a", SERVER), ("b", SLOWER)):
            for seed in range(3):
                self.succeeds(paretoken("run", url, *LOAD, "--seed", seed, "--out", self.directory / f"{side}{seed}"))
        before = [self.directory / f"a{seed}" for seed in range(3)]
        after = [self.directory / f"b{seed}" for seed in range(3)]
        self.succeeds(paretoken("baseline", "save", "main", *before, *store))
        self.assertIn("main", self.succeeds(paretoken("baseline", "list", *store)).stdout)
        self.assertIn("tok/s", self.succeeds(paretoken("baseline", "show", "main", *store)).stdout)
        failed = paretoken("gate", "--baseline", "main", "--candidate", *after, *store)
        self.fails_clearly(failed, 1, "the gate failed")
        self.assertIn("inter-token", failed.stdout.lower())
        out = ("--out", self.directory / "verdict")
        self.fails_clearly(paretoken("gate", "--baseline", "main", "--candidate", *before, *store, *out), 2, "is the same run as")
        equal = [self.directory / f"c{seed}" for seed in range(3)]
        for seed, run in enumerate(equal):
            self.succeeds(paretoken("run", SERVER, *LOAD, "--seed", seed, "--out", run))
        self.succeeds(paretoken("gate", "--baseline", "main", "--candidate", *equal, *store, *out))
        again = ("gate", "--baseline", "main", "--candidate", *after, *store, *out)
        self.fails_clearly(paretoken(*again), 2, "holds the verdict of a gate", "--overwrite")
        self.assertEqual(gate_json(self.directory / "verdict")["verdict"], "pass")
        self.fails_clearly(paretoken(*again, "--overwrite"), 1, "the gate failed")
        self.assertEqual(gate_json(self.directory / "verdict")["verdict"], "fail")
        measured = ("gate", "--baseline", "main", "--candidate-url", SERVER, "--virtual", *store)
        out = ("--out", self.directory / "measured")
        done = self.succeeds(paretoken(*measured, *out))
        self.assertIn("the baseline's options: --concurrency 4 ", done.stderr)
        plan = json.loads((self.directory / "measured" / "candidate" / "01" / "run.json").read_text())["plan"]
        self.assertEqual((plan["isl"], plan["osl"], plan["num_prompts"]), ("2048", "32", 40))
        for words, kept, gone in ((("--num-prompts", 20), {"concurrency": 4, "num_prompts": 20}, "duration"),
                                  (("--duration", "9s"), {"concurrency": 4, "duration": "9s"}, "num_prompts"),
                                  (("--request-rate", 5), {"num_prompts": 40, "isl": "2048"}, "concurrency")):
            config = json.loads(self.succeeds(paretoken(*measured, "--across", "load", *words, "--print-config")).stdout)
            self.assertLessEqual(kept.items(), config.items())
            self.assertNotIn(gone, config)
        self.fails_clearly(paretoken(*measured, "--isl", 16, "--concurrency", 1, *out, "--overwrite"), 2,
                           "--isl: 2048 and 16; --concurrency: 4 and 1 (--across load); the baseline was measured")
        self.fails_clearly(paretoken(*measured, "--dataset", "shared_prefix:groups=2", *out, "--overwrite"), 2,
                           "--dataset shared_prefix:groups=2: the baseline was measured with synthetic")
        self.succeeds(paretoken("baseline", "drop", "main", *store))
        self.fails_clearly(paretoken("gate", "--baseline", "main", "--candidate", *after, *store), 2, "main")


class Commands(Case):
    """Servers that the gate starts itself."""

    long = True

    LOAD = ("--isl", 16, "--osl", 4, "--concurrency", 1, "--num-prompts", 5)

    def command(self, *options):
        return " ".join(map(str, [BINARY, "serve", "--port", "{port}", *options]))

    def alive(self):
        """Returns the processes that serve for this test, which have its directory in their command line."""
        return [entry.name for entry in pathlib.Path("/proc").glob("[0-9]*") if entry.name != str(os.getpid()) and
                str(self.directory).encode() in self.command_line(entry) and b"serve" in self.command_line(entry)]

    @staticmethod
    def command_line(entry):
        try:
            return (entry / "cmdline").read_bytes()
        except OSError:
            return b""

    def test_a_server_is_started_for_every_run_and_none_is_left(self):
        out = self.directory / "gate"
        server = self.command("--profile", STEADY, "--model", self.directory)
        done = paretoken("gate", "--baseline-cmd", server, "--candidate-cmd", server, *self.LOAD, "--max-pairs", 3, "--out",
                         out)
        self.assertIn(done.returncode, (0, 4, 5), done.stdout + done.stderr)  # a busy host may spoil a run
        if done.returncode != 4:
            urls = {json.loads((out / "pairs" / f"{pair:02}" / side / "run.json").read_text())["provenance"]["url"]
                    for pair in (1, 2, 3) for side in ("baseline", "candidate")}
            self.assertEqual(len(urls), 6, "each run had a server of its own")
        self.assertIn("paretoken serve", (out / "pairs" / "01" / "baseline" / "server.log").read_text())
        self.assertEqual(self.alive(), [])

    def test_a_key_in_a_command_is_stored_nowhere(self):
        key, out = "sk-secret-of-this-test", self.directory / "gate"
        server = self.command("--profile", STEADY, "--api-key", key)
        done = paretoken("gate", "--baseline-cmd", server, "--candidate-cmd", server, *self.LOAD, "--max-pairs", 3, "--out",
                         out, env={"OPENAI_API_KEY": key})
        self.assertIn(done.returncode, (0, 4, 5), done.stdout + done.stderr)
        self.assertNotIn(key, done.stdout + done.stderr)
        told = [path for path in out.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
        self.assertEqual(told, [])

    def test_a_server_that_does_not_come_up_is_told_with_its_last_lines(self):
        broken = "echo loading; echo CUDA out of memory >&2; exit 9 # {port}"
        done = paretoken("gate", "--baseline-cmd", broken, "--candidate-cmd", broken, *self.LOAD, "--out",
                         self.directory / "gate")
        self.fails_clearly(done, 3, "exit status 9", "loading | CUDA out of memory")

    def test_a_side_that_cannot_be_reached_ends_with_3(self):
        with simulated_server("--profile", "ideal") as address:
            done = paretoken("gate", "--baseline-url", address, "--candidate-url", "http://127.0.0.1:9", *self.LOAD, "--out",
                             self.directory / "gate")
        self.fails_clearly(done, 3, "127.0.0.1:9")

    def test_servers_end_with_a_gate_that_is_killed(self):
        server = self.command("--profile", STEADY, "--model", self.directory)
        words = ["gate", "--baseline-cmd", server, "--candidate-cmd", server, "--num-prompts", 100000, "--out",
                 self.directory / "gate"]
        command = [str(word) for word in [BINARY, *words]]
        lines = self.directory / "gate" / "pairs" / "01" / "baseline" / "requests.jsonl"
        with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                     env=environment()) as process:
            wait_until(lambda: lines.exists() and lines.stat().st_size > 0, seconds=60, what="a first request")
            self.assertNotEqual(self.alive(), [])
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_until(lambda: not self.alive(), seconds=30, what="the end of the server")


class RealServer(Case):
    long = True

    def test_equal_servers_never_fail(self):
        server = f"{ROOT}/scripts/servers/llamacpp --port {{port}} --threads 1"
        done = paretoken("gate", "--baseline-cmd", server, "--candidate-cmd", server, "--concurrency", 2, "--num-prompts", 8,
                         "--isl", 64, "--osl", 16, "--max-pairs", 5, "--max-time", "4m", "--out", self.directory / "gate",
                         timeout=900)
        self.assertIn(done.returncode, (0, 4, 5), done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
