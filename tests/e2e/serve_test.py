"""`paretoken serve` and `sim:` targets: dialects, streams of reasoning and tool calls, profiles from cards."""

import gzip
import json
import pathlib
import re
import resource
import subprocess
import unittest
import urllib.error
import urllib.request

from harness import BINARY, Case, address_from, paretoken, run_json, simulated_server, started

TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]


def ask(url, body=None, headers=None):
    """Sends a request and returns the body of the answer, as bytes."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers or {}), timeout=30) as answer:
        return answer.read()


def asked_json(url, body=None):
    return json.loads(ask(url, body))


def events(stream):
    return [json.loads(line[6:]) for line in stream.decode().split("\n") if line.startswith("data: {")]


def listening_addresses(port):
    """Returns the IPv4 addresses, as the kernel writes them, on which a process listens to this port."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port}


class Serve(Case):
    def test_help_names_what_can_be_imitated(self):
        said = self.succeeds(paretoken("serve", "--help")).stdout
        for word in ("--dialect", "llama3-70b/h200x2/fp8", "reasoning=64tok", "speculative_tokens", "hiccup", "gzip"):
            self.assertIn(word, said)

    def test_the_key_comes_from_the_environment_and_is_asked_for(self):
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
        with simulated_server("--profile", "ideal", "--api-key-env", "SERVE_KEY", env={"SERVE_KEY": "sesame-123"}) as address:
            with self.assertRaises(urllib.error.HTTPError) as refused:
                ask(f"{address}/v1/chat/completions", body)
            refused.exception.close()
            self.assertEqual(refused.exception.code, 401)
            ask(f"{address}/v1/chat/completions", body, {"Authorization": "Bearer sesame-123"})
        self.fails_clearly(paretoken("serve", "--api-key-env", "NO_SUCH_KEY"), 2, "--api-key-env", "NO_SUCH_KEY")
        self.fails_clearly(paretoken("serve", "--api-key", "k", "--api-key-env", "K"), 2, "--api-key")

    def test_the_table_of_descriptors_is_as_large_as_many_streams_need(self):
        # While a process has threads, the kernel makes the thread wait 10 to 20 ms whose descriptor needs a larger table.
        with started([BINARY, "serve", "--port", 0], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
            address_from(process)
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.assertGreaterEqual(int(re.search(r"FDSize:\s+(\d+)", status).group(1)), min(hard, 65_536))

    def test_two_servers_differ_in_the_engine_unless_a_seed_is_given(self):
        def tokens_of_steps(*options):
            body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 200, "ignore_eos": True, "stream": True}
            with simulated_server("--profile", "llama3-8b-h100-bf16?speculative_tokens=3&acceptance=.5", *options) as address:
                texts = [event["choices"][0]["delta"].get("content", "")
                         for event in events(ask(f"{address}/v1/chat/completions", body)) if event.get("choices")]
            return texts
        self.assertEqual(tokens_of_steps("--seed", 7), tokens_of_steps("--seed", 7))
        first, second = tokens_of_steps(), tokens_of_steps()
        self.assertNotEqual(first, second)
        self.assertEqual("".join(first), "".join(second), "the texts are the same")

    def test_it_listens_on_the_loopback_address_unless_told(self):
        with simulated_server("--profile", "ideal") as address:
            self.assertTrue(address.startswith("http://127.0.0.1:"), address)
            port = int(address.rpartition(":")[2])
            self.assertEqual(listening_addresses(port), {"0100007F"})
        with simulated_server("--profile", "ideal", "--host", "0.0.0.0") as address:
            self.assertEqual(listening_addresses(int(address.rpartition(":")[2])), {"00000000"})

    def test_reasoning_and_a_tool_call_come_in_one_answer(self):
        with simulated_server("--profile", "ideal?ttft=1ms&itl=1ms&reasoning=3tok") as address:
            deltas = [event["choices"][0]["delta"] for event in events(ask(f"{address}/v1/chat/completions", {
                "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS, "max_tokens": 9, "stream": True,
                "ignore_eos": True}))]
            self.assertEqual(sum("reasoning" in delta for delta in deltas), 3)
            calls = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
            self.assertEqual(calls[0]["function"]["name"], "look_up")
            self.assertIn("text", json.loads("".join(call["function"].get("arguments", "") for call in calls)))
            self.assertEqual(asked_json(f"{address}/sim/truth")["requests"][0]["reasoning_tokens"], 3)

    def test_a_run_tells_the_first_token_from_the_first_answer(self):
        out = self.directory / "run"
        self.measures(paretoken("run", "sim:ideal?ttft=20ms&itl=10ms&reasoning=8tok", "--concurrency", 2,
                                "--num-prompts", 20, "--isl", 32, "--osl", 16,
                                "--extra-body", json.dumps({"tools": TOOLS}), "--out", out))
        result = run_json(out)
        first_token, first_answer = (result["metrics"][name]["p50"] for name in ("ttft_s", "ttfa_s"))
        self.assertGreater(first_token, 0.019)
        self.assertGreater(first_answer - first_token, 0.06)  # eight tokens of 10 ms
        self.assertEqual(result["workload"]["achieved_output_tokens"], 16)

    def test_llamacpps_dialect_is_measured_like_the_real_server(self):
        with simulated_server("--profile", "llama3-8b-h100-bf16", "--dialect", "llamacpp") as address:
            for endpoint in ("chat", "completions"):
                out = self.directory / endpoint
                # The run makes more requests than the server allows on one connection.
                self.measures(paretoken("run", address, "--endpoint-type", endpoint, "--concurrency", 1,
                                        "--num-prompts", 120, "--isl", 100, "--osl", 4, "--out", out))
                result = run_json(out)
                self.assertEqual(result["counts"]["ok"], 120)
                self.assertEqual(result["workload"]["achieved_output_tokens"], 4)
                self.assertAlmostEqual(result["workload"]["achieved_input_tokens"], 100, delta=2)
            self.assertEqual(asked_json(f"{address}/health"), {"status": "ok"})
            self.assertIn(b"llamacpp:tokens_predicted_total", ask(f"{address}/metrics"))
            with self.assertRaises(urllib.error.HTTPError) as refused:
                ask(f"{address}/v1/chat/completions", {"messages": "x"})
            self.assertEqual(json.loads(refused.exception.read())["error"]["type"], "invalid_request_error")

    def test_a_compressed_stream_can_be_read_and_is_no_measurement(self):
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "stream": True, "ignore_eos": True}
        with simulated_server("--profile", "ideal?ttft=1ms&itl=1ms", "--quirk", "gzip") as address:
            stream = gzip.decompress(ask(f"{address}/v1/chat/completions", body))
            self.assertEqual(len(events(stream)), 1 + 5)
            done = paretoken("run", address, "--concurrency", 1, "--num-prompts", 4, "--isl", 16, "--osl", 4, "--out",
                             self.directory / "run")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("compress", done.stdout + done.stderr)

    def test_words_go_to_tokens_and_back(self):
        with simulated_server("--profile", "ideal") as address:
            text = "Where the river carries stones, why not?"
            tokens = asked_json(f"{address}/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]
            self.assertEqual(asked_json(f"{address}/detokenize", {"tokens": tokens}), {"prompt": text})


class Cards(Case):
    def test_a_model_on_gpus_is_run_swept_and_reported(self):
        out = self.directory / "sweep"
        self.measures(paretoken("sweep", "sim:llama3-70b/h200x2/fp8?jitter=0", "--virtual", "--concurrency", "1,8,64",
                                "--num-prompts", 256, "--isl", 512, "--osl", 128, "--out", out))
        page = self.directory / "report.html"
        self.measures(paretoken("report", out, "--price", "2026-11-cloud", "--out", page))
        configuration = json.loads(page.with_suffix(".json").read_text())["configurations"][0]
        self.assertEqual(configuration["points"][0]["run"]["provenance"]["hardware_count"], 2)
        points = configuration["points"]
        self.assertEqual(len(points), 3)
        for point in points:
            self.assertGreater(point["cost"]["usd_per_m_output"], 0)
            self.assertGreater(point["of_limit"], 0.2)
            self.assertLessEqual(point["of_limit"], 1)
        run = self.directory / "run"
        self.measures(paretoken("run", "sim:llama3-8b/h100?jitter=0", "--concurrency", 2, "--num-prompts", 8,
                                "--isl", 64, "--osl", 8, "--out", run))
        self.assertEqual(run_json(run)["counts"]["ok"], 8)

    def test_speculation_does_not_beat_its_own_limit(self):
        out = self.directory / "sweep"
        self.measures(paretoken("sweep", "sim:llama3-8b/h100?speculative_tokens=3&acceptance=.8", "--virtual",
                                "--concurrency", "1,16", "--num-prompts", 128, "--isl", 128, "--osl", 256,
                                "--out", out))
        page = self.directory / "report.html"
        self.measures(paretoken("report", out, "--out", page))
        for point in json.loads(page.with_suffix(".json").read_text())["configurations"][0]["points"]:
            self.assertLessEqual(point["of_limit"], 1)

    def test_what_is_unknown_is_one_line_with_what_is_known(self):
        for target, *words in (("sim:llama9/h100", "llama9", "llama-3.1-70b"), ("sim:llama3-8b/h900", "h900", "h200"),
                               ("sim:llama3-8b/h100/fp9", "fp9"), ("sim:llama3-70b/h100", "131 GiB", "h100-sxmx4"),
                               ("sim:ideal?reasoning=x", "reasoning")):
            for command in (("run", target), ("run", target, "--virtual"), ("sweep", target, "--virtual")):
                with self.subTest(" ".join(command)):
                    done = paretoken(*command, "--num-prompts", 1, "--out", self.directory / "x")
                    self.fails_clearly(done, 2, *words)
        self.fails_clearly(paretoken("serve", "--profile", "llama9/h100"), 2, "llama9", "llama-3.1-70b")


if __name__ == "__main__":
    unittest.main()
