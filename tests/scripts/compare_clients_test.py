"""Result files of real clients, the join with the server's log, the slope, the table and the supervisor."""

import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import types
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = pathlib.Path(__file__).resolve().parent / "samples" / "clients"
sys.path.insert(0, str(ROOT / "scripts"))

from compare import report, truth  # noqa: E402
from compare.clients import (CLIENTS, VLLM_ID, Job, after_import, aiperf_doubts, read_aiperf, read_guidellm,  # noqa: E402
                             read_paretoken, read_vllm)
from compare.process import Failure, quiet_environment, supervised  # noqa: E402

SECOND = 1_000_000_000


def entry(name, received_s=0.0, ttft_s=0.020, gaps_s=(0.010, 0.010), complete=True):
    """What the server logs of one answer."""
    received = round(received_s * SECOND)
    written = [received + round(ttft_s * SECOND)]
    for gap in gaps_s:
        written.append(written[-1] + round(gap * SECOND))
    return {"id": name, "received_ns": received, "complete": complete, "written_ns": written,
            "tokens": [1] * len(written)}


def reported(requests=(), gaps="each", window=None):
    return truth.Reported({figure: {50: 0.025, 99: 0.080} for figure in truth.FIGURES}, gaps, list(requests),
                          len(requests), window=window)


@contextlib.contextmanager
def job_with(files):
    """A job whose folder holds copies of samples, or text: {path in the folder: path of a sample, or text}."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name, source in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(source, pathlib.Path):
                shutil.copy(source, folder / name)
            else:
                (folder / name).write_text(source)
        yield Job("http://127.0.0.1:1", 2, 6, 64, 12, "ideal", "tokenizer", folder)


class ResultsOfClients(unittest.TestCase):
    def test_vllm_figures_are_read_as_seconds_and_requests_named_by_their_order(self):
        with job_with({"result.json": SAMPLES / "vllm.json"}) as job:
            result = read_vllm(job, "")
        raw = json.loads((SAMPLES / "vllm.json").read_text())
        self.assertAlmostEqual(result.percentiles["ttft"][50], raw["median_ttft_ms"] / 1e3)
        self.assertAlmostEqual(result.percentiles["itl"][99], raw["p99_itl_ms"] / 1e3)
        self.assertIsNone(result.percentiles["e2e"][99], "the sample was written without it")
        self.assertEqual((result.completed, result.failed, len(result.requests)), (6, 0, 6))
        self.assertEqual(result.requests[3].id, f"{VLLM_ID}3")
        self.assertEqual(result.requests[3].ttft_s, raw["ttfts"][3])
        self.assertEqual(result.doubts, [])

    def test_guidellm_requests_carry_the_id_in_the_answers_name(self):
        with job_with({"result.json": SAMPLES / "guidellm.json"}) as job:
            result = read_guidellm(job, "")
        self.assertAlmostEqual(result.percentiles["ttft"][50], 0.20511245727539062)
        self.assertAlmostEqual(result.percentiles["e2e"][99], 0.4439256191253662)
        self.assertEqual(result.gaps, "mean")
        self.assertEqual((result.completed, result.failed), (4, 0))
        self.assertEqual(result.requests[0].id, "soKe17Fo7vI86yOfpLy9WBFhaBII9AyX")
        self.assertAlmostEqual(result.requests[0].ttft_s, 0.20511245727539062)

    def test_guidellm_warnings_are_its_doubts(self):
        sample = json.loads((SAMPLES / "guidellm.json").read_text())
        sample["benchmarks"][0]["warnings"] = [{"code": "root_late", "message": "p95 was 0.5s", "note": "late"}]
        with job_with({"result.json": json.dumps(sample)}) as job:
            self.assertEqual(read_guidellm(job, "").doubts, ["p95 was 0.5s"])

    def test_aiperf_gaps_are_between_chunks_and_requests_carry_their_id(self):
        with job_with({"result/profile_export_aiperf.json": SAMPLES / "aiperf.json",
                       "result/profile_export.jsonl": SAMPLES / "aiperf.jsonl"}) as job:
            result = read_aiperf(job, "")
        self.assertAlmostEqual(result.percentiles["itl"][99], 0.30083660394999987)
        self.assertAlmostEqual(result.percentiles["ttft"][50], 0.487584362)
        self.assertEqual((result.completed, result.failed, len(result.requests)), (6, 0, 3))
        self.assertEqual(result.requests[0].id, "52bb3782-0117-4005-ba6f-4ea90a1887e0")
        self.assertAlmostEqual(result.requests[0].ttft_s, 0.560479465)

    def test_aiperf_doubts_are_boxes_and_late_loops_in_its_log(self):
        log = ("╭──── Output Sequence Length Mismatch Warning ────╮\n│ text │\n"
               "WARNING  Event loop for worker_1 is taking too long to run. Overhead: 80.79ms (x.py:1)\n"
               "WARNING  Event loop for worker_1 is taking too long to run. Overhead: 31.00ms (x.py:1)\n")
        self.assertEqual(aiperf_doubts(log), ["Output Sequence Length Mismatch Warning",
                                              "logged 2 times that an event loop was late, by up to 81 ms"])
        self.assertEqual(aiperf_doubts("INFO all is well\n"), [])

    def test_paretoken_leaves_out_warm_up_and_failures_and_gives_its_verdict(self):
        run = {"metrics": {"ttft_s": {"p50": 0.02, "p99": 0.021}, "itl_s": {"p50": 0.01}},
               "counts": {"ok": 1, "failed": 1}, "window": {"begin_s": 0.1, "end_s": 0.9},
               "validity": {"verdict": "warn", "reasons": [{"severity": "warn", "check": "x", "text": "late"}]}}
        record = {"id": "a", "outcome": "ok", "sent_s": 0.5, "scheduled_s": 0.4, "first_event_s": 0.52,
                  "last_event_s": 0.6}
        lines = [record, record | {"id": "b", "warmup": True}, {"id": "c", "outcome": "http_error", "scheduled_s": 0.25}]
        with job_with({"result/run.json": json.dumps(run),
                       "result/requests.jsonl": "\n".join(map(json.dumps, lines))}) as job:
            result = read_paretoken(job, "")
        self.assertEqual([request.id for request in result.requests], ["a"])
        self.assertAlmostEqual(result.requests[0].ttft_s, 0.02)
        self.assertEqual(result.window, (0.25 + 0.1, 0.25 + 0.9))
        self.assertEqual(result.doubts, ["warn: late"])
        self.assertIsNone(result.percentiles["e2e"][50])

    def test_every_client_is_asked_for_the_same_job(self):
        job = Job("http://127.0.0.1:1", 37, 611, 53, 29, "ideal", "/tok", pathlib.Path("/out"))
        for client in CLIENTS.values():
            words = " ".join(client.command("program", job))
            for value in ("37", "611", "53", "29", "http://127.0.0.1:1"):
                self.assertRegex(words, rf"[ =]{value}\b", f"{client.name} is not told {value}")


class JoinWithTheTruth(unittest.TestCase):
    def test_percentiles_lie_between_neighbours(self):
        self.assertEqual(truth.percentile([3, 1, 2], 50), 2)
        self.assertAlmostEqual(truth.percentile([0, 10], 99), 9.9)
        self.assertIsNone(truth.percentile([], 50))

    def test_requests_are_joined_by_id_and_their_errors_are_per_request(self):
        entries = [entry("x", 0.0, 0.020), entry("y", 1.0, 0.040), entry("probe", 2.0, 0.5)]
        requests = [truth.Request("y", 0.045), truth.Request("x", 0.030), truth.Request("unknown", 9.0)]
        samples, pairs = truth.true_samples(reported(requests), entries, 3)
        self.assertEqual([request.id for request, _ in pairs], ["y", "x"])
        self.assertEqual(sorted(samples["ttft"]), [0.020, 0.040])
        errors = truth.request_errors(pairs)
        self.assertAlmostEqual(errors[50], 0.0075)
        self.assertAlmostEqual(errors[99], 0.00995)

    def test_without_ids_whole_answers_of_the_job_are_the_truth(self):
        entries = [entry("1"), entry("2", complete=False), entry("probe", gaps_s=())]
        samples, pairs = truth.true_samples(reported(), entries, 3)
        self.assertEqual((len(samples["ttft"]), len(samples["itl"]), pairs), (1, 2, []))
        self.assertAlmostEqual(samples["e2e"][0], 0.040)
        self.assertEqual(truth.request_errors(pairs), {})

    def test_a_client_that_reports_mean_gaps_is_held_against_mean_gaps(self):
        entries = [entry("1", gaps_s=(0.010, 0.030))]
        self.assertEqual(truth.true_samples(reported(gaps="mean"), entries, 3)[0]["itl"], [0.020])
        self.assertEqual(truth.true_samples(reported(gaps="each"), entries, 3)[0]["itl"], [0.010, 0.030])

    def test_a_clients_window_selects_requests_and_tokens(self):
        entries = [entry("a", 100.0, 0.020), entry("b", 101.0, 0.030), entry("c", 102.0, 0.040)]
        requests = [truth.Request("a", 0.02, sent_s=0.0, scheduled_s=0.0),
                    truth.Request("b", 0.03, sent_s=1.0, scheduled_s=0.99),
                    truth.Request("c", 0.04, sent_s=2.0, scheduled_s=2.0)]
        samples, _ = truth.true_samples(reported(requests, window=(0.5, 1.045)), entries, 3)
        self.assertEqual(samples["ttft"], [0.030])
        self.assertEqual(len(samples["itl"]), 1, "the second gap ends after the window")

    def test_the_job_begins_with_its_first_request_not_with_a_probe(self):
        entries = [entry("probe", 5.0, gaps_s=()), entry("a", 7.0), entry("b", 6.5)]
        self.assertEqual(truth.first_of_the_job_ns(entries, [], 3), 6.5 * SECOND)
        pairs = truth.joined([truth.Request("a")], entries)
        self.assertEqual(truth.first_of_the_job_ns(entries, pairs, 3), 7 * SECOND)
        self.assertIsNone(truth.first_of_the_job_ns([], [], 3))

    def test_the_servers_lateness_is_write_after_due_time(self):
        late = entry("a") | {"due_ns": [20_000_000, 29_990_000, 40_000_000]}
        self.assertAlmostEqual(truth.server_lateness([late])[99], 9.8e-6)

    def test_cpu_before_a_moment_lies_between_samples(self):
        account = {"start_ns": 10, "wall_s": 100e-9, "cpu_s": 9.0, "cpu_samples": [[20, 1.0], [60, 5.0]]}
        at = {5: 0.0, 15: 0.5, 20: 1.0, 40: 3.0, 60: 5.0, 85: 7.0, 200: 9.0}
        self.assertEqual({ns: truth.cpu_before_s(account, ns) for ns in at}, at)

    def test_cpu_per_event_is_free_of_what_does_not_grow_with_answers(self):
        start_up, per_event = 7.3, 42e-6
        short, long = ((events, start_up + per_event * events) for events in (16_384, 65_536))
        self.assertAlmostEqual(truth.cpu_per_event_s(short, long), per_event)
        self.assertIsNone(truth.cpu_per_event_s(long, short))


def row(client, streams, osl, ttft_p50, events=1000, cpu_s=1.0, **more):
    figures = {"p50": ttft_p50, "p99": ttft_p50 * 2}
    return {"client": client, "streams": streams, "requests": 200, "output_tokens": osl, "completed": 200, "failed": 0,
            "joined": 200, "gaps": "each", "reported_s": {"ttft": figures, "itl": figures, "e2e": figures},
            "true_s": {figure: {"p50": 0.020, "p99": 0.021} for figure in truth.FIGURES},
            "ttft_error_s": {"p50": ttft_p50 - 0.020, "p99": 0.05}, "doubts": [], "events": events, "cpu_s": cpu_s,
            "wall_s": 3.0, "start_up_s": 8.0, "peak_rss_bytes": 900 * 2**20, "most_processes": 3, "exit_code": 0,
            "machine_lost_before": 0.01, "server_late_s": {"p50": 20e-6, "p99": 60e-6}} | more


def result_of(rows, failures=(), missing=None):
    names = dict.fromkeys(row["client"] for row in rows)
    options = types.SimpleNamespace(profile="ideal?ttft=20ms", isl=64, osl=[32, 128], levels=[8, 64], cpu_streams=64, cpu_rounds=3,
                                    requests_per_stream=8, least_requests=200, server_core="0", client_core="1")
    return report.empty_result(options, missing or {}, dict.fromkeys(names, "1.2")) | {
        "runs": list(rows), "failures": list(failures)}


class TableAndChart(unittest.TestCase):
    ROWS = [row("paretoken", 8, 32, 0.020006), row("vllm", 8, 32, 0.025),
            row("paretoken", 64, 32, 0.020010, 16_384, 0.5), row("vllm", 64, 32, 0.045, 16_384, 8.0),
            row("paretoken", 64, 128, 0.020010, 65_536, 0.5 + 8e-6 * 49_152),
            row("vllm", 64, 128, 0.045, 65_536, 8.0 + 40e-6 * 49_152)]

    def test_cost_per_event_is_the_median_of_the_pairs(self):
        shorter = [row("vllm", 64, 32, 0.045, 16_384, 8.0) for _ in range(3)]
        longer = [row("vllm", 64, 128, 0.045, 65_536, 8.0 + us * 1e-6 * 49_152) for us in (40, 90, 42)]
        self.assertAlmostEqual(report.cpu_per_event(result_of(shorter + longer), "vllm"), 42e-6)
        self.assertAlmostEqual(report.cpu_per_event(result_of(shorter + longer[:1]), "vllm"), 40e-6)
        self.assertIsNone(report.cpu_per_event(result_of(shorter), "vllm"))

    def test_cells_show_truth_and_report_and_costs_are_slopes(self):
        text = report.markdown(result_of(self.ROWS))
        self.assertIn("| 64 | vLLM bench | 20.00 → 45.0 |", text)
        self.assertIn("| vLLM bench | 1.2 | 40.0 µs | 5.0× | 8.00 s | 900 MiB | 3 |", text)
        self.assertIn("| paretoken | 1.2 | 8.0 µs | 1.0× |", text)
        self.assertIn("1.0 % of its time before a run (quiet)", text)
        self.assertIn("within 60 µs of their time", text)

    def test_tables_have_as_many_cells_in_each_line_as_in_their_head(self):
        doubting = row("aiperf", 64, 32, 0.05, doubts=["a | b\nc", "second"])
        text = report.markdown(result_of([*self.ROWS, doubting]))
        self.assertIn("a / b c (and 1 more)", text)
        widths = {line.count("|") for line in text.splitlines() if line.startswith(("| 8 |", "| 64 |"))}
        self.assertEqual(widths, {11, 9})

    def test_a_run_of_paretoken_stands_under_each_definition(self):
        defined = {"guidellm": {"ttft": {"p50": 0.0201, "p99": 0.0202}, "itl": {"p50": 0.0099, "p99": None}}}
        text = report.markdown(result_of([row("paretoken", 8, 32, 0.020006, by_definitions_s=defined)]))
        self.assertIn("| 8 | paretoken | 20.01 |", text)
        self.assertIn("| 8 | GuideLLM | 20.10 | 20.20 | 9.90 | – | – | – |", text)

    def test_figures_after_import_stand_beside_the_truth_and_those_that_the_client_reported(self):
        imported = {figure: {"p50": 0.0215, "p99": 0.0225} for figure in ("ttft", "itl", "e2e")}
        text = report.markdown(result_of([row("vllm", 8, 32, 0.025, imported_s=imported)]))
        self.assertIn("| 8 | vLLM bench | 20.00 → 25.00 → 21.50 |", text)

    def test_a_result_of_a_client_is_imported_and_its_times_of_requests_become_our_figures(self):
        program = ROOT / "build" / "release" / "paretoken"
        if not program.exists():
            self.skipTest("the release build is missing")
        sample = ROOT / "tests" / "reports" / "files" / "interop" / "samples" / "vllm-bench" / "result.json"
        with tempfile.TemporaryDirectory() as folder:
            figures = after_import(program, sample, pathlib.Path(folder) / "imported")
        ttfts = json.loads(sample.read_text())["ttfts"]
        self.assertAlmostEqual(figures["ttft"]["p50"], statistics.median(ttfts), places=4)
        self.assertGreater(figures["e2e"]["p50"], figures["ttft"]["p50"])

    def test_a_disturbed_machine_and_what_is_missing_are_said(self):
        text = report.markdown(result_of([row("paretoken", 8, 32, 0.02, machine_lost_before=0.4)],
                                         [{"client": "vllm", "streams": 8, "output_tokens": 32, "reason": "died"}],
                                         {"guidellm": "no such package"}))
        self.assertIn("40.0 %", text)
        self.assertIn("not to be trusted", text)
        self.assertIn("- vLLM bench failed at 8 streams, 32 tokens: died", text)
        self.assertIn("- GuideLLM is missing: no such package", text)

    def test_nothing_measured_is_a_page_too(self):
        with tempfile.TemporaryDirectory() as folder:
            report.write(result_of([]), pathlib.Path(folder))
            self.assertEqual(sorted(path.name for path in pathlib.Path(folder).iterdir()),
                             ["clients.json", "clients.md", "clients.svg"])

    def test_the_chart_is_well_formed_and_places_errors_by_their_size(self):
        chart = xml.etree.ElementTree.fromstring(report.chart(result_of(self.ROWS)))
        dots = [element for element in chart.iter() if element.get("class") == "p50"]
        self.assertEqual(len(dots), 4)
        self.assertLess(float(dots[0].get("cx")), float(dots[1].get("cx")))
        self.assertEqual(report.place(1e-9), report.place(1e-6))
        self.assertEqual(report.place(-0.01), report.place(0.01))

    def test_signed_durations_choose_their_unit(self):
        self.assertEqual([report.signed_duration(s) for s in (6e-6, -0.0249, 0.585, -1e-7)],
                         ["+6 µs", "−24.9 ms", "+585 ms", "0 µs"])


class Supervisor(unittest.TestCase):
    def run_python(self, code, timeout_s=20.0):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            account = supervised([sys.executable, "-c", code], quiet_environment({}), folder, "", timeout_s)
            return account, (folder / "log.txt").read_text()

    def test_cpu_of_processes_that_outlive_their_parent_is_counted(self):
        burn = "import time\nwhile time.process_time() < .3: pass"
        code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
        account, _ = self.run_python(code)
        self.assertEqual((account["exit_code"], account["timed_out"]), (0, False))
        self.assertGreaterEqual(account["cpu_s"], 0.3)

    def test_cpu_samples_grow_up_to_the_total(self):
        account, _ = self.run_python("import time\nwhile time.process_time() < .5: pass")
        values = [cpu_s for _, cpu_s in account["cpu_samples"]]
        self.assertEqual(values, sorted(values))
        self.assertGreater(values[-1], 0)
        self.assertLessEqual(values[-1], account["cpu_s"] + 0.02)

    def test_a_command_out_of_time_is_ended_with_all_it_started(self):
        code = ("import subprocess, sys, time\n"
                "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)'])\n"
                "print(child.pid, flush=True); time.sleep(100)")
        begin = time.monotonic()
        account, log = self.run_python(code, 1.0)
        self.assertTrue(account["timed_out"])
        self.assertLess(time.monotonic() - begin, 60)
        self.assertFalse(pathlib.Path(f"/proc/{log.split()[0]}").exists())

    def test_a_program_that_is_not_there_is_a_clear_failure(self):
        with tempfile.TemporaryDirectory() as scratch:
            with self.assertRaisesRegex(Failure, "/no/such/program could not be run"):
                supervised(["/no/such/program"], quiet_environment({}), pathlib.Path(scratch), "", 5)

    def test_memory_of_the_whole_tree_is_seen(self):
        hold = "import time; x = bytearray(bytes(64 << 20)); time.sleep(1)"
        code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
        account, _ = self.run_python(code)
        self.assertGreater(account["peak_rss_bytes"], 64 << 20)
        self.assertGreaterEqual(account["most_processes"], 2)


class CommandLine(unittest.TestCase):
    def refusal(self, *arguments):
        done = subprocess.run([sys.executable, str(ROOT / "scripts/compare_clients"), *arguments], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_wrong_usage_says_what_is_wrong(self):
        self.assertIn("unknown; there are", self.refusal("--out", "/nowhere", "--clients", "curl"))
        self.assertIn("two lengths", self.refusal("--out", "/nowhere", "--osl", "128,32"))
        self.assertIn("at least 4", self.refusal("--out", "/nowhere", "--requests-per-stream", "2"))
        self.assertIn("not a program", self.refusal("--out", "/nowhere", "--paretoken", "/nowhere/paretoken"))
        self.assertIn("write CLIENT=DIR", self.refusal("--out", "/nowhere", "--venv", "vllm"))


if __name__ == "__main__":
    unittest.main()
