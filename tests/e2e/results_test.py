"""Results are never lost: no command replaces, mixes or hides the results of an earlier one."""

import json
import signal
import subprocess
import unittest

from harness import (BINARY, Case, address_from, environment, paretoken, refused_port, request_lines, run_json, started,
                     wait_until)

QUICK = ("sim:ideal", "--virtual", "--isl", 16, "--osl", 4, "--num-prompts", 20)


class Results(Case):
    def setUp(self):
        super().setUp()
        self.out = self.directory / "out"

    def test_four_runs_started_together_leave_four_directories_with_four_results(self):
        command = [BINARY, "run", "sim:ideal", "--num-prompts", "20", "--isl", "16", "--osl", "4"]
        running = [subprocess.Popen(command, cwd=self.directory, env=environment(), stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) for _ in range(4)]
        for process in running:
            stderr = process.communicate(timeout=120)[1]
            self.assertIn(process.returncode, (0, 4), stderr)
        results = list((self.directory / "runs").iterdir())
        self.assertEqual(len(results), 4, results)
        for result in results:
            self.assertEqual(run_json(result)["counts"]["requests"], 20)
            self.assertEqual(len(request_lines(result)), 20)

    def test_a_result_is_replaced_only_by_overwrite(self):
        self.measures(paretoken("run", *QUICK, "--seed", 1, "--out", self.out))
        before = (self.out / "run.json").read_bytes()
        self.fails_clearly(paretoken("run", *QUICK, "--seed", 2, "--out", self.out), 2, str(self.out), "--overwrite")
        self.assertEqual((self.out / "run.json").read_bytes(), before)
        self.measures(paretoken("run", *QUICK, "--seed", 2, "--out", self.out, "--overwrite"))
        self.assertEqual(run_json(self.out)["workload"]["seed"], 2)

    def test_a_result_outlives_an_overwriting_run_that_never_began(self):
        self.measures(paretoken("run", *QUICK, "--out", self.out))
        before = (self.out / "run.json").read_bytes()
        paretoken("run", f"http://127.0.0.1:{refused_port()}", "--out", self.out, "--overwrite")
        self.assertEqual((self.out / "run.json").read_bytes(), before)

    def test_runs_and_sweeps_keep_out_of_each_other_s_directories(self):
        self.measures(paretoken("sweep", *QUICK, "--concurrency", "1,2", "--out", self.out))
        for place in (self.out, self.out / "c0001", self.out / "other"):
            self.fails_clearly(paretoken("run", *QUICK, "--out", place, "--overwrite"), 2, "holds", "a sweep")
        run = self.directory / "run"
        self.measures(paretoken("run", *QUICK, "--out", run))
        self.fails_clearly(paretoken("sweep", *QUICK, "--concurrency", "1,2", "--out", run), 2, "holds the result of a run")

    def test_two_processes_do_not_write_into_one_directory(self):
        command = [BINARY, "run", "sim:ideal", "--duration", "20s", "--isl", 16, "--osl", 4, "--out", self.out]
        with started(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                     stdin=subprocess.DEVNULL) as process:
            wait_until(lambda: (self.out / "requests.jsonl").exists(), what="a run")
            for extra in ((), ("--overwrite",)):
                done = paretoken("run", *QUICK, "--out", self.out, *extra)
                self.fails_clearly(done, (2, 3), str(self.out))
            self.assertIn(f"process {process.pid} on", done.stderr)

    def test_the_directory_of_a_killed_run_is_taken_over(self):
        command = [BINARY, "run", "sim:ideal", "--duration", "20s", "--isl", 16, "--osl", 4, "--out", self.out]
        with started(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                     stdin=subprocess.DEVNULL) as process:
            wait_until(lambda: (self.out / "requests.jsonl").exists(), what="a run")
            process.kill()
            process.wait()
        self.measures(paretoken("run", *QUICK, "--out", self.out, "--overwrite"))
        self.assertEqual(len(request_lines(self.out)), 20)

    def test_a_run_that_never_began_leaves_no_directory(self):
        paretoken("run", f"http://127.0.0.1:{refused_port()}", "--out", self.out)
        self.assertFalse(self.out.exists())


class SweepsAgain(Case):
    def setUp(self):
        super().setUp()
        self.out = self.directory / "sweep"

    def points(self):
        return json.loads((self.out / "sweep.json").read_text())["points"]

    def test_a_sweep_whose_server_dies_stops_and_exits_3_and_goes_on_when_it_is_back(self):
        port = refused_port()
        serve = [BINARY, "serve", "--port", port, "--profile", "ideal"]
        sweep = ["sweep", f"http://127.0.0.1:{port}", "--isl", 16, "--osl", 4, "--duration", "3s", "--concurrency",
                 "1,2,4", "--out", self.out]
        with started(serve, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as server:
            address_from(server)
            with started([BINARY, *sweep], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         stdin=subprocess.DEVNULL, text=True) as process:
                wait_until(lambda: (self.out / "c0001" / "requests.jsonl").exists(), what="a first point")
                server.send_signal(signal.SIGKILL)
                _, stderr = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 3, stderr)
        self.assertIn("no longer answers", stderr)
        self.assertEqual([point["state"] for point in self.points()], ["failed", "pending", "pending"])
        with started(serve, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as server:
            address_from(server)
            self.measures(paretoken(*sweep))
        self.assertEqual([point["state"] for point in self.points()], ["done"] * 3)
        self.assertEqual([point["failed"] for point in self.points()], [0] * 3)

    def test_invalid_and_missing_points_are_measured_again_and_a_finished_sweep_says_when(self):
        sweep = ("sweep", *QUICK, "--concurrency", "1,2,4", "--out", self.out)
        self.measures(paretoken(*sweep))
        for file in (self.out / "c0002").iterdir():
            file.unlink()
        (self.out / "c0002").rmdir()
        text = json.loads((self.out / "sweep.json").read_text())
        text["points"][2]["verdict"] = "invalid"
        (self.out / "sweep.json").write_text(json.dumps(text))
        done = self.measures(paretoken(*sweep))
        self.assertIn("c=1: already measured", done.stderr)
        self.assertNotIn("c=2: already", done.stderr)
        self.assertNotIn("c=4: already", done.stderr)
        self.assertTrue((self.out / "c0002" / "run.json").exists())
        self.assertEqual(self.points()[2]["verdict"], "valid")
        done = self.measures(paretoken(*sweep))
        self.assertIn(text["started_at"], done.stderr, "a finished sweep says when it was measured")

    def test_a_sweep_is_made_anew_by_overwrite(self):
        self.measures(paretoken("sweep", *QUICK, "--concurrency", "1,2", "--out", self.out))
        other = ("sim:ideal", "--virtual", "--isl", 32, "--osl", 4, "--num-prompts", 20)
        self.measures(paretoken("sweep", *other, "--concurrency", "1,2", "--out", self.out, "--overwrite"))
        self.assertEqual(run_json(self.out / "c0001")["workload"]["wanted_input_tokens"], 32)


if __name__ == "__main__":
    unittest.main()
