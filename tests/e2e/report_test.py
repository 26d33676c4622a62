"""The report of a simulated sweep in a real browser: its charts are drawn, and the console has no errors."""

import json
import pathlib
import shutil
import tempfile
import unittest

from harness import Case, paretoken
from pages import PAINTED, Browser, brightness, look_at

class Report(Case):
    @classmethod
    def setUpClass(cls):
        cls.made = pathlib.Path(tempfile.mkdtemp(prefix="paretoken-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        sweep = paretoken("sweep", "sim:llama3-8b-h100-bf16", "--concurrency", "1,8,32", "--isl", 128, "--osl", 16,
                          "--num-prompts", 96, "--metadata", "note=<script>alert(1)</script>", "--out",
                          cls.made / "sweep", timeout=180)
        if sweep.returncode not in (0, 4):
            raise AssertionError(sweep.stderr)
        cls.page = cls.made / "report.html"
        cls.done = paretoken("report", cls.made / "sweep", "--price", "2026-11-cloud", "--gpu", "h100-sxm", "--out",
                             cls.page)
        if cls.done.returncode not in (0, 4):
            raise AssertionError(cls.done.stderr)
        cls.model = json.loads(cls.page.with_suffix(".json").read_text())

    def test_the_charts_are_drawn_in_light_and_dark_and_nothing_is_logged(self):
        with Browser() as browser:
            light = look_at(self, browser, self.page, "light")
            dark = look_at(self, browser, self.page, "dark")
        self.assertGreater(brightness(light), 200)
        self.assertLess(brightness(dark), 80)

    def test_the_series_of_the_chosen_run_are_drawn(self):
        titles = "return [...document.querySelectorAll('[data-option]:not([hidden]) figure h3')].map(title => title.textContent)"
        with Browser() as browser:
            look_at(self, browser, self.page, "light")
            drawn = browser.evaluate(titles)
            self.assertIn("Requests in flight, requests", drawn)
            self.assertTrue(any(title.startswith("Output tokens per second") for title in drawn), drawn)
            shown = browser.evaluate("return [...document.querySelectorAll('[data-option]')].filter(part => !part.hidden).map(p => p.dataset.option)")
            self.assertEqual(len(shown), 1)
            options = browser.evaluate("return [...document.querySelectorAll('#course-menu option')].map(option => option.textContent)")
            self.assertEqual(options, ["c=1", "c=8", "c=32"])
            browser.evaluate("const run = document.querySelector('#course-menu'); run.value = '2';"
                             "run.dispatchEvent(new Event('change'));")
            self.assertEqual(browser.evaluate("return [...document.querySelectorAll('[data-option]')].filter(part => !part.hidden)"
                                              ".map(p => p.querySelector('h3').textContent)"), ["c=32"])
            self.assertEqual(browser.evaluate(titles), drawn)
            for share in browser.evaluate(PAINTED):
                self.assertGreater(share, 0.005, "a chart is blank")
            self.assertEqual([entry for entry in browser.console() if entry["level"] == "SEVERE"], [])

    def test_text_from_the_user_is_not_markup(self):
        html = self.page.read_text()
        self.assertNotIn("<script>alert(1)", html)
        self.assertIn("Content-Security-Policy", html)

    def test_the_page_is_small_and_one_file(self):
        self.assertLess(self.page.stat().st_size, 1_000_000)

    def test_the_page_fits_a_phone(self):
        with Browser() as browser:
            browser.devtools("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1,
                             mobile=True)
            browser.open(self.page)
            self.assertLessEqual(browser.evaluate("return document.documentElement.scrollWidth"), 390)

    def test_the_three_forms_say_the_same(self):
        markdown = self.page.with_suffix(".md").read_text()
        configuration = self.model["configurations"][0]
        self.assertIn(configuration["answer"], markdown.replace("\\", ""))
        self.assertEqual(len(configuration["points"]), 3)
        for point in configuration["points"]:
            self.assertIn(point["load_label"], markdown)
            self.assertGreater(point["cost"]["usd_per_m_output"], 0)

    def test_the_files_are_what_the_schema_says(self):
        self.matches_schema(self.page.with_suffix(".json"), "report")
        self.matches_schema(self.made / "sweep" / "sweep.json", "sweep")
        for run in (self.made / "sweep").glob("*/run.json"):
            self.matches_schema(run, "run")
            self.matches_schema(run.with_name("requests.jsonl"), "request")

    def test_a_refold_gives_what_the_run_found_and_takes_any_percentile(self):
        page = self.made / "refolded.html"

        def points(*arguments):
            self.measures(paretoken("report", self.made / "sweep", "--gpu", "h100-sxm", "--out", page, *arguments))
            return [point for configuration in json.loads(page.with_suffix(".json").read_text())["configurations"]
                    for point in configuration["points"]]

        as_run, anew = points(), points("--refold")
        self.assertEqual([point["run"] for point in anew], [point["run"] for point in as_run])
        for point in points("--refold", "--slo", "ttft_p97:60000", "--goodput", "ttft:0.001"):
            held = point["run"]["metrics"]["ttft_s"]
            self.assertLessEqual(held["p95"], held["p97"])
            self.assertLessEqual(held["p97"], held["p99"])
            self.assertEqual(point["run"]["throughput"]["goodput_ratio"], 0)
            self.assertEqual(point["run"]["plan"]["goodput"], "ttft:0.001")
        self.fails_clearly(paretoken("report", self.made / "sweep", "--slo", "ttft_p97:800", "--out", page), 2, "p97",
                           "--refold")
        self.fails_clearly(paretoken("report", self.made / "sweep", "--goodput", "ttft:800", "--out", page), 2, "--refold")
        self.fails_clearly(paretoken("report", self.made / "sweep", "--refold", "--goodput", "chat=ttft:800", "--out", page), 2,
                           "chat", "no classes")

    def test_no_point_is_above_its_limit(self):
        for point in self.model["configurations"][0]["points"]:
            self.assertGreater(point["of_limit"], 0)
            self.assertLessEqual(point["of_limit"], 1)

    def test_a_rate_that_the_server_does_not_keep_up_with_is_no_answer(self):
        out = self.directory / "run"
        done = paretoken("run", "sim:llama3-8b-h100-bf16?max_num_seqs=16", "--virtual", "--request-rate", 20, "--num-prompts", 200,
                         "--isl", 512, "--osl", 128, "--slo", "tpot_p90:20", "--out", out)
        behind = "the server does not keep up with the arrivals (served 13.1 of 20 req/s)"
        self.fails_clearly(done, 1, behind)
        self.assertIn(behind, " ".join(done.stdout.split()))
        report = self.succeeds(paretoken("report", out, "--slo", "tpot_p90:20", "--out", self.directory / "report"))
        self.assertIn("no point can be used; 20 req/s: " + behind, " ".join(report.stdout.split()))

    def test_a_price_basis_that_no_card_has_is_refused(self):
        for gpu in ("h100-sxm", "voodoo2"):  # the second has no price at all
            done = paretoken("report", self.made / "sweep", "--gpu", gpu, "--price-basis", "on_tick", "--out", self.made / "no.html")
            self.fails_clearly(done, 2, "--price-basis on_tick", "on_demand")

    def test_hardware_without_a_price_is_said_to_be_missing(self):
        run, page = self.made / "ideal", self.made / "unpriced.html"
        self.measures(paretoken("run", "sim:ideal", "--virtual", "--isl", 16, "--osl", 4, "--num-prompts", 20, "--out", run))
        self.measures(paretoken("report", run, "--gpu", "other:voodoo2", "--out", page))
        self.assertRegex(page.with_suffix(".md").read_text(), "no price.*voodoo2.*--price")
        model = json.loads(page.with_suffix(".json").read_text())
        self.assertNotIn("cost", model["configurations"][0]["points"][0])

    def test_every_command_refuses_a_gpu_that_is_unknown_or_that_the_runs_contradict(self):
        sweep, page = self.made / "sweep", self.made / "no.html"
        for arguments in (["report", sweep, "--out", page], ["compare", sweep, sweep], ["import", sweep, "--out", self.made / "no"]):
            self.fails_clearly(paretoken(*arguments, "--gpu", "nosuch"), 2, "--gpu nosuch", "l40s")
        for arguments in (["report", sweep, "--out", page], ["compare", sweep, sweep]):
            self.fails_clearly(paretoken(*arguments, "--gpu", "l40s"), 2, "h100-sxm", "--what-if gpu=l40s")
        self.assertIn("h100-sxm at $2.95 per hour", paretoken("compare", sweep, sweep, "--gpu", "h100").stdout)
        self.assertIn("h100-sxm at $2.95 per hour", self.page.read_text())


if __name__ == "__main__":
    unittest.main()
