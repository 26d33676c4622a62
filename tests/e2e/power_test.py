"""Power: energy per token from power meters, and no figure where there is no meter."""

import json
import shutil
import subprocess
import unittest

from harness import ROOT, Case, http_server, paretoken, run_json

LOAD = ("--concurrency", 4, "--num-prompts", 100, "--isl", 64, "--osl", 12)
COMPILER = shutil.which("c++")


class Power(Case):
    def run_of(self, *arguments, url="sim:llama3-8b-h100-bf16"):
        out = self.directory / "run"
        done = self.measures(paretoken("run", url, *LOAD, "--out", out, "--overwrite", *arguments))
        return done, run_json(out), out

    def test_a_simulated_server_draws_no_power_of_this_machine(self):
        done, result, _ = self.run_of()
        self.assertNotIn("power", result)
        self.assertNotIn("power", done.stderr)

    @unittest.skipUnless(COMPILER, "there is no compiler for the fake driver library")
    def test_the_joules_of_a_gpu_are_its_power_times_the_window(self):
        library = self.directory / "fake_nvml.so"  # its GPU draws 350 W
        subprocess.run([COMPILER, "-std=c++20", "-shared", "-fPIC", ROOT / "tests" / "support" / "fake_nvml.cpp", "-o", library],
                       check=True, timeout=300)
        _, result, out = self.run_of("--power", f"nvml={library}")
        power, window = result["power"], result["window"]
        length = window["end_s"] - window["begin_s"]
        self.assertEqual(power["source"], "nvml")
        self.assertAlmostEqual(power["mean_w"], 350, delta=1)
        self.assertAlmostEqual(power["energy_j"] / (350 * length), 1, delta=0.005)
        self.assertAlmostEqual(power["counter_j"] / (350 * length), 1, delta=0.05)
        tokens = result["totals"]["output_tokens"]
        self.assertAlmostEqual(power["j_per_output_token"] * tokens / power["energy_j"], 1, delta=1e-6)
        self.assertEqual(power["throttled_share"], 0)
        lines = [json.loads(line) for line in (out / "server.jsonl").read_text().splitlines()]
        self.assertEqual(sum("power_w" in line for line in lines), power["readings"])
        self.assertGreaterEqual(power["readings"], 2)

    def test_the_energy_counters_of_cpu_packages_are_read(self):
        zone = self.directory / "powercap" / "intel-rapl:0"
        zone.mkdir(parents=True)
        for name, text in (("name", "package-0"), ("max_energy_range_uj", "262143328850"), ("energy_uj", "1000000")):
            (zone / name).write_text(text + "\n")
        _, result, _ = self.run_of("--power", f"rapl={self.directory / 'powercap'}")
        self.assertEqual(result["power"]["source"], "rapl")
        self.assertEqual(result["power"]["energy_j"], 0)  # a counter that stands still
        self.assertNotIn("output_tokens_per_s_per_w", result["power"])

    def test_a_dcgm_exporter_is_read(self):
        text = b'DCGM_FI_DEV_POWER_USAGE{gpu="0"} 200\nDCGM_FI_DEV_POWER_USAGE{gpu="1"} 50\n'
        with http_server(lambda *_: (200, "text/plain", text)) as url:
            _, result, _ = self.run_of("--power", f"dcgm={url}/metrics")
        self.assertEqual(result["power"]["source"], "dcgm")
        self.assertAlmostEqual(result["power"]["mean_w"], 250, delta=1e-6)

    def test_a_report_prices_the_joules_that_were_measured_and_says_so(self):
        with http_server(lambda *_: (200, "text/plain", b'DCGM_FI_DEV_POWER_USAGE{gpu="0"} 600\n')) as url:
            _, result, out = self.run_of("--power", f"dcgm={url}/metrics")
        self.assertEqual(result["power"]["devices"], 1)
        result["provenance"].update(hardware="NVIDIA H200", hardware_count=1, simulator={})  # as of a real server
        result["validity"] = {"verdict": "valid", "reasons": []}  # whatever else this machine does meanwhile
        (out / "run.json").write_text(json.dumps(result))
        card = self.directory / "card.json"
        card.write_text(json.dumps({"schema": 1, "as_of": "2026-11-01", "currency": "USD", "source": "a test",
                                    "gpus": {"h200": {"on_demand": 3.5, "tdp_w": 700}}, "power_in_rate": False,
                                    "usd_per_kwh": 0.1, "pue": 1.3}))

        def report_json():
            self.succeeds(paretoken("report", out, "--price", card, "--out", self.directory / "report.html"))
            return json.loads((self.directory / "report.json").read_text())

        report = report_json()
        self.matches_schema(self.directory / "report.json", "report")
        cost = report["configurations"][0]["points"][0]["cost"]
        self.assertEqual(cost["power"], "measured by DCGM")
        self.assertAlmostEqual(cost["usd_per_h"], 3.5 + 0.6 * 1.3 * 0.1, delta=1e-6)
        rate = result["throughput"]["output_tokens_per_s"]
        self.assertAlmostEqual(cost["usd_per_m_output"] * rate * 3600 / 1e6 / 3.578, 1, delta=1e-6)
        self.assertEqual(report["price"]["power"], "measured by DCGM")
        self.assertIn("power: measured by DCGM", (self.directory / "report.md").read_text())
        self.assertIn("measured by DCGM", (self.directory / "report.html").read_text())

        del result["power"]
        (out / "run.json").write_text(json.dumps(result))
        cost = report_json()["configurations"][0]["points"][0]["cost"]
        self.assertEqual(cost["power"], "card")
        self.assertAlmostEqual(cost["usd_per_h"], 3.5 + 0.7 * 1.3 * 0.1, delta=1e-6)

    def test_a_meter_that_was_asked_for_and_is_not_there_is_a_warning_and_costs_nothing(self):
        for power in (f"rapl={self.directory}/none", "nvml=libno-such-library.so"):
            done, result, _ = self.run_of("--power", power)
            self.assertNotIn("power", result)
            self.assertEqual(done.stderr.count("--power"), 1)
            self.assertEqual(result["counts"]["ok"], 100)

    def test_what_is_no_meter_is_refused(self):
        for power in ("watts", "dcgm", "dcgm=9400", "nvml="):
            self.fails_clearly(paretoken("run", "sim:ideal", *LOAD, "--power", power, "--out", self.directory / "no"), 2,
                               "--power", "rapl")


if __name__ == "__main__":
    unittest.main()
