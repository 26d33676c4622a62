"""Loads that mix things: request classes, several servers, users who hang up, several models."""

import json
import threading
import unittest

from harness import Case, http_server, paretoken, request_lines, run_json, simulated_server


def measured(directory):
    return [record for record in request_lines(directory) if not record.get("warmup")]


class Recipes(Case):
    def test_smaller_chunks_freeze_streams_for_less_time_and_delay_the_long_prompt(self):
        stalls, waits = [], []
        for tokens in 32768, 2048, 512:
            out = self.directory / str(tokens)
            self.succeeds(paretoken("run", f"sim:llama3-8b-h100-bf16?max_batched_tokens={tokens}", "--virtual", "--salt", "s",
                                    "--recipe", "long-prefill", "--out", out))
            classes = run_json(out)["classes"]
            stalls.append(classes["decode"]["metrics"]["stall_s"]["p99"])
            waits.append(classes["long"]["metrics"]["ttft_s"]["p50"])
        self.assertEqual(stalls, sorted(stalls, reverse=True))
        self.assertGreater(stalls[0], 10 * stalls[2])
        self.assertEqual(waits, sorted(waits))
        # A stream waits for a step that computes a whole chunk of the long prompt. In this profile 32,000 tokens take 21.8 µs
        # each, and attention takes more time.
        self.assertGreater(stalls[0], 32000 * 21.8e-6)
        self.assertLess(stalls[2], 0.1)


class Classes(Case):
    def test_interactive_and_batch_requests_add_up_and_are_told_apart(self):
        interactive = "interactive:rate=4,isl=512,osl=64,goodput=ttft:500"
        common = ("run", "sim:llama3-8b-h100-fp8", "--virtual", "--salt", "s", "--duration", "300s", "--stop", "diverging=off")
        both, alone = self.directory / "both", self.directory / "alone"
        self.succeeds(paretoken(*common, "--class", interactive, "--class", "batch:rate=.5,isl=8k,osl=256", "--out", both))
        self.succeeds(paretoken(*common, "--class", interactive, "--out", alone))
        result, without = run_json(both), run_json(alone)
        classes = result["classes"]
        self.assertEqual(set(classes), {"interactive", "batch"})
        for key in ("requests", "ok", "in_window"):
            self.assertEqual(sum(scope["counts"][key] for scope in classes.values()), result["counts"][key])
        for totals in ("totals", "whole_run_totals"):
            for key in ("output_tokens", "fresh_input_tokens", "requests"):
                self.assertAlmostEqual(sum(scope[totals][key] for scope in classes.values()), result[totals][key], delta=1e-3)
        p99 = classes["interactive"]["metrics"]["ttft_intended_s"]["p99"]
        pooled = result["metrics"]["ttft_intended_s"]["p99"]
        self.assertGreater(abs(p99 / pooled - 1), 0.2)
        self.assertGreater(p99, without["metrics"]["ttft_intended_s"]["p99"])
        self.assertIn("goodput_ratio", classes["interactive"]["throughput"])
        self.assertNotIn("goodput_ratio", classes["batch"]["throughput"])
        due = [sorted(r["scheduled_s"] for r in measured(d) if r["class"] == "interactive") for d in (both, alone)]
        self.assertEqual(len(due[0]), len(due[1]))
        for a, b in zip(*due):
            self.assertAlmostEqual(a, b, places=6)

    def test_a_sweep_varies_the_classes_that_do_not_give_the_level_themselves(self):
        out = self.directory / "sweep"
        sweep = ("sweep", "sim:llama3-8b-h100-bf16", "--virtual", "--duration", "20s", "--concurrency", "1,8")
        done = self.measures(paretoken(*sweep, "--class", "chat:isl=64,osl=32", "--class",
                                       "batch:concurrency=4,isl=512,osl=16", "--out", out))
        self.assertIn("c=5 ", done.stdout)
        self.assertIn("c=12 ", done.stdout)
        requests = [{name: of["counts"]["requests"] for name, of in run_json(out / point)["classes"].items()}
                    for point in ("c0001", "c0008")]
        self.assertGreater(requests[1]["chat"], 4 * requests[0]["chat"])
        self.assertLess(requests[1]["batch"], 1.1 * requests[0]["batch"])
        self.fails_clearly(paretoken(*sweep, "--class", "a:concurrency=4", "--out", out), 2, "every --class", "concurrency")

    def test_classes_go_side_by_side_over_sockets(self):
        out = self.directory / "run"
        with simulated_server("--profile", "ideal?ttft=5ms&itl=1ms") as address:
            self.measures(paretoken("run", address, "--class", "open:rate=40,isl=20,osl=4", "--class",
                                    "closed:concurrency=2,isl=30,osl=8,think_time=10ms", "--duration", "2s", "--workers", 2,
                                    "--stop", "diverging=off", "--out", out))
        records = measured(out)
        by_class = {name: [r for r in records if r["class"] == name] for name in ("open", "closed")}
        self.assertEqual(sum(map(len, by_class.values())), len(records))
        self.assertAlmostEqual(len(by_class["open"]), 80, delta=40)
        self.assertGreater(len(by_class["closed"]), 20)
        self.assertEqual({r["completion_tokens"] for r in by_class["closed"]}, {8})
        self.assertEqual(len({r["index"] for r in records}), len(records))

    def test_a_class_that_cannot_be_made_is_refused_in_one_line(self):
        out = self.directory / "run"
        for specs, words in ((["a:isl=5"], ["--class a", "load"]), (["a:rate=1,x=2"], ["--class a", "x=2"]),
                             (["a"], ["--class", "NAME:KEY=VALUE"]), (["a:rate=1", "b:concurrency=1"], ["--duration"]),
                             (["a:rate=-1"], ["--class a", "rate"])):
            with self.subTest(specs):
                options = [word for spec in specs for word in ("--class", spec)]
                self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", *options, "--out", out), 2, *words)


class SlosOfRows(Case):
    def test_a_row_is_held_against_its_own_limits_and_goodput_equals_a_count_by_hand(self):
        rows = self.directory / "rows.jsonl"
        rows.write_text('{"prompt": "a", "output_tokens": 4, "slo": "ttft:60000 tpot:60000"}\n'
                        '{"prompt": "b", "output_tokens": 4, "slo": "ttft:1"}\n'
                        '{"prompt": "c", "output_tokens": 4}\n')
        for how in ("--virtual",), ():
            out = self.directory / "".join(("run", *how))
            self.measures(paretoken("run", "sim:ideal?ttft=20ms&itl=1ms", *how, "--dataset-path", rows, "--concurrency", 2,
                                    "--num-prompts", 30, "--goodput", "ttft:1", "--out", out))
            slos = [r.get("slo") for r in measured(out)]
            self.assertEqual([slos.count(slo) for slo in ("ttft:60000 tpot:60000", "ttft:1", None)], [10] * 3)
            self.assertAlmostEqual(run_json(out)["whole_run"]["goodput_ratio"], 10 / 30)

        converted = self.directory / "converted.jsonl"
        self.succeeds(paretoken("dataset", "convert", rows, converted))
        self.assertEqual([json.loads(line).get("slo") for line in converted.read_text().splitlines()],
                         ["ttft:60000 tpot:60000", "ttft:1", None])

        page = self.directory / "page.html"
        out = self.directory / "run--virtual"  # over sockets a busy machine makes runs invalid
        self.succeeds(paretoken("report", out, "--gpu", "h100-sxm", "--refold", "--goodput", "ttft:60000", "--out", page))
        report = json.loads(page.with_suffix(".json").read_text())
        point = report["configurations"][0]["points"][0]["run"]
        self.assertAlmostEqual(point["whole_run"]["goodput_ratio"], 20 / 30, msg="rows keep their own limits")
        self.matches_schema(out / "requests.jsonl", "request")

    def test_a_row_with_limits_that_cannot_be_read_is_named(self):
        rows = self.directory / "rows.jsonl"
        rows.write_text('{"prompt": "a"}\n{"prompt": "b", "slo": "speed:5"}\n')
        self.fails_clearly(paretoken("run", "sim:ideal", "--dataset-path", rows, "--osl", 4, "--out", self.directory / "run"), 2,
                           "rows.jsonl:2", '"slo"', "speed")


class Targets(Case):
    def test_several_servers_are_loaded_by_route_and_told_apart(self):
        with simulated_server("--profile", "ideal?ttft=5ms&itl=1ms") as a, \
                simulated_server("--profile", "ideal?ttft=40ms&itl=1ms") as b:
            for route in ("round-robin", "least-in-flight", "prefix"):
                with self.subTest(route):
                    out = self.directory / route
                    self.measures(paretoken("run", f"{a},{b}", "--route", route, "--isl", 20, "--osl", 4, "--concurrency", 6,
                                            "--num-prompts", 120, "--out", out))
                    result = run_json(out)
                    self.assertEqual([target["url"] for target in result["targets"]], [a, b])
                    counts = [target["counts"]["requests"] for target in result["targets"]]
                    self.assertEqual(sum(counts), 120)
                    self.assertEqual(counts, [sum(r["target"] == i for r in measured(out)) for i in (0, 1)])
                    if route == "round-robin":
                        self.assertEqual(counts, [60, 60])
                    if route == "least-in-flight":
                        self.assertGreater(counts[0], counts[1], "the faster one is free more often")
                    self.assertGreater(min(counts), 0)
                    self.assertEqual(result["provenance"]["hardware_count"], 2, "each simulated server is hardware of its own")
                    slower = result["targets"][1]["metrics"]["ttft_s"]["p50"]
                    self.assertGreater(slower, result["targets"][0]["metrics"]["ttft_s"]["p50"])

    def test_what_cannot_be_done_with_several_servers_is_said(self):
        out = self.directory / "run"
        self.fails_clearly(paretoken("run", "sim:ideal,sim:ideal", "--virtual", "--out", out), 2, "--virtual")
        self.fails_clearly(paretoken("run", "sim:ideal", "--route", "random", "--out", out), 2, "--route", "prefix")


class HangingUp(Case):
    def test_users_who_hang_up_are_neither_good_nor_bad(self):
        out = self.directory / "run"
        with simulated_server("--profile", "ideal?ttft=20ms&itl=10ms") as address:
            self.measures(paretoken("run", address, "--cancel", "p=.3,after=150ms", "--isl", 20, "--osl", 100, "--concurrency",
                                    8, "--num-prompts", 80, "--goodput", "ttft:10000", "--out", out))
        records = measured(out)
        abandoned = [r for r in records if r["outcome"] == "abandoned"]
        self.assertAlmostEqual(len(abandoned), 24, delta=18)
        self.assertEqual({r["outcome"] for r in records}, {"ok", "abandoned"})
        for record in abandoned:
            self.assertGreater(record["closed_s"] - record["started_s"], 0.1499)
            self.assertLess(record.get("streamed_tokens", 0), 100)
        result = run_json(out)
        self.assertEqual(result["counts"]["abandoned"], len(abandoned))
        self.assertEqual(result["counts"]["failed"], 0)
        self.assertEqual(result["whole_run_totals"]["judged"], 80 - len(abandoned))

    def test_percentiles_beyond_the_patience_of_users_are_those_of_the_requests_that_were_waited_for(self):
        out = self.directory / "run"
        self.succeeds(paretoken("run", "sim:ideal?ttft=200ms&itl=10ms", "--virtual", "--cancel", "p=.2,after=100ms",
                                "--concurrency", 4, "--num-prompts", 200, "--isl", 20, "--osl", 5, "--out", out))
        ttft = run_json(out)["metrics"]["ttft_s"]
        self.assertEqual(ttft["p50"], .2)
        self.assertNotIn("p50", ttft["ci95"])
        self.assertFalse(ttft["certified"]["p50"])
        self.assertEqual(ttft["failed_mass"], 0)

    def test_what_is_no_way_to_hang_up_is_refused(self):
        for text in ("p=2,after=1s", "after=1s", "p=.1", "p=.1,after=x"):
            self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--cancel", text, "--out", self.directory / "run"), 2,
                               "--cancel")


class Requests(Case):
    def collected(self, name, *options):
        """Returns the bodies of the measured requests, in any order, and the times when they were due, counted from the
        first one."""
        bodies, lock = [], threading.Lock()

        def answer(method, path, headers, body):
            if method == "GET" and path == "/v1/models":
                return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
            if method == "GET" or not path.startswith("/v1/"):
                return 404, "text/plain", b"not here"
            with lock:
                bodies.append(body)
            choice = {"index": 0, "message": {"content": "word"}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 8, "completion_tokens": 1}
            return 200, "application/json", json.dumps({"choices": [choice], "usage": usage}).encode()

        out = self.directory / name
        with http_server(answer) as address:
            done = paretoken("run", address, *options, "--no-ignore-eos", "--scrape", "none", "--out", out)
            self.assertIn(done.returncode, (0, 4), done.stderr)
        records = sorted(measured(out), key=lambda r: r["index"])
        due = [r["scheduled_s"] - records[0]["scheduled_s"] for r in records]
        return sorted(bodies[-len(records):]), due

    def test_the_same_seed_and_salt_send_the_same_bodies_at_the_same_times_with_one_worker_and_with_two(self):
        options = ("--seed", 5, "--prompt-form", "text", "--class", "short:rate=100,isl=uniform:min=8;max=40,osl=4",
                   "--class", "long:rate=50,isl=64,osl=uniform:min=1;max=9", "--num-prompts", 60, "--stop", "diverging=off")
        (one, due_one), (two, due_two) = (self.collected(f"w{n}", *options, "--salt", "s", "--workers", n) for n in (1, 2))
        self.assertEqual(len(one), 60)
        self.assertEqual(len(set(one)), 60)
        self.assertEqual(one, two)
        for a, b in zip(due_one, due_two):
            self.assertAlmostEqual(a, b, places=6)
        other, _ = self.collected("other", *options, "--salt", "t")
        self.assertFalse(set(one) & set(other), "another salt changes every prompt")

    def test_content_parts_and_images_of_a_file_go_out_as_they_came(self):
        parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}},
                 {"type": "text", "text": "what is \u00e9 here?", "cache_control": {"type": "ephemeral"}}]
        rows = [{"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": parts}], "output_tokens": 3},
                {"messages": [{"role": "user", "content": "plain"}], "output_tokens": 5, "body": {"tools": [{"type": "function"}]}}]
        path = self.directory / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        bodies, _ = self.collected("run", "--dataset-path", path, "--num-prompts", 4, "--concurrency", 2)
        sent = [json.loads(body) for body in bodies]
        for row in rows:
            same = [body for body in sent if body["messages"] == row["messages"]]
            self.assertEqual(len(same), 2, sent)
            for body in same:
                self.assertEqual(body["max_tokens"], row["output_tokens"])
                self.assertEqual(body.get("tools"), row.get("body", {}).get("tools"))

    def test_models_are_mixed_and_priorities_sent(self):
        bodies, lock = [], threading.Lock()

        def answer(method, path, headers, body):
            if method == "GET" and path == "/v1/models":
                return 200, "application/json", b'{"object":"list","data":[{"id":"base"},{"id":"lora"}]}'
            if method == "GET" or not path.startswith("/v1/"):
                return 404, "text/plain", b"not here"
            with lock:
                bodies.append(json.loads(body))
            choice = {"index": 0, "message": {"content": "word"}, "finish_reason": "length"}
            usage = {"prompt_tokens": 8, "completion_tokens": 1}
            return 200, "application/json", json.dumps({"choices": [choice], "usage": usage}).encode()

        with http_server(answer) as address:
            done = paretoken("run", address, "--model", "base=.7,lora=.3", "--priority", -2, "--isl", 8, "--osl", 1,
                             "--num-prompts", 100, "--scrape", "none", "--out", self.directory / "run")
            self.assertIn(done.returncode, (0, 4), done.stderr)
        sent = bodies[-100:]
        self.assertEqual({body["priority"] for body in sent}, {-2})
        self.assertAlmostEqual(sum(body["model"] == "lora" for body in sent), 30, delta=15)
        self.assertEqual({body["model"] for body in sent}, {"base", "lora"})
        self.assertEqual(run_json(self.directory / "run")["plan"]["model"], "base=.7,lora=.3")

    def test_a_name_that_the_server_lists_is_one_model_whatever_is_in_it(self):
        with simulated_server("--profile", "ideal", "--model", "base=.7,lora=x") as address:
            self.measures(paretoken("run", address, "--isl", 8, "--osl", 1, "--num-prompts", 4, "--out", self.directory / "run"))
        self.assertEqual(run_json(self.directory / "run")["provenance"]["model"], "base=.7,lora=x")


if __name__ == "__main__":
    unittest.main()
