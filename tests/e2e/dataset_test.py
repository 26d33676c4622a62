"""`paretoken dataset`: what a file of requests holds, and loads that replay it."""

import json
import unittest

from harness import Case, paretoken, request_lines, run_json


class Dataset(Case):
    def trace(self):
        """Two users whose prompts share two blocks of 512 tokens, over 3 s; and a third one."""
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

    def test_a_converted_file_asks_for_the_same_as_the_one_before(self):
        converted = self.directory / "converted.jsonl"
        done = paretoken("dataset", "convert", self.trace(), converted)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = paretoken("dataset", "convert", self.trace(), converted)
        self.assertEqual(again.returncode, 2, "a file that is there is not replaced")
        rows = [json.loads(line) for line in converted.read_text().splitlines()]
        self.assertEqual([row["input_tokens"] for row in rows], [1200 + i for i in range(12)])
        self.assertEqual([row["at_s"] for row in rows], [0.25 * i for i in range(12)])
        self.assertEqual(rows[0]["prompt"][:4000], rows[2]["prompt"][:4000])
        self.assertNotEqual(rows[0]["prompt"][:400], rows[1]["prompt"][:400])
        described = json.loads(paretoken("dataset", "describe", converted, "--json").stdout)
        self.assertEqual(described["format"], "custom")
        self.assertEqual(described["input_tokens"]["max"], 1211)

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


if __name__ == "__main__":
    unittest.main()
