"""`paretoken try`: a first look at the simulated server, at a real one, and at none, several and a locked one."""

import contextlib
import http.client
import http.server
import json
import re
import statistics
import threading
import time
import unittest

from harness import Case, http_server, llamacpp, paretoken, refused_port, simulated_server


def port_of(address):
    return int(address.rsplit(":", 1)[1])


def streaming(answer_tokens, counts=True, words=1):
    """A server whose answers end after so many tokens at 10 ms each, `words` of them per event, with or without usage."""
    def answer(method, path, _headers, body):
        if method == "GET":
            models = {"object": "list", "data": [{"id": "m", "object": "model"}]}
            return (200, "application/json", json.dumps(models).encode()) if path == "/v1/models" else (404, "text/plain", b"")
        wanted = json.loads(body).get("max_tokens", 16)
        count = min(wanted, answer_tokens)

        def pieces():
            for i in range(0, count, words):
                time.sleep(0.01 * words)
                last = i + words >= count
                choice = {"index": 0, "delta": {"content": " word" * words}, "finish_reason": "stop" if last else None}
                yield b"data: %s\n\n" % json.dumps({"choices": [choice]}).encode()
            if counts:
                usage = {"prompt_tokens": 40, "completion_tokens": count, "total_tokens": 40 + count}
                yield b"data: %s\n\n" % json.dumps({"choices": [], "usage": usage}).encode()
            yield b"data: [DONE]\n\n"
        return 200, "text/event-stream", pieces()
    return answer


@contextlib.contextmanager
def listening_to_timings(address):
    """Passes requests on to a llama.cpp server. Yields its own address, and the list of (prompt tokens without cached ones,
    `timings`) of all answers."""
    heard = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server = http.client.HTTPConnection("127.0.0.1", port_of(address))
            server.request(self.command, self.path, body, {"Content-Type": "application/json"})
            answer = server.getresponse()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
            self.send_header("Connection", "close")
            self.end_headers()
            text = b""
            while data := answer.read1(65536):
                self.wfile.write(data)
                text += data
            server.close()
            self.close_connection = True
            for line in text.decode(errors="replace").splitlines():
                with contextlib.suppress(ValueError):
                    timings = json.loads(line.removeprefix("data: ")).get("timings") if '"timings"' in line else None
                    if timings:
                        heard.append(timings)

        do_GET = do_POST = pass_on

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{proxy.server_address[1]}", heard
        finally:
            proxy.shutdown()
            thread.join(5)


class FirstLook(Case):
    def test_a_simulated_server_is_described_in_plain_words_without_waiting(self):
        out = self.directory / "look"
        done = self.succeeds(paretoken("try", "sim:llama3-8b-h100-bf16?jitter=0", "--virtual", "--out", out))
        for said in ("one person", "tokens per second", "pp512", "tg128 @ d512", "at once each get at least half the speed",
                     "A simulated server reads no memory of this machine", "next        paretoken sweep 'sim:"):
            self.assertIn(said, done.stdout)
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 400 if "paretoken sweep" in line or str(out) in line else 80, line)
        self.assertIn("<html", (out / "report.html").read_text())
        self.matches_schema(out / "sweep.json", "sweep")
        points = json.loads((out / "sweep.json").read_text())["points"]
        self.assertEqual({point["state"] for point in points}, {"done"})

    def test_the_command_to_use_next_can_be_used(self):
        done = self.succeeds(paretoken("try", "sim:", "--virtual", "--depth", 64, "--time", 8, "--out", self.directory / "look"))
        words = re.search(r"next +paretoken (.*)", done.stdout).group(1).split()
        self.succeeds(paretoken(*words, "--num-prompts", 40, "--max-failed", 1, "--out", self.directory / "sweep"))

    def test_the_only_server_of_the_machine_is_found(self):
        with simulated_server() as address:
            ports = f"{refused_port()},{port_of(address)}"
            done = self.succeeds(paretoken("try", "--ports", ports, "--time", 2, "--out", self.directory / "look"))
        self.assertIn(f"at {address}", done.stdout)

    def test_without_a_server_with_several_and_with_a_locked_one_it_says_what_to_type(self):
        out = self.directory / "look"
        self.fails_clearly(paretoken("try", "--ports", refused_port(), "--out", out), 3, "no server answers",
                           "paretoken try http://HOST:PORT")

        def locked(*_):
            return 401, "application/json", b'{"error": {"message": "no key"}}'

        with simulated_server() as one, simulated_server() as other, http_server(locked) as closed:
            self.fails_clearly(paretoken("try", "--ports", f"{port_of(one)},{port_of(other)}", "--out", out), 2, "2 servers",
                               one, other, "paretoken try")
            self.fails_clearly(paretoken("try", "--ports", port_of(closed), "--out", out), 3, "wants an API key",
                               f"OPENAI_API_KEY=KEY paretoken try {closed}")
        self.assertFalse(out.exists())

    def test_a_server_that_ends_its_answers_itself_is_measured_with_their_length(self):
        with http_server(streaming(10)) as address:
            done = self.succeeds(paretoken("try", address, "--depth", 64, "--time", 4, "--out", self.directory / "look"))
        self.assertRegex(" ".join(done.stdout.split()), r"answer of 10 tokens takes")
        self.assertRegex(done.stdout, r"tg10 @ d64 +\d\d")
        self.assertIn("ends its answers when the model does", " ".join(done.stdout.split()))
        self.assertRegex(done.stdout, "next .* --no-ignore-eos")

    def test_doubts_about_the_figures_are_told(self):
        with http_server(streaming(128, counts=False, words=2)) as address:
            done = self.succeeds(paretoken("try", address, "--depth", 64, "--time", 4, "--out", self.directory / "look"))
        self.assertIn("doubt", done.stdout)
        self.assertIn("disputed_counts", done.stdout)

    def test_an_earlier_sweep_is_not_replaced(self):
        out = self.directory / "look"
        look = ("try", "sim:", "--virtual", "--depth", 64, "--time", 4, "--out", out)
        self.succeeds(paretoken(*look))
        self.fails_clearly(paretoken(*look), 2, "--overwrite", str(out))
        self.succeeds(paretoken(*look, "--overwrite"))


class FirstLookAtARealServer(Case):
    busy = True

    def test_its_speed_of_generation_is_that_of_the_servers_own_timings(self):
        with llamacpp() as address, listening_to_timings(address) as (front, heard):
            done = self.succeeds(paretoken("try", front, "--depth", 256, "--time", 20, "--out", self.directory / "look",
                                           timeout=300))
        said = re.search(r"tg(\d+) @ d256 +([\d.,]+) tok/s", done.stdout)
        answer, ours = int(said.group(1)), float(said.group(2).replace(",", ""))
        # The runs with one person come first, after requests that only find out what the server is.
        runs = json.loads((self.directory / "look" / "sweep.json").read_text())["points"]
        alone = next(point for point in runs if point["load"] == 1)
        requests = [t for t in heard if t["predicted_n"] == answer][:alone["requests"]]
        self.assertEqual(len(requests), alone["requests"])
        # Its time begins with the first token, which is therefore no step of that time.
        theirs = 1e3 / statistics.median(t["predicted_ms"] / (t["predicted_n"] - 1) for t in requests)
        self.assertAlmostEqual(ours / theirs, 1, delta=.03, msg=f"{ours} {theirs}\n{done.stdout}")
        self.assertRegex(done.stdout, r"memory of .* reads [\d.]+ GB/s")


if __name__ == "__main__":
    unittest.main()
