"""One load from several processes: they meet, begin together, and their records become one result."""

import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import time

from harness import BINARY, Case, environment, paretoken, refused_port, run_json, simulated_server, started

LOAD = ("--isl", "64", "--osl", "16", "--request-rate", "60", "--seed", "3")
PROFILE = ("--profile", "llama3-8b-h100-bf16")


def counts_of(run):
    return {name: run["counts"][name] for name in ("requests", "ok", "failed", "warmup")}


class Scale(Case):
    def setUp(self):
        super().setUp()
        self.processes = contextlib.ExitStack()
        self.addCleanup(self.processes.close)

    def starts(self, *arguments, env=None):
        return self.processes.enter_context(started([BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                    stdin=subprocess.DEVNULL, text=True, env=environment(env)))

    def shards(self, arguments, count, out, common=(), command="run"):
        """Starts the processes of a load, shard 0 last, and returns them by number."""
        return {number: self.starts(command, *arguments, "--shard", f"{number}/{count}", *common, "--out", out)
                for number in (*range(1, count), 0)}

    def ends(self, processes, seconds=60):
        """Waits for processes; returns the exit code and both outputs of each."""
        results = {}
        for number, process in processes.items():
            out, err = process.communicate(timeout=seconds)
            results[number] = (process.returncode, out, err)
        return results

    def test_shards_that_meet_make_the_requests_of_one_process(self):
        out = self.directory / "out"
        with simulated_server(*PROFILE) as server:
            whole = paretoken("run", server, *LOAD, "--num-prompts", "120", "--out", self.directory / "whole")
            self.measures(whole)
            for place in (f"127.0.0.1:{refused_port()}", str(self.directory / "meeting")):
                shutil.rmtree(out, ignore_errors=True)
                ended = self.ends(self.shards([server, *LOAD, "--num-prompts", "120"], 3, out,
                                              ["--rendezvous", place]))
                for number, (code, _, err) in ended.items():
                    self.assertIn(code, (0, 4), f"shard {number}: {err}")
                run = run_json(out)
                self.assertEqual(counts_of(run), counts_of(run_json(self.directory / "whole")))
                self.assertEqual(sorted(s["requests"] for s in run["shards"]), [40, 40, 40])
                self.assertTrue(all(0 < s["clock_error_s"] < 1 for s in run["shards"][1:]))
                self.matches_schema(out / "run.json", "run")
                lines = (out / "requests.jsonl").read_text().splitlines()
                self.assertEqual(sorted(json.loads(line)["index"] for line in lines), list(range(120)))
                self.assertEqual(ended[1][1] + ended[2][1], "", "one summary")
                self.assertFalse(list(self.directory.glob("out-shard-*")) + list(out.glob("shards")))

    def test_a_stop_rule_counts_the_tokens_of_all(self):
        out = self.directory / "out"
        with simulated_server(*PROFILE) as server:
            self.ends(self.shards([server, *LOAD, "--duration", "60s", "--stop", "tokens=1500"], 2, out,
                                  ["--rendezvous", f"127.0.0.1:{refused_port()}"]))
        run = run_json(out)
        self.assertEqual(run["stop"]["rule"], "tokens")
        self.assertLess(run["counts"]["requests"], 600)

    def test_a_sweep_is_decided_by_shard_0(self):
        out = self.directory / "out"
        with simulated_server(*PROFILE) as server:
            ended = self.ends(self.shards(
                [server, "--isl", "64", "--osl", "8", "--concurrency", "1,4", "--num-prompts", "24"], 2, out,
                ["--rendezvous", f"127.0.0.1:{refused_port()}"], command="sweep"))
        self.assertEqual(ended[1][0], 0, ended[1][2])
        points = json.loads((out / "sweep.json").read_text())["points"]
        self.assertEqual([point["state"] for point in points], ["done", "done"])
        self.assertEqual(len(run_json(out / "c0004").get("shards", [])), 2)
        self.assertEqual(run_json(out / "c0001").get("shards", []), [], "one slot cannot be divided")

    def test_a_killed_shard_and_a_killed_shard_0_lose_nothing(self):
        for victim in (1, 0):
            out = self.directory / f"out{victim}"
            with simulated_server(*PROFILE) as server:
                processes = self.shards([server, *LOAD, "--num-prompts", "1200"], 2, out,
                                        ["--rendezvous", f"127.0.0.1:{refused_port()}"])
                lines = pathlib.Path(f"{out}-shard-1") / "1" / "requests.jsonl"
                deadline = time.monotonic() + 60
                while not (lines.exists() and lines.stat().st_size > 20_000) and time.monotonic() < deadline:
                    time.sleep(0.05)
                processes[victim].send_signal(signal.SIGKILL)
                ended = self.ends(processes)
            self.assertEqual(ended[1 - victim][0], 3, ended[1 - victim])
            if victim == 1:
                run = run_json(out)
                self.assertTrue(run["partial"])
                self.assertIn("shard 1 of 2 is missing", json.dumps(run["validity"]))
            else:
                self.assertIn("shard 0 is gone", ended[1][2])
            merged = self.directory / f"merged{victim}"
            done = paretoken("merge", out / "shards", f"{out}-shard-1", "--out", merged)
            self.assertEqual(done.returncode, 3, done.stderr)
            run = run_json(merged)
            self.assertEqual([shard["number"] for shard in run["shards"]], [0, 1])
            self.assertIn(f"shard {victim} of 2", json.dumps(run["validity"]))
            self.assertGreater(run["shards"][victim]["requests"], 10)

    def test_a_shard_whose_disk_is_full_fails_and_shard_0_names_it(self):
        out = self.directory / "out"
        part = pathlib.Path(f"{out}-shard-1") / "1"
        part.mkdir(parents=True)
        (part / "requests.jsonl").symlink_to("/dev/full")
        with simulated_server(*PROFILE) as server:
            ended = self.ends(self.shards([server, *LOAD, "--num-prompts", "60"], 2, out,
                                          ["--rendezvous", f"127.0.0.1:{refused_port()}"]))
        for number, (code, _, err) in ended.items():
            self.assertEqual(code, 3, f"shard {number}: {err}")
            self.assertIn("No space left", err)
        self.assertIn("shard 1 on", ended[0][2])

    def test_processes_that_do_not_fit_are_refused_with_the_reason(self):
        place = ["--rendezvous", f"127.0.0.1:{refused_port()}", "--rendezvous-timeout", "10s"]
        with simulated_server(*PROFILE) as server:
            other = self.starts("run", server, "--isl", "65", "--shard", "1/2", *place)
            first = paretoken("run", server, "--isl", "64", "--shard", "0/2", *place, "--out",
                              self.directory / "out")
            self.fails_clearly(first, 2, "shard 1 on", "--isl is '65' and '64'")
            _, err = other.communicate(timeout=60)
            self.assertEqual(other.returncode, 2)
            self.assertIn("--isl is '65' and '64'", err)
            late = paretoken("run", server, "--shard", "0/3", "--rendezvous", f"127.0.0.1:{refused_port()}",
                             "--rendezvous-timeout", "500ms", "--out", self.directory / "late")
            self.fails_clearly(late, 3, "shards 1, 2 of 3", "did not come within 0.5 s")
            past = paretoken("run", server, "--shard", "0/2", "--start-at", "1000", "--concurrency", "4")
            self.fails_clearly(past, 2, "--start-at 1000", "has passed")
        alone = paretoken("run", "http://127.0.0.1:9", env={"SLURM_STEP_ID": "0", "SLURM_PROCID": "1",
                                                            "SLURM_STEP_NUM_TASKS": "4"})
        self.fails_clearly(alone, 2, "Slurm started this process as 1 of 4", "--rendezvous", "--shard 0/1")
        inside = paretoken("run", "sim:", "--shard", "0/2", "--rendezvous", "127.0.0.1:7000")
        self.fails_clearly(inside, 2, "paretoken serve")

    def test_shards_of_an_indexed_job_begin_at_one_time_and_are_merged(self):
        with simulated_server(*PROFILE) as server:
            start = str(int(time.time()) + 4)
            processes = [
                self.starts("run", server, *LOAD, "--num-prompts", "90", "--shards", "3", "--start-at", start,
                            "--out", self.directory / "parts" / str(index), env={"JOB_COMPLETION_INDEX": str(index)})
                for index in range(3)]
            for process in processes:
                _, err = process.communicate(timeout=60)
                self.assertIn(process.returncode, (0, 4), err)
        done = paretoken("merge", self.directory / "parts", "--out", self.directory / "joined")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual(run_json(self.directory / "joined")["counts"]["requests"], 90)
        twice = paretoken("merge", self.directory / "parts", self.directory / "parts" / "1", "--out",
                          self.directory / "twice")
        self.fails_clearly(twice, 2, "is given twice")

    def by_mpirun(self, *arguments, processes=3):
        """Runs a command under mpirun."""
        mpirun = shutil.which("mpirun")
        if mpirun is None or not (BINARY.parent / "paretoken-mpi.so").exists():
            self.skipTest("no mpirun, or paretoken was built without MPI")
        command = [mpirun, "--allow-run-as-root", "--oversubscribe", "-n", str(processes), BINARY, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment(), check=False)

    def test_mpirun_makes_one_run(self):
        with simulated_server(*PROFILE) as server:
            done = self.by_mpirun("run", server, *LOAD, "--num-prompts", 90, "--out", self.directory / "out")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual([shard["requests"] for shard in run_json(self.directory / "out")["shards"]], [30, 30, 30])

    def test_mpirun_divides_every_kind_of_load(self):
        trace = self.directory / "trace.jsonl"
        rows = [{"timestamp": 50 * row, "input_length": 600, "output_length": 4, "hash_ids": [0, row + 1]} for row in range(12)]
        trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
        loads = {"turns": ("--dataset", "multi_turn:turns=3,first=40,next=10,osl=4", "--concurrency", 6, "--num-prompts", 18),
                 "prefixes": ("--dataset", "shared_prefix:groups=2,levels=100,unique=20,osl=4", "--request-rate", 60,
                              "--num-prompts", 54),
                 "classes": ("--class", "a:concurrency=3,isl=20,osl=8", "--class", "b:rate=20,isl=30,osl=4", "--duration", "1s"),
                 "trace": ("--dataset-path", trace, "--num-prompts", "all")}
        with simulated_server(*PROFILE) as server:
            for name, load in loads.items():
                with self.subTest(name):
                    done = self.by_mpirun("run", server, *load, "--out", self.directory / name)
                    self.assertIn(done.returncode, (0, 4), done.stderr)
                    run = run_json(self.directory / name)
                    shards = [shard["requests"] for shard in run["shards"]]
                    self.assertEqual(sum(shards), run["counts"]["requests"])
                    self.assertTrue(all(shards), shards)
                    if name != "classes":
                        self.assertEqual(run["counts"]["ok"], {"turns": 54, "prefixes": 54, "trace": 12}[name])
                    lines = (self.directory / name / "requests.jsonl").read_text().splitlines()
                    self.assertEqual(len({json.loads(line)["index"] for line in lines}), len(lines))
            for name, search in (("ladder", ("--concurrency", "3,6")),
                                 ("search", ("--search", "slo", "--slo", "ttft_p90:10s", "--concurrency", "3..4"))):
                with self.subTest(name):
                    done = self.by_mpirun("sweep", server, "--isl", 32, "--osl", 8, "--num-prompts", 24, *search, "--out",
                                          self.directory / name)
                    self.assertIn(done.returncode, (0, 4, 5), done.stderr)
                    points = json.loads((self.directory / name / "sweep.json").read_text())["points"]
                    self.assertTrue(points)
                    for point in points:
                        self.assertEqual(len(run_json(self.directory / name / point["directory"])["shards"]), 3)

    def test_commands_that_measure_as_one_process_are_refused_under_a_launcher(self):
        launched = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}
        for command in (("gate", "--baseline", "http://127.0.0.1:9"), ("cache", "http://127.0.0.1:9"),
                        ("watch", "http://127.0.0.1:9"), ("try", "http://127.0.0.1:9")):
            self.fails_clearly(paretoken(*command, env=launched), 2,
                               f"Open MPI started 3 processes of `paretoken {command[0]}`", "start one process")
        self.fails_clearly(paretoken("gate", "--shard", "0/2"), 2, "--shard")
