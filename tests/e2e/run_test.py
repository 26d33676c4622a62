"""`paretoken run` against the simulated server: the files of a run, in closed and open loop."""

import json
import unittest

from harness import (BINARY, Case, behind_tls, http_server, paretoken, request_lines, run_json, self_signed_certificate,
                     simulated_server, started)

# The keys of run.json that later versions must keep.
RUN_KEYS = {"schema", "definitions", "provenance", "plan", "workload", "validity", "window", "counts", "metrics",
            "throughput", "whole_run", "client", "series"}


class Run(Case):
    def test_a_closed_loop_leaves_a_complete_run_directory(self):
        out = self.directory / "run"
        with simulated_server() as address:
            self.measures(paretoken("run", address, "--concurrency", 8, "--num-prompts", 60, "--num-warmups", 8,
                                    "--isl", 128, "--osl", 16, "--seed", 7, "--gpu", "h100-sxm",
                                    "--metadata", "team=blue", "--out", out))
        result = run_json(out)
        self.assertEqual(result["schema"], "paretoken/run/3")
        self.assertEqual(result["definitions"], "paretoken/1")
        self.assertLessEqual(RUN_KEYS, set(result), "keys missing")
        self.assertEqual(result["counts"]["requests"], 60)
        self.assertEqual(result["counts"]["ok"], 60)
        self.assertEqual(result["counts"]["failed"], 0)
        self.assertEqual(result["counts"]["warmup"], 8)
        self.assertEqual(result["provenance"]["metadata"]["team"], "blue")
        self.assertEqual(len(result["workload"]["fingerprint"]), 16)
        self.assertAlmostEqual(result["workload"]["achieved_input_tokens"], 128, delta=2)
        self.assertEqual(result["workload"]["achieved_output_tokens"], 16)
        reasons = result["validity"]["reasons"]
        worst = max((("valid", "warn", "invalid").index(reason["severity"]) for reason in reasons), default=0)
        self.assertEqual(result["validity"]["verdict"], ("valid", "warn", "invalid")[worst], reasons)
        for metric in ("ttft_s", "itl_s", "tpot_s", "e2e_s", "send_lag_s"):
            block = result["metrics"][metric]
            self.assertGreater(block["n"], 0, metric)
            self.assertGreater(block["p50"], 0, metric)
            self.assertLessEqual(block["p50"], block["p99"], metric)
            low, high = block["ci95"].get("p50", (0, None))
            self.assertLessEqual(low, block["p50"], metric)
            if high is not None:
                self.assertGreaterEqual(high, block["p50"], metric)
        self.assertGreater(result["whole_run"]["output_tokens_per_s"], 0)

    def test_every_request_has_a_line_and_the_lines_agree_with_run_json(self):
        out = self.directory / "run"
        self.measures(paretoken("run", "sim:ideal", "--concurrency", 4, "--num-prompts", 40, "--num-warmups", 4,
                                "--isl", 64, "--osl", 8, "--out", out))
        lines = request_lines(out)
        self.assertEqual(len(lines), 44)
        self.assertEqual(len({line["id"] for line in lines}), 44)
        measured = [line for line in lines if not line.get("warmup")]
        self.assertEqual(len(measured), 40)
        self.assertEqual({line["outcome"] for line in measured}, {"ok"})
        first_due = min(line["scheduled_s"] for line in measured)
        self.assertGreater(first_due, 0, "warm-up comes first")
        self.assertAlmostEqual(run_json(out)["window"]["zero_s"], first_due, places=6)
        result = run_json(out)
        zero, begin, end = (result["window"][key] for key in ("zero_s", "begin_s", "end_s"))
        ttfts = [line["first_event_s"] - line["sent_s"] for line in measured
                 if begin <= round(line["scheduled_s"] - zero, 9) < end]
        self.assertEqual(result["metrics"]["ttft_s"]["n"], len(ttfts))
        self.assertAlmostEqual(result["metrics"]["ttft_s"]["min"], min(ttfts), places=6)
        self.assertAlmostEqual(result["metrics"]["ttft_s"]["max"], max(ttfts), places=6)

    def test_an_open_loop_keeps_the_rate_that_was_asked_for(self):
        out = self.directory / "run"
        self.measures(paretoken("run", "sim:llama3-8b-h100-bf16", "--request-rate", 40, "--num-prompts", 200,
                                "--isl", 64, "--osl", 8, "--goodput", "ttft:500 tpot:100", "--out", out))
        result = run_json(out)
        self.assertEqual(result["counts"]["ok"], 200)
        # 200 Poisson arrivals last 5 s ± 7 %; four standard deviations are allowed.
        self.assertAlmostEqual(result["whole_run"]["requests_per_s"], 40, delta=14)
        self.assertIn("ttft_intended_s", result["metrics"])
        self.assertGreater(result["whole_run"]["goodput_per_s"], 0)

    def test_completions_take_token_id_prompts_of_the_exact_length(self):
        out = self.directory / "run"
        with simulated_server() as address:
            self.measures(paretoken("run", address, "--endpoint-type", "completions", "--concurrency", 2,
                                    "--num-prompts", 12, "--isl", 333, "--osl", 4, "--out", out))
        workload = run_json(out)["workload"]
        self.assertEqual(workload["prompt_form"], "token ids")
        self.assertEqual(workload["achieved_input_tokens"], 333)

    def test_a_run_without_a_url_starts_the_simulated_server_and_stops_it(self):
        out = self.directory / "run"
        done = self.measures(paretoken("run", "--concurrency", 2, "--num-prompts", 6, "--isl", 32, "--osl", 4,
                                       "--out", out))
        self.assertTrue(run_json(out)["provenance"]["hardware"].startswith("sim:"), done.stdout)
        for line in (done.stdout + done.stderr).splitlines():
            self.assertNotIn("\x1b", line, "escape codes in output that is no terminal")

    def test_the_summary_fits_80_columns(self):
        done = self.measures(paretoken("run", "--concurrency", 4, "--num-prompts", 30, "--isl", 32, "--osl", 8,
                                       "--out", self.directory / "run"))
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertRegex(done.stdout, "TTFT")

    def test_a_duration_ends_the_run(self):
        out = self.directory / "run"
        self.measures(paretoken("run", "--concurrency", 2, "--duration", "2s", "--isl", 32, "--osl", 8, "--out", out))
        self.assertAlmostEqual(run_json(out)["window"]["run_s"], 2, delta=1)

    def test_prompts_of_a_file_get_answers_of_the_wanted_length(self):
        prompts = self.directory / "prompts.jsonl"
        prompts.write_text('{"prompt": "Hello there"}\n'
                           '{"messages": [{"role": "user", "content": "Hi"}], "output_tokens": 6}\n')
        out = self.directory / "run"
        self.measures(paretoken("run", "--dataset", "custom", "--dataset-path", prompts, "--osl", 3, "--num-prompts", 4,
                                "--out", out))
        self.assertEqual(sorted(line["completion_tokens"] for line in request_lines(out)), [3, 3, 6, 6])

    def test_headers_and_extra_body_reach_the_server(self):
        seen = []

        def answer(method, path, headers, body):
            if method == "GET" and path == "/v1/models":
                return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
            if not path.startswith("/v1/"):
                return 404, "text/plain", b"not here"
            seen.append((dict(headers), json.loads(body)))
            choice = {"index": 0, "delta": {"content": "word"}, "finish_reason": None}
            ends = {"index": 0, "delta": {}, "finish_reason": "length"}
            usage = {"prompt_tokens": 8, "completion_tokens": 1, "total_tokens": 9}
            if not seen[-1][1].get("stream"):
                whole = {"choices": [{"index": 0, "message": {"content": "word"}, "finish_reason": "length"}],
                         "usage": usage}
                return 200, "application/json", json.dumps(whole).encode()
            events = [{"choices": [choice]}, {"choices": [ends]}, {"choices": [], "usage": usage}]
            text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
            return 200, "text/event-stream", text.encode()

        with http_server(answer) as address:
            self.measures(paretoken("run", address, "--concurrency", 1, "--num-prompts", 3, "--isl", 8, "--osl", 1,
                                    "-H", "X-Team: blue", "--extra-body", '{"top_k": 5}', "--out",
                                    self.directory / "run", env={"OPENAI_API_KEY": "sesame"}))
        headers, body = seen[-1]
        self.assertEqual(headers.get("X-Team"), "blue")
        self.assertEqual(headers.get("Authorization"), "Bearer sesame")
        self.assertEqual(body.get("top_k"), 5)
        text = "".join(file.read_text(errors="replace") for file in (self.directory / "run").iterdir())
        self.assertNotIn("sesame", text, "the key must not be written to disk")

    def test_a_run_in_which_every_request_failed_does_not_exit_0(self):
        def answer(method, path, _headers, _body):
            if method == "GET" and path == "/v1/models":
                return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
            return 500, "application/json", b'{"error":{"message":"out of memory"}}'

        with http_server(answer) as address:
            done = paretoken("run", address, "--concurrency", 2, "--num-prompts", 6, "--isl", 8, "--osl", 4,
                             "--out", self.directory / "run")
        self.assertIn(done.returncode, (3, 4), done.stderr)
        self.assertIn("out of memory", done.stdout + done.stderr)


    def test_handshakes_come_before_the_load(self):
        certificate = self_signed_certificate(self.directory)
        with simulated_server("--profile", "ideal?ttft=20ms&itl=5ms") as plain, behind_tls(plain, certificate) as address:
            for ahead in (True, False):
                out = self.directory / f"ahead-{ahead}"
                done = paretoken("run", address, "--ca-file", self.directory / "cert.pem", "--concurrency", 32,
                                 "--num-prompts", 96, "--isl", 16, "--osl", 8, "--ramp-up", 0, "--out", out,
                                 *([] if ahead else ["--no-preconnect"]))
                self.assertIn(done.returncode, (0, 4), done.stderr)  # a busy host may make the run invalid
                client = run_json(out)["client"]
                self.assertEqual(client["connections_opened"], 32)
                self.assertEqual(client["connections_opened_ahead"], 32 if ahead else 0)
                self.assertEqual(client["opening_ahead_s"] > 0, ahead)
                lines = request_lines(out)
                self.assertEqual([line["outcome"] for line in lines], ["ok"] * 96)
                self.assertEqual(sum("tls_s" in line for line in lines), 0 if ahead else 32, lines[0])


class Serve(Case):
    def test_the_simulated_server_answers_what_tools_ask_first(self):
        import urllib.request
        with simulated_server("--profile", "ideal") as address:
            def get(path):
                with urllib.request.urlopen(address + path, timeout=5) as answer:
                    return answer.status, answer.read().decode()
            self.assertEqual(get("/health")[0], 200)
            self.assertTrue(json.loads(get("/v1/models")[1])["data"][0]["id"])
            self.assertIn("vllm:num_requests_running", get("/metrics")[1])
            self.assertEqual(get("/sim/truth")[0], 200)

    def test_the_server_ends_orderly_on_an_interrupt(self):
        import signal
        import subprocess

        from harness import address_from
        with started([BINARY, "serve", "--port", 0], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
            address_from(process)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=10), 0)


class Version(Case):
    def test_the_version_names_the_commit_the_build_and_the_kernels(self):
        done = self.succeeds(paretoken("--version"))
        self.assertRegex(done.stdout, r"^paretoken \d+\.\d+\.\d+ \([0-9a-f]{7,}(-dirty)?\)\nbuild type: \w+\nCPU kernels: scalar")


if __name__ == "__main__":
    unittest.main()
