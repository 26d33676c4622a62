"""Conversations: turns that continue from the server's answers, on the simulator and on llama.cpp."""

import json
import threading
import unittest
import urllib.request

from harness import Case, http_server, llamacpp, paretoken, request_lines, run_json, simulated_server


def by_turn(directory):
    """Returns {(conversation, turn): record} for the requests that are not warm-ups."""
    return {(r["conversation"], r["turn"]): r for r in request_lines(directory) if not r.get("warmup")}


class Echo:
    """A server whose answer depends only on the messages of the request. It keeps the body of every request."""

    def __init__(self):
        self.bodies, self.lock = [], threading.Lock()

    def __call__(self, method, path, headers, body):
        if method == "GET" and path == "/v1/models":
            return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
        if method == "GET" or not path.startswith("/v1/"):
            return 404, "text/plain", b"not here"
        asked = json.loads(body)
        with self.lock:
            self.bodies.append(body)
        words = f"re: {len(json.dumps(asked['messages']))} \"q\" \\ \u00e9"
        usage = {"prompt_tokens": 8, "completion_tokens": asked.get("max_tokens", 1)}
        if not asked.get("stream"):
            choice = {"index": 0, "message": {"content": words}, "finish_reason": "length"}
            return 200, "application/json", json.dumps({"choices": [choice], "usage": usage}).encode()
        events = [{"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
                  for word in words.split("~")]
        events += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}, {"choices": [], "usage": usage}]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        return 200, "text/event-stream", text.encode()


class Conversations(Case):
    def test_each_turn_finds_in_the_cache_what_the_engine_says_it_found(self):
        out = self.directory / "run"
        with simulated_server("--profile", "llama3-8b-h100-fp8") as address:
            ran = paretoken("run", address, "--dataset", "multi_turn:turns=4,first=400,next=50", "--osl", 40, "--concurrency",
                            3, "--num-prompts", 12, "--workers", 2, "--keep-answers", "--out", out)
            self.measures(ran)
            with urllib.request.urlopen(address + "/sim/truth") as answer:
                truth = {entry["id"]: entry for entry in json.load(answer)["requests"]}
        records = by_turn(out)
        self.assertEqual(len(records), 48)
        for (conversation, turn), record in records.items():
            self.assertEqual(record["cached_prompt_tokens"], truth[record["id"]]["cached_tokens"])
            self.assertEqual(record["index"], conversation + turn)
            if turn > 0:
                before = records[conversation, turn - 1]
                self.assertGreaterEqual(record["cached_prompt_tokens"], before["prompt_tokens"] + 40 - 16)
                self.assertGreaterEqual(record["scheduled_s"], before["last_event_s"])
                self.assertEqual(record["worker"], before["worker"], "a conversation stays on its worker")
        result = run_json(out)
        self.assertEqual([turn["counts"]["requests"] for turn in result["turns"]], [12] * 4)
        self.assertIn("ttft_s", result["turns"][1]["metrics"])
        texts = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
        self.assertEqual({text["id"] for text in texts}, {record["id"] for record in request_lines(out)})
        self.assertTrue(all(len(text["text"].split()) == 40 for text in texts))

    def test_virtual_time_finds_the_same_shares_as_sockets(self):
        out = self.directory / "run"
        self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset",
                                "multi_turn:turns=3,first=400,next=50", "--osl", 40, "--concurrency", 4, "--num-prompts", 40,
                                "--think-time", "exponential:mean=1s", "--out", out))
        records = by_turn(out)
        self.assertEqual(len(records), 120)
        for (conversation, turn), record in records.items():
            if turn > 0:
                before = records[conversation, turn - 1]
                self.assertGreaterEqual(record["cached_prompt_tokens"], before["prompt_tokens"] + 40 - 16)
        self.assertEqual(len(run_json(out)["turns"]), 3)

    def test_the_same_seed_and_salt_ask_the_same_with_one_worker_and_with_two(self):
        asked = []
        for workers in (1, 2):
            echo = Echo()
            with http_server(echo) as address:
                done = paretoken("run", address, "--dataset", "multi_turn:turns=uniform:min=1;max=4,first=20,next=10", "--osl",
                                 4, "--concurrency", 4, "--num-prompts", 20, "--workers", workers, "--no-ignore-eos", "--seed",
                                 3, "--salt", "s", "--prompt-form", "text", "--scrape", "none", "--out",
                                 self.directory / f"run-{workers}")
                self.assertIn(done.returncode, (0, 4), done.stderr)
            measured = len(request_lines(self.directory / f"run-{workers}"))
            asked.append(sorted(echo.bodies[-measured:]))
        self.assertGreater(len(asked[0]), 30)
        self.assertEqual(asked[0], asked[1])
        longest = max((json.loads(body)["messages"] for body in asked[0]), key=len)
        self.assertEqual([message["role"] for message in longest], ["user", "assistant"] * 3 + ["user"])
        self.assertEqual(longest[1]["content"], f"re: {len(json.dumps(longest[:1]))} \"q\" \\ \u00e9")

    def test_rows_of_a_file_are_turns_and_recorded_replies_are_sent_as_they_are(self):
        path = self.directory / "chats.jsonl"
        rows = [{"conversation": "a", "messages": [{"role": "user", "content": "one"}]},
                {"conversation": "a", "messages": [{"role": "assistant", "content": "recorded"},
                                                   {"role": "user", "content": "two"}]}]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for replies, expected in (("recorded", "recorded"), ("live", None)):
            echo = Echo()
            with http_server(echo) as address:
                done = paretoken("run", address, "--dataset-path", path, "--replies", replies, "--osl", 4, "--num-prompts", 1,
                                 "--no-ignore-eos", "--scrape", "none", "--out", self.directory / replies)
                self.assertIn(done.returncode, (0, 4), done.stderr)
            messages = json.loads(echo.bodies[-1])["messages"]
            self.assertEqual([message["content"] for message in messages[::2]], ["one", "two"])
            self.assertEqual(messages[1]["content"] == "recorded", expected == "recorded")

    def test_conversations_of_another_format_are_converted_turn_by_turn(self):
        path, converted = self.directory / "chats.json", self.directory / "chats.jsonl"
        path.write_text(json.dumps([{"conversations": [{"from": "human", "value": "u0"}, {"from": "gpt", "value": "r0"},
                                                       {"from": "human", "value": "u1"}, {"from": "gpt", "value": "r1"},
                                                       {"from": "human", "value": "u2"}]},
                                    {"conversations": [{"from": "human", "value": "alone"}]}]))
        self.succeeds(paretoken("dataset", "convert", path, converted, "--dataset", "sharegpt:turns=9,osl=4"))
        rows = [json.loads(line) for line in converted.read_text().splitlines()]
        self.assertEqual([row.get("conversation") for row in rows], ["0", "0", "0", None])
        self.assertEqual([[m["content"] for m in row["messages"]] for row in rows], [["u0"], ["r0", "u1"], ["r1", "u2"], ["alone"]])
        prompts = []
        for dataset, file in (("sharegpt:turns=9,osl=4", path), ("custom", converted)):
            out = self.directory / dataset[:5]
            self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset", dataset, "--dataset-path", file,
                                    "--replies", "recorded", "--num-prompts", 2, "--out", out))
            prompts.append([r["prompt_tokens"] for r in sorted(request_lines(out), key=lambda r: r["index"])])
        self.assertEqual(prompts[0], prompts[1])
        self.assertEqual(len(prompts[0]), 4)

    def test_what_cannot_be_held_as_a_conversation_is_refused_in_one_line(self):
        path = self.directory / "bad.jsonl"
        path.write_text('{"prompt": "a"}\n{"conversation": "x", "turn": 1, "prompt": "b"}\n')
        out = self.directory / "run"
        self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--dataset-path", path, "--out", out), 2, "bad.jsonl:2",
                           "without an opening")
        path.write_text('{"conversation": "x", "prompt": "a"}\n{"conversation": "x", "prompt": "b"}\n')
        self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--dataset-path", path, "--replies", "recorded", "--out",
                                     out), 2, "bad.jsonl:2", "--replies recorded")
        self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--replies", "live", "--out", out), 2, "--replies",
                           "synthetic")
        self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--replies", "both", "--out", out), 2, "--replies",
                           "live or recorded")
        self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--dataset", "multi_turn:turn=3", "--out", out), 2,
                           "turn")
        self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--request-rate", 4, "--think-time", "1s", "--out", out),
                           2, "--think-time")


class RealServer(Case):
    busy = True

    def test_llamacpp_computes_only_what_is_new_in_a_turn(self):
        out = self.directory / "run"
        with llamacpp("--slots", 1) as address:
            self.measures(paretoken("run", address, "--dataset", "multi_turn:turns=3,first=120,next=30", "--osl", 12,
                                    "--concurrency", 1, "--num-prompts", 3, "--out", out, timeout=600))
        records = by_turn(out)
        self.assertEqual(len([r for r in records.values() if r["outcome"] in ("ok", "empty")]), len(records))
        followed = 0
        for (conversation, turn), record in records.items():
            if turn > 0:
                followed += 1
                before = records[conversation, turn - 1]
                self.assertGreaterEqual(record["cached_prompt_tokens"], 0.9 * before["prompt_tokens"])
        self.assertGreaterEqual(followed, 4)


if __name__ == "__main__":
    unittest.main()
