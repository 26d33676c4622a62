"""A gate in continuous integration: a stored baseline, today's build, and a host that is not the same."""

import json
import pathlib
import subprocess
import unittest

from harness import BINARY, ROOT, Case, environment, paretoken

SERVER = "sim:llama3-8b-h100-bf16"
LOAD = "--virtual --isl 2048 --osl 32 --concurrency 4 --num-prompts 40"
SEEDS = 50


def gate_json(out):
    return json.loads((pathlib.Path(out) / "gate.json").read_text())


class Story(Case):
    """What a platform team runs, in shell, with the exit codes that it reads."""

    long = True

    def shell(self, script):
        (self.directory / "paretoken").exists() or (self.directory / "paretoken").symlink_to(BINARY)
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=self.directory,
                              env=environment({"PATH": f"{self.directory}:/usr/bin:/bin", "LOAD": LOAD}))

    def test_day_1_stores_day_2_is_equal_and_day_3_is_slower(self):
        first = self.shell(f"paretoken gate --baseline main --create-baseline --candidate-url {SERVER} $LOAD --out gates/1")
        self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
        self.assertIn("main: 5 runs stored", first.stdout)
        stored = self.directory / ".paretoken" / "baselines" / "main"
        for run in stored.iterdir():
            size = sum(path.stat().st_size for path in run.iterdir())
            self.assertLess(size, 200_000, run)
        equal = self.shell(f"""
            for seed in $(seq 100 {99 + SEEDS}); do
              status=0
              paretoken gate --baseline main --create-baseline --candidate-url {SERVER} $LOAD --seed $seed --out gates/2/$seed \\
                -q > log 2>&1 || status=$?
              echo $status
              [ $status = 0 ] || [ $status = 5 ] || cat log
            done""")
        codes = equal.stdout.split()
        self.assertEqual(len(codes), SEEDS, equal.stdout + equal.stderr)
        self.assertLessEqual(set(codes), {"0", "5"})
        self.assertGreater(codes.count("0"), SEEDS // 2, "most equal builds pass")
        self.assertEqual(gate_json(self.directory / "gates/2/100")["design"], "stored")
        slower = self.shell(f"paretoken gate --baseline main --candidate-url '{SERVER}?weight_bytes_per_s=2.125e12' $LOAD "
                            "--seed 7 --out gates/3")
        self.assertEqual(slower.returncode, 1, slower.stdout + slower.stderr)
        self.assertIn("ITL is worse", slower.stdout)
        # A baseline takes the candidate that passed, keeps the latest runs, and not the one that failed.
        passed = 100 + codes.index("0")
        grown = self.shell(f"paretoken baseline update main gates/2/{passed} --keep 6 && paretoken baseline update main gates/3")
        self.assertIn("main: 6 runs", grown.stdout)
        self.assertEqual(grown.returncode, 2)
        self.assertIn("the verdict is fail", grown.stderr)

    def test_day_4_on_another_host_is_refused_by_name_and_then_allowed(self):
        server = f"{BINARY} serve --port {{port}} --profile ideal?ttft=20ms&itl=5ms"
        load = "--isl 16 --osl 4 --concurrency 1 --num-prompts 5 --host-noise accept --max-pairs 3"
        command = f"paretoken gate --baseline main --candidate-cmd \"{server.replace('ideal?ttft=20ms&itl=5ms', chr(39) + 'ideal?ttft=20ms&itl=5ms' + chr(39))}\" {load}"
        first = self.shell(f"{command} --create-baseline --runs 3 --out gates/1")
        self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
        for run in (self.directory / ".paretoken" / "baselines" / "main").iterdir():
            path = run / "run.json"
            result = json.loads(path.read_text())
            result["provenance"].update(host="runner-9", host_cpu="Another CPU")
            path.write_text(json.dumps(result))
        refused = self.shell(f"{command} --out gates/2")
        self.assertEqual(refused.returncode, 2, refused.stdout + refused.stderr)
        for part in ("runner-9", "Another CPU", "--across host", "--baseline-cmd"):
            self.assertIn(part, " ".join(refused.stderr.split()))
        allowed = self.shell(f"{command} --across host --out gates/2")
        self.assertIn(allowed.returncode, (0, 1, 5), allowed.stdout + allowed.stderr)
        differing = {row["name"] for row in gate_json(self.directory / "gates/2")["conditions"] if row["differs"]}
        self.assertLessEqual({"host that generated the load", "CPU of that host"}, differing)
        self.assertTrue(any("--candidate-cmd" in note for note in gate_json(self.directory / "gates/2")["notes"]))


class FewRuns(Case):
    def test_a_baseline_of_one_run_is_refused_before_anything_is_measured(self):
        store = ("--store", self.directory / "store")
        runs = [self.directory / str(seed) for seed in range(3)]
        for seed, run in enumerate(runs):
            paretoken("run", SERVER, *LOAD.split(), "--seed", seed, "--out", run)
        saved = paretoken("baseline", "save", "main", runs[0], *store)
        self.assertIn("main: 1 run\n", saved.stdout)
        self.assertIn("`paretoken baseline update main RUN…`", saved.stderr)
        again = paretoken("baseline", "save", "main", *runs, *store)
        self.assertEqual(again.returncode, 2)
        self.assertIn("`paretoken baseline update main RUN…`", again.stderr)
        gate = ("gate", "--baseline", "main", "--candidate-url", SERVER, "--virtual", *store, "--out", self.directory / "gate")
        refused = paretoken(*gate)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("the baseline has 1 run, and", refused.stderr)
        self.assertIn("`paretoken baseline update main RUN…`", refused.stderr)
        self.assertFalse((self.directory / "gate").exists())
        self.assertEqual(paretoken("baseline", "update", "main", *runs[1:], *store).returncode, 0)
        done = paretoken(*gate)
        self.assertIn(done.returncode, (0, 5), done.stderr)
        self.assertNotIn("INCONCLUSIVE", done.stderr)  # the verdict is on standard output, once


class SelfTest(Case):
    def test_the_server_of_a_baseline_is_measured_against_itself_with_its_load(self):
        store = ("--store", self.directory / "store")
        noisy = SERVER + "?hiccup=5ms-20ms/2s"
        first = paretoken("gate", "--baseline", "main", "--create-baseline", "--candidate-url", noisy, *LOAD.split(), *store,
                          "--out", self.directory / "first")
        self.assertEqual(first.returncode, 0, first.stderr)
        done = paretoken("gate", "--self-test", "main", *store, "--out", self.directory / "self")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ +noise +4 pairs +8 pairs +16 pairs +stored +tolerated +to pass$")
        self.assertRegex(done.stdout, r"\n\nA gate of 16 pairs shows shifts from [\d.]+ % to ")
        run = json.loads((self.directory / "self/pairs/06/candidate/run.json").read_text())
        self.assertEqual(run["provenance"]["url"], noisy)
        self.assertEqual((run["plan"]["num_prompts"], run["plan"]["isl"]), (40, "2048"))
        other = paretoken("gate", "--self-test", "main", "--num-prompts", "20", "--max-pairs", "3", *store,
                          "--out", self.directory / "other")
        self.assertEqual(other.returncode, 0, other.stderr)
        self.assertIn("not compared with the stored runs", other.stderr)
        self.assertNotIn("stored  tolerated", other.stdout)

    def test_what_cannot_be_tested_is_refused(self):
        self.fails_clearly(paretoken("gate", "--self-test", "main", "--store", self.directory / "store"), 2, "main")
        self.fails_clearly(paretoken("gate", "--self-test", "main", "--candidate-url", SERVER), 2, "--self-test")


class Words(Case):
    def test_what_cannot_be_is_refused(self):
        for words, told in (
                (("--baseline", "main", "--candidate-url", SERVER), "--create-baseline"),
                (("--baseline-url", SERVER, "--candidate", self.directory), "measure both"),
                (("--baseline", ROOT / "tests/reports/files/interop/samples/vllm-bench/result.json", "--candidate-url", SERVER),
                 "runs of different programs are not compared"),
                (("--create-baseline", "--candidate-url", SERVER, "--baseline-url", SERVER), "--baseline NAME")):
            done = paretoken("gate", *words, "--store", self.directory / "store", "--out", self.directory / "out")
            self.fails_clearly(done, 2, told)
        self.fails_clearly(paretoken("baseline", "update", "main", self.directory, "--store", self.directory / "store"), 2)


if __name__ == "__main__":
    unittest.main()
