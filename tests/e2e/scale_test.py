"""One load from several processes: they meet, begin together, and their records become one result."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from harness import (BINARY, ROOT, Case, environment, paretoken, refused_port, run_json, simulated_server, started,
                     totals_of)
from manifests import objects_of, pods_of, yaml

LOAD = ("--isl", "uniform:min=40;max=90", "--osl", "uniform:min=8;max=24", "--request-rate", "60", "--seed", "3")
PROFILE = ("--profile", "llama3-8b-h100-bf16")
FIXED_TIMES = ("--profile", "ideal?ttft=100ms&itl=20ms")
# A library for LD_PRELOAD: the wall clock is some seconds ahead, and the monotonic clock is right.
WALL_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* at) {
    int (*real)(clockid_t, struct timespec*) = dlsym(RTLD_NEXT, "clock_gettime");
    const int status = real(clock, at);
    if (clock == CLOCK_REALTIME) at->tv_sec += AHEAD_S;
    return status;
}
"""


class Scale(Case):
    def setUp(self):
        super().setUp()
        self.processes = contextlib.ExitStack()
        self.addCleanup(self.processes.close)

    def starts(self, *arguments, env=None, cwd=None):
        return self.processes.enter_context(started([BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                    stdin=subprocess.DEVNULL, text=True, cwd=cwd, env=environment(env)))

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

    def medians_agree(self, first, second):
        """Asserts that the 95 % intervals of the medians of two runs overlap, each widened by 3 % of the median, because those of
        fixed times are narrower than the delays of a busy host. A median without an interval stands for one."""
        for metric in ("ttft_s", "itl_s", "e2e_s"):
            blocks = [run["metrics"][metric] for run in (first, second)]
            lows, highs = zip(*(block["ci95"].get("p50", [block["p50"]] * 2) for block in blocks))
            margin = 0.03 * (blocks[0]["p50"] + blocks[1]["p50"])
            self.assertLessEqual(max(lows), min(highs) + margin, f"{metric}: {blocks}")

    def test_shards_that_meet_make_the_requests_of_one_process(self):
        out, load = self.directory / "out", (*LOAD, "--num-prompts", "240")
        with simulated_server(*FIXED_TIMES) as server:
            whole = paretoken("run", server, *load, "--out", self.directory / "whole")
            self.measures(whole)
            for place in (f"127.0.0.1:{refused_port()}", str(self.directory / "meeting")):
                shutil.rmtree(out, ignore_errors=True)
                ended = self.ends(self.shards([server, *load], 3, out, ["--rendezvous", place]))
                for number, (code, _, err) in ended.items():
                    self.assertIn(code, (0, 4), f"shard {number}: {err}")
                run = run_json(out)
                self.assertEqual(totals_of(out), totals_of(self.directory / "whole"))
                self.medians_agree(run, run_json(self.directory / "whole"))
                self.assertEqual(sorted(s["requests"] for s in run["shards"]), [80, 80, 80])
                self.assertTrue(all(0 < s["clock_error_s"] < 1 for s in run["shards"][1:]))
                self.matches_schema(out / "run.json", "run")
                self.assertEqual(ended[1][1] + ended[2][1], "", "one summary")
                self.assertIn("the result of all shards is with shard 0", ended[1][2])
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
                self.assertIn("shard 1 of 2 is missing", ended[0][2])
                self.assertNotIn("interrupted", ended[0][1] + ended[0][2])
                self.assertNotIn("per M output tokens", ended[0][1], "the tokens of the other shard are not known")
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

    def test_another_file_of_the_same_name_is_refused_when_shards_meet_and_when_they_are_merged(self):
        load = ("--dataset-path", "prompts.jsonl", "--num-prompts", "8", "--concurrency", "2")
        for number, prompt in enumerate(("Count to ten.", "Count to nine.")):
            (self.directory / str(number)).mkdir()
            (self.directory / str(number) / "prompts.jsonl").write_text(json.dumps({"prompt": prompt, "output_tokens": 4}) + "\n")
        place = ["--rendezvous", f"127.0.0.1:{refused_port()}", "--rendezvous-timeout", "20s"]
        with simulated_server(*PROFILE) as server:
            other = self.starts("run", server, *load, "--shard", "1/2", *place, cwd=self.directory / "1")
            first = paretoken("run", server, *load, "--shard", "0/2", *place, "--out", "out", cwd=self.directory / "0")
            self.fails_clearly(first, 2, "shard 1 on", "dataset_content is", "the same options and files")
            _, err = other.communicate(timeout=60)
            self.assertEqual(other.returncode, 2, err)
            start = str(int(time.time()) + 5)
            for number, process in {number: self.starts("run", server, *load, "--shard", f"{number}/2", "--start-at", start, "--out",
                                                        "part", cwd=self.directory / str(number)) for number in (0, 1)}.items():
                _, err = process.communicate(timeout=60)
                self.assertIn(process.returncode, (0, 4), f"shard {number}: {err}")
        merged = paretoken("merge", *(self.directory / number / "part" for number in "01"), "--out", self.directory / "merged")
        self.fails_clearly(merged, 2, "not of one load", "dataset_content is")

    def test_hosts_whose_wall_clocks_are_five_seconds_apart_lose_nothing(self):
        if shutil.which("cc") is None:
            self.skipTest("no C compiler, which makes the library that changes a clock")
        source = self.directory / "clock.c"
        source.write_text(WALL_CLOCK)
        other_clock = {}
        for ahead in (5, -5):
            library = self.directory / f"clock{ahead}.so"
            subprocess.run(["cc", "-shared", "-fPIC", f"-DAHEAD_S=({ahead})", "-o", library, source, "-ldl"], check=True)
            other_clock[ahead] = {"LD_PRELOAD": str(library)}
        load, whole, out = (*LOAD, "--num-prompts", "60"), self.directory / "whole", self.directory / "out"
        parts = [self.directory / "parts" / str(number) for number in range(2)]
        with simulated_server(*PROFILE) as server:
            self.measures(paretoken("run", server, *load, "--out", whole))
            # Processes that meet begin together, whatever their wall clocks say.
            place = ["--rendezvous", f"127.0.0.1:{refused_port()}", "--out", out]
            ended = self.ends({1: self.starts("run", server, *load, "--shard", "1/2", *place, env=other_clock[5]),
                               0: self.starts("run", server, *load, "--shard", "0/2", *place)})
            for number, (code, _, err) in ended.items():
                self.assertIn(code, (0, 4), f"shard {number}: {err}")
            # A clock that is behind begins 5 s late by --start-at, and its requests are all there.
            start = int(time.time()) + 4
            ended = self.ends({number: self.starts("run", server, *load, "--shard", f"{number}/2", "--start-at", str(start), "--out",
                                                   parts[number], env=other_clock[-5] if number else None) for number in (0, 1)})
            late = time.time() - start
            for number, (code, _, err) in ended.items():
                self.assertIn(code, (0, 4), f"shard {number}: {err}")
            # A clock that is ahead finds that the time has passed, and sends nothing.
            start = str(int(time.time()) + 3)
            passed = paretoken("run", server, *load, "--shard", "1/2", "--start-at", start, "--out", self.directory / "never",
                               env=other_clock[5])
        self.fails_clearly(passed, 2, f"--start-at {start}", "has passed")
        self.assertGreater(late, 5, "the clock of shard 1 is behind")
        self.assertEqual(totals_of(out), totals_of(whole))
        self.assertLess(run_json(out)["shards"][1]["clock_error_s"], 1)
        done = paretoken("merge", *parts, "--out", self.directory / "merged")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual(totals_of(self.directory / "merged"), totals_of(whole))

    def test_what_is_merged_is_judged_and_no_shard_is_lost_or_taken_for_a_run(self):
        parts = [self.directory / f"part{number}" for number in range(2)]
        for number, part in enumerate(parts):
            paretoken("run", "sim:ideal", "--virtual", "--isl", 16, "--osl", 4, "--request-rate", 40, "--num-prompts", 400, "--salt",
                      "s", "--slo", "ttft_p95:5", "--shard", f"{number}/2", "--out", part)
        before = (parts[0] / "requests.jsonl").read_bytes()
        for out in (parts[0], parts[0] / "below"):
            self.fails_clearly(paretoken("merge", *parts, "--out", out, "--overwrite"), 2, "give another --out")
        self.assertEqual((parts[0] / "requests.jsonl").read_bytes(), before)
        done = paretoken("merge", *parts, "--out", self.directory / "whole")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("misses the limit", done.stderr)
        command = run_json(self.directory / "whole")["provenance"]["command"]
        self.assertNotIn("--shard", command)
        self.assertIn("--num-prompts 400", command)
        for command in (("gate", "--baseline", parts[0], "--candidate", parts[1]), ("compare", *parts),
                        ("baseline", "save", "x", parts[0], "--store", self.directory / "store")):
            self.fails_clearly(paretoken(*command), 2, "paretoken merge")

    def test_a_time_of_the_start_in_milliseconds_is_refused(self):
        done = paretoken("run", "http://127.0.0.1:1", "--shard", "0/2", "--start-at", int(time.time() * 1000) + 60_000,
                         "--concurrency", 2, "--num-prompts", 4, "--out", self.directory / "run")
        self.fails_clearly(done, 2, "in seconds, not in milliseconds")

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
            self.measures(paretoken("run", server, *LOAD, "--num-prompts", "90", "--out", self.directory / "whole"))
        done = paretoken("merge", self.directory / "parts", "--out", self.directory / "joined")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual(totals_of(self.directory / "joined"), totals_of(self.directory / "whole"))
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

    def test_mpirun_makes_the_requests_of_one_process(self):
        load = (*LOAD, "--num-prompts", 90, "--num-warmups", 6)
        with simulated_server(*PROFILE) as server:
            done = self.by_mpirun("run", server, *load, "--out", self.directory / "out")
            self.measures(paretoken("run", server, *load, "--out", self.directory / "whole"))
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertEqual(totals_of(self.directory / "out"), totals_of(self.directory / "whole"))
        self.assertEqual([shard["requests"] for shard in run_json(self.directory / "out")["shards"]], [32] * 3,
                         "of the warm-up, too")

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


class Launchers(Case):
    """The files in scripts/scale, from which users start."""

    def options_of(self, words):
        """Returns the options among the words with their values, and asserts that `paretoken run` has them."""
        known = set(re.findall(r"--[a-z][-a-z0-9]*", self.succeeds(paretoken("run", "--help-all")).stdout))
        options = dict(word.partition("=")[::2] for word in words if word.startswith("--"))
        self.assertLessEqual(set(options), known)
        return options

    @unittest.skipIf(yaml is None, "Python's yaml is not installed (python3-yaml)")
    def test_the_job_of_kubernetes_has_valid_options_and_names_that_agree(self):
        service, job = objects_of(self, (ROOT / "scripts" / "scale" / "kubernetes.yaml").read_text())
        self.assertEqual([one["kind"] for one in (service, job)], ["Service", "Job"])
        name, spec, (pod,) = job["metadata"]["name"], job["spec"], pods_of(job)
        self.assertEqual((spec["completionMode"], spec["backoffLimit"], pod["restartPolicy"]), ("Indexed", 0, "Never"))
        self.assertEqual((service["spec"]["clusterIP"], service["spec"]["selector"]), ("None", {"job-name": name}))
        self.assertTrue(service["spec"]["publishNotReadyAddresses"], "pods look for pod 0 before it is ready")
        self.assertEqual(pod["subdomain"], service["metadata"]["name"])
        container, = pod["containers"]
        version = self.succeeds(paretoken("--version")).stdout.split()[1]
        self.assertEqual(container["image"], f"paretoken:{version}")
        self.assertEqual(container["args"][0], "run")
        options = self.options_of(container["args"])
        self.assertEqual({spec["completions"], spec["parallelism"], int(options["--shards"])}, {spec["completions"]})
        self.assertEqual(options["--rendezvous"], f"{name}-0.{service['metadata']['name']}:{service['spec']['ports'][0]['port']}")
        self.assertTrue(options["--out"].startswith(container["volumeMounts"][0]["mountPath"] + "/"))

    def test_the_batch_script_of_slurm_starts_one_process_on_each_host(self):
        programs = self.directory / "bin"
        programs.mkdir()
        for program, text in (("scontrol", 'test "$*" = "show hostnames n[1-2]" && printf "n1\\nn2\\n"'), ("srun", 'printf "%s\\n" "$@"')):
            (programs / program).write_text(f"#!/bin/sh\n{text}\n")
            (programs / program).chmod(0o755)
        script = ROOT / "scripts" / "scale" / "slurm.sbatch"
        done = self.succeeds(subprocess.run(
            ["bash", script, "http://model:8000", "--request-rate", "400"], capture_output=True, text=True, check=False,
            env={"PATH": f"{programs}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_ID": "123456",
                 "SLURM_SUBMIT_DIR": "/home/user"}))
        words = done.stdout.split()
        program = words.index("paretoken")
        self.assertEqual(words[:program], ["--kill-on-bad-exit=0"], "the records of the others are kept if one process fails")
        self.assertEqual(words[program + 1:], ["run", "http://model:8000", "--request-rate", "400", "--rendezvous", "n1:23456", "--out",
                                               "/home/user/paretoken-123456"])
        self.options_of(words[program:])
        asked = dict(re.findall(r"^#SBATCH --([-a-z]+)=(.*)$", script.read_text(), re.M))
        self.assertEqual(asked["ntasks-per-node"], "1")
        self.assertLessEqual(set(asked), {"job-name", "ntasks-per-node", "cpus-per-task", "time", "output"})
