"""Secrets stay secret: no file and no output of a command contains a key, even if a server repeats it."""

import json
import unittest

from harness import Case, http_server, paretoken

KEY = "SECRETKEY123"
OTHER = "OTHERSECRET456"


def answer_of(status):
    """Returns the answers of a server that serves the first 6 requests and then quotes the headers of each request in an
    error with this status, as some gateways do."""
    seen = []

    def answer(method, path, headers, body):
        if method == "GET" and path == "/v1/models":
            return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
        if method == "GET" or not path.startswith("/v1/"):
            return 404, "text/plain", f"no {path}; headers {dict(headers)}".encode()
        seen.append(path)
        if len(seen) > 6 or status == 401:
            quoted = {"error": {"message": f"refused: {dict(headers)}"}}
            return status, "application/json", json.dumps(quoted).encode()
        usage = {"prompt_tokens": 8, "completion_tokens": 1, "total_tokens": 9}
        if not json.loads(body).get("stream"):
            choice = {"index": 0, "message": {"content": "word"}, "finish_reason": "length"}
            return 200, "application/json", json.dumps({"choices": [choice], "usage": usage}).encode()
        events = [{"choices": [{"index": 0, "delta": {"content": "word"}, "finish_reason": None}]},
                  {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}, {"choices": [], "usage": usage}]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        return 200, "text/event-stream", text.encode()

    return answer


class Secrets(Case):
    def holds_no_secret(self, *dones):
        texts = {path: path.read_text(errors="replace") for path in self.directory.rglob("*") if path.is_file()}
        for done in dones:
            texts[f"output of {done.args}"] = done.stdout + done.stderr
        for place, text in texts.items():
            for secret in (KEY, OTHER):
                self.assertNotIn(secret, text, place)
        return texts

    def test_a_server_that_quotes_request_headers_brings_no_key_into_a_result(self):
        options = ("--isl", 8, "--osl", 1, "--num-prompts", 24, "-H", f"X-Api-Key: {OTHER}")
        for status in (500, 401):
            with self.subTest(status), http_server(answer_of(status)) as address:
                run = self.directory / f"run-{status}"
                dones = [paretoken("run", address, "--concurrency", 2, *options, "--out", run,
                                   env={"OPENAI_API_KEY": KEY + "\n"}),
                         paretoken("sweep", address, "--concurrency", "1,2", *options, "--out",
                                   self.directory / f"sweep-{status}", env={"OPENAI_API_KEY": KEY})]
                if run.exists():
                    dones.append(paretoken("report", run, "--out", self.directory / f"page-{status}.html"))
                texts = self.holds_no_secret(*dones)
                self.assertTrue(any("***" in text for text in texts.values()), "the server's text was not kept at all")
                self.assertIn("refused", "".join(texts.values()))

    def test_the_command_line_is_kept_without_credentials(self):
        for url in (f"http://user:{KEY}@127.0.0.1:9", f"http://127.0.0.1:9/v1?api_key={KEY}",
                    f"http://127.0.0.1:9/?key={KEY}&token={OTHER}"):
            with self.subTest(url):
                self.holds_no_secret(paretoken("run", url, "--out", self.directory / "run"),
                                     paretoken("run", f"--url={url}", "--out", self.directory / "run"),
                                     paretoken("sweep", "--url", url, "--out", self.directory / "sweep"))

    def test_an_unknown_option_is_told_without_its_value(self):
        self.holds_no_secret(paretoken("run", "--headr", f"Authorization: Bearer {KEY}"),
                             paretoken("run", f"--headr=Authorization: Bearer {KEY}"))


class Keys(Case):
    def test_a_variable_that_was_named_and_is_not_set_is_said(self):
        done = paretoken("run", "sim:ideal", "--virtual", "--api-key-env", "NO_SUCH_KEY")
        self.fails_clearly(done, 2, "--api-key-env", "NO_SUCH_KEY")

    def test_a_key_with_a_line_end_inside_is_refused(self):
        done = paretoken("run", "sim:ideal", "--virtual", env={"OPENAI_API_KEY": f"{KEY}\r\nX-Other: {OTHER}"})
        self.fails_clearly(done, 2, "OPENAI_API_KEY", "line end")
        self.assertNotIn(KEY, done.stdout + done.stderr)

    def test_the_line_end_behind_a_key_is_not_sent(self):
        keys = []

        def answer(_method, _path, headers, _body):
            keys.append(headers.get("Authorization"))
            return 401, "application/json", b'{"error":{"message":"no"}}'

        with http_server(answer) as address:
            paretoken("run", address, "--model", "m", "--num-prompts", 1, "--out", self.directory / "run",
                      env={"OPENAI_API_KEY": f" {KEY}\r\n"})
        self.assertEqual(set(keys), {f"Bearer {KEY}"})


if __name__ == "__main__":
    unittest.main()
