"""Servers that `run` and `sweep` start from a command: no process is left, however a measurement ends."""

import json
import os
import pathlib
import signal
import subprocess
import unittest

from harness import BINARY, Case, environment, http_server, paretoken, refused_port, run_json, started, wait_until

LOAD = ("--isl", 32, "--osl", 8, "--num-prompts", 24)
SERVE = f"{BINARY} serve --port {{port}} --profile"


def is_alive(pid):
    """Returns whether a process runs (a zombie does not)."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def points_of(out):
    path = out / "sweep.json"
    return json.loads(path.read_text())["points"] if path.exists() else []


def states(out):
    return [point["state"] for point in points_of(out)]


class Lifecycle(Case):
    long = True

    def test_a_server_is_started_once_for_each_command_and_every_run_tells_of_it(self):
        out = self.directory / "sweep"
        done = self.measures(paretoken("sweep", "--server-cmd", f"{SERVE} 'ideal?ttft=2ms&itl={{itl}}'", "--grid",
                                       "itl=1ms,2ms", "--grid", "osl=4,8", "--concurrency", "1,2", "--isl", 32,
                                       "--num-prompts", 16, "--out", out))
        self.assertEqual(states(out), ["done"] * 8, done.stderr)
        starts = {}
        for point in points_of(out):
            server = run_json(out / point["directory"])["provenance"]["server"]
            self.assertIn(f"itl={point['cell']['itl']}", server["command"])
            self.assertNotIn("{itl}", server["command"])
            self.assertGreater(server["ready_s"], 0)
            self.assertIn("paretoken serve", (out / point["directory"] / server["log"]).read_text())
            starts.setdefault(point["cell"]["itl"], set()).add(server.get("restarts", 0))
        self.assertEqual(starts, {"1ms": {0}, "2ms": {1}}, "two starts, although the grid has four cells")
        self.assertEqual(len(list(out.glob("*/server.log"))), 2)

    def test_a_larger_budget_stalls_streams_longer_and_answers_sooner(self):
        out = self.directory / "sweep"
        done = self.measures(paretoken(
            "sweep", "--server-cmd", f"{BINARY} serve --port {{port}} --profile "
            "'llama3-8b-h100-bf16?max_batched_tokens={budget}'", "--grid", "budget=512,2048,8192", "--request-rate", 4,
            "--isl", 4096, "--osl", 64, "--num-prompts", 32, "--out", out, timeout=300))
        points = points_of(out)
        self.assertEqual([p["cell"]["budget"] for p in points], ["512", "2048", "8192"], done.stderr)
        results = [run_json(out / p["directory"]) for p in points]
        self.assertEqual([r["provenance"]["server"].get("restarts", 0) for r in results], [0, 1, 2])
        stalls = [r["metrics"]["stall_s"]["p90"] for r in results]
        first_tokens = [r["metrics"]["ttft_s"]["min"] for r in results]  # of a prompt that met no other, however busy this machine
        self.assertLess(2 * stalls[0], stalls[2], f"a step that holds more prompt tokens takes longer: {stalls}")
        self.assertLess(first_tokens[2], first_tokens[0], f"a prompt takes fewer steps: {first_tokens}")

    def test_the_plan_is_printed_as_commands_and_nothing_is_started(self):
        out = self.directory / "sweep"
        done = self.succeeds(paretoken("sweep", "--server-cmd", "no-such-server --port {port} -t {t}", "--grid", "t=1,2",
                                       "--grid", "osl=4,8", "--concurrency", "1,2", "--duration", "30s", "--out", out,
                                       "--dry-run"))
        self.assertFalse(out.exists())
        self.assertIn("8 runs in 4 cells; 2 starts of the server; about 4:00 min", done.stdout)
        commands = [line for line in done.stdout.splitlines() if line.startswith("paretoken run ")]
        self.assertEqual(len(commands), 8)
        self.assertEqual([("-t 1" in line, "-t 2" in line) for line in commands], [(True, False)] * 4 + [(False, True)] * 4)
        self.assertIn("--concurrency 2", commands[1])
        self.assertIn("--osl 8", commands[2])

    def test_a_placeholder_may_follow_the_level(self):
        out = self.directory / "sweep"
        self.measures(paretoken("sweep", "--server-cmd", f"{BINARY} serve --port {{port}} --profile "
                                "'llama3-8b-h100-bf16?max_num_seqs={seqs}'", "--link", "seqs=concurrency", "--concurrency", "1,2",
                                *LOAD, "--out", out))
        for point in points_of(out):
            self.assertIn(f"max_num_seqs={point['load']:.0f}",
                          run_json(out / point["directory"])["provenance"]["server"]["command"])

    def test_a_server_may_be_started_for_every_cell_or_repeat(self):
        for restart, expected in (("cell", 2), ("repeat", 4)):
            out = self.directory / restart
            self.measures(paretoken("sweep", "--server-cmd", f"{SERVE} ideal", "--restart", restart, "--grid", "osl=4,8",
                                    "--concurrency", "1,2", "--isl", 32, "--num-prompts", 12, "--repeat", 2, "--out", out))
            restarts = {run_json(out / p["directory"])["provenance"]["server"].get("restarts", 0) for p in points_of(out)}
            self.assertEqual(restarts, set(range(expected)))

    def test_nothing_is_left_of_a_server_when_the_sweep_is_killed_and_it_goes_on(self):
        out, pids = self.directory / "sweep", self.directory / "pids"
        script = self.directory / "forks"
        script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! >>'{pids}'\necho $$ >>'{pids}'\n"
                          f"'{BINARY}' serve --port $1 --profile 'ideal?ttft=5ms&itl=2ms' &\necho $! >>'{pids}'\nwait\n")
        script.chmod(0o755)
        arguments = ["sweep", "--server-cmd", f"{script} {{port}}", "--concurrency", "1,2,4,8", *LOAD, "--out", out]
        with started([BINARY, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                     stdin=subprocess.DEVNULL, env=environment()) as process:
            wait_until(lambda: states(out)[:2] == ["done", "done"], seconds=60, what="two finished points")
            process.kill()
            process.wait()
        left = [int(pid) for pid in pids.read_text().split()]
        self.assertEqual(len(left), 3)
        wait_until(lambda: not any(map(is_alive, left)), what="the end of the server's process group")
        before = [(out / p["directory"] / "run.json").read_bytes() for p in points_of(out)[:2]]
        valid = [json.loads(text)["validity"]["verdict"] != "invalid" for text in before]
        self.measures(paretoken(*arguments))
        self.assertEqual(states(out), ["done"] * 4)
        after = [(out / p["directory"] / "run.json").read_bytes() for p in points_of(out)[:2]]
        for first, again, kept in zip(before, after, valid):
            if kept:  # a measurement that a busy machine made invalid is made again
                self.assertEqual(first, again, "a finished point is not measured again")
        self.assertFalse(any(is_alive(int(pid)) for pid in pids.read_text().split()))

    def test_an_interrupted_sweep_ends_its_server(self):
        out, pids = self.directory / "sweep", self.directory / "pids"
        command = f"sh -c 'echo $$ >{pids}; exec {BINARY} serve --port {{port}} --profile ideal?itl=2ms'"
        with started([BINARY, "sweep", "--server-cmd", command, "--concurrency", "1..64", *LOAD, "--out", out],
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                     env=environment()) as process:
            wait_until(lambda: states(out)[:1] == ["done"], seconds=60, what="a first point")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 3)
        self.assertFalse(is_alive(int(pids.read_text())))

    def test_a_sweep_without_any_point_says_why_and_that_it_can_be_continued(self):
        out = self.directory / "sweep"
        done = paretoken("sweep", "--server-cmd", "false {port}", "--concurrency", "1,2", "--duration", "1s", "--out", out)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("2 of 2 points could not be measured", done.stderr)
        self.assertIn("this command tries them again", done.stderr)

    def test_cells_whose_server_fails_are_named_and_the_others_are_measured(self):
        out, script = self.directory / "sweep", self.directory / "server"
        script.write_text(f"#!/bin/sh\ncase $1 in\nexits) echo no memory left; exit 5 ;;\nsilent) exec sleep 1000 ;;\n"
                          f"dies) '{BINARY}' serve --port $2 --profile 'ideal?itl=5ms' &\nsleep 3\nkill $!\necho a fault\n"
                          f"exit 7 ;;\nworks) exec '{BINARY}' serve --port $2 --profile 'ideal?itl=5ms' ;;\nesac\n")
        script.chmod(0o755)
        arguments = ("sweep", "--server-cmd", f"{script} {{how}} {{port}}", "--grid", "how=exits,silent,dies,works",
                     "--ready-timeout", "8s", "--concurrency", 2, "--isl", 32, "--osl", 100, "--duration", "6s", "--out", out)
        done = paretoken(*arguments)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("3 of 4 points could not be measured", done.stderr)
        errors = {point["cell"]["how"]: point.get("error", "") for point in points_of(out)}
        self.assertEqual(states(out), ["failed"] * 3 + ["done"], errors)
        self.assertIn("exit status 5", errors["exits"])
        self.assertIn("no memory left", errors["exits"])
        self.assertIn("was not ready within", errors["silent"])
        self.assertIn("exit status 7", errors["dies"])
        self.assertIn("a fault", errors["dies"])
        self.assertIn("how=exits", done.stderr)


class Run(Case):
    def test_a_run_starts_its_server_resets_its_cache_and_calls_what_follows(self):
        out, said = self.directory / "run", self.directory / "said"
        command = f"sh -c 'test \"$GREETING\" = hello && exec {SERVE} ideal'"
        self.measures(paretoken("run", "--server-cmd", command, "--server-env", "GREETING=hello", "--server-env",
                                "HF_TOKEN=sesame-open", "--ready-url", "/v1/models", "--reset-cache", "--after-run-cmd",
                                f"sh -c 'echo after {{port}} >{said}'", *LOAD, "--out", out))
        result = run_json(out)
        self.assertEqual(result["provenance"]["server"]["log"], "server.log")
        self.assertEqual(result["provenance"]["url"], f"http://127.0.0.1:{said.read_text().split()[1]}")
        self.assertTrue(result["plan"]["reset_cache"])
        self.assertNotIn("sesame-open", "".join(path.read_text() for path in out.glob("*.json*")))

    def test_a_server_that_ends_within_a_run_ends_the_run_with_its_last_lines(self):
        command = f"sh -c '{BINARY} serve --port {{port}} --profile ideal & sleep 3; kill $!; echo gone; exit 9'"
        done = paretoken("run", "--server-cmd", command, "--duration", "10m", "--osl", 16, "--out", self.directory / "run")
        self.fails_clearly(done, 3, "exit status 9", "gone")

    def test_a_url_is_waited_for(self):
        port = refused_port()
        with started(["sh", "-c", f"sleep 2; exec {BINARY} serve --port {port} --profile ideal"],
                     stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment()):
            self.measures(paretoken("run", f"http://127.0.0.1:{port}", *LOAD, "--ready-timeout", "60s", "--out",
                                    self.directory / "run"))
        self.fails_clearly(paretoken("run", f"http://127.0.0.1:{port}", *LOAD, "--ready-timeout", "300ms", "--out",
                                     self.directory / "none"), 3, "was not ready", "--ready-timeout")

    def test_a_cache_that_no_call_empties_is_told(self):
        def answer(method, path, headers, body):
            if path == "/v1/models":
                return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
            if method == "POST" and path.startswith("/v1/"):
                return 200, "text/event-stream", (b'data: {"choices":[{"index":0,"delta":{"content":"a"},'
                                                  b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
            return 404, "text/plain", b""

        with http_server(answer) as address:
            self.fails_clearly(paretoken("run", address, "--osl", 1, "--num-prompts", 2, "--reset-cache", "--out",
                                         self.directory / "run"), 3, "--reset-cache", "--after-run-cmd")


class BadInput(Case):
    def test_a_command_that_makes_no_sense_is_refused_before_anything_starts(self):
        serve = "server --port {port} -t {threads}"
        for arguments, words in (
                (("--server-cmd", serve), ("{threads}", "--grid threads")),
                (("--server-cmd", "server {port}", "--grid", "threads=1,2"), ("'threads'", "not an option", "{threads}")),
                (("--server-cmd", "server {port} {seed}", "--grid", "seed=1,2"), ("'seed'", "--seed", "placeholder")),
                (("--server-cmd", "server {port}", "http://127.0.0.1:8000"), ("{port}", "url")),
                (("--server-cmd", "server --port 1", "sim:ideal"), ("sim:ideal", "--server-cmd")),
                (("--server-cmd", "server {port} | tee log"), ("|", "sh -c")),
                (("--server-cmd", "server 'open"), ("quote",)),
                (("--server-env", "A=1"), ("--server-env", "--server-cmd")),
                (("--server-cmd", "server {port}", "--server-env", "A"), ("--server-env", "NAME=VALUE")),
                (("--server-cmd", "server {port}", "--virtual"), ("--server-cmd", "--virtual")),
                (("--server-cmd", "server {port}", "--restart", "often"), ("--restart", "often")),
                (("--server-cmd", "server {port}", "--ready-timeout", "0s"), ("--ready-timeout", "above 0")),
                (("--ready-timeout", "5s", "sim:ideal"), ("--ready-timeout",))):
            with self.subTest(arguments):
                out = self.directory / "none"
                self.fails_clearly(paretoken("sweep", *arguments, "--out", out), 2, *words)
                self.assertFalse(out.exists())
        self.fails_clearly(paretoken("run", "--server-cmd", serve, "--out", self.directory / "none"), 2, "{threads}", "sweep")

    def test_a_cell_without_a_value_is_named(self):
        cells = self.directory / "cells.json"
        cells.write_text('[{"threads": 1}, {"isl": 8}]')
        self.fails_clearly(paretoken("sweep", "--server-cmd", "server {port} {threads}", "--cells", cells, "--out",
                                     self.directory / "none"), 2, "{threads}", "isl=8")

    def test_a_command_that_cannot_be_started_is_told(self):
        self.fails_clearly(paretoken("run", "--server-cmd", "no-such-server --port {port}", "--out", self.directory / "run"),
                           3, "no-such-server", "No such file")

    def test_a_port_that_is_taken_is_told(self):
        with http_server(lambda *_: (200, "text/plain", b"")) as address:
            self.fails_clearly(paretoken("run", address, "--server-cmd", "sleep 100", "--out", self.directory / "run"), 3,
                               address, "{port}")


if __name__ == "__main__":
    unittest.main()
