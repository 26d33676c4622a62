"""Runs every example in the table of docs/cost.md on the command line and compares the results."""

import json
import re
import shlex
import unittest

from harness import ROOT, Case, paretoken, run_json

ROW = re.compile(r"^\| `(paretoken cost [^`]*)` \| (.*) \|$")


class Costs(Case):
    def test_every_line_of_the_table_in_the_documents_is_what_the_command_says(self):
        rows = [found.groups() for found in map(ROW.match, (ROOT / "docs" / "cost.md").read_text().splitlines()) if found]
        self.assertGreaterEqual(len(rows), 20)
        for command, answer in rows:
            with self.subTest(command):
                done = self.succeeds(paretoken(*shlex.split(command)[1:]))
                self.assertEqual(done.stdout, answer + "\n")

    def test_every_key_of_a_price_card_is_in_the_documents(self):
        reader = (ROOT / "cards" / "price.cpp").read_text()
        keys = {key for group in re.findall(r"expect_only\(\{([^}]*)\}", reader) for key in re.findall(r'"(\w+)"', group)}
        keys |= set(re.findall(r'key == "(\w+)"', reader))
        self.assertGreaterEqual(len(keys), 28)
        table = (ROOT / "docs" / "cost.md").read_text().split("## The keys of a price card")[1].split("## ")[0]
        self.assertEqual(keys - set(re.findall(r"`(\w+)`", table)), set())

    def test_a_cache_that_costs_no_more_to_write_pays_from_the_first_request_on(self):
        done = self.succeeds(paretoken("cost", "prompt-cache", "--write", 0, "--read", 1, "--base", 2))
        self.assertIn("pays from the first request on", done.stdout)
        self.assertIn("no break-even", done.stdout)
        self.assertNotIn("-1", done.stdout)

    def test_small_results_keep_their_leading_digits(self):
        done = self.succeeds(paretoken("cost", "energy", "--watts", 1, "--tokens-per-s", 3000))
        self.assertEqual(done.stdout, "0.000333 J per token, $9.26e-06 per million tokens\n")

    def test_the_help_of_a_question_has_its_formulas_and_json_where_each_input_comes_from(self):
        self.assertIn("usd_per_m = usd_per_h / 3600 * 1e6 / tokens_per_s", self.succeeds(paretoken("cost", "per-million", "--help")).stdout)
        done = self.succeeds(paretoken("cost", "prompt-cache", "--api", "claude-sonnet-4.6", "--base", 6, "--json"))
        path = self.directory / "answer.json"
        path.write_text(done.stdout)
        self.matches_schema(path, "cost_answer")
        answer = json.loads(done.stdout)
        self.assertEqual(answer["inputs"]["write"], {"value": 3.75, "source": "api:claude-sonnet-4.6"})
        self.assertEqual(answer["inputs"]["base"], {"value": 6, "source": "given"})
        self.assertAlmostEqual(answer["figures"]["requests"], (3.75 - 0.3) / (6 - 0.3))
        self.assertEqual(answer["verdict"], "caching pays from the first request on")

    def test_a_prompt_that_an_api_does_not_cache_costs_as_much_as_without_a_cache(self):
        for arguments in (["shared-prefix", "--requests", 10000, "--tokens", 2000],
                          ["compression", "--tokens", 2000, "--kept", .4, "--compressor", .2, "--hit", .9],
                          ["api-month", "--users", 10, "--conversations", 2, "--message", 100, "--answer", 200, "--hit", .9]):
            for api, caches in (("claude-haiku-4.5", False), ("claude-sonnet-4.6", arguments[0] != "api-month")):
                with self.subTest((arguments[0], api)):
                    answer = json.loads(self.succeeds(paretoken("cost", *arguments, "--api", api, "--json")).stdout)
                    inputs = {name: number["value"] for name, number in answer["inputs"].items()}
                    figures = answer["figures"]
                    read = inputs.get("read", inputs["base"] * inputs.get("cached_ratio", 0))
                    self.assertAlmostEqual(read, inputs["base"] * (.1 if caches else 1))
                    if arguments[0] == "shared-prefix" and not caches:
                        self.assertAlmostEqual(figures["without"], 20)
                        self.assertAlmostEqual(figures["most_writes"], 20)
                    self.assertEqual("too short" in answer.get("verdict", ""), not caches and arguments[0] != "compression")

    def test_a_cache_pays_exactly_where_its_bill_is_lower(self):
        for write in (1, 2, 3, 4):
            for read in (0, 1, 2, 3):
                done = paretoken("cost", "prompt-cache", "--write", write, "--read", read, "--base", 2)
                saved = {count: 2 * count - write - (count - 1) * read for count in range(1, 50)}
                with self.subTest((write, read)):
                    self.assertEqual(done.returncode != 0, max(saved.values()) <= 0)
                    if saved[49] > 0:
                        first = next(count for count in saved if saved[count] >= 0)
                        first = f"from {first} requests on" if "requests on" in done.stdout else "from the first request on"
                        self.assertIn(first, done.stdout)
                    elif saved[1] > 0:
                        self.assertIn("for fewer requests only", done.stdout)

    def test_hedging_takes_the_times_of_a_run(self):
        run = self.directory / "run"
        self.measures(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--isl", "lognormal:mean=512,cv=2", "--osl", 16,
                                "--num-prompts", 400, "--concurrency", 4, "--out", run))
        ttft = run_json(run)["metrics"]["ttft_s"]
        done = self.succeeds(paretoken("cost", "hedging", "--run", run, "--after", 0.9, "--json"))
        figures = json.loads(done.stdout)["figures"]
        self.assertLess(1000 * ttft["p90"], figures["p99_ms"])
        self.assertLessEqual(figures["p99_ms"], 1000 * ttft["max"] + 1e-6)
        self.assertAlmostEqual(figures["more_percent"], 10, delta=1)
        self.assertLessEqual(figures["hedged_p99_ms"], figures["p99_ms"])

    def test_questions_without_an_answer_are_refused_in_one_line(self):
        for arguments, words in (
                (["per-million", "--usd-per-h", 3.5, "--tokens-per-s", 0], ["--tokens-per-s", "above 0"]),
                (["split", "--usd-per-h", 3.5, "--tokens-per-s", 10, "--mix", "eight"], ["--mix", "8:1"]),
                (["prompt-cache", "--write", 3, "--read", 3, "--base", 3], ["--read", "never pays"]),
                (["month", "--users", 9, "--conversations", 2, "--answer", 200, "--usd-per-h", 3, "--tokens-per-s", 9, "--peak", .5],
                 ["--peak", "at least 1"]),
                (["month", "--users", 9, "--conversations", 2, "--answer", 200, "--usd-per-h", 3, "--tokens-per-s", 9, "--turns", .5],
                 ["--turns", "at least 1"]),
                (["api-month", "--users", 9, "--conversations", 2, "--message", 1, "--answer", 100000, "--turns", .1, "--api",
                  "claude-sonnet-4.6"], ["--turns", "at least 1"]),
                (["shared-prefix", "--requests", .5, "--tokens", 9, "--api", "claude-sonnet-4.6"], ["--requests", "at least 1"]),
                (["per-million", "--usd-per-h", "nan", "--tokens-per-s", 10], ["--usd-per-h", "nan", "1e-12 to 1e+15"]),
                (["per-million", "--usd-per-h", "1e300", "--tokens-per-s", 10], ["--usd-per-h", "1e300"]),
                (["energy", "--watts", 1, "--tokens-per-s", 1, "--usd-per-kwh", "-1"], ["--usd-per-kwh", "-1"]),
                (["decode-floor", "--billion-parameters", 8, "--bits", 0, "--gb-per-s", 5], ["--bits", "above 0"]),
                (["capacity", "--requests-per-s", 1, "--input", 1, "--output", 1, "--hit", 3, "--prefill-ms-per-1k", 1,
                  "--ms-per-token", 1], ["--hit", "at most 1"]),
                (["capacity", "--requests-per-s", "1e15", "--input", "1e15", "--output", 1, "--prefill-ms-per-1k", 1,
                  "--ms-per-token", 1], ["1e15 requests"]),
                (["kv", "--model-card", "nonesuch"], ["nonesuch", "no such model card"])):
            with self.subTest(arguments):
                self.fails_clearly(paretoken("cost", *arguments), 2, *words)


if __name__ == "__main__":
    unittest.main()
