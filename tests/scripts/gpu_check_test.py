"""The whole of scripts/gpu_check without a GPU: a program that answers as paretoken-microbench does, and recordings of
the tools; run with `python3 tests/scripts/gpu_check_test.py`."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDINGS = pathlib.Path(__file__).resolve().parent / "samples" / "gpu"
sys.path.insert(0, str(ROOT / "scripts"))

from gpu import commands, peers, readings, stages, tables  # noqa: E402

LLAMA = "attention/preset:llama3-70b/kv:bf16/batch:16/ctx:8192/page:16/layout:nhd/order:random/backend:gpu/mode:ring"

# Writes rows as the real program does. FACTOR changes their speed, FAIL names what goes wrong.
PROGRAM = '''#!/usr/bin/env python3
import json, os, sys
flags = dict(word.partition("=")[::2] for word in sys.argv[1:])
fail = os.environ.get("FAIL", "")
if "--help" in flags:
    print("usage: paretoken-microbench [flags]")
    sys.exit(0)
if fail == "crash" and "ceiling|launch" in flags.get("--benchmark_filter", ""):
    print("out of memory")
    sys.exit(3)
factor = float(os.environ.get("FACTOR", "1"))
def row(name, seconds, bytes_, **more):
    return {"name": name, "run_type": "iteration", "median_s": seconds / factor, "p25_s": seconds / factor * .99,
            "p75_s": seconds / factor * 1.01, "bytes_per_second": bytes_ / seconds * factor, "read_bytes": bytes_,
            "cv": 0.004, "of_ceiling": 0.93, "valid": 1, **more}
rows = [row("weights/one/backend:gpu/mode:ring", 1e-4, 3e8), row("weights/two/backend:gpu/mode:ring", 1e-4, 3e8),
        row("LLAMA", 1.8e-4, 537e6), row("ceiling/read/backend:gpu", 1e-4, 3e8),
        row("gemm_lib/one/backend:gpu/mode:ring", 1.5e-4, 3e8)]
lack = {"name": "prefill/gemm/w:nvfp4/backend:gpu/mode:ring", "run_type": "iteration", "valid": 0,
        "label": "w:nvfp4 needs sm_100, this GPU has sm_90"}
if "--plant-fault" in flags and fail != "blind":
    rows = [{"name": row["name"], "run_type": "iteration", "error_occurred": True,
             "error_message": "verification failed"} for row in rows]
rows.append(lack)
with open(flags["--benchmark_out"], "w") as out:
    json.dump({"context": {}, "benchmarks": rows}, out)
sys.exit(4 if "--plant-fault" in flags else 0)
'''.replace("LLAMA", LLAMA)


@contextlib.contextmanager
def bench(recordings=None):
    """(folder, check(*flags, **environment) -> (exit code, gpu_check.json)); recordings replace those of the samples."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        program = folder / "paretoken-microbench"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        shutil.copytree(RECORDINGS, folder / "recordings")
        for name, text in (recordings or {}).items():
            if text is None:
                (folder / "recordings" / name).unlink()
            else:
                (folder / "recordings" / name).write_text(text)

        def check(*flags, out="out", **environment):
            argv = [sys.executable, ROOT / "scripts" / "gpu_check", "--rehearse", "--bin", program, "--out", folder / out,
                    "--recordings", folder / "recordings", *flags]
            ran = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=120,
                                 env=os.environ | environment)
            path = folder / out / "gpu_check.json"
            return ran.returncode, json.loads(path.read_text()) if path.exists() else ran.stderr

        yield folder, check


def stage(document, name):
    return next(stage for stage in document["stages"] if stage["name"] == name)


class TheWholeCheck(unittest.TestCase):
    def test_every_stage_runs_and_leaves_eight_files_at_most(self):
        with bench() as (folder, check):
            code, document = check()
            self.assertEqual({s["name"]: s["verdict"] for s in document["stages"]},
                             {name: "passed" for name, *_ in stages.STAGES})
            self.assertEqual(code, 0)
            files = sorted(path.name for path in (folder / "out").iterdir())
            self.assertLessEqual(len(files), 8, files)
            self.assertLess(sum(path.stat().st_size for path in (folder / "out").iterdir()), 1 << 20)
            page = (folder / "out" / "gpu_check.md").read_text()
            self.assertIn("A rehearsal", page)
            self.assertIn("NVIDIA H100 80GB HBM3", page)
            for name, *_ in stages.STAGES:
                self.assertIn(f"## {name}: passed", page)

    def test_a_second_call_tells_how_repeatable_the_first_was(self):
        with bench() as (folder, check):
            _, first = check("--only", "suite")
            self.assertIn("repeatability: skipped, no earlier call's suite.json", " ".join(stage(first, "suite")["lines"]))
            _, second = check("--only", "suite", FACTOR="1.05")
            self.assertIn("repeatability: 0 of 5 rows within 2 %", stage(second, "suite")["lines"])
            check()
            self.assertLessEqual(len(list((folder / "out").iterdir())), 8, "also after a call more")
            self.assertAlmostEqual(stage(second, "suite")["data"]["repeatability"][LLAMA], 0.05)
            _, third = check("--only", "suite", "--previous", folder / "out", out="elsewhere", FACTOR="1.01")
            self.assertIn("repeatability: 5 of 5 rows within 2 %", stage(third, "suite")["lines"])
            self.assertTrue((folder / "elsewhere" / "suite.json").exists())

    def test_what_the_machine_lacks_is_told_and_fails_nothing(self):
        with bench() as (folder, check):
            code, document = check("--only", "verify,ceilings,suite")
            self.assertEqual((code, {s["verdict"] for s in document["stages"]}), (0, {"passed"}))
            lacking = "prefill/gemm/w:nvfp4/backend:gpu/mode:ring: not here: w:nvfp4 needs sm_100, this GPU has sm_90"
            for name in ("verify", "ceilings", "suite"):
                self.assertIn(lacking, stage(document, name)["lines"])
            self.assertIn("6 rows in", stage(document, "suite")["lines"][0])
            self.assertIn("0 invalid, 1 not for this machine", stage(document, "suite")["lines"][0])
            self.assertIn("5 rows agree with fp64, and all 5 with a planted fault do not",
                          stage(document, "verify")["lines"][0])
            page = (folder / "out" / "gpu_check.md").read_text()
            self.assertIn("| no: w:nvfp4 needs sm_100, this GPU has sm_90 |", page)

    def test_a_stage_that_fails_says_why_and_stops_nothing(self):
        with bench() as (_, check):
            code, document = check(FAIL="crash")
            self.assertEqual(code, 1)
            self.assertEqual(stage(document, "suite")["verdict"], "failed")
            self.assertIn("exited 3: out of memory", stage(document, "suite")["lines"][0])
            self.assertEqual(stage(document, "peers")["verdict"], "passed")

    def test_a_planted_fault_that_goes_unnoticed_fails_the_verification(self):
        with bench() as (_, check):
            _, document = check("--only", "verify", FAIL="blind")
            self.assertEqual(stage(document, "verify")["verdict"], "failed")
            self.assertIn("went unnoticed: weights/one", " ".join(stage(document, "verify")["lines"]))

    def test_tools_that_do_not_find_what_was_planted_fail_the_identity(self):
        with bench({"canary-memcheck.txt": "========= ERROR SUMMARY: 0 errors\n"}) as (_, check):
            _, document = check("--only", "identity")
            self.assertEqual(stage(document, "identity")["verdict"], "failed")
            self.assertIn("canary memcheck: NOT found", stage(document, "identity")["lines"][0])

    def test_errors_of_the_sanitizer_fail_it(self):
        text = "========= ERROR SUMMARY: 2 errors\n"
        with bench({"memcheck.txt": text}) as (folder, check):
            code, document = check("--only", "sanitizer")
            self.assertEqual((code, stage(document, "sanitizer")["verdict"]), (1, "failed"))
            self.assertIn("ERROR SUMMARY: 2", (folder / "out" / "sanitizer.txt").read_text())

    def test_more_bytes_than_claimed_fail_and_refused_counters_are_unproven(self):
        with bench() as (folder, check):
            _, document = check("--only", "suite,bytes")
            proven = stage(document, "bytes")
            self.assertEqual(proven["verdict"], "passed")
            self.assertEqual(proven["data"][LLAMA], {"claimed": 537e6, "read": 539e6})
            self.assertEqual(len(proven["data"]), 2)
            self.assertIn("kv:fp8/batch:32/ctx:8192/page:16/layout:nhd/order:random/backend:gpu/mode:ring: bytes: unproven",
                          proven["lines"][-1])
            self.assertNotIn("backend:cpu", " ".join(proven["lines"]))
            self.assertEqual(stage(check("--only", "bytes", out="alone")[1], "bytes")["verdict"], "passed",
                             "it needs no suite")
            much = (folder / "recordings" / "ncu.csv").read_text().replace("538,000,000", "638,000,000")
            (folder / "recordings" / "ncu.csv").write_text(much)
            self.assertEqual(stage(check("--only", "suite,bytes")[1], "bytes")["verdict"], "failed")
        refused = "exit 1\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
        with bench({"ncu.csv": refused}) as (_, check):
            code, document = check("--only", "suite,bytes")
            self.assertEqual((code, stage(document, "bytes")["verdict"]), (0, "skipped"))
            self.assertIn("bytes: unproven, this user may not read", stage(document, "bytes")["lines"][0])

    def test_peers_are_compared_by_intervals_and_losses_are_told(self):
        with bench() as (_, check):
            _, document = check("--only", "peers")
            table = {row["name"]: row for row in stage(document, "peers")["data"]["table"] if row["peer"] != "cuBLASLt"}
            self.assertEqual(table["weights/one"]["verdict"], "faster")
            self.assertAlmostEqual(table["weights/one"]["ratio"], 2)
            self.assertEqual(table["weights/two"]["verdict"], "ambiguous")
            library = {row["name"]: row for row in stage(document, "peers")["data"]["table"] if row["peer"] == "cuBLASLt"}
            self.assertEqual(set(library), {"weights/one"}, "from the same program, at the same sizes")
            self.assertAlmostEqual(library["weights/one"]["ratio"], 1.5)
            self.assertIn("No module named 'flashinfer'", stage(document, "peers")["lines"][-1])
            _, document = check("--only", "peers", FACTOR="0.25")
            self.assertIn("2 lost", stage(document, "peers")["lines"][0])

    def test_what_the_budget_does_not_allow_is_skipped_with_the_reason(self):
        with bench() as (_, check):
            code, document = check("--budget", "12")
            self.assertEqual(code, 0)
            self.assertEqual(stage(document, "suite")["verdict"], "skipped")
            self.assertIn("of the budget were left, and it needs 30", stage(document, "suite")["lines"][0])

    def test_a_machine_without_a_gpu_ends_the_check_at_once(self):
        with bench({"identity.json": '{"gpu": null, "because": "no CUDA in this build"}'}) as (_, check):
            code, document = check()
            self.assertEqual((code, len(document["stages"])), (1, 1))
            self.assertIn("no CUDA in this build", stage(document, "identity")["lines"][0])

    def test_wrong_usage_is_told_from_failures(self):
        with bench() as (folder, check):
            self.assertEqual(check("--only", "sweet")[0], 2)
            self.assertEqual(check("--budget", "1")[0], 2)
            self.assertEqual(check("--bin", folder / "absent")[0], 3)


class Readings(unittest.TestCase):
    def test_values_of_ncu_are_bytes_whatever_the_unit_and_whatever_stands_around_them(self):
        self.assertEqual(readings.ncu_values((RECORDINGS / "ncu.csv").read_text())[2:],
                         [("attention_decode", 538e6), ("attention_decode", 540e6)])
        mega = (RECORDINGS / "ncu.csv").read_text().replace('"byte","538,000,000"', '"Mbyte","538.5"')
        self.assertEqual(readings.ncu_values(mega)[2][1], 538.5e6)
        self.assertEqual(readings.ncu_values("==ERROR== nothing"), [])

    def test_bytes_are_shared_out_by_what_the_program_says_it_launched_and_only_if_all_were_seen(self):
        output = (RECORDINGS / "ncu.csv").read_text()
        weights = "weights/preset:llama3-8b/op:gate_up/w:bf16/batch:1/backend:gpu/mode:ring"
        self.assertEqual(readings.proven_bytes(output, [LLAMA, weights]),
                         {LLAMA: {"claimed": 537e6, "read": 539e6}, weights: {"claimed": 235e6, "read": 236.2e6}})
        self.assertEqual(set(readings.proven_bytes(output, [LLAMA])), {LLAMA})
        one_less = "\n".join(line for line in output.splitlines() if not line.startswith('"3"'))
        self.assertEqual(readings.proven_bytes(one_less, [LLAMA, weights]), {})
        self.assertEqual(readings.proven_bytes("==ERROR== nothing", [LLAMA]), {})

    def test_all_rows_to_be_proven_are_profiled_by_one_process(self):
        argv = stages.profiled("bin", ["a/one", "b/two"])
        self.assertEqual(argv[-3:], ["bin", "--gpu-profile", "--benchmark_filter=^(a/one|b/two)$"])
        self.assertEqual(argv[argv.index("--profile-from-start") + 1], "off")
        self.assertNotIn("--launch-skip", argv)

    def test_the_largest_change_of_a_larger_ring_is_told_of_each_family(self):
        lines, changed = stages.doubling_lines([("attention/a", -0.009), ("weights/b", 0.004), ("attention/c", 0.001)])
        self.assertEqual(lines, ["ring doubling: -0.90 % on attention/a", "ring doubling: +0.40 % on weights/b"])
        self.assertFalse(changed)
        self.assertTrue(stages.doubling_lines([("ceiling/read/mib:256", 0.002), ("weights/b", -0.012)])[1])
        self.assertIn("skipped", stages.doubling_lines([])[0][0])

    def test_a_sanitizer_that_did_not_end_counts_as_nothing_rather_than_as_clean(self):
        self.assertEqual(readings.sanitizer_errors((RECORDINGS / "canary-memcheck.txt").read_text()), 33)
        self.assertEqual(readings.sanitizer_errors((RECORDINGS / "canary-racecheck.txt").read_text()), 1)
        self.assertEqual(readings.sanitizer_errors((RECORDINGS / "racecheck.txt").read_text()), 0)
        self.assertIsNone(readings.sanitizer_errors("========= Error: Device not supported"))
        stopped = (RECORDINGS / "canary-racecheck.txt").read_text().split("========= RACECHECK")[0]
        self.assertEqual(readings.sanitizer_errors(stopped), 1, "what it had found before it was stopped")

    def test_the_slope_is_what_a_further_byte_costs_whatever_a_launch_does(self):
        def rows(kind, launch_s, speed):
            return {f"{kind}/{size}": {"read_bytes": size, "median_s": launch_s + size / speed}
                    for size in (1e8, 2e8, 4e8)}

        found = readings.slopes(rows("ceiling/read", 3e-6, 4e12) | rows("attention/preset:x/kv:fp8", 9e-6, 3e12) |
                                {"mla/preset:y/kv:bf16/1": {"read_bytes": 1e8, "median_s": 1e-4}})
        self.assertEqual(set(found), {"ceiling/read", "attention kv:fp8"}, "one size tells nothing")
        self.assertAlmostEqual(found["ceiling/read"] / 4e12, 1)
        self.assertAlmostEqual(found["attention kv:fp8"] / 3e12, 1)

    def test_without_counters_rows_that_claim_too_much_stand_out(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            rows = [{"name": f"{kind}/{i}", "read_bytes": size, "median_s": 1e-6 + size / speed}
                    for kind, speed in (("ceiling/read", 4e12), ("weights/p/w:int4", 5e12), ("weights/p/w:bf16", 3.8e12))
                    for i, size in enumerate((1e8, 2e8, 4e8))]
            (folder / "suite.json").write_text(json.dumps({"benchmarks": rows}))
            check = stages.Check(commands.Rehearsal(RECORDINGS), "bin", "", folder, folder)
            lines = stages.slope_lines(check)
            self.assertIn("weights w:bf16: 3800 GB/s, 95.0 % of the read ceiling's", lines[0])
            self.assertIn("BEYOND it", lines[1])

    def test_two_suites_are_compared_row_by_row_and_what_only_one_has_is_told(self):
        def suite(**speeds):
            return {name: {"bytes_per_second": speed, "valid": 1} for name, speed in speeds.items()}

        first = suite(a=100, b=100, c=100, gone=100)
        second = suite(a=101, b=95, c=100, new=100)
        second["b"]["valid"] = 0
        lines = readings.repeatability_lines(first, second)
        self.assertEqual(lines[0], "repeatability: 2 of 3 rows within 2 %")
        self.assertEqual(lines[1], "repeatability: half of the rows within 1.00 %, all within 5.0 %")
        self.assertEqual(lines[2], "repeatability: b -5.0 %, called invalid in one of the calls")
        self.assertEqual(lines[3], "repeatability: 2 rows were measured in one call only, e.g. gone")
        self.assertEqual(readings.repeatability_lines(suite(a=1), suite(b=1)),
                         ["repeatability: no row was measured in both calls"])

    def test_a_row_that_was_not_measured_lacks_something_only_if_it_says_so(self):
        rows = {"lacks": {"valid": 0, "label": "needs sm_100"}, "checked": {"valid": 1, "label": "verified, not timed"},
                "unsteady": {"valid": 0, "median_s": 1, "label": "unsteady"}, "broken": {"error_occurred": True}}
        self.assertEqual(readings.lacking_rows(rows), {"lacks": "needs sm_100"})

    def test_products_are_held_against_what_the_library_reached_with_such_numbers(self):
        rows = {"ceiling/flops/lib/w:bf16/backend:gpu": {"flops_per_second": 800},
                "ceiling/flops/lib/w:fp8/backend:gpu": {"flops_per_second": 1500},
                "ceiling/flops/mma_sync/w:bf16/backend:gpu": {"flops_per_second": 500},
                "prefill/gemm/engine:lib/w:fp8/tokens:2048": {"flops_per_second": 1200},
                "prefill/attention/engine:mma_sync/kv:bf16/tokens:8": {"flops_per_second": 400},
                "prefill/gemm/engine:lib/w:int8/tokens:2048": {"flops_per_second": 1},
                "weights/w:bf16/batch:1": {"flops_per_second": 1}}
        self.assertEqual([readings.of_library(name, rows) for name in rows], [None, None, None, 0.8, 0.5, None, None])
        rows["ceiling/flops/lib/w:fp8/accum:fast/backend:gpu"] = {"flops_per_second": 1800}
        rows["prefill/gemm/engine:lib/w:fp8/accum:fast/tokens:2048"] = {"flops_per_second": 900}
        self.assertEqual(readings.of_library("prefill/gemm/engine:lib/w:fp8/tokens:2048", rows), 0.8)
        self.assertEqual(readings.of_library("prefill/gemm/engine:lib/w:fp8/accum:fast/tokens:2048", rows), 0.5)

    def test_copies_are_held_against_the_link_and_only_they(self):
        device = {"gpu_pcie_bytes_per_second": "50000000000"}
        self.assertEqual(readings.of_link("copy/h2d/mib:256", {"bytes_per_second": 45e9}, device), 0.9)
        self.assertIsNone(readings.of_link("copy/h2d/mib:256", {"bytes_per_second": 45e9}, {}))
        self.assertIsNone(readings.of_link("ceiling/copy/mib:256", {"bytes_per_second": 45e9}, device))
        page = "\n".join(tables.suite_table({"copy/h2d/mib:256": {"bytes_per_second": 45e9, "median_s": 1, "valid": 1,
                                                                  "of_ceiling": 0.01, "of_asymptote": 0.01}}, {}, device))
        self.assertIn("| copy/h2d/mib:256 | 45.0 GB/s | 90.0 % |  |", page)

    def test_prompts_are_told_in_operations_and_decode_in_bytes(self):
        both = {"bytes_per_second": 2e11, "flops_per_second": 7e14}
        self.assertEqual(stages.speed_text(both, "prefill/gemm/engine:lib/x"), "700.00 TFLOP/s")
        self.assertEqual(stages.speed_text(both, "weights/x"), "200.0 GB/s")

    def test_only_intervals_that_do_not_overlap_decide(self):
        self.assertEqual(readings.verdict((1, 2, 3), (4, 5, 6)), "faster")
        self.assertEqual(readings.verdict((4, 5, 6), (1, 2, 3)), "slower")
        self.assertEqual(readings.verdict((1, 2, 4), (4, 5, 6)), "ambiguous")
        rows = [{"median_s": 2, "p25_s": 1, "p75_s": 3}, {"median_s": 4, "p25_s": 3, "p75_s": 5}, {"median_s": 3}]
        self.assertEqual(readings.interval(rows), (1, 3, 5))

    def test_each_pattern_takes_one_row_and_no_row_is_taken_twice(self):
        self.assertEqual(readings.chosen_rows(["a/1", "a/2", "b/1"], ["^a", "1$", "^c"]), ["a/1", "b/1"])

    def test_eight_rows_are_to_be_proven_and_the_suite_has_them(self):
        self.assertEqual(len(stages.PROVEN_ROWS), 8)


    def test_a_program_that_was_stopped_leaves_the_rows_that_it_had_written(self):
        whole = json.dumps({"context": {"gpu": "one"}, "benchmarks": [{"name": "a"}, {"name": "b"}]}, indent=1)
        cut = whole[:whole.index('}\n ]')] + "},\n"
        self.assertEqual(set(readings.written_rows(whole)), {"a", "b"})
        self.assertEqual(set(readings.written_rows(cut)), {"a", "b"})
        self.assertEqual(readings.context_of(cut), {"gpu": "one"})
        self.assertEqual((readings.written_rows("{"), readings.context_of("{")), ({}, {}))


# A family each: "weights" dies as a kernel that faults makes it, "mla" hangs after a row, "gemm" does not exist.
FAMILY_PROGRAM = '''#!/usr/bin/env python3
import json, sys, time
flags = dict(word.partition("=")[::2] for word in sys.argv[1:])
family = flags["--benchmark_filter"].removeprefix("^(").partition(")")[0]
if family == "gemm":
    print(f"paretoken-microbench: no row matches '{family}': their names begin with mla/, weights/")
    sys.exit(2)
if family == "weights":
    print("an illegal memory access was encountered")
    sys.exit(3)
with open(flags["--benchmark_out"], "w") as out:
    text = json.dumps({"context": {"gpu": "one"}, "benchmarks": [{"name": family + "/backend:gpu"}]}, indent=1)
    if family == "mla":
        print("[1/2] mla/first", flush=True)
        out.write(text[:text.index("}\\n ]")] + "},\\n")
        out.flush()
        time.sleep(60)
    out.write(text)
'''


class Families(unittest.TestCase):
    def test_a_family_that_faults_or_hangs_costs_the_others_nothing(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            program = folder / "program"
            program.write_text(FAMILY_PROGRAM)
            program.chmod(0o755)
            check = stages.Check(commands.Commands(), str(program), "", folder, folder)
            rows, complaints, _ = check.families("suite.json", 12, families=("weights", "attention", "mla", "gemm"))
            self.assertEqual(set(rows), {"attention/backend:gpu", "mla/backend:gpu"})
            self.assertEqual(len(complaints), 2, complaints)
            self.assertIn("weights exited 3: an illegal memory access", complaints[0])
            self.assertRegex(complaints[1], r"mla did not end within \d+ s; it was at: \[1/2\] mla/first")
            document = json.loads((folder / "suite.json").read_text())
            self.assertEqual(document["context"], {"gpu": "one"})
            self.assertEqual(sorted(path.name for path in folder.iterdir()), ["program", "suite.json"])


class Running(unittest.TestCase):
    def test_what_ignores_the_first_signal_and_holds_the_pipe_ends_all_the_same(self):
        begin = time.monotonic()
        result = commands.Commands().run(["bash", "-c", "(trap '' TERM; echo held; sleep 30) & exit 0"], 0.5)
        self.assertTrue(result.timed_out)
        self.assertIn("held", result.output)
        self.assertLess(time.monotonic() - begin, 12)

    def test_a_program_beyond_its_limit_ends_with_what_it_started(self):
        with tempfile.TemporaryDirectory() as scratch:
            mark = pathlib.Path(scratch) / "mark"
            begin = time.monotonic()
            result = commands.Commands().run(["bash", "-c", f"echo begun; (sleep 2; touch {mark}) & wait"], 0.3)
            self.assertTrue(result.timed_out)
            self.assertIn("begun", result.output)
            self.assertLess(time.monotonic() - begin, 1.9)
            time.sleep(2)
            self.assertFalse(mark.exists(), "its child went on")

    def test_a_program_that_is_not_there_is_a_result_and_no_exception(self):
        self.assertEqual(commands.Commands().run(["/no/such/program"], 1).code, 127)


class Peers(unittest.TestCase):
    def test_graphs_hold_whole_rounds_of_the_ring(self):
        for copies in (1, 7, 73, 1000, 3000):
            for wanted in (1, 8, 500.5, 10000):
                launches = peers.whole_rounds(wanted, copies)
                self.assertEqual(launches % copies, 0)
                self.assertLessEqual(launches, max(copies, peers.MOST_LAUNCHES))
                self.assertGreaterEqual(launches, min(wanted, peers.MOST_LAUNCHES - copies))

    def test_a_setting_that_was_tried_out_is_told(self):
        self.assertEqual(peers.row("a", "b", (2, 1, 3, "fast")),
                         {"name": "a", "peer": "b", "median_s": 2, "p25_s": 1, "p75_s": 3, "setting": "fast"})
        self.assertNotIn("setting", peers.row("a", "b", (2, 1, 3)))

    def test_rows_are_named_once_and_cover_decode_and_prompts(self):
        names = peers.row_names()
        self.assertEqual(len(names), len(set(names)))
        for kind in ("attention/", "weights/", "prefill/attention/", "prefill/gemm/"):
            self.assertTrue(any(name.startswith(kind) for name in names), kind)
        self.assertIn("prefill/gemm/engine:lib/preset:llama3-8b/op:gate_up/w:fp8/tokens:2048", names)
        self.assertEqual(readings.library_row("weights/preset:llama3-8b/op:qkv/w:bf16/batch:1/"),
                         "gemm_lib/preset:llama3-8b/op:qkv/w:bf16/batch:1/")

    def test_without_torch_they_say_so(self):
        ran = subprocess.run([sys.executable, "-S", ROOT / "scripts" / "gpu" / "peers.py", "--probe"], capture_output=True,
                             text=True, timeout=60)
        self.assertEqual(json.loads(ran.stdout)["because"], "no torch here")


if __name__ == "__main__":
    unittest.main()
