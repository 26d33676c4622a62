"""The metrics of a server (/metrics) are written to run.json, and faulty ones never make a run fail."""

import gzip
import json
import time
import unittest

from harness import Case, http_server, llamacpp, paretoken, refused_port, run_json, simulated_server

LOAD = ("--concurrency", 4, "--num-prompts", 40, "--isl", 64, "--osl", 32)


class ServerMetrics(Case):
    busy = True

    def run_of(self, *arguments):
        out = self.directory / "run"
        done = self.measures(paretoken("run", *LOAD, *arguments, "--out", out))
        return done, run_json(out), out

    def test_the_counters_of_the_simulated_server_are_what_was_asked_of_it(self):
        done, result, out = self.run_of("sim:llama3-8b-h100-bf16")
        server = result["server"]
        self.assertEqual(server["engine"], "vllm")
        self.assertEqual(server["whole_run"]["generation_tokens"], 40 * 32)
        self.assertEqual(server["asked"]["generation_tokens"], 40 * 32)
        self.assertEqual(server["whole_run"]["prompt_tokens"], server["asked"]["prompt_tokens"])
        self.assertEqual(server["whole_run"]["requests"], 40)
        self.assertEqual(server["failed_scrapes"], 0)
        lines = [json.loads(line) for line in (out / "server.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), server["scrapes"])
        self.assertEqual([line["at_s"] for line in lines], sorted(line["at_s"] for line in lines))
        self.assertIn("/metrics", paretoken("show", out).stdout)
        self.assertEqual({s["name"] for s in result["series"] if s["source"] == "server"},
                         {"running", "waiting", "kv_usage"})

    def test_the_prefix_hits_of_llama_cpp_are_those_of_its_usage(self):
        with llamacpp() as url:
            _, result, _ = self.run_of(url, "--num-prompts", 12, "--osl", 16)
        server = result["server"]
        self.assertEqual(server["engine"], "llamacpp")
        cached = result["whole_run"].get("cached_prompt_ratio")
        if cached is not None:
            self.assertAlmostEqual(server["whole_run"]["prefix_hit_ratio"], cached, delta=0.02)
        self.assertEqual(server["whole_run"]["generation_tokens"], server["asked"]["generation_tokens"])

    def test_none_asks_for_nothing(self):
        _, result, out = self.run_of("sim:llama3-8b-h100-bf16", "--scrape", "none")
        self.assertNotIn("server", result)
        self.assertFalse((out / "server.jsonl").exists())

    def test_metrics_that_cannot_be_read_are_one_warning(self):
        place = f"http://127.0.0.1:{refused_port()}/metrics"
        done, result, _ = self.run_of("sim:llama3-8b-h100-bf16", "--scrape", place)
        self.assertIn(f"--scrape {place}: Connection refused", done.stderr)
        self.assertEqual([r["check"] for r in result["validity"]["reasons"] if r["check"] == "scrape"], ["scrape"])
        self.assertEqual(result["counts"]["ok"], 40)

    def test_a_slow_page_is_read_before_the_load_begins(self):
        def answer(*_):
            time.sleep(1.5)
            return 200, "text/plain", b"vllm:num_requests_running 1\n"

        with http_server(answer) as url:
            out = self.directory / "slow"
            done = self.measures(paretoken("run", "sim:ideal", "--request-rate", 40, "--num-prompts", 80, "--isl", 16, "--osl", 8,
                                           "--scrape", f"{url}/metrics", "--out", out))
        self.assertIn("to read", done.stderr)
        lines = [json.loads(line) for line in (out / "requests.jsonl").read_text().splitlines()]
        late = [line["started_s"] - line["scheduled_s"] for line in lines if "started_s" in line]
        self.assertLess(sorted(late)[len(late) // 2], .5, "no request waits for the first page")
        self.assertLess(json.loads((out / "server.jsonl").read_text().splitlines()[0])["at_s"], 0)

    def test_a_page_that_is_no_metrics_is_one_warning(self):
        with http_server(lambda *_: (200, "text/html", b"<html>Welcome</html>")) as url:
            done, result, _ = self.run_of("sim:llama3-8b-h100-bf16", "--scrape", f"{url}/metrics")
        self.assertEqual(done.stderr.count(f"--scrape {url}/metrics: no known metric"), 1, done.stderr)
        self.assertIn("scrape", [r["check"] for r in result["validity"]["reasons"]])
        self.assertIn("no known metric", result["server"]["note"])

    def of_a_server_behind_a_prefix(self, prefixed, moves):
        """Returns the result of a run against BASE/x, whose root has metrics that count requests or do not."""
        posts = [0]

        def answer(method, path, _headers, _body):
            if path == "/x/v1/models":
                return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
            if path == "/metrics" or (prefixed and path == "/x/metrics"):
                count = posts[0] if moves or path == "/x/metrics" else 7
                return 200, "text/plain", f"vllm:generation_tokens_total {count}\nvllm:num_requests_running 1\n".encode()
            if path != "/x/v1/chat/completions":
                return 404, "text/plain", b""
            posts[0] += 1
            chunk = {"choices": [{"index": 0, "delta": {"content": "word"}, "finish_reason": "length"}]}
            usage = {"choices": [], "usage": {"prompt_tokens": 64, "completion_tokens": 1}}
            return 200, "text/event-stream", "".join(f"data: {text}\n\n" for text in (
                json.dumps(chunk), json.dumps(usage), "[DONE]")).encode()

        with http_server(answer) as url:
            out = self.directory / f"run-{prefixed}-{moves}"
            done = self.measures(paretoken("run", f"{url}/x", *LOAD[:4], "--isl", 64, "--osl", 1, "--out", out))
            return done, run_json(out), out

    def test_metrics_below_a_prefix_go_before_those_of_the_root(self):
        _, result, _ = self.of_a_server_behind_a_prefix(prefixed=True, moves=False)
        self.assertTrue(result["server"]["config"]["metrics_url"].endswith("/x/metrics"))
        self.assertEqual(result["server"]["whole_run"]["generation_tokens"], 40)

    def test_metrics_of_the_root_are_read_only_if_they_count_the_requests(self):
        _, result, _ = self.of_a_server_behind_a_prefix(prefixed=False, moves=True)
        self.assertFalse(result["server"]["config"]["metrics_url"].endswith("/x/metrics"))
        self.assertEqual(result["server"]["whole_run"]["generation_tokens"], 40)
        done, result, _ = self.of_a_server_behind_a_prefix(prefixed=False, moves=False)
        self.assertNotIn("server", result)
        self.assertIn("/metrics are not read", done.stderr.replace("\n", " "))

    def test_what_cannot_be_a_place_of_metrics_is_refused(self):
        for arguments, words in ((("--scrape", "sometimes"), ("--scrape", "sometimes")),
                                 (("--scrape", "node=9100"), ("--scrape", "NAME=URL")),
                                 (("--scrape-keep", "node_["), ("--scrape-keep", "node_[", "not a regular expression")),
                                 (("--scrape-interval", "100ms"), ("--scrape-interval", "1s"))):
            self.fails_clearly(paretoken("run", "sim:ideal", *LOAD, *arguments, "--out", self.directory / "no"), 2, *words)


NODE = b"""# HELP node_load1 1m load average.
# TYPE node_load1 gauge
node_load1 0.25
node_load15 0.5
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 100.5
"""


class Exporters(Case):
    """Series of other exporters are kept beside those of the server."""

    def test_the_series_that_match_are_kept_and_the_servers_own_metrics_stay(self):
        with http_server(lambda *_: (200, "text/plain; version=0.0.4", NODE)) as url:
            out = self.directory / "run"
            done = self.measures(paretoken("run", "sim:llama3-8b-h100-bf16", *LOAD, "--scrape", f"node={url}/metrics",
                                           "--scrape-keep", "node_load1", "--scrape-keep", "node_cpu.*", "--out", out))
        result = run_json(out)
        self.matches_schema(out / "run.json", "run")
        kept = {s["name"]: s for s in result["series"] if s["source"] == "node"}
        self.assertEqual(set(kept), {"node_load1", 'node_cpu_seconds_total{cpu="0",mode="idle"}'})
        self.assertEqual(set(kept["node_load1"]["values"]), {0.25})
        self.assertGreaterEqual(len(kept["node_load1"]["values"]), 2, "once before the load and once after it")
        self.assertEqual(result["server"]["engine"], "vllm")
        self.assertEqual(result["server"]["failed_scrapes"], 0)
        lines = [json.loads(line) for line in (out / "server.jsonl").read_text().splitlines()]
        nodes = [line for line in lines if line.get("place") == "node"]
        self.assertEqual(len(nodes), len(kept["node_load1"]["values"]))
        self.assertEqual(nodes[0]["kept"]["node_load1"], 0.25)
        self.assertNotIn("node_load15", nodes[0]["kept"])
        self.assertEqual(len(lines) - len(nodes), result["server"]["scrapes"])
        self.assertNotIn("--scrape node", done.stderr)

    def test_an_exporter_that_is_not_there_or_keeps_nothing_is_one_warning(self):
        with http_server(lambda *_: (200, "text/plain", NODE)) as url:
            done = self.measures(paretoken("sweep", "sim:llama3-8b-h100-bf16", "--num-prompts", 20, "--isl", 32, "--osl", 8,
                                           "--concurrency", "1,2", "--scrape", f"node={url}/metrics",
                                           "--scrape", f"gone=http://127.0.0.1:{refused_port()}/metrics",
                                           "--scrape-keep", "node_nothing", "--out", self.directory / "sweep"))
        said = done.stdout + done.stderr
        self.assertEqual(said.count("none of the 3 series that it gave matches --scrape-keep"), 1, said)
        self.assertEqual(said.count("--scrape gone="), 1, said)

    def test_two_servers_are_told_as_two_engines(self):
        def of(running, tokens):
            return lambda *_: (200, "text/plain", b"vllm:num_requests_running %d\nvllm:generation_tokens_total %d\n"
                               % (running, tokens))

        with http_server(of(3, 10)) as one, http_server(of(1, 20)) as other:
            out = self.directory / "run"
            self.measures(paretoken("run", "sim:llama3-8b-h100-bf16", *LOAD, "--scrape", f"{one}/metrics", "--scrape",
                                    f"{other}/metrics", "--out", out))
        server = run_json(out)["server"]
        self.assertEqual(server["engines"], 2)
        self.assertEqual(server["whole_run"]["running"], 4)
        self.assertEqual(server["whole_run"]["running_imbalance"], 1.5)

    def test_credentials_of_an_exporter_are_hidden_everywhere(self):
        out = self.directory / "run"
        done = paretoken("run", "sim:llama3-8b-h100-bf16", *LOAD, "--scrape",
                         f"node=http://user:hunter2secret@127.0.0.1:{refused_port()}/metrics", "--scrape-keep", "x", "--out", out)
        said = done.stdout + done.stderr + "".join(f.read_text(errors="replace") for f in out.iterdir() if f.is_file())
        self.assertNotIn("hunter2secret", said)


class Settings(Case):
    def test_what_a_server_says_of_its_settings_and_drafts_is_kept(self):
        with simulated_server("--profile", "llama3-8b-h100-bf16?speculative_tokens=3&acceptance=.8") as url:
            out = self.directory / "run"
            self.measures(paretoken("run", url, *LOAD, "--out", out))
        server = run_json(out)["server"]
        self.assertEqual(server["config"]["cache_config.block_size"], "16")
        self.assertIn("version", server["config"])
        shares = server["accepted_per_position"]
        self.assertEqual(len(shares), 3)
        self.assertEqual(shares, sorted(shares, reverse=True), "a token counts only behind accepted ones")
        self.assertAlmostEqual(sum(shares) / 3, server["window"]["acceptance_ratio"], delta=0.1)
        self.assertNotIn("engines", server)


class Contamination(Case):
    """Prompts that share nothing must not be found in the server's cache."""

    def test_a_salt_that_was_used_before_is_said(self):
        with simulated_server("--profile", "llama3-8b-h100-bf16") as url:
            checks = []
            for name, salt in (("first", ("--salt", "s")), ("again", ("--salt", "s")), ("fresh", ())):
                out = self.directory / name
                self.measures(paretoken("run", url, "--concurrency", 4, "--num-prompts", 40, "--isl", 256, "--osl", 8, *salt,
                                        "--out", out))
                result = run_json(out)
                self.assertIn("cached_by_template", result["workload"])
                checks.append([r["check"] for r in result["validity"]["reasons"]].count("cache_contaminated"))
        self.assertEqual(checks, [0, 1, 0])


class Hostile(Case):
    """/metrics becomes faulty during the load: there is one warning, and the figures of all requests stay."""

    long = True

    GOOD = b"vllm:num_requests_running 2\nvllm:generation_tokens_total 5\n"

    def answers(self, kind):
        asked = []

        def answer(*_):
            asked.append(kind)
            if len(asked) == 1:
                return 200, "text/plain", self.GOOD
            if kind == "stalled":
                time.sleep(60)
            return {"html": (200, "text/html", b"<html>Welcome</html>"),
                    "gzipped": (200, "text/plain", gzip.compress(self.GOOD)),
                    "endless": (200, "text/plain", b"x 1\n" * (5 << 20)),
                    "renamed": (200, "text/plain", b"vllm_v2_num_requests_running 2\n"),
                    "refused": (503, "text/plain", b"busy"),
                    "empty": (200, "text/plain", b"")}.get(kind, (200, "text/plain", self.GOOD))

        return answer

    def test_each_kind_is_one_warning_and_costs_no_request(self):
        for kind in ("html", "gzipped", "endless", "renamed", "refused", "empty", "stalled"):
            with self.subTest(kind), http_server(self.answers(kind)) as url:
                out = self.directory / kind
                done = self.measures(paretoken("run", "sim:llama3-8b-h100-bf16", *LOAD, "--scrape", f"{url}/metrics", "--out", out))
                result = run_json(out)
                self.assertEqual(result["counts"]["ok"], 40)
                self.assertEqual([r["check"] for r in result["validity"]["reasons"]].count("scrape"), 1, done.stdout)
                self.assertEqual(result["metrics"]["ttft_s"]["n"], result["counts"]["in_window"])
                self.assertEqual(result["server"]["scrapes"], 1)
                self.assertGreaterEqual(result["server"]["failed_scrapes"], 1)
                self.assertTrue(result["server"]["note"])


if __name__ == "__main__":
    unittest.main()
