"""The Python package `paretoken`: it reads runs, with NumPy and without, and refuses what is no run."""

import importlib
import json
import shutil
import subprocess
import sys
import unittest

from harness import ROOT, Case, environment, paretoken

PACKAGE = ROOT / "packaging" / "python"
RUN = ("run", "sim:llama3-8b-h100-fp8", "--concurrency", "4", "--num-prompts", "40", "--num-warmups", "2", "--isl", "64", "--osl",
       "20", "--virtual")


class Reader(Case):
    def setUp(self):
        super().setUp()
        sys.path.insert(0, str(PACKAGE))
        self.addCleanup(sys.path.remove, str(PACKAGE))
        self.run_directory = self.directory / "run"
        self.succeeds(paretoken(*RUN, "--out", self.run_directory))

    def reader(self, with_numpy):
        """Returns the package, freshly imported, as if NumPy were installed or not."""
        names = [name for name in sys.modules if name.split(".")[0] == "paretoken"]
        for name in names:
            del sys.modules[name]
        if with_numpy:
            try:
                import numpy  # noqa: F401
            except ImportError:
                self.skipTest("NumPy is not installed")
        else:
            hidden = sys.modules.get("numpy")
            sys.modules["numpy"] = None  # importing it raises ImportError
            self.addCleanup(lambda: sys.modules.pop("numpy") if hidden is None else sys.modules.update(numpy=hidden))
        sys.dont_write_bytecode = True
        return importlib.import_module("paretoken")

    def agrees_with_the_files(self, run):
        result = json.loads((self.run_directory / "run.json").read_text())
        self.assertEqual(run.metrics, result["metrics"])
        self.assertEqual(run.throughput["requests_per_s"], result["throughput"]["requests_per_s"])
        self.assertEqual(run.verdict, result["validity"]["verdict"])
        lines = [json.loads(line) for line in (self.run_directory / "requests.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), 42)
        self.assertEqual(list(run.requests["first_event_s"]), [line["first_event_s"] for line in lines])
        of_request = {}
        for request, warmup, time, tokens in zip(*(run.events[key] for key in ("request", "warmup", "time_s", "tokens"))):
            of_request.setdefault((bool(warmup), int(request)), []).append((float(time), int(tokens)))
        self.assertEqual(len(of_request), len(lines))
        for line in lines:
            events = of_request[line.get("warmup", False), line["index"]]
            self.assertEqual(len(events), line["chunks"])
            self.assertAlmostEqual(events[0][0], line["first_event_s"], places=9)
            self.assertAlmostEqual(events[-1][0], line["last_event_s"], places=9)
            self.assertEqual(sum(tokens for _, tokens in events), line["streamed_tokens"])

    def test_columns_agree_with_the_files_without_numpy(self):
        run = self.reader(with_numpy=False).load(self.run_directory)
        self.agrees_with_the_files(run)
        self.assertIsInstance(run.requests["index"], list)

    def test_columns_are_arrays_with_numpy(self):
        run = self.reader(with_numpy=True).load(self.run_directory)
        self.agrees_with_the_files(run)
        self.assertEqual(run.requests["first_event_s"].dtype.kind, "f")
        self.assertEqual(run.events["tokens"].dtype.kind, "i")

    def test_events_after_a_damaged_frame_are_ignored(self):
        reader = self.reader(with_numpy=False)
        whole = reader.load(self.run_directory).events
        path = self.run_directory / "events.bin"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1  # in the last frame
        path.write_bytes(data)
        damaged = reader.load(self.run_directory).events
        self.assertEqual(len(whole["tokens"]) - len(damaged["tokens"]), 20)
        self.assertEqual(damaged["time_s"], whole["time_s"][:-20])

    def test_what_is_no_run_is_named(self):
        reader = self.reader(with_numpy=False)
        cases = {"has no run.json": self.directory, "is a sweep": self.directory / "sweep", "schema": self.directory / "other",
                 "is not JSON": self.directory / "broken"}
        for name in ("sweep", "other", "broken"):
            (self.directory / name).mkdir()
        (self.directory / "sweep" / "sweep.json").write_text("{}")
        (self.directory / "other" / "run.json").write_text('{"schema": "paretoken/run/99"}')
        (self.directory / "broken" / "run.json").write_text("{")
        for words, path in cases.items():
            with self.assertRaises(reader.RunError) as raised:
                reader.load(path)
            self.assertIn(words, str(raised.exception))
            self.assertIn(str(path), str(raised.exception))

    def test_the_program_of_the_package_is_missed_by_name_where_it_is_not_installed(self):
        package = self.directory / "alone" / "lib"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        done = subprocess.run([sys.executable, "-m", "paretoken", "--version"], capture_output=True, text=True, check=False,
                              env=environment({"PYTHONPATH": str(package)}))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("install the package paretoken again", done.stderr)
        program = package / "bin" / "paretoken"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho started with $1\n")
        program.chmod(0o755)
        done = subprocess.run([sys.executable, "-m", "paretoken", "--version"], capture_output=True, text=True, check=True,
                              env=environment({"PYTHONPATH": str(package)}))
        self.assertEqual(done.stdout, "started with --version\n")


if __name__ == "__main__":
    unittest.main()
