"""`paretoken sweep` measures several load levels, saves the result after every point, and resumes where it stopped."""

import json
import re
import shlex
import signal
import subprocess
import unittest

from harness import BINARY, Case, environment, paretoken, run_json, started, wait_until
from hostile_server import HostileServer

# A server whose engine begins requests when they arrive, so that answers of equal lengths do not gather more and more.
AT_ONCE = "sim:llama3-8b/h100-sxm/fp8?request_s=0"
LOAD = ("sim:ideal", "--isl", 32, "--osl", 8, "--num-prompts", 24)


def states(out):
    path = out / "sweep.json"
    if not path.exists():
        return []
    return [point["state"] for point in json.loads(path.read_text())["points"]]


class Sweep(Case):
    def test_a_sweep_with_an_invalid_level_ends_with_4(self):
        out = self.directory / "sweep"
        with HostileServer("lying_usage", good_first=36) as server:
            done = paretoken("sweep", server.address, "--concurrency", "1,2", "--num-prompts", 24, "--isl", 16, "--osl", 8,
                             "--out", out)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"c=2 +\d+ of 24 requests failed")

    def test_a_ladder_leaves_a_table_and_one_run_per_point(self):
        out = self.directory / "sweep"
        done = self.measures(paretoken("sweep", *LOAD, "--concurrency", "1..8", "--out", out))
        sweep = json.loads((out / "sweep.json").read_text())
        self.assertEqual([point["load"] for point in sweep["points"]], [1, 2, 4, 8])
        self.assertEqual(states(out), ["done"] * 4)
        fingerprints, salts = set(), set()
        for point in sweep["points"]:
            result = run_json(out / point["directory"])
            self.assertEqual(result["counts"]["ok"], 24)
            fingerprints.add(result["workload"]["fingerprint"])
            salts.add(result["workload"]["salt"])
        self.assertEqual(len(fingerprints), 1, "the points of a sweep are comparable")
        self.assertEqual(len(salts), 4, "no point may meet the prompts of the one before in a cache")
        for label in ("c=1", "c=2", "c=4", "c=8"):
            self.assertIn(label, done.stdout)

    def test_quiet_prints_the_answer_alone(self):
        loads = ("sim:ideal", "--virtual", "--num-prompts", 40, "--isl", 16, "--osl", 8, "--quiet")
        done = self.succeeds(paretoken("sweep", *loads, "--concurrency", "1,2", "--out", self.directory / "ladder"))
        self.assertRegex(done.stdout, r"^2 of 2 points are measured and not invalid: \S+/ladder\n$")
        done = paretoken("sweep", *loads, "--search", "slo", "--slo", "ttft_p50:1000", "--out", self.directory / "search")
        self.assertIn(done.returncode, (0, 5), done.stderr)
        self.assertIn("in flight is the highest load", " ".join(done.stdout.split()))
        self.assertNotIn("c=256", done.stdout, "no table")

    def test_an_interrupted_sweep_goes_on_where_it_stopped(self):
        out = self.directory / "sweep"
        arguments = ["sweep", *LOAD, "--concurrency", "1,2,3,4", "--out", out]
        command = [str(word) for word in [BINARY, *arguments]]
        with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                     env=environment(), text=True) as process:
            wait_until(lambda: states(out)[:1] == ["done"], what="a first point")
            process.send_signal(signal.SIGINT)
            stderr = process.communicate(timeout=30)[1]
        self.assertNotEqual(process.returncode, 0, stderr)
        first = run_json(out / json.loads((out / "sweep.json").read_text())["points"][0]["directory"])
        self.measures(paretoken(*arguments))
        self.assertEqual(states(out), ["done"] * 4)
        again = run_json(out / json.loads((out / "sweep.json").read_text())["points"][0]["directory"])
        if first["validity"]["verdict"] != "invalid":  # as on a busy machine
            self.assertEqual(again, first, "a finished point is not run again")

    def test_a_sweep_with_other_limits_judges_its_finished_points_by_them(self):
        out = self.directory / "sweep"
        load = ("sweep", "sim:llama3-8b-h100-bf16", "--virtual", "--concurrency", "1,4", "--isl", 256, "--osl", 32,
                "--num-prompts", 800, "--out", out)
        self.succeeds(paretoken(*load, "--slo", "ttft_p95:14"))
        self.assertEqual([point["slo"] for point in json.loads((out / "sweep.json").read_text())["points"]], ["met", "missed"])
        done = self.succeeds(paretoken(*load, "--slo", "ttft_p95:2000"))
        self.assertEqual([point["slo"] for point in json.loads((out / "sweep.json").read_text())["points"]], ["met", "met"])
        self.assertIn("c=4 ", done.stdout)

    def test_a_dry_run_prints_commands_that_measure_the_points(self):
        sweep = ("sweep", "sim:llama3-8b-h100-bf16", "--virtual", "--duration", "5s", "--metadata", "a=b", "--concurrency", "2",
                 "--grid", "isl=64", "--class", "chat:osl=8", "--class", "batch:rate=1,isl=512,osl=4")
        listed = self.succeeds(paretoken(*sweep, "--dry-run", "--out", self.directory / "sweep")).stdout
        command = shlex.split([line for line in listed.splitlines() if not line.startswith("#")][0])
        self.measures(paretoken(*command[1:]))
        self.measures(paretoken(*sweep, "--out", self.directory / "swept"))
        alone, swept = (run_json(next(self.directory.glob(f"{name}/*/run.json")).parent) for name in ("sweep", "swept"))
        self.assertEqual(alone["plan"]["metadata"], "a=b")
        for key in ("chat.concurrency", "chat.dataset", "batch.arrivals", "batch.dataset"):
            self.assertEqual(alone["plan"][key], swept["plan"][key], key)
        served = self.succeeds(paretoken("sweep", "--server-cmd", "serve --port {port}", "--num-prompts", 4, "--dry-run")).stdout
        self.assertNotIn("''", served)

    def test_a_sweep_with_other_options_is_not_mixed_into_an_old_one(self):
        out = self.directory / "sweep"
        self.measures(paretoken("sweep", *LOAD, "--concurrency", "1,2", "--out", out))
        other = ["sim:ideal", "--isl", 64, *LOAD[3:]]
        self.fails_clearly(paretoken("sweep", *other, "--concurrency", "1,2", "--out", out), 2, str(out))

    def test_points_computed_side_by_side_are_those_of_single_runs(self):
        load = ["sim:llama3-8b-h100-bf16", "--virtual", "--isl", 64, "--osl", 16, "--num-prompts", 300, "--salt", "s"]
        out = self.directory / "sweep"
        self.measures(paretoken("sweep", *load, "--concurrency", "1..16", "--out", out))
        self.assertEqual(states(out), ["done"] * 5)
        for point in json.loads((out / "sweep.json").read_text())["points"]:
            alone = self.directory / point["directory"]
            self.measures(paretoken("run", *load, "--concurrency", int(point["load"]), "--out", alone))
            self.assertEqual((out / point["directory"] / "requests.jsonl").read_bytes(),
                             (alone / "requests.jsonl").read_bytes(), point)

    def test_a_point_that_cannot_be_written_ends_a_sweep_in_virtual_time(self):
        out = self.directory / "sweep"
        out.mkdir()
        (out / "c0004").write_text("in the way")
        done = paretoken("sweep", "sim:ideal", "--virtual", "--isl", 32, "--osl", 8, "--num-prompts", 24,
                         "--concurrency", "1..8", "--out", out)
        self.fails_clearly(done, (2, 3), "c0004")
        self.assertIn("failed", states(out))

    def test_a_ladder_that_is_none_is_refused(self):
        for ladder in ("0..8", "8..1", "one", "1,,2"):
            with self.subTest(ladder):
                done = paretoken("sweep", *LOAD, "--concurrency", ladder, "--out", self.directory / "sweep")
                self.fails_clearly(done, 2, ladder)



VIRTUAL = ("sim:llama3-8b-h100-bf16", "--virtual", "--isl", 512, "--osl", 32)


class Cells(Case):
    def test_a_grid_measures_its_ladder_for_every_value_and_repeat(self):
        out = self.directory / "sweep"
        done = self.measures(paretoken("sweep", *VIRTUAL[:2], "--num-prompts", 60, "--grid", "isl=128,512", "--grid",
                                       "osl=16", "--concurrency", "1,4", "--repeat", 2, "--out", out))
        sweep = json.loads((out / "sweep.json").read_text())
        self.assertEqual([(p["cell"]["isl"], p["load"], p["repeat"]) for p in sweep["points"]],
                         [(isl, load, repeat) for isl in ("128", "512") for load in (1, 4) for repeat in (1, 2)])
        for point in sweep["points"]:
            result = run_json(out / point["directory"])
            self.assertEqual(str(result["plan"]["isl"]), point["cell"]["isl"])
            self.assertRegex(point["directory"], "-[0-9a-f]{8}$")
        self.assertEqual(len(sweep["repeats"]), 4)
        self.assertIn("repeats", done.stdout)
        self.assertIn("isl 512, osl 16", done.stdout)

    def test_cells_come_from_a_file_of_another_tool_too(self):
        out = self.directory / "sweep"
        cells = self.directory / "cells.json"
        cells.write_text('[{"max_concurrency": 2, "random_input_len": 64}, {"max-concurrency": 3, "osl": 8}]')
        self.measures(paretoken("sweep", *VIRTUAL[:2], "--num-prompts", 40, "--cells", cells, "--out", out))
        sweep = json.loads((out / "sweep.json").read_text())
        self.assertEqual([p["load"] for p in sweep["points"]], [2, 3])

    def test_the_number_of_requests_can_be_varied(self):
        out = self.directory / "sweep"
        done = self.measures(paretoken("sweep", *VIRTUAL, "--grid", "num_prompts=20,40", "--concurrency", "1,64", "--out", out))
        sweep = json.loads((out / "sweep.json").read_text())
        self.assertEqual([p["requests"] for p in sweep["points"] if p["load"] == 1], [20, 40])
        self.assertIn("instead of --num-prompts 20", done.stderr)
        self.assertIn("instead of --num-prompts 40", done.stderr)

    def test_rates_may_be_below_one(self):
        out = self.directory / "sweep"
        self.measures(paretoken("sweep", *VIRTUAL, "--num-prompts", 30, "--request-rate", "0.25,0.5..2:0.5", "--out", out))
        sweep = json.loads((out / "sweep.json").read_text())
        self.assertEqual([p["load"] for p in sweep["points"]], [0.25, 0.5, 1, 1.5, 2])

    def test_what_cannot_be_varied_is_refused(self):
        cells = self.directory / "cells.json"
        cells.write_text('{"isl": 64}')
        for arguments, words in ((("--grid", "threads=1,2"), ("--grid", "threads")),
                                 (("--grid", "isl=1", "--cells", cells), ("--cells", "--grid")),
                                 (("--cells", cells), (str(cells), "list")),
                                 (("--grid", "temperature=hot"), ("--temperature", "hot")),
                                 (("--order", "up"), ("--order", "up")),
                                 (("--concurrency", "0.5"), ("--concurrency", "whole number"))):
            out = self.directory / "none"
            self.fails_clearly(paretoken("sweep", *VIRTUAL, *arguments, "--out", out), 2, *words)
            self.assertFalse((out / "sweep.json").exists())


class Against(Case):
    """Sweeps over two servers (--against), whose points are measured in turn."""
    PLAIN = "sim:llama3-8b-h100-bf16"
    DRAFTS = "sim:llama3-8b-h100-bf16?speculative_tokens=7&acceptance=.5"

    def test_it_finds_where_one_server_overtakes_the_other(self):
        out = self.directory / "sweep"
        command = ("sweep", self.PLAIN, "--against", self.DRAFTS, "--virtual", "--isl", 64, "--osl", 64, "--num-prompts", 600,
                   "--salt", "s", "--concurrency", "1..256", "--grid", "temperature=0,1", "--gpu", "h100-sxm", "--out", out)
        done = self.measures(paretoken(*command))
        sweep = json.loads((out / "sweep.json").read_text())
        self.matches_schema(out / "sweep.json", "sweep")
        self.assertEqual(sweep["comparison"]["servers"], [self.PLAIN, self.DRAFTS])
        self.assertEqual([cell["cell"] for cell in sweep["comparison"]["cells"]], [{"temperature": "0"}, {"temperature": "1"}])
        for cell in sweep["comparison"]["cells"]:
            points = {(p["cell"]["server"], p["load"]): p for p in sweep["points"] if p["cell"]["temperature"] == cell["cell"]["temperature"]}
            self.assertEqual(len(points), 18)
            for figure in cell["figures"]:
                key, sign = figure["figure"], 1 if figure["figure"] == "output_tokens_per_s" else -1
                self.assertEqual(figure["loads"], 9)
                if key == "ttft_p50_s":
                    continue

                def lead(load):
                    return sign * (points[self.PLAIN, load][key] - points[self.DRAFTS, load][key])
                (crossing,) = figure["crossings"]
                self.assertLess(lead(crossing["low"]), 0)
                self.assertGreater(lead(crossing["high"]), 0)
                self.assertTrue(crossing["low"] < crossing["load"] < crossing["high"])
                self.assertEqual((crossing["below"], crossing["above"]), (self.DRAFTS, self.PLAIN))
                self.assertIn(f"between {crossing['low']:g} and {crossing['high']:g}", " ".join(done.stdout.split()))
        page = self.directory / "page.html"
        self.measures(paretoken("report", out, "--out", page))
        configurations = json.loads(page.with_suffix(".json").read_text())["configurations"]
        self.assertEqual(len(configurations), 4, "a configuration for each server and temperature")
        self.assertEqual({c["labels"]["server"] for c in configurations}, {self.PLAIN, self.DRAFTS})

        again = paretoken(*command)
        self.assertIn("every point was measured", again.stderr)
        self.assertEqual(json.loads((out / "sweep.json").read_text())["comparison"], sweep["comparison"])

    def test_servers_take_turns_over_sockets_and_acceptance_is_told(self):
        out = self.directory / "sweep"
        done = self.measures(paretoken("sweep", self.PLAIN, "--against", self.DRAFTS, "--isl", 32, "--osl", 24, "--num-prompts",
                                       40, "--concurrency", "2,8", "--host-noise", "accept", "--out", out))
        sweep = json.loads((out / "sweep.json").read_text())
        began = sorted(sweep["points"], key=lambda p: (out / p["directory"] / "run.json").stat().st_mtime_ns)
        self.assertEqual([p["load"] for p in began], [2, 2, 8, 8])
        self.assertEqual({p["cell"]["server"] for p in began[:2]}, {self.PLAIN, self.DRAFTS})
        (cell,) = sweep["comparison"]["cells"]
        self.assertEqual(list(cell["acceptance"]), [self.DRAFTS])
        # The accepted drafts are those before the first wrong one: (.5 + .5² + … + .5⁷) ÷ 7 of seven are expected.
        self.assertAlmostEqual(cell["acceptance"][self.DRAFTS], sum(.5 ** k for k in range(1, 8)) / 7, delta=.05)
        self.assertIn("below 0.6", " ".join(done.stdout.split()))

    def test_what_cannot_be_compared_is_refused_in_one_line(self):
        for arguments, words in ((("--against", self.PLAIN), ("--against", "both servers")),
                                 (("--against", "sim:ideal"), ("--against", "--anyway", "ideal")),
                                 (("--against", "sim:none"), ("none",)),
                                 (("--anyway",), ("--anyway", "--against")),
                                 (("--against", self.DRAFTS, "--search", "slo", "--slo", "ttft_p95:800"), ("--against", "--search")),
                                 (("--against", self.DRAFTS, "--request-rate", "auto"), ("--against", "auto"))):
            with self.subTest(arguments):
                done = paretoken("sweep", self.PLAIN, "--virtual", *arguments, "--out", self.directory / "none")
                self.fails_clearly(done, 2, *words)
                self.assertEqual(done.stdout, "", "a table of what was not measured")
        self.fails_clearly(paretoken("sweep", "--server-cmd", "serve {port}", "--against", "http://localhost:1", "--out",
                                     self.directory / "none"), 2, "--against", "--server-cmd")


class Limits(Case):
    RUN = ("run", *VIRTUAL[:2], "--isl", "lognormal:mean=512;cv=0.5", "--osl", "lognormal:mean=32;cv=0.5", "--num-prompts", 2000,
           "--concurrency", 4)

    def test_a_run_is_held_against_its_limits_and_its_exit_code_says_how_they_stand(self):
        for slo, code, verdict in (("ttft:10000", 0, "met"), ("ttft:0.01", 1, "missed"), ("ttft_p999:10000", 0, "within")):
            out = self.directory / verdict
            done = paretoken(*self.RUN, "--slo", slo, "--slo", "tpot_p50:9000 e2e_p50:9s", "--out", out)
            self.assertEqual(done.returncode, code, done.stderr)
            slos = run_json(out)["slo"]
            self.assertEqual([s["key"] for s in slos], ["ttft_p999" if verdict == "within" else "ttft_p90", "tpot_p50", "e2e_p50"])
            self.assertEqual(slos[0]["verdict"], verdict)
            self.assertEqual(slos[0]["over"] > 0, verdict == "missed")
            self.assertGreater(slos[0]["n"], 0)
            self.assertIn(verdict, done.stdout)

    def test_limits_that_must_be_met_are_not_satisfied_by_a_run_within_them(self):
        for slo, code in (("ttft:10000", 0), ("ttft_p999:10000", 5)):
            done = paretoken(*self.RUN, "--slo", slo, "--require", "met", "--out", self.directory / slo)
            self.assertEqual(done.returncode, code, done.stderr)
        self.fails_clearly(paretoken(*self.RUN, "--require", "met"), 2, "--require met", "--slo")
        self.fails_clearly(paretoken(*self.RUN, "--require", "within", "--slo", "ttft:5"), 2, "--require", "expected met")

    def test_a_limit_that_is_missed_without_that_being_shown_leaves_the_answer_open(self):
        self.succeeds(paretoken(*self.RUN, "--out", self.directory / "first"))
        ttft = run_json(self.directory / "first")["metrics"]["ttft_s"]
        for limit, code in ((.5 * (ttft["decided"]["p90"][0] + ttft["p90"]), 5), (.99 * ttft["decided"]["p90"][0], 1)):
            out = self.directory / str(code)
            done = paretoken(*self.RUN, "--slo", f"ttft:{1e3 * limit}", "--out", out)
            slo = run_json(out)["slo"][0]
            self.assertEqual((done.returncode, slo["verdict"], slo["shown"]), (code, "missed", code == 1), done.stderr)
        self.assertLess(ttft["decided"]["p90"][0], ttft["p90"])

    def test_a_ladder_ends_with_the_loads_within_the_limits_and_the_run_that_certifies_the_highest(self):
        out = self.directory / "sweep"
        ladder = ("sweep", AT_ONCE, "--virtual", "--isl", 1024, "--osl", 128, "--concurrency", "16..128",
                  "--slo", "ttft_p95:800", "--slo", "tpot_p95:20", "--out", out)
        done = self.succeeds(paretoken(*ladder))
        self.assertIn("64 in flight is the highest load that was measured within them", " ".join(done.stdout.split()))
        self.fails_clearly(paretoken(*ladder, "--require", "met"), 5, "no load was shown to meet them")
        certify = next(line.split(None, 1)[1] for line in done.stdout.splitlines() if line.split()[:1] == ["certify"])
        self.succeeds(paretoken(*shlex.split(certify)[1:], "--out", self.directory / "certified"))
        self.fails_clearly(paretoken(*ladder[:-6], "--slo", "tpot_p95:2", "--out", self.directory / "none"), 1, "no load was found")

    def test_a_ladder_marks_the_knee(self):
        out = self.directory / "sweep"
        done = self.measures(paretoken("sweep", *VIRTUAL, "--num-prompts", 600, "--concurrency", "1..64", "--slo",
                                       "ttft_p95:25", "--out", out))
        rows = [line for line in done.stdout.splitlines() if line.endswith("knee")]
        self.assertEqual(len(rows), 1, done.stdout)
        knee = int(rows[0].split()[0].split("=")[1])
        verdicts = {p["load"]: p["slo"] for p in json.loads((out / "sweep.json").read_text())["points"]}
        self.assertIn(verdicts[knee], ("met", "within"))
        self.assertEqual([load for load, v in verdicts.items() if v in ("met", "within") and load > knee], [])
        self.assertIn(f"paretoken report {out}", done.stdout)
        self.assertIn("tok/s, TTFT ", done.stderr, "each row is told when its level ends")

    def test_a_ladder_with_a_time_limit_spends_it_next_to_the_answer(self):
        out = self.directory / "sweep"
        ladder = ("sweep", AT_ONCE, "--virtual", "--isl", 1024, "--osl", 128, "--concurrency", "1..128",
                  "--slo", "ttft_p95:800", "--slo", "tpot_p95:20", "--require", "met", "--out", out)
        done = self.succeeds(paretoken(*ladder, "--max-time", "60m"))
        sweep = json.loads((out / "sweep.json").read_text())
        self.assertEqual((sweep["search"]["pass"], sweep["search"]["within"], sweep["search"]["fail"]), (64, 64, 128))
        self.assertEqual([p["load"] for p in sweep["points"] if "×" in p["load_label"]], [64], done.stdout)
        self.assertEqual(sweep["search"]["narrow"], "", "more time would change nothing")
        self.assertEqual(run_json(out / "c0128")["stop"]["rule"], "slo", "it missed the limit early")
        self.fails_clearly(paretoken(*ladder[:-1], self.directory / "short", "--max-time", "3m"), 5)
        short = json.loads((self.directory / "short" / "sweep.json").read_text())["search"]
        self.assertIn("--max-time 6m", short["narrow"])
        dry = paretoken(*ladder[:-1], self.directory / "dry", "--max-time", "3m", "--dry-run").stdout.splitlines()
        self.assertEqual(len(dry), 9, "the first runs of the ladder")
        self.assertIn("--stop 'slo:ttft_p95>800' --stop 'slo:tpot_p95>20'", dry[1])
        for more in (("--repeat", 2), ("--grid", "osl=64,128"), ("--against", "sim:llama3-8b/l40s/fp8")):
            self.fails_clearly(paretoken(*ladder, "--max-time", "3m", *more), 2, "--max-time", more[0])


class Levels(Case):
    def test_rates_are_found_from_one_at_a_time_to_saturation(self):
        out = self.directory / "sweep"
        arguments = ("sweep", *VIRTUAL, "--num-prompts", 60, "--request-rate", "auto:4", "--out", out)
        first = self.measures(paretoken(*arguments))
        points = json.loads((out / "sweep.json").read_text())["points"]
        loads = [p["load"] for p in points]
        self.assertEqual(len(loads), 4)
        saturation = re.search(r"throughput saturates at about ([\d.]+) requests/s, with \d+ in flight", first.stderr)
        self.assertAlmostEqual(float(saturation[1]), loads[-1], delta=loads[-1] / 100)
        self.assertGreater(loads[-1], 4 * loads[0])
        again = self.measures(paretoken(*arguments))
        self.assertIn("every point was measured", again.stderr)
        self.fails_clearly(paretoken("sweep", *VIRTUAL, "--request-rate", "auto:1", "--out", out), 2, "auto:1")

    def test_rates_that_are_found_may_have_a_time_limit_which_the_pilot_runs_are_a_part_of(self):
        command = ("sweep", *VIRTUAL, "--request-rate", "auto:4", "--slo", "ttft_p90:500")
        out = self.directory / "enough"
        self.succeeds(paretoken(*command, "--max-time", "60m", "--out", out))
        search = json.loads((out / "sweep.json").read_text())["search"]
        self.assertIsNotNone(search["pass"], search)
        pilots = sum(run_json(path)["window"]["run_s"] for path in (out / "pilot").iterdir())
        out = self.directory / "short"
        none = paretoken(*command, "--max-time", f"{int(pilots)}s", "--out", out)
        self.fails_clearly(none, 5, "took all of --max-time", "this command continues")
        self.succeeds(paretoken(*shlex.split(none.stderr.split("continues with the levels: ")[1])[1:]))
        self.assertNotEqual(json.loads((out / "sweep.json").read_text())["points"], [])

    def test_other_options_are_refused_unless_they_extend_the_sweep(self):
        out = self.directory / "sweep"
        arguments = ("sweep", *VIRTUAL[:2], "--isl", 64, "--num-prompts", 40, "--concurrency", "1,2", "--out", out)
        self.measures(paretoken(*arguments))
        self.fails_clearly(paretoken(*arguments, "--osl", 16), 2, "--osl", "--extend")
        self.measures(paretoken(*arguments, "--osl", 16, "--extend"))
        cells = [p.get("cell", {}) for p in json.loads((out / "sweep.json").read_text())["points"]]
        self.assertCountEqual(cells, [{}, {}, {"osl": "16"}, {"osl": "16"}])


class Search(Case):
    LOAD = (*VIRTUAL, "--num-prompts", 600, "--search", "slo")

    def test_it_brackets_the_knee_and_certifies_it_with_a_run_of_its_own(self):
        out = self.directory / "search"
        done = self.succeeds(paretoken("sweep", *self.LOAD, "--slo", "ttft_p95:60", "--slo", "tpot_p95:9", "--out", out))
        search = json.loads((out / "sweep.json").read_text())["search"]
        self.assertLess(search["pass"], search["fail"])
        self.assertLessEqual(search["runs"], 12)
        self.assertEqual(search["binding"], "tpot_p95:9")
        self.assertIn("is the highest load that was shown to meet ttft_p95:60 tpot_p95:9", " ".join(done.stdout.split()))
        again = self.succeeds(paretoken("sweep", *self.LOAD, "--slo", "ttft_p95:60", "--slo", "tpot_p95:9", "--out", out))
        self.assertEqual(json.loads((out / "sweep.json").read_text())["search"], search)
        self.assertIn("highest load", again.stdout)

    def test_its_report_draws_the_limits_and_has_the_command_that_narrows_the_bracket(self):
        out = self.directory / "search"
        arguments = ("sweep", *self.LOAD, "--slo", "ttft_p95:60", "--out", out)
        done = self.succeeds(paretoken(*arguments))
        search = json.loads((out / "sweep.json").read_text())["search"]
        self.assertIn(search["narrow"], done.stdout)
        page = self.directory / "report.html"
        self.measures(paretoken("report", out, "--no-micro", "--out", page))
        report = json.loads(page.with_suffix(".json").read_text())
        chart = report["searches"][0]["charts"][0]
        self.assertEqual(chart["lines"], [{"name": "limit", "y": 60}])
        self.assertEqual([mark["x"] for mark in chart["marks"]], [search["pass"], search["fail"]])
        self.assertEqual(sum(len(series["points"]) for series in chart["series"] if series["name"] != "by load"), len(json.loads((out / "sweep.json").read_text())["points"]))
        self.assertEqual(report["choice"]["slos"], ["ttft_p95:60"], "a search's limits are the report's")
        if search["fail"] - search["pass"] > 1:
            words = shlex.split(search["narrow"])[1:]
            self.succeeds(paretoken(*words))
            narrower = json.loads((out / "sweep.json").read_text())["search"]
            self.assertGreater(narrower["runs"], search["runs"])
            self.assertLessEqual(narrower["fail"] / narrower["pass"], search["fail"] / search["pass"])

    def test_a_new_user_s_command_names_the_load_that_a_person_would_see(self):
        command = ("sweep", "sim:llama3-8b/h100-sxm/fp8", "--virtual", "--isl", 1024, "--osl", 128, "--search", "slo",
                   "--slo", "ttft_p95:800", "--slo", "tpot_p95:20")
        out = self.directory / "twelve"
        done = paretoken(*command, "--out", out)
        self.assertIn(done.returncode, (0, 5), done.stderr)
        search = json.loads((out / "sweep.json").read_text())["search"]
        self.assertGreaterEqual(search["within"], 64)
        self.assertLessEqual(search["runs"], 12)
        out = self.directory / "hour"
        self.succeeds(paretoken(*command, "--max-time", "60m", "--out", out))
        search = json.loads((out / "sweep.json").read_text())["search"]
        self.assertGreaterEqual(search["pass"], 64)
        self.assertIn("--max-time 120m", search["narrow"])
        points = json.loads((out / "sweep.json").read_text())["points"]
        seconds = [json.loads((out / point["directory"] / "run.json").read_text())["window"]["run_s"] for point in points]
        self.assertLess(sum(seconds), 3600, "the budget is of virtual time")

    def test_its_exit_code_says_what_was_found(self):
        self.fails_clearly(paretoken("sweep", *self.LOAD, "--slo", "ttft_p95:0.01", "--out", self.directory / "none"), 1,
                           "ttft_p95:0.01")
        self.fails_clearly(paretoken("sweep", *self.LOAD[:-4], "--num-prompts", 3, "--search", "slo", "--slo", "ttft_p99:1000",
                                     "--out", self.directory / "few"), 5, "no load was shown to meet")

    def test_it_tells_saturation_elasticity_and_how_much_of_it_a_load_is(self):
        out = self.directory / "search"
        done = self.succeeds(paretoken("sweep", *self.LOAD, "--slo", "ttft_p95:60", "--at", 8, "--out", out))
        search = json.loads((out / "sweep.json").read_text())["search"]
        self.assertAlmostEqual(search["of_saturation"], 8 / search["c_star"])
        self.assertGreater(search["elasticity"][0], search["elasticity"][-1])
        self.assertIn("% of saturation", " ".join(done.stdout.split()))

    def test_the_bracket_holds_the_knee_of_every_whole_level(self):
        load = ("sim:llama3-8b-h100-bf16", "--virtual", "--isl", "lognormal:mean=512;cv=0.5", "--osl", "lognormal:mean=64;cv=0.5",
                "--num-prompts", 4000, "--salt", "s")
        slos = ("--slo", "ttft_p95:500", "--slo", "tpot_p95:20")
        for levels in ((), ("--request-rate", "8..1024")):
            out = self.directory / ("rate" if levels else "concurrency")
            self.succeeds(paretoken("sweep", *load, *levels, "--search", "slo", *slos, "--out", out, timeout=300))
            search = json.loads((out / "sweep.json").read_text())["search"]
            self.assertLessEqual(search["runs"], 12)
            self.assertLess(search["pass"], search["fail"])
            for level, meets in ((search["pass"], True), (search["fail"], False)):
                axis = ("--request-rate", level) if levels else ("--concurrency", int(level))
                run = self.directory / f"{out.name}{level}"
                paretoken("run", *load, *axis, "--seed", 5, *slos, "--out", run)
                values = [slo.get("value") for slo in run_json(run)["slo"]]  # none where the server does not keep up
                self.assertEqual(all(v is not None and v <= limit for v, limit in zip(values, (0.5, 0.02))), meets, level)

    def test_a_search_that_cannot_be_is_refused(self):
        for arguments, words in ((("--search", "slo"), ("--slo",)), (("--at", "5"), ("--search",)),
                                 (("--search", "knee", "--slo", "ttft:5"), ("knee",)),
                                 (("--search", "slo", "--slo", "itl_p95:5"), ("pooled", "tpot")),
                                 (("--search", "slo", "--slo", "ttft:5", "--grid", "isl=1,2"), ("--grid",)),
                                 (("--search", "slo", "--slo", "ttft:5", "--precision", "1"), ("--precision",))):
            self.fails_clearly(paretoken("sweep", *VIRTUAL, *arguments, "--out", self.directory / "no"), 2, *words)


if __name__ == "__main__":
    unittest.main()
