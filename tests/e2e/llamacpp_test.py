"""All steps on a real server, llama.cpp with SmolLM2-135M: a sweep, a CPU microbenchmark and a report."""

import atexit
import functools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

from harness import ROOT, Case, llamacpp, llamacpp_model, llamacpp_process, paretoken, request_lines, run_json
from pages import Browser, look_at


@functools.cache
def micro_of_this_machine():
    """Returns the micro.json of this machine's CPU, which is measured once."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="paretoken-e2e-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    done = paretoken("micro", "--quick", "--out", directory / "micro.json", timeout=300)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return directory / "micro.json"


def processor_s_of(process):
    """Returns the seconds of processor time that a process that is running has used."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def conversation_of(job, turns):
    """Returns the messages of a job whose turns after the first one have the result of a tool."""
    messages = [{"role": "system", "content": "You look into folders with a tool."},
                {"role": "user", "content": f"What is in folder {job + 10}?"}]
    for turn in range(1, turns):
        call = {"id": f"call{turn}", "type": "function", "function": {"name": "list", "arguments": f'{{"page": {turn}}}'}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"call{turn}", "content": f"page {turn}: readme.txt, notes.txt, plan.txt"}]
    return messages


def tokens_of(address, messages):
    """Returns the tokens of a prompt as the server's own template and tokenizer count them."""
    def asked(path, body):
        request = urllib.request.Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    prompt = asked("/apply-template", {"messages": messages})["prompt"]
    return len(asked("/tokenize", {"content": prompt, "add_special": True, "parse_special": True})["tokens"])


class RealServer(Case):
    busy = True

    def test_a_sweep_becomes_a_report_below_the_hardware_limit(self):
        out, micro = self.directory / "sweep", micro_of_this_machine()
        with llamacpp() as address:
            swept = paretoken("sweep", address, "--concurrency", "1..4", "--isl", 32, "--osl", 12, "--num-prompts", 8,
                              "--num-warmups", 2, "--out", out, timeout=600)
        self.measures(swept)
        page = self.directory / "report.html"
        # The run knows the file of the model, because the server on this machine names it.
        self.assertEqual(run_json(next(out.glob("c*")))["provenance"]["model_card"]["card"], str(llamacpp_model()))
        self.measures(paretoken("report", out, "--micro", micro, "--price", "2026-11-cpu", "--out", page))
        self.matches_schema(page.with_suffix(".json"), "report")
        configuration = json.loads(page.with_suffix(".json").read_text())["configurations"][0]
        self.assertEqual(configuration["errors"], [])
        self.assertEqual([point["load_label"] for point in configuration["points"]], ["c=1", "c=2", "c=4"])
        for point in configuration["points"]:
            self.assertGreater(point["of_limit"], 0)
            self.assertLessEqual(point["of_limit"], 1)
            self.assertGreater(point["cost"]["usd_per_m_output"], 0)
        with Browser() as browser:
            look_at(self, browser, page, "light")

    def test_the_card_of_this_cpu_predicts_the_speed_of_the_server(self):
        installed = subprocess.run([ROOT / "scripts" / "servers" / "llamacpp", "--install-only"], capture_output=True, text=True, check=False)
        if installed.returncode != 0:
            self.skipTest(f"llama.cpp is not installed: {installed.stderr.strip()}")
        card = self.directory / "cpu.json"
        self.measures(paretoken("micro", "--quick", "--filter", "^ceiling", "--threads", 1, "--card", card, "--out",
                                self.directory / "micro.json", timeout=600))
        load = ("--isl", 32, "--osl", 24, "--num-prompts", 8, "--num-warmups", 0)
        for concurrency in (1, 4):
            predicted, measured = (self.directory / f"{name}-{concurrency}" for name in ("predicted", "measured"))
            profile = f"sim:smollm2-135m/cpu:{card}/q4_1?max_num_seqs=4"
            self.succeeds(paretoken("run", profile, "--virtual", *load, "--concurrency", concurrency, "--out", predicted))
            used = []  # seconds of processor time, which other programs on this machine hardly change; the least of up to three counts
            with llamacpp_process("--slots", 4, "--no-prompt-cache") as (server, address):
                while len(used) < 3:
                    before = processor_s_of(server)
                    self.measures(paretoken("run", address, *load, "--concurrency", concurrency, "--endpoint-type", "completions", "--out",
                                            measured, "--overwrite", timeout=600))
                    used.append(processor_s_of(server) - before)
                    tokens = sum(line["completion_tokens"] for line in request_lines(measured))
                    self.assertEqual(tokens, 8 * 24)
                    ratio = run_json(predicted)["whole_run"]["output_tokens_per_s"] / (tokens / min(used))
                    if 0.5 < ratio < 2:
                        break
            self.assertTrue(0.5 < ratio < 2, f"{concurrency} at once: predicted ÷ measured is {ratio:.2f}")

    def test_prompts_have_the_length_that_was_asked_for(self):
        with llamacpp() as address:
            for endpoint, form in (("completions", "token ids"), ("chat", "text"), ("messages", "text"),
                                   ("responses", "text")):
                with self.subTest(endpoint):
                    out = self.directory / endpoint
                    self.measures(paretoken("run", address, "--endpoint-type", endpoint, "--concurrency", 2,
                                            "--num-prompts", 4, "--isl", 120, "--osl", 8, "--out", out))
                    workload = run_json(out)["workload"]
                    self.assertEqual(workload["prompt_form"], form)
                    self.assertAlmostEqual(workload["achieved_input_tokens"], 120, delta=4)
                    # Only the protocol Messages has no field that lets the model continue after its end of text.
                    self.assertAlmostEqual(workload["achieved_output_tokens"], 8, delta=4 if endpoint == "messages" else 0)
                    self.assertEqual(workload["endpoint"], endpoint)

    def test_a_sweep_over_threads_and_kv_formats_becomes_one_report_with_one_front(self):
        out = self.directory / "sweep"
        arguments = ("sweep", "--server-cmd",
                     f"{ROOT}/scripts/servers/llamacpp --port {{port}} --threads {{threads}} --kv {{kv}}",
                     "--grid", "threads=1,2", "--grid", "kv=f16,q8_0", "--concurrency", "1,2", "--isl", 16, "--osl", 8,
                     "--num-prompts", 6, "--out", out)
        self.measures(paretoken(*arguments, timeout=900))
        points = json.loads((out / "sweep.json").read_text())["points"]
        self.assertEqual(sorted((p["cell"]["threads"], p["cell"]["kv"], p["load"]) for p in points),
                         [(threads, kv, load) for threads in ("1", "2") for kv in ("f16", "q8_0") for load in (1, 2)])
        starts = set()
        for point in points:
            self.assertEqual(point["state"], "done")
            server = run_json(out / point["directory"])["provenance"]["server"]
            self.assertIn(f"--threads {point['cell']['threads']} --kv {point['cell']['kv']}", server["command"])
            starts.add((point["cell"]["threads"], point["cell"]["kv"], server.get("restarts", 0)))
            self.assertGreater(server["ready_s"], 0)
            self.assertTrue(server["version"], "llama.cpp tells its build")
        self.assertEqual(sorted(restarts for _, _, restarts in starts), [0, 1, 2, 3], "one start for each cell")

        page, scores, model = self.directory / "report.html", self.directory / "scores.json", llamacpp_model()
        scores.write_text(json.dumps([{"label": f"kv={kv}", "score": 0.4, "n": 200} for kv in ("f16", "q8_0")]))
        cards = [word for kv in ("f16", "q8_0") for word in ("--model-card", f"kv={kv}:{model}:kv={kv}")]
        self.measures(paretoken("report", out, "--micro", micro_of_this_machine(), *cards, "--quality", scores, "--price",
                                "2026-11-cpu", "--out", page))
        self.matches_schema(page.with_suffix(".json"), "report")
        report = json.loads(page.with_suffix(".json").read_text())
        configurations = report["configurations"]
        self.assertEqual(sorted(c["name"] for c in configurations),
                         [f"kv={kv}, threads={threads}" for kv in ("f16", "q8_0") for threads in (1, 2)])
        self.assertEqual(report["front"]["separate"], [], "all four are compared with each other")
        for configuration in configurations:
            self.assertEqual(configuration["errors"], [])
            self.assertTrue(any("micro" in term["source"] for term in configuration["limit_terms"]), configuration["limit_terms"])
            for point in configuration["points"]:
                self.assertLess(point["of_limit"], 1)
                self.assertLess(point["utilisation"]["mbu"], 1)
                parts = {part["name"]: part for part in point["gap"]["parts"]}
                weights = parts["weight bandwidth that kernels reach"]
                if "ms" in weights:  # a busy machine may have no valid row of the model's format
                    self.assertIn("micro", weights["source"])
                self.assertAlmostEqual(sum(part.get("ms", 0) for part in parts.values()), point["gap"]["step_ms"], places=6)
        # So few requests certify nothing, so that only --anyway compares the runs of all four configurations.
        self.measures(paretoken("report", out, "--no-micro", "--price", "2026-11-cpu", "--anyway", "--out", page))
        everything = [point for c in json.loads(page.with_suffix(".json").read_text())["configurations"] for point in c["points"]]
        valid = [point for point in everything
                 if point["run"]["validity"]["verdict"] != "invalid" and "interactivity_tok_per_s" in point and "cost" in point]

        def beats(a, b):
            ours, theirs = ((point["interactivity_tok_per_s"], -point["cost"]["usd_per_m_output"]) for point in (a, b))
            return all(x >= y for x, y in zip(ours, theirs)) and ours != theirs

        for point in valid:  # a busy machine may find its own measurement invalid
            self.assertEqual(point["on_front"], not any(beats(other, point) for other in valid), point["why_not"])
        with Browser() as browser:
            look_at(self, browser, page, "dark")

    def test_jobs_with_tool_messages_end_and_find_more_of_each_turn_in_the_cache(self):
        jobs, turns = 20, 3
        path, out = self.directory / "jobs.jsonl", self.directory / "run"
        prompts = [conversation_of(job, turns) for job in range(jobs)]
        with path.open("w") as rows:
            for job, messages in enumerate(prompts):
                for turn, new in enumerate((messages[:2], *(messages[at:at + 2] for at in range(2, 2 * turns, 2)))):
                    rows.write(json.dumps({"job": str(job), "conversation": "main", "id": str(turn), "output_tokens": 2,
                                           "tool_s": 0.01 if turn else 0, "messages": new}) + "\n")
        with llamacpp() as address:
            self.measures(paretoken("run", address, "--dataset-path", path, "--num-prompts", "all", "--concurrency", 2, "--replies",
                                    "recorded", "--out", out, timeout=300))
            # Every job has prompts of the same length, because their numbers have two digits.
            lengths = [tokens_of(address, prompts[0][:2 * (turn + 1)]) for turn in range(turns)]
        result, by_turn = run_json(out), [[] for _ in range(turns)]
        for record in request_lines(out):
            by_turn[record["index"] - record["job"]].append(record)
        self.assertEqual((result["jobs"]["ok"], result["jobs"]["failed"]), (jobs, 0))
        for turn, records in enumerate(by_turn):
            self.assertEqual(len(records), jobs)
            self.assertEqual({record["prompt_tokens"] for record in records}, {lengths[turn]}, turn)
        cached = [sum(record["cached_prompt_tokens"] for record in records) / jobs for records in by_turn]
        self.assertEqual(cached, sorted(set(cached)), "the hits grow with the turns")
        self.assertGreater(cached[-1], lengths[0], "turns find what the turns before them left")

    def test_the_planned_server_starts_with_the_context_that_was_planned(self):
        done = self.succeeds(paretoken("plan", "--model-card", llamacpp_model(), "--gpu-memory", "2GiB", "--engine", "llamacpp",
                                       "--isl", 300, "--osl", 60, "--max-num-seqs", 3, "--emit", "llamacpp"))
        words = shlex.split(done.stdout)
        flags = dict(zip(words[1::2], words[2::2]))
        library = next((ROOT / ".venv" / "llamacpp").glob("lib/*/site-packages/xllamacpp/*.so")).read_bytes()
        for flag in flags:
            self.assertIn(b"\0" + flag.encode() + b"\0", library, "llama.cpp has a table of its options")
        slots = int(flags["--parallel"])
        self.assertEqual(slots, 3)
        with llamacpp("--ctx", flags["--ctx-size"], "--slots", slots, "--kv", flags["--cache-type-k"]) as address:
            with urllib.request.urlopen(address + "/props", timeout=30) as answer:
                props = json.load(answer)
        self.assertEqual(props["total_slots"], slots)
        planned = int(flags["--ctx-size"]) // slots
        self.assertGreaterEqual(planned, 1.2 * 360)
        self.assertEqual(props["default_generation_settings"]["n_ctx"], planned)

    def test_connections_that_the_server_closes_are_no_failures(self):
        out = self.directory / "run"
        with llamacpp() as address:
            self.measures(paretoken("run", address, "--concurrency", 1, "--num-prompts", 120, "--isl", 16, "--osl", 4,
                                    "--out", out, timeout=300))
        result = run_json(out)
        self.assertEqual(sum(1 for line in request_lines(out) if not line.get("warmup")), 120)
        self.assertGreaterEqual(result["client"]["connections_opened"], 2)
        # The model may answer with only a part of a character, for which no text is streamed. No other failure is allowed.
        self.assertLessEqual(set(result["counts"]["by_outcome"]), {"ok", "empty"})
        self.assertGreater(result["counts"]["ok"], 100)


if __name__ == "__main__":
    unittest.main()
