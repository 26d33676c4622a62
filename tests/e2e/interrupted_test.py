"""Runs that did not reach their end: because of Ctrl-C, kill -9, or a server that died during the run."""

import signal
import subprocess
import unittest

from harness import BINARY, Case, environment, paretoken, request_lines, run_json, simulated_server, started, wait_until
from hostile_server import HostileServer


def lines_in(path):
    return path.read_text().count("\n") if path.exists() else 0


class Interrupted(Case):
    def start(self, address, *options, concurrency=4, osl=8):
        out = self.directory / "run"
        command = [BINARY, "run", address, "--concurrency", concurrency, "--num-prompts", 100000, "--isl", 32,
                   "--osl", osl, "--out", out, *options]
        return out, started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                            env=environment(), text=True)

    def test_an_interrupt_leaves_a_readable_result_that_says_it_is_partial(self):
        with simulated_server() as address:
            out, running = self.start(address)
            with running as process:
                wait_until(lambda: lines_in(out / "requests.jsonl") >= 40, what="40 requests on disk")
                process.send_signal(signal.SIGINT)
                stdout, stderr = process.communicate(timeout=30)
        result = run_json(out)
        self.assertIs(result["partial"], True)
        self.assertGreaterEqual(result["counts"]["ok"], 40)
        self.assertEqual(result["counts"]["failed"], 0, "requests cut off by the interrupt are not failures")
        self.assertEqual(len(request_lines(out)),
                         result["counts"]["requests"] + result["counts"].get("cancelled", 0)
                         + result["counts"].get("warmup", 0))
        self.assertRegex(stdout + stderr, r"(?i)partial|interrupted")
        self.assertNotEqual(process.returncode, 0)

    def long_streams(self, signals):
        """Interrupts a run of eight streams that take 2 s each, `signals` times. Returns the counts of the run."""
        with simulated_server("--profile", "ideal?ttft=50ms&itl=20ms") as address:
            out, running = self.start(address, concurrency=8, osl=100)
            with running as process:
                wait_until(lambda: lines_in(out / "requests.jsonl") >= 8, what="eight requests on disk")
                for number in range(signals):
                    process.send_signal(signal.SIGINT)
                    if number == 0:  # two signals that arrive together count as one
                        while "followed" not in process.stderr.readline():
                            self.assertIsNone(process.poll())
                stdout, stderr = process.communicate(timeout=60)
        result = run_json(out)
        self.assertIs(result["partial"], True)
        self.assertEqual(result["stop"]["rule"], "interrupted")
        self.assertRegex(stdout + stderr, r"(?i)partial")
        return result["counts"]

    def test_streams_are_followed_to_their_end_after_one_interrupt(self):
        counts = self.long_streams(1)
        self.assertEqual(counts["ok"], counts["requests"])
        self.assertEqual(counts.get("cancelled", 0), 0)

    def test_streams_are_cut_off_by_the_second_interrupt(self):
        counts = self.long_streams(2)
        self.assertGreater(counts["cancelled"], 0)
        self.assertEqual(counts["failed"], 0)

    def test_an_interrupt_before_anything_was_measured_has_its_own_exit_code(self):
        with HostileServer("stall") as server:
            for command in (("sweep", server.address, "--concurrency", "1..2"), ("cache", server.address),
                            ("gate", "--baseline-url", server.address, "--candidate-url", server.address)):
                with self.subTest(command[0]), started(
                        [BINARY, *command, "--out", self.directory / command[0]], stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(), text=True) as process:
                    while "waiting for" not in (line := process.stderr.readline()):
                        self.assertTrue(line, "it said nothing")
                    process.send_signal(signal.SIGINT)
                    _, stderr = process.communicate(timeout=30)
                    self.assertEqual(process.returncode, 130, stderr)
                    self.assertIn("interrupted before the measurement began", stderr)

    def test_an_interrupted_sweep_prints_the_command_that_continues_it(self):
        with simulated_server() as address:
            with started([BINARY, "sweep", address, "--concurrency", "1..4", "--num-prompts", 2000, "--isl", 32, "--osl", 8],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(),
                         text=True, cwd=self.directory) as process:
                wait_until(lambda: any(lines_in(file) >= 40 for file in self.directory.rglob("requests.jsonl")),
                           what="40 requests on disk")
                process.send_signal(signal.SIGINT)
                _, stderr = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 3, stderr)
        self.assertRegex(stderr, r"this command measures them: \S*paretoken sweep http://\S+ .*--out runs/")

    def test_a_killed_run_leaves_lines_that_can_be_read_and_no_good_result(self):
        with simulated_server() as address:
            out, running = self.start(address)
            with running as process:
                wait_until(lambda: lines_in(out / "requests.jsonl") >= 40, what="40 requests on disk")
                process.kill()
                process.wait()
        self.assertGreaterEqual(len(request_lines(out)), 40)
        self.never_called_good(out)

    def test_a_server_that_dies_is_told_from_a_slow_one(self):
        serve = [BINARY, "serve", "--port", 0]
        from harness import address_from
        with started(serve, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as server:
            address = address_from(server)
            out, running = self.start(address, "--duration", "4s")
            with running as process:
                wait_until(lambda: lines_in(out / "requests.jsonl") >= 40, what="40 requests on disk")
                server.kill()
                stdout, stderr = process.communicate(timeout=60)
        result = run_json(out)
        self.assertGreater(result["counts"]["failed"], 0)
        self.assertTrue({"connect_failed", "disconnected"} & set(result["counts"]["by_outcome"]),
                        result["counts"])
        self.assertNotEqual(result["validity"]["verdict"], "valid", stdout + stderr)


if __name__ == "__main__":
    unittest.main()
