"""What a server says of itself on /metrics ends in run.json, and never costs a run."""

import gzip
import json
import time
import unittest

from harness import Case, http_server, llamacpp, paretoken, refused_port, run_json

LOAD = ("--concurrency", 4, "--num-prompts", 40, "--isl", 64, "--osl", 32)


class ServerMetrics(Case):
    def run_of(self, *arguments):
        out = self.directory / "run"
        done = self.measures(paretoken("run", *arguments, *LOAD, "--out", out))
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
        self.assertIn("/metrics", done.stdout)
        self.assertEqual({s["name"] for s in result["series"] if s["source"] == "server"},
                         {"running", "waiting", "kv_usage"})

    def test_the_prefix_hits_of_llama_cpp_are_those_of_its_usage(self):
        with llamacpp() as url:
            _, result, _ = self.run_of(url)
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
        _, result, _ = self.run_of("sim:llama3-8b-h100-bf16", "--scrape", f"http://127.0.0.1:{refused_port()}/metrics")
        self.assertEqual([r["check"] for r in result["validity"]["reasons"] if r["check"] == "scrape"], ["scrape"])
        self.assertEqual(result["counts"]["ok"], 40)

    def test_a_page_that_is_no_metrics_is_one_warning(self):
        with http_server(lambda *_: (200, "text/html", b"<html>Welcome</html>")) as url:
            _, result, _ = self.run_of("sim:llama3-8b-h100-bf16", "--scrape", f"{url}/metrics")
        self.assertIn("scrape", [r["check"] for r in result["validity"]["reasons"]])
        self.assertIn("no known metric", result["server"]["note"])

    def test_what_cannot_be_a_place_of_metrics_is_refused(self):
        for arguments, words in ((("--scrape", "sometimes"), ("--scrape", "sometimes")),
                                 (("--scrape-interval", "100ms"), ("--scrape-interval", "1s"))):
            self.fails_clearly(paretoken("run", "sim:ideal", *LOAD, *arguments, "--out", self.directory / "no"), 2, *words)


class Hostile(Case):
    """/metrics that goes bad while the load is made: one warning, and every request's figures stay."""

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
