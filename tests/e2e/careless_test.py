"""Careless use: mistakes on the command line, unusual files, full disks and closed terminals get clear messages."""

import contextlib
import json
import os
import pty
import resource
import signal
import subprocess
import time
import unittest

from harness import BINARY, Case, environment, paretoken, run_json, started, wait_until

TINY = ("sim:ideal", "--virtual", "--isl", 16, "--osl", 4)


class CommandLine(Case):
    def setUp(self):
        super().setUp()
        self.out = self.directory / "out"

    def run_it(self, *arguments, **options):
        return paretoken("run", *TINY, *arguments, "--out", self.out, **options)

    def test_an_unknown_option_is_named_with_the_one_that_was_meant(self):
        done = self.run_it("--concurency", 4)
        self.fails_clearly(done, 2, "--concurency", "did you mean --concurrency?")
        self.fails_clearly(self.run_it("--num-promts=4"), 2, "--num-promts", "did you mean --num-prompts?")
        self.fails_clearly(self.run_it("--zzz", 4), 2, "--zzz")
        self.fails_clearly(paretoken("repotr"), 2, "repotr", "did you mean report?")

    def test_what_people_try_is_answered_with_what_they_mean(self):
        server = ("run", "sim:ideal", "--virtual", "--out", self.out)
        for arguments, words in (((*server, "--prompts", 5), ["--num-prompts"]),
                                 ((*server, "--speed", 2), ["--arrivals trace:scale=.5"]),
                                 ((*server, "--trace-speedup", 2), ["--arrivals trace:scale=.5"]),
                                 ((*server, "--save-baseline", "main"), ["paretoken baseline save NAME DIR"]),
                                 ((*server, "--usd-per-h", 3), ["did you mean --price 2.50?"]),
                                 ((*server, "--slo", "p95_ttft<200"), ["did you mean ttft_p95?"]),
                                 (("run", "--profile", "llama3-8b-h100-bf16"), ["paretoken run sim:llama3-8b-h100-bf16"]),
                                 (("run", "--profile=llama3-70b/h200x2/fp8"), ["paretoken run sim:llama3-70b/h200x2/fp8"]),
                                 (("sweep", "sim:", "--find-max"), ["did you mean --search slo"]),
                                 (("compare", "a", "b", "--out", "x.html"), ["paretoken report"]),
                                 (("report", "a", "--price-per-hour", 2), ["--price 2.50"]),
                                 (("cost", "per-million", "runs/a", "--usd-per-h", 2), ["paretoken report runs/a --price 2.50"]),
                                 (("serve", "--profile", "llama3-8b/h100/xyz"), ["awq"])):
            with self.subTest(arguments):
                self.fails_clearly(paretoken(*arguments), 2, *words)
        self.assertFalse(self.out.exists())

    def test_a_price_per_hour_is_enough_for_the_cost(self):
        server = ("run", "sim:llama3-8b-h100-bf16", "--virtual", "--num-prompts", 20, "--concurrency", 4)
        done = self.measures(paretoken(*server, "--price", "2.50", "--out", self.out))
        self.assertIn("$2.50/h, --price 2.50)", done.stdout)
        self.assertIn(f"paretoken report {self.out} --price 2.50", done.stdout, "the report has the same price")
        sweep = self.measures(paretoken("sweep", *server[1:4], 20, "--concurrency", "1,4", "--price", 2, "--out", self.directory / "s"))
        self.assertIn("at $2.00/h, --price 2", " ".join(sweep.stdout.split()))
        self.assertIn(" $/M ", sweep.stdout)
        self.assertIn(f"paretoken report {self.directory / 's'} --price 2\n", sweep.stdout)
        report = paretoken("report", self.out, "--price", "2.50", "--no-micro", "--out", self.directory / "page.html")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn("$2.50", (self.directory / "page.html").read_text())
        quiet = paretoken(*server, "-q", "--json", "--out", self.directory / "json")
        self.assertEqual(json.loads(quiet.stdout)["counts"]["requests"], 20, quiet.stderr)

    def test_a_trace_that_is_slowed_down_is_named(self):
        trace = self.directory / "trace.jsonl"
        trace.write_text("".join(json.dumps({"timestamp": 500 * i, "input_length": 16, "output_length": 4, "hash_ids": [i]}) + "\n"
                                 for i in range(12)))
        server = ("run", "sim:ideal", "--virtual", "--dataset", "mooncake", "--dataset-path", trace)
        slow = self.measures(paretoken(*server, "--arrivals", "trace:scale=2", "--out", self.out))
        self.assertIn("replayed more slowly than it was recorded", slow.stderr)
        usual = self.measures(paretoken(*server, "--out", self.directory / "usual"))
        self.assertNotIn("more slowly", usual.stderr)
        self.assertIn("trace, 2.00 req/s", usual.stdout)  # 11 intervals of 0.5 s
        self.assertNotIn("make the run longer", usual.stdout)

    def test_empty_values_are_refused(self):
        for option in ("--model", "--concurrency", "--num-prompts", "--dataset-path", "--extra-body", "--salt", "--url"):
            with self.subTest(option):
                self.fails_clearly(paretoken("run", "--virtual", option, "", "--out", self.out), 2, "empty")
        self.fails_clearly(paretoken("run", "--virtual", "--out", ""), 2, "--out", "empty")
        self.fails_clearly(paretoken("run", "--virtual", "--out="), 2, "--out")

    def test_numbers_that_make_no_sense_are_refused(self):
        for arguments in (("--num-warmups", -1), ("--seed", -1), ("--temperature", "nan"), ("--burstiness", "nan"),
                          ("--range-ratio", "nan"), ("--temperature", "inf")):
            with self.subTest(arguments):
                self.fails_clearly(self.run_it(*arguments), 2, arguments[0])
        self.assertFalse(self.out.exists())

    def test_options_without_effect_are_refused_and_named(self):
        for arguments in (("--spin", "1ms"), ("--traceparent",), ("--burstiness", 2), ("--salt-prompts",), ("--route", "prefix")):
            with self.subTest(arguments):
                self.fails_clearly(self.run_it(*arguments), 2, arguments[0])
        self.fails_clearly(paretoken("run", "sim:ideal", "--write-time", "1ms", "--out", self.out), 2, "--write-time")
        sweep = ("sweep", *TINY, "--num-prompts", 4, "--concurrency", "1,2", "--out", self.out)
        for arguments, words in ((("--precision", 1.2), ["--precision", "--search"]), (("--max-runs", 5), ["--max-runs", "--search"]),
                                 (("--max-time", "5s"), ["--max-time", "--slo"]),
                                 (("--restart", "cell"), ["--restart cell", "--server-cmd"]),
                                 (("--burstiness", 2), ["--burstiness"])):
            with self.subTest(arguments):
                self.fails_clearly(paretoken(*sweep, *arguments), 2, *words)
        gate = ("gate", "--baseline-url", "sim:ideal", "--candidate-url", "sim:ideal", "--virtual", "--out", self.out)
        self.fails_clearly(paretoken(*gate, "--spin", "1ms"), 2, "--spin", "--virtual")
        self.assertFalse(self.out.exists())

    def test_a_computed_run_of_centuries_takes_little_memory(self):
        self.measures(self.run_it("--num-prompts", 20, "--think-time", "1e8s"))
        self.assertEqual(run_json(self.out)["counts"]["requests"], 20)

    def test_a_concurrency_beyond_the_requests_takes_what_the_requests_need(self):
        began = time.monotonic()
        done = self.measures(self.run_it("--concurrency", "1G", "--num-prompts", 5))
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(run_json(self.out)["counts"]["requests"], 5)
        self.assertIn("c=5", done.stdout)

    def test_levels_of_a_sweep_get_as_many_requests_as_they_need(self):
        done = self.measures(paretoken("sweep", *TINY, "--num-prompts", 4, "--concurrency", "2,16", "--out", self.out))
        self.assertEqual([run_json(self.out / name)["counts"]["requests"] for name in ("c0002", "c0016")], [4, 16])
        self.assertIn("16 requests instead of --num-prompts 4", done.stderr)

    def test_too_few_descriptors_are_refused_before_the_start_with_both_numbers(self):
        import resource
        for command, load in (("run", "2000"), ("sweep", "1,2000")):
            with self.subTest(command):
                done = paretoken(command, "sim:ideal", "--num-prompts", 4000, "--concurrency", load, "--out", self.out,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300)))
                self.fails_clearly(done, 3, "2064", "300", "ulimit -n")
                self.assertFalse(self.out.exists())


class Files(Case):
    def setUp(self):
        super().setUp()
        self.out = self.directory / "out"
        self.prompts = self.directory / "prompts.jsonl"

    def test_a_dataset_path_alone_means_the_custom_dataset(self):
        self.prompts.write_text('{"prompt": "Hello there", "output_tokens": 3}\n')
        self.measures(paretoken("run", *TINY[:2], "--dataset-path", self.prompts, "--num-prompts", 4, "--out", self.out))
        self.assertIn("custom", run_json(self.out)["workload"]["dataset"])
        done = paretoken("run", *TINY[:2], "--dataset", "synthetic", "--dataset-path", self.prompts)
        self.fails_clearly(done, 2, "--dataset synthetic", "--dataset-path")

    def test_a_byte_order_mark_is_no_part_of_the_first_line(self):
        self.prompts.write_bytes(b'\xef\xbb\xbf{"prompt": "Hello there"}\r\n{"prompt": "Hello"}')
        self.measures(paretoken("run", *TINY[:2], "--dataset-path", self.prompts, "--num-prompts", 4, "--out", self.out))

    def test_an_out_that_cannot_be_a_directory_is_wrong_use(self):
        for path in ("/dev/stdout", "/dev/null", self.prompts / "below"):
            self.prompts.write_text("x")
            self.fails_clearly(paretoken("run", *TINY, "--out", path), 2, "--out", "a result is a directory")

    def test_an_endless_line_is_refused_with_file_and_line(self):
        began = time.monotonic()
        for path in ("/dev/zero", "/dev/full"):
            done = paretoken("run", *TINY[:2], "--dataset-path", path, "--num-prompts", 4, "--out", self.out, timeout=60)
            self.fails_clearly(done, 2, path, "not a regular file")
        self.assertLess(time.monotonic() - began, 50)
        self.prompts.write_bytes(b'{"prompt": "Hello"}\n' + b" " * (17 << 20))
        done = paretoken("run", *TINY[:2], "--dataset-path", self.prompts, "--num-prompts", 4, "--out", self.out)
        self.fails_clearly(done, 2, f"{self.prompts}:2", "16 MiB")

    def test_a_pipe_is_refused_before_it_is_opened(self):
        os.mkfifo(self.prompts)
        done = paretoken("run", *TINY[:2], "--dataset-path", self.prompts, "--num-prompts", 4, "--out", self.out, timeout=20)
        self.fails_clearly(done, 2, "is not a regular file")
        self.assertFalse(self.out.exists(), "nothing was measured, and nothing is left")

    def test_a_full_disk_leaves_the_summary_on_the_console(self):
        self.out.mkdir()
        (self.out / "requests.jsonl").symlink_to("/dev/full")
        done = paretoken("run", *TINY, "--num-prompts", 20, "--out", self.out)
        self.fails_clearly(done, 3, "requests.jsonl", "No space left")
        self.assertRegex(done.stdout, "TTFT")

    def test_a_limit_on_the_size_of_files_is_told_like_a_full_disk(self):
        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

        done = subprocess.run([BINARY, "run", *map(str, TINY), "--num-prompts", "200", "--out", self.out], text=True,
                              capture_output=True, timeout=60, env=environment(), check=False, preexec_fn=limit_files)
        self.fails_clearly(done, 3, "requests.jsonl", "File too large")
        self.assertRegex(done.stdout, "TTFT")
        self.assertEqual("paretoken show" in done.stdout, (self.out / "run.json").exists(), done.stdout)

    def test_a_reader_that_goes_away_does_not_end_a_measurement(self):
        for command in ("run", "sweep"):
            out = self.directory / command
            with self.subTest(command), started(
                    [BINARY, command, "sim:ideal?ttft=5ms&itl=1ms", "--concurrency", 1, "--num-prompts", 40, "--osl", 4,
                     "--out", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment()) as process:
                process.stdout.close()
                self.assertIn(process.wait(timeout=60), (0, 4))
                results = list(out.rglob("run.json"))
                self.assertEqual([run_json(result.parent)["counts"]["requests"] for result in results], [40])

    def test_a_full_standard_output_is_said(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "run", *map(str, TINY), "--num-prompts", "20", "--out", self.out], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60, env=environment(), check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("standard output", done.stderr)
        self.assertTrue((self.out / "run.json").exists())

    def test_a_report_goes_into_a_directory_that_out_names(self):
        self.measures(paretoken("run", *TINY, "--num-prompts", 20, "--out", self.out))
        pages = self.directory / "pages"
        pages.mkdir()
        self.measures(paretoken("report", self.out, "--out", f"{pages}/"))
        self.assertTrue((pages / "report.html").exists())
        self.assertEqual([path.name for path in pages.iterdir() if path.name.startswith(".")], [])
        self.fails_clearly(paretoken("report", self.out, "--out", "/dev/stdout"), 2, "--out /dev/stdout", "--format json")
        done = self.measures(paretoken("report", self.out, "--format", "json", "--out", "/dev/stdout"))
        self.assertIn("configurations", json.loads(done.stdout))

    def test_control_and_direction_characters_do_not_reach_the_terminal(self):
        done = paretoken("run", "sim:ideal\u202e\u2066\x1b[31m", "--virtual", "--out", self.out)
        self.fails_clearly(done, 2, "\\u202e", "\\u2066")
        for character in "\u202e\u2066\x1b":
            self.assertNotIn(character, done.stderr)


class Terminals(Case):
    def start(self, **extra):
        out = self.directory / "run"
        master, slave = pty.openpty()
        command = [BINARY, "run", "sim:ideal", "--duration", "20s", "--isl", 16, "--osl", 4, "--out", out]
        process = started(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                          env=environment(extra))
        return out, process, master, slave

    def test_a_hangup_ends_the_run_in_good_order(self):
        out, running, master, slave = self.start(TERM="xterm")
        with running as process:
            os.close(slave)
            wait_until(lambda: (out / "requests.jsonl").exists() and (out / "requests.jsonl").stat().st_size > 0)
            os.close(master)  # the terminal is gone
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGHUP)
            self.assertEqual(process.wait(timeout=20), 3)
        result = run_json(out)
        self.assertIs(result["partial"], True)
        self.assertGreater(result["counts"]["ok"], 0)

    def test_a_dumb_terminal_gets_no_control_codes(self):
        for terminal, expected in (("xterm", True), ("dumb", False)):
            out, running, master, slave = self.start(TERM=terminal)
            with self.subTest(terminal), running as process:
                os.close(slave)
                wait_until(lambda: (out / "requests.jsonl").exists())
                time.sleep(1)
                process.terminate()
                process.wait(timeout=20)
                text = b""
                with contextlib.suppress(OSError):
                    while chunk := os.read(master, 65536):
                        text += chunk
                os.close(master)
                self.assertEqual(b"\x1b" in text, expected, text)
            for file in out.iterdir():
                file.unlink()


if __name__ == "__main__":
    unittest.main()
