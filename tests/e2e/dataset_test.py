"""`paretoken dataset` describes a file of requests, and loads replay it."""

import json
import unittest

from harness import Case, paretoken, request_lines, run_json, simulated_server


class Dataset(Case):
    def trace(self):
        """A trace of 12 requests over 2.75 s. Half of the prompts share their first two blocks of 512 tokens; the others
        share nothing."""
        rows = [{"timestamp": 250 * i, "input_length": 1200 + i, "output_length": 4 + i % 3,
                 "hash_ids": [1, 2, 100 + i] if i % 2 == 0 else [50 + 3 * i, 51 + 3 * i, 52 + 3 * i]} for i in range(12)]
        path = self.directory / "trace.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def test_a_trace_is_described_as_text_and_as_json(self):
        path = self.trace()
        text = paretoken("dataset", "describe", path)
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertIn("12 rows in the format of mooncake", text.stdout)
        described = json.loads(paretoken("dataset", "describe", path, "--json").stdout)
        self.assertEqual(described["rows"], 12)
        self.assertAlmostEqual(described["infinite_cache_block_hits"], 10 / 36)
        self.assertAlmostEqual(described["seconds"], 2.75)

    def test_a_trace_is_replayed_at_its_own_times_with_its_shared_prefixes(self):
        out = self.directory / "run"
        ran = paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset", "mooncake", "--dataset-path", self.trace(),
                        "--arrivals", "trace:scale=4", "--out", out)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        records = sorted(request_lines(out), key=lambda r: r["index"])
        self.assertEqual(len(records), 12)
        for i, record in enumerate(records):
            self.assertAlmostEqual(record["scheduled_s"] - records[0]["scheduled_s"], i, places=6)
            self.assertEqual(record["prompt_tokens"], 1200 + i)
            self.assertEqual(record["completion_tokens"], 4 + i % 3)
            shared = 1024 if i % 2 == 0 and i > 0 else 0
            self.assertAlmostEqual(record.get("cached_prompt_tokens", 0), shared, delta=16)
        self.assertEqual(run_json(out)["stop"]["rule"], "requests")

    def test_a_trace_is_replayed_unless_another_load_is_given(self):
        for name, options, arrivals in (("own", (), "trace"), ("other", ("--concurrency", 2), "at_once")):
            out = self.directory / name
            ran = paretoken("run", "sim:ideal", "--virtual", "--dataset", "mooncake", "--dataset-path", self.trace(), *options,
                            "--out", out)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(run_json(out)["plan"]["arrivals"], arrivals)
            self.assertEqual("at the times of the trace" in ran.stderr, arrivals == "trace", ran.stderr)

    def test_a_converted_file_asks_for_the_same_as_the_one_before(self):
        converted = self.directory / "converted.jsonl"
        done = paretoken("dataset", "convert", self.trace(), converted)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = paretoken("dataset", "convert", self.trace(), converted)
        self.assertEqual(again.returncode, 2, "a file that is there is not replaced")
        piped = self.succeeds(paretoken("dataset", "convert", self.trace(), "-"))
        self.assertEqual(piped.stdout, converted.read_text())
        self.assertIn("12 rows written to standard output", piped.stderr)
        rows = [json.loads(line) for line in converted.read_text().splitlines()]
        self.assertEqual([row["input_tokens"] for row in rows], [1200 + i for i in range(12)])
        self.assertEqual([row["at_s"] for row in rows], [0.25 * i for i in range(12)])
        self.assertEqual(rows[0]["prompt"][:4000], rows[2]["prompt"][:4000])
        self.assertNotEqual(rows[0]["prompt"][:400], rows[1]["prompt"][:400])
        described = json.loads(paretoken("dataset", "describe", converted, "--json").stdout)
        self.assertEqual(described["format"], "custom")
        self.assertEqual(described["input_tokens"]["max"], 1211)

    def test_converted_conversations_are_recognised_without_their_format(self):
        source = self.directory / "sharegpt.jsonl"
        talk = [{"from": who, "value": f"{who} says {i}"} for i in range(2) for who in ("human", "gpt")]
        source.write_text(json.dumps({"id": "a", "conversations": talk}) + "\n")
        rows = self.directory / "rows.jsonl"
        self.succeeds(paretoken("dataset", "convert", source, rows, "--dataset", "sharegpt:turns=4"))
        self.assertIn('"conversation"', rows.read_text())
        described = self.succeeds(paretoken("dataset", "describe", rows))
        self.assertIn("custom", described.stdout)

    def test_a_length_or_a_salt_that_a_file_would_ignore_is_refused(self):
        path = self.trace()
        out = self.directory / "run"
        for option, why in (("--osl", "output tokens of its own"), ("--isl", "the rows of its file")):
            self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--dataset", "mooncake", "--dataset-path", path,
                                         option, 64, "--out", out), 2, f"{option} 64", why, "leave")
            self.assertFalse(out.exists())
        prompts = self.directory / "prompts.jsonl"
        prompts.write_text('{"prompt": "a"}\n')
        self.fails_clearly(paretoken("dataset", "convert", prompts, self.directory / "c.jsonl", "--salt", "s"), 2, "--salt",
                           "prompts.jsonl")
        self.fails_clearly(paretoken("dataset", "describe", path, "--dataset", "mooncake:blok=5"), 2, "blok")

    def test_rows_that_hold_no_request_are_left_out_and_told(self):
        path = self.directory / "talks.json"
        talk = {"conversations": [{"from": "human", "value": "why?"}, {"from": "gpt", "value": "so"}]}
        path.write_text(json.dumps([{"conversations": []}, talk, talk]))
        told = "1 of 3 rows (33.3 %) left out"
        self.assertIn(told, self.succeeds(paretoken("dataset", "describe", path)).stdout)
        self.assertIn(told, json.loads(paretoken("dataset", "describe", path, "--json").stdout)["notes"][0])
        ran = paretoken("run", "sim:ideal", "--virtual", "--dataset", "sharegpt", "--dataset-path", path, "--num-prompts", 2,
                        "--out", self.directory / "run")
        self.assertIn(f"warning: {path}: {told}", ran.stderr)
        self.assertEqual(len(request_lines(self.directory / "run")), 2)

    def test_a_packed_file_is_refused_with_the_command_that_unpacks_it(self):
        path = self.directory / "trace.jsonl.gz"
        path.write_bytes(b"\x1f\x8b\x08\x00\x00")
        for command in (["dataset", "describe", path], ["run", "sim:ideal", "--virtual", "--dataset-path", path]):
            self.fails_clearly(paretoken(*command), 2, "gzip", f"gzip -dc '{path}' > '{self.directory}/trace.jsonl'")

    def test_what_is_wrong_is_named_with_file_line_and_field(self):
        path = self.directory / "bad.jsonl"
        path.write_text('{"timestamp": 9, "input_length": 5, "output_length": 5, "hash_ids": [1]}\n'
                        '{"timestamp": 8, "input_length": 5, "output_length": 5, "hash_ids": [1]}\n')
        for command in (["dataset", "describe", path],
                        ["run", "sim:ideal", "--virtual", "--dataset", "mooncake", "--dataset-path", path,
                         "--arrivals", "trace", "--out", self.directory / "run"]):
            refused = paretoken(*command)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("bad.jsonl:2: the time goes back", refused.stderr)
        refused = paretoken("run", "sim:ideal", "--virtual", "--arrivals", "trace", "--out", self.directory / "none")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("trace", refused.stderr)


    def test_what_a_load_cannot_send_is_told_before_it_begins(self):
        path = self.directory / "rows.jsonl"
        out = self.directory / "run"
        path.write_text('{"prompt": "a"}\n{"prompt": [1, 2, 3]}\n')
        with simulated_server("--profile", "ideal") as address:
            self.fails_clearly(paretoken("run", address, "--dataset-path", path, "--out", out), 2, "rows.jsonl:2: ", "token ids",
                               "completions")
        self.assertFalse(out.exists())
        ran = self.succeeds(paretoken("run", "sim:ideal", "--virtual", "--dataset-path", self.trace(), "--num-prompts", 15,
                                      "--out", out))
        self.assertIn("warning: 15 requests are wanted; the trace is replayed at its times and has 12 requests", ran.stderr)
        self.assertEqual(len(request_lines(out)), 12)

    def test_a_table_of_unknown_columns_is_refused_with_columns_that_are_accepted(self):
        path = self.directory / "log.csv"
        path.write_text("time,prompt_tokens,completion_tokens\n2026-11-20T10:00:00Z,500,20\n2026-11-20T10:00:01Z,700,20\n")
        columns = "columns:input_tokens=prompt_tokens,output_tokens=completion_tokens,timestamp=time"
        for command in (["dataset", "describe", path],
                        ["run", "sim:ideal", "--virtual", "--dataset-path", path, "--out", self.directory / "run"]):
            self.fails_clearly(paretoken(*command), 2, "--dataset " + columns)
        described = self.succeeds(paretoken("dataset", "describe", path, "--dataset", columns, "--json"))
        self.assertEqual(json.loads(described.stdout)["input_tokens"]["max"], 700)
        self.assertIn("input_tokens=NAME", self.succeeds(paretoken("help", "datasets")).stdout)
        path.write_text(path.read_text().replace("\n", "\r"))
        self.fails_clearly(paretoken("dataset", "describe", path, "--dataset", columns), 2, "carriage return")

    def test_a_prompt_beside_messages_is_told(self):
        path = self.directory / "both.jsonl"
        path.write_text(json.dumps({"prompt": "a", "messages": [{"role": "user", "content": "b"}], "output_tokens": 3}) + "\n")
        self.assertIn('"prompt"', self.succeeds(paretoken("dataset", "describe", path)).stdout)


class Text(Case):
    def book(self, words=3000):
        path = self.directory / "book.txt"
        path.write_text("\n".join(" ".join(f"word{i}" for i in range(n, min(n + 9, words))) for n in range(0, words, 9)))
        return path

    def ran(self, *options):
        out = self.directory / f"run{len(list(self.directory.iterdir()))}"
        with simulated_server("--profile", "ideal?ttft=2ms&itl=1ms") as address:
            self.measures(paretoken("run", address, "--isl", 200, "--osl", 4, "--num-prompts", 20, "--concurrency", 4, *options,
                                    "--out", out))
        checks = [reason["check"] for reason in run_json(out)["validity"]["reasons"]]
        return out, run_json(out)["workload"], checks

    def test_prompts_cut_from_a_text_have_the_wanted_length_and_the_result_names_the_text(self):
        out, workload, _ = self.ran("--text", self.book())
        self.assertRegex(workload["text"], r"^book\.txt \([0-9a-f]{16}\)$")
        self.assertEqual(workload["prompt_form"], "text")
        lengths = [record["prompt_tokens"] for record in request_lines(out)]
        self.assertEqual(len(lengths), 20)
        for length in lengths:
            self.assertAlmostEqual(length, 200, delta=20)
        self.assertEqual(self.ran("--prompt-form", "text")[1]["text"], "random words")

    def test_random_words_and_forced_answers_are_flagged_where_experts_are_routed(self):
        book = self.book()
        card = ("--model-card", "qwen3-30b-a3b")
        self.assertIn("artificial_text", self.ran(*card)[2])
        self.assertIn("artificial_text", self.ran(*card, "--text", book)[2], "ignore_eos draws answers out")
        self.assertNotIn("artificial_text", self.ran(*card, "--text", book, "--no-ignore-eos")[2])
        self.assertNotIn("artificial_text", self.ran("--model-card", "llama-3.1-8b")[2])

    def test_a_sweep_over_a_file_marks_the_levels_that_find_their_prompts_in_the_cache(self):
        words = ["bridge", "mirror", "harbor", "river", "engine", "silver", "stone", "letter", "window", "ladder"]
        prompts = self.directory / "prompts.jsonl"
        prompts.write_text("".join(json.dumps({"prompt": " ".join(words[(i * 7 + k * (k + i)) % 10] for k in range(100)),
                                               "output_tokens": 4}) + "\n" for i in range(8)))
        checks = {}
        with simulated_server("--profile", "llama3-8b-h100-bf16") as address:
            for name, options in (("warm", ()), ("salted", ("--salt-prompts",)), ("emptied", ("--reset-cache",))):
                out = self.directory / name
                self.measures(paretoken("sweep", address, "--dataset-path", prompts, "--num-prompts", 8, "--concurrency", "1,2",
                                        *options, "--out", out))
                checks[name] = [[r["check"] for r in run_json(out / level)["validity"]["reasons"]].count("warm_cache")
                                for level in ("c0001", "c0002")]
        self.assertEqual(checks, {"warm": [0, 1], "salted": [0, 0], "emptied": [0, 0]})

    def test_a_text_that_cannot_be_used_is_refused_in_one_line(self):
        prompts = self.directory / "prompts.jsonl"
        prompts.write_text('{"prompt": "hello"}\n')
        log = self.directory / "log.jsonl"
        log.write_text('{"prompt_tokens": 9, "completion_tokens": 5, "at": 0}\n{"prompt_tokens": 4000, "completion_tokens": 5, "at": 1}\n')
        short = self.directory / "short.txt"
        short.write_text("only a few words")
        for options, words in ((["--text", short], ["--text", "short.txt", "4 words", "1000"]),
                               (["--text", self.book(), "--isl", 5000], ["book.txt", "3000 words", "5000 tokens"]),
                               (["--text", self.book(), "--dataset", "multi_turn:turns=3,first=2000,next=700"],
                                ["book.txt", "3000 words", "3400 tokens"]),
                               (["--text", self.book(), "--dataset", "shared_prefix:levels=2900,unique=101"],
                                ["book.txt", "3000 words", "3001 tokens"]),
                               (["--text", self.book(), "--dataset", "log", "--dataset-path", log],
                                ["log.jsonl:2", "book.txt", "3000 words", "4000 tokens"]),
                               (["--text", self.book(), "--dataset-path", prompts], ["--text", "custom"]),
                               (["--text", self.book(), "--prompt-form", "token-ids"], ["--text", "--prompt-form"])):
            with self.subTest(options):
                self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", *options, "--out", self.directory / "none"), 2, *words)
        self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--text", self.directory / "gone.txt", "--out",
                                     self.directory / "none"), 2, "gone.txt", "check the path")


if __name__ == "__main__":
    unittest.main()
