"""Runs of the whole program over the protocols of the API besides chat and completions."""

import json
import unittest

from harness import Case, http_server, paretoken, request_lines, run_json

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


if __name__ == "__main__":
    unittest.main()
