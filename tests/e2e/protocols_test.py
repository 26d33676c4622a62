"""Runs of the whole program over the protocols of the API besides chat and completions."""

import json
import unittest
import urllib.request

from harness import Case, http_server, paretoken, request_lines, run_json, simulated_server

ANSWERS = {
    "/v1/messages": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 8, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "one"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " two"}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"}],
    "/v1/responses": [
        {"type": "response.created", "response": {"status": "in_progress", "usage": None}},
        {"type": "response.output_text.delta", "item_id": "i", "delta": "one"},
        {"type": "response.output_text.delta", "item_id": "i", "delta": " two"},
        {"type": "response.output_text.done", "item_id": "i", "text": "one two"},
        {"type": "response.completed",
         "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
                      "usage": {"input_tokens": 8, "output_tokens": 2}}}]}


class Protocols(Case):
    def ran(self, protocol, *options):
        """Returns the run directory and the requests that the server received: pairs of headers and body."""
        seen = []

        def answer(method, path, headers, body):
            if method == "GET" and path == "/v1/models":
                return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
            if path not in ANSWERS:
                return 404, "text/plain", b"not here"
            seen.append((dict(headers), json.loads(body)))
            events = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in ANSWERS[path])
            return 200, "text/event-stream", events.encode()

        out = self.directory / protocol
        with http_server(answer) as address:
            self.measures(paretoken("run", address, "--endpoint-type", protocol, "--concurrency", 1, "--num-prompts", 4,
                                    "--osl", 2, "--out", out, *options))
        return out, seen

    def test_messages_are_asked_for_and_read(self):
        prompts = self.directory / "prompts.jsonl"
        prompts.write_text('{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]}\n')
        out, seen = self.ran("messages", "--dataset-path", prompts, "--keep-answers")
        headers, body = seen[-1]
        self.assertEqual(headers.get("anthropic-version"), "2023-06-01")
        self.assertEqual(body["max_tokens"], 2)
        self.assertEqual(body["system"], "Be brief.")
        self.assertEqual(body["messages"], [{"role": "user", "content": "Hi"}])
        self.assertNotIn("ignore_eos", body)
        self.assertNotIn("stream_options", body)
        for line in request_lines(out):
            self.assertEqual((line["outcome"], line["finish_reason"]), ("ok", "length"))
            self.assertEqual((line["prompt_tokens"], line["completion_tokens"], line["chunks"]), (8, 2, 2))
        kept = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
        self.assertEqual({answer["text"] for answer in kept}, {"one two"})
        self.assertIn("ignore_eos", json.dumps(run_json(out)["provenance"]) + json.dumps(run_json(out)["plan"]))

    def test_responses_are_asked_for_and_read(self):
        out, seen = self.ran("responses", "--isl", 8)
        body = seen[-1][1]
        self.assertEqual(body["max_output_tokens"], 2)
        self.assertEqual(body["store"], False)
        self.assertEqual(body["ignore_eos"], True)
        self.assertEqual(body["input"][0]["role"], "user")
        for line in request_lines(out):
            self.assertEqual((line["outcome"], line["finish_reason"]), ("ok", "length"))
            self.assertEqual((line["prompt_tokens"], line["completion_tokens"], line["chunks"]), (8, 2, 2))

    def test_a_header_of_the_user_replaces_the_protocols(self):
        _, seen = self.ran("messages", "--isl", 8, "-H", "Anthropic-Version: 2099-01-01")
        self.assertEqual({headers.get("Anthropic-Version") for headers, _ in seen}, {"2099-01-01"})
        self.assertEqual({headers.get("anthropic-version") for headers, _ in seen}, {None})

    def test_a_protocol_that_does_not_exist_is_refused_with_the_known_ones(self):
        for target in (("http://127.0.0.1:1",), ("sim:ideal", "--virtual")):
            done = paretoken("run", *target, "--endpoint-type", "telepathy")
            self.fails_clearly(done, 2, "--endpoint-type 'telepathy'", "chat, completions, messages, responses")


class Simulated(Case):
    """The protocols as the simulated server speaks them, whose truth log says what happened."""

    PROTOCOLS = ("messages", "responses")
    PREFIX = "shared_prefix:groups=1,levels=160,unique=40"

    def ran(self, address, protocol, *options):
        """The result of a run, and its requests with the server's records of them."""
        out = self.directory / f"{protocol}{len(list(self.directory.iterdir()))}"
        self.measures(paretoken("run", address, "--endpoint-type", protocol, "--concurrency", 2, "--num-prompts", 12,
                                "--osl", 8, "--out", out, *options))
        with urllib.request.urlopen(address + "/sim/truth", timeout=30) as answer:
            truth = {entry["id"]: entry for entry in json.load(answer)["requests"]}
        return run_json(out), [(line, truth[line["id"]]) for line in request_lines(out)]

    def test_tokens_usage_and_cached_tokens_are_those_of_the_server(self):
        for dialect in ("vllm", "llamacpp"):
            with simulated_server("--profile", "llama3-8b-h100-bf16", "--dialect", dialect) as address:
                for protocol in self.PROTOCOLS:
                    with self.subTest(f"{protocol} of {dialect}"):
                        result, requests = self.ran(address, protocol, "--dataset", self.PREFIX)
                        self.assertEqual(result["counts"]["ok"], 12)
                        self.assertEqual(result["workload"]["achieved_output_tokens"], 8)
                        for line, truth in requests:
                            self.assertEqual(line["prompt_tokens"], truth["prompt_tokens"])
                            self.assertEqual(line["completion_tokens"], 8)
                            self.assertEqual(line["chunks"], len(truth["written_ns"]))
                            self.assertEqual(line.get("cached_prompt_tokens"), truth["cached_tokens"])
                            # llama.cpp calls every response completed.
                            ended = "stop" if (protocol, dialect) == ("responses", "llamacpp") else "length"
                            self.assertEqual((line["outcome"], line["finish_reason"]), ("ok", ended))
                        self.assertGreater(max(truth["cached_tokens"] for _, truth in requests), 100)

    def test_the_first_token_is_not_the_event_that_opens_a_response(self):
        with simulated_server("--profile", "ideal?ttft=60ms&itl=5ms") as address:
            for protocol in self.PROTOCOLS:
                result, _ = self.ran(address, protocol, "--isl", 32)
                self.assertGreater(result["metrics"]["ttft_s"]["p50"], 0.059, protocol)

    def test_reasoning_is_told_apart(self):
        with simulated_server("--profile", "ideal?ttft=2ms&itl=10ms&reasoning=3tok") as address:
            for protocol in self.PROTOCOLS:
                result, requests = self.ran(address, protocol, "--isl", 32)
                self.assertGreater(result["metrics"]["ttfa_s"]["p50"] - result["metrics"]["ttft_s"]["p50"], 0.02)
                for line, truth in requests:
                    self.assertEqual((truth["reasoning_tokens"], line["chunks"]), (3, 8), protocol)

    def test_a_conversation_goes_on_from_its_answers(self):
        with simulated_server("--profile", "llama3-8b-h100-bf16") as address:
            for protocol in self.PROTOCOLS:
                _, requests = self.ran(address, protocol, "--dataset", "multi_turn:turns=3,first=64,next=16")
                later = [truth for line, truth in requests if line["turn"] > 1]
                self.assertGreater(len(later), 0)
                for truth in later:
                    self.assertGreater(truth["cached_tokens"], 48, protocol)

    def test_an_answer_that_is_not_streamed_is_one_object(self):
        bodies = {"/v1/messages": {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 3},
                  "/v1/responses": {"input": "hi", "max_output_tokens": 3}}
        for dialect in ("vllm", "llamacpp"):
            with simulated_server("--profile", "ideal?ttft=2ms&itl=1ms", "--dialect", dialect) as address:
                for path, body in bodies.items():
                    with urllib.request.urlopen(address + path, json.dumps(body).encode(), timeout=30) as answer:
                        whole = json.load(answer)
                    self.assertEqual(whole["usage"]["output_tokens"], 3)
                    part = (whole["content"] if path == "/v1/messages" else whole["output"][0]["content"])[0]
                    self.assertEqual(len(part["text"].split()), 3)

    def test_failures_are_counted_as_what_they_are(self):
        for fault, outcome in (("error-chunk:after=3", "stream_error"), ("truncate:after=3", "truncated"),
                               ("reset:after=3", "disconnected")):
            for dialect in ("vllm", "llamacpp"):
                with simulated_server("--profile", "ideal?ttft=2ms&itl=2ms", "--dialect", dialect,
                                      "--fault", fault) as address:
                    for protocol in self.PROTOCOLS:
                        with self.subTest(f"{fault} in {protocol} of {dialect}"):
                            out = self.directory / f"{dialect}-{protocol}-{outcome}"
                            paretoken("run", address, "--endpoint-type", protocol, "--concurrency", 2, "--num-prompts", 4,
                                      "--isl", 16, "--osl", 8, "--out", out)
                            self.assertEqual({line["outcome"] for line in request_lines(out)}, {outcome})


if __name__ == "__main__":
    unittest.main()
