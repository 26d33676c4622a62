"""The plan of a run: resumed sweeps refuse another plan; configuration files; fingerprints; repeated runs."""

import json
import signal
import subprocess
import time
import unittest

from harness import BINARY, Case, environment, paretoken, request_lines, run_json, started

LOAD = ("sim:llama3-8b-h100-bf16", "--virtual", "--isl", 32, "--osl", 8, "--num-prompts", 24, "--salt", "s")


def contents(directory):
    """Returns every file below the directory with its content and the time when it was written."""
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.rglob("*") if path.is_file()}


class Resume(Case):
    def setUp(self):
        super().setUp()
        self.out = self.directory / "sweep"

    def sweep(self, *extra, levels="1,2"):
        return paretoken("sweep", *LOAD, "--concurrency", levels, "--out", self.out, *extra)

    def test_another_workload_load_or_way_of_measuring_is_refused_with_option_and_both_values(self):
        self.measures(self.sweep())
        before = contents(self.out)
        for option, was, now in [
            (("--temperature", ".7"), "without --temperature", "--temperature 0.7"),
            (("--no-ignore-eos",), "--ignore-eos true", "--ignore-eos false"),
            (("--range-ratio", ".2"), "without --range-ratio", "--range-ratio 0.2"),
            (("--prompt-form", "text"), "--prompt-form auto", "--prompt-form text"),
            (("--prefill-concurrency", 1), "without --prefill-concurrency", "--prefill-concurrency 1"),
            (("--num-warmups", 4), "--num-warmups 0", "--num-warmups 4"),
            (("--max-completion-tokens",), "--max-completion-tokens false", "--max-completion-tokens true"),
            (("--workers", 2), "--workers 1", "--workers 2"),
        ]:
            with self.subTest(option):
                self.fails_clearly(self.sweep(*option, levels="1,2,4"), 2, was, now, str(self.out))
                self.assertEqual(contents(self.out), before, "nothing may be touched")

    def test_other_slos_judge_the_finished_points_anew(self):
        self.measures(self.sweep())
        records = [(self.out / name / "requests.jsonl").read_bytes() for name in ("c0001", "c0002")]
        self.assertNotIn("goodput_ratio", run_json(self.out / "c0001")["whole_run"])
        done = self.measures(self.sweep("--goodput", "ttft:0.001", levels="1,2,4"))
        self.assertIn("c=2: already measured", done.stderr)
        for name in ("c0001", "c0002", "c0004"):
            self.assertEqual(run_json(self.out / name)["whole_run"]["goodput_ratio"], 0, name)
        self.measures(self.sweep("--goodput", "ttft:1000000", levels="1,2,4"))
        for name in ("c0001", "c0002", "c0004"):
            self.assertEqual(run_json(self.out / name)["whole_run"]["goodput_ratio"], 1, name)
        self.assertEqual([(self.out / name / "requests.jsonl").read_bytes() for name in ("c0001", "c0002")], records)

    def test_a_sweep_that_was_killed_and_resumed_has_the_records_of_an_uninterrupted_one(self):
        load = ("sim:llama3-8b-h100-bf16", "--virtual", "--isl", 128, "--osl", 64, "--num-prompts", 4000, "--salt", "s",
                "--concurrency", "1,2,3,4,5,6,7,8")
        whole = self.directory / "whole"
        self.measures(paretoken("sweep", *load, "--out", whole))
        command = [BINARY, "sweep", *load, "--out", self.out]
        with started(command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and not self.done_points():
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.assertLess(self.done_points(), 8, "it was too fast to be killed half-way")
        self.measures(paretoken("sweep", *load, "--out", self.out))
        for point in json.loads((whole / "sweep.json").read_text())["points"]:
            for name in ("requests.jsonl", "events.bin"):
                file = whole / point["directory"] / name
                if file.exists():
                    self.assertEqual((self.out / point["directory"] / name).read_bytes(), file.read_bytes(), file)

    def done_points(self):
        try:
            points = json.loads((self.out / "sweep.json").read_text())["points"]
        except (OSError, ValueError):
            return 0
        return sum(point["state"] == "done" for point in points)


class Configuration(Case):
    def test_a_printed_configuration_asks_for_the_same(self):
        arguments = ("run", *LOAD, "--concurrency", 4, "--temperature", 0.5, "--no-ignore-eos", "--goodput",
                     "ttft:500 tpot:15")
        printed = self.succeeds(paretoken(*arguments, "--print-config")).stdout
        config = self.directory / "config.json"
        config.write_text(printed)
        self.assertEqual(self.succeeds(paretoken("run", "--config", config, "--print-config")).stdout, printed)
        one, two = self.directory / "one", self.directory / "two"
        self.measures(paretoken(*arguments, "--out", one))
        self.measures(paretoken("run", "--config", config, "--out", two))
        self.assertEqual((one / "requests.jsonl").read_bytes(), (two / "requests.jsonl").read_bytes())
        self.assertEqual(run_json(one)["plan"], {**run_json(two)["plan"], "out": str(one)})

    def test_a_sweep_is_configured_by_a_file_too(self):
        config = self.directory / "config.json"
        config.write_text(self.succeeds(paretoken("sweep", *LOAD, "--concurrency", "1..2", "--print-config")).stdout)
        out = self.directory / "sweep"
        self.measures(paretoken("sweep", "--config", config, "--out", out))
        self.assertEqual([point["load"] for point in json.loads((out / "sweep.json").read_text())["points"]], [1, 2])

    def test_a_configuration_that_is_none_is_refused_by_file_and_key(self):
        config = self.directory / "config.json"
        for text, word in (('{"temprature": 1}', "temprature"), ("[]", "object"), ('{"osl": {}}', "osl"),
                           ('{"concurrency": 0}', "--concurrency")):
            with self.subTest(text):
                config.write_text(text)
                self.fails_clearly(paretoken("run", *LOAD[:2], "--config", config), 2, word)
        self.fails_clearly(paretoken("run", "--config", self.directory / "gone.json"), 2, "gone.json")

    def test_a_secret_is_in_no_file_and_read_from_the_environment(self):
        load = ("http://127.0.0.1:9", "--num-prompts", 24, "-H", "x-key: sesame")
        printed = self.succeeds(paretoken("run", *load, "--print-config")).stdout
        self.assertNotIn("sesame", printed)
        config = self.directory / "config.json"
        config.write_text(printed)
        self.fails_clearly(paretoken("run", "--config", config, "--print-config"), 2, "PARETOKEN_HEADER_X_KEY")
        self.succeeds(paretoken("run", "--config", config, "--print-config", env={"PARETOKEN_HEADER_X_KEY": "sesame"}))


class Workload(Case):
    def fingerprint(self, name, *arguments):
        out = self.directory / name
        self.measures(paretoken("run", *arguments, "--out", out))
        return run_json(out)["workload"]["fingerprint"]

    def test_seed_salt_and_load_are_no_part_of_a_workload_and_content_is(self):
        base = self.fingerprint("base", *LOAD)
        self.assertEqual(base, self.fingerprint("seed", *LOAD, "--seed", 7))
        self.assertEqual(base, self.fingerprint("salt", *LOAD[:-2], "--salt", "t"))
        self.assertEqual(base, self.fingerprint("load", *LOAD, "--concurrency", 4))
        self.assertNotEqual(base, self.fingerprint("sampling", *LOAD, "--temperature", 0.5))
        files = []
        for folder, prompt in (("a", "one"), ("b", "two")):
            (self.directory / folder).mkdir()
            file = self.directory / folder / "prompts.jsonl"
            file.write_text(json.dumps({"prompt": prompt}) + "\n")
            files.append(self.fingerprint(f"of-{folder}", *LOAD[:2], "--num-prompts", 4, "--dataset-path", file))
        self.assertNotEqual(*files)

    def test_two_workers_and_one_make_the_same_requests(self):
        requests = []
        for workers in (1, 2):
            out = self.directory / str(workers)
            self.measures(paretoken("run", "sim:ideal", "--concurrency", 4, "--isl", "uniform:min=8;max=64", "--osl",
                                    "uniform:min=2;max=16", "--num-prompts", 60, "--num-warmups", 6, "--salt", "s",
                                    "--workers", workers, "--out", out))
            requests.append(sorted((line.get("warmup", False), line["index"], line["prompt_tokens"],
                                    line["completion_tokens"]) for line in request_lines(out)))
        self.assertEqual(len(requests[0]), 66)
        self.assertEqual(*requests)


if __name__ == "__main__":
    unittest.main()
