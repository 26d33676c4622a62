"""`micro` and `micro compare`: the files and tables that they write, and the verdicts on differences."""

import json
import unittest

from harness import ROOT, Case, paretoken
from pages import Browser, brightness, look_at

FEWEST = "^ceiling/read/backend|^weights/w:q4_0/layout:packed/batch:1/"
FEW = "^ceiling/(read|flops/kind:int8)|^weights/w:(q4_0|q6_k)/layout:packed/batch:1/"


class Micro(Case):
    busy = True

    def measure(self, name, *arguments, rows=FEW, env=None):
        path = self.directory / name
        # The machine may be busy, so that rows are called unsteady and the exit code is 4; the tests accept this.
        done = paretoken("micro", "--quick", "--filter", rows, "--out", path, *arguments, timeout=600, env=env)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        return path, done

    def test_a_result_has_a_table_bounds_and_fits(self):
        path, done = self.measure("micro.json", "-v")
        result = json.loads(path.read_text())
        self.assertEqual(result["context"]["paretoken_schema"], "paretoken/micro/2")
        self.assertEqual([device["id"] for device in result["context"]["devices"]][0], "cpu")
        self.assertEqual({row["device"] for row in result["benchmarks"]}, {"cpu"})
        rows = {row["name"]: row for row in result["benchmarks"]}
        self.assertTrue(any(name.startswith("ceiling/read/kib:128/") for name in rows))
        threads = result["context"]["threads"]
        fits = {fit["kernel"]: fit for fit in result["fits"]}
        fit = fits[f"ceiling/read/backend:cpu/threads:{threads}"]
        self.assertGreaterEqual(fit["fixed_s"], 0)
        self.assertGreater(fit["bytes_per_s"], 1e8)
        self.assertIn("bound by", done.stdout)
        self.assertIn("us + bytes /", done.stdout)
        kernels = [row for name, row in rows.items() if name.startswith("weights/")]
        self.assertEqual(len(kernels), 2)
        for row in kernels:
            self.assertIn(row.get("bound_by", "neither"), ("memory", "compute", "neither"))
            self.assertGreater(row["of_ceiling"], 0)
            self.assertIn(row["prefetch_bytes"], (0, 8192, 16384))
            self.assertIn(row["ceiling_streams"], (1, 4))
            if row["valid"] and row["of_ceiling"] < .9 and "cached_flops_per_second" in row:
                self.assertTrue(row["held_back_by"])
                self.assertIn(row["held_back_by"], done.stdout)

    def test_compare_tells_faster_from_slower_and_lists_what_has_no_match(self):
        path, _ = self.measure("first.json")
        result = json.loads(path.read_text())
        for row in result["benchmarks"]:
            row["valid"] = 1
            row.pop("label", None)
            # The quartiles are set close together, so that the test does not depend on how steady this machine is.
            if "median_s" in row:
                for key, times in (("p10_s", .98), ("p25_s", .99), ("p75_s", 1.01), ("p90_s", 1.02)):
                    row[key] = row["median_s"] * times
        slowed = json.loads(json.dumps(result))
        for key in ("median_s", "p10_s", "p25_s", "p75_s", "p90_s"):
            slowed["benchmarks"][0][key] *= 10
        slowed["benchmarks"][0]["bytes_per_second"] /= 10
        dropped = slowed["benchmarks"].pop()["name"]
        slowed["context"]["devices"][0]["name"] = "Another Machine"
        first, second = self.directory / "a.json", self.directory / "b.json"
        first.write_text(json.dumps(result))
        second.write_text(json.dumps(slowed))

        same = self.succeeds(paretoken("micro", "compare", first, first, "--fail-on-slower"))
        self.assertIn("0 faster, 0 slower", same.stdout)
        compared = self.succeeds(paretoken("micro", "compare", first, second))
        self.assertIn("1 slower", compared.stdout)
        self.assertIn("Another Machine", compared.stdout)
        self.assertRegex(compared.stdout, rf"{dropped} +only in the first")
        told = json.loads(self.succeeds(paretoken("micro", "compare", first, second, "--json")).stdout)
        self.assertEqual(told["counts"]["slower"], 1)
        self.assertEqual(told["rows"][0]["verdict"], "slower")
        self.assertAlmostEqual(told["rows"][0]["effect"], -0.9, places=6)
        self.assertEqual(told["only_in_first"], [dropped])
        self.fails_clearly(paretoken("micro", "compare", first, second, "--fail-on-slower"), 1, "1 of", "slower")
        turned = json.loads(paretoken("micro", "compare", second, first, "--json").stdout)
        self.assertEqual(turned["rows"][0]["verdict"], "faster")

    def local_run(self):
        """Returns a run directory whose run.json says that this machine's CPU served it."""
        run = self.directory / "run"
        self.measures(paretoken("run", "sim:ideal", "--virtual", "--concurrency", 2, "--num-prompts", 40, "--out", run))
        path = run / "run.json"
        result = json.loads(path.read_text())
        result["provenance"]["hardware"] = result["provenance"]["host_cpu"]
        result["provenance"].pop("simulator", None)
        path.write_text(json.dumps(result))
        return run

    def report(self, run, cache, *arguments, env=None):
        page = self.directory / "page.html"
        done = paretoken("report", run, "--out", page, "--model-card", "smollm2-135m", *arguments,
                         env={"XDG_CACHE_HOME": str(cache), **(env or {})})
        self.assertIn(done.returncode, (0, 4), done.stderr)
        model = json.loads(page.with_suffix(".json").read_text())
        terms = model["configurations"][0]["limit_terms"]
        return {term["name"]: term["source"] for term in terms}, " ".join(model["notes"])

    def test_a_report_uses_the_newest_result_of_this_machine_unless_told_not_to(self):
        cache = self.directory / "cache"
        run = self.local_run()
        self.assertEqual(self.report(run, cache), ({}, ""))
        path, done = self.measure("micro.json", rows=FEWEST, env={"XDG_CACHE_HOME": str(cache)})
        kept = cache / "paretoken" / "micro.json"
        if done.returncode == 0:
            self.assertIn(str(kept), done.stdout)
            self.assertEqual(kept.read_text(), path.read_text())
        else:  # so busy that no row is valid: such a result is not kept
            self.assertFalse(kept.exists())
            kept.parent.mkdir(parents=True)
            kept.write_text(path.read_text())

        terms, notes = self.report(run, cache)
        self.assertIn("ceiling/", terms["memory bandwidth"])
        date = json.loads(path.read_text())["context"]["date"][:10]
        self.assertIn(f"measured on this machine on {date}; --no-micro leaves it out", notes)
        self.assertEqual(self.report(run, cache, "--no-micro"), ({}, ""))
        self.fails_clearly(paretoken("report", run, "--no-micro", "--micro", path), 2, "--no-micro")

        changed = json.loads(kept.read_text())
        changed["context"]["devices"][0]["memory_bytes"] *= 2
        kept.write_text(json.dumps(changed))
        terms, notes = self.report(run, cache)
        self.assertEqual(terms, {})
        self.assertIn("was not used: it was measured with", notes)
        kept.write_text(json.dumps({"context": {"paretoken_schema": "paretoken/micro/1"}}))
        terms, notes = self.report(run, cache)
        self.assertEqual(terms, {})
        self.assertIn("paretoken/micro/1", notes)
        self.fails_clearly(paretoken("report", run, "--micro", kept), 2, "paretoken/micro/1", "measure again")

    def test_a_filtered_result_without_kernels_is_not_kept(self):
        cache = self.directory / "cache"
        _, done = self.measure("micro.json", rows="^ceiling/read/backend", env={"XDG_CACHE_HOME": str(cache)})
        self.assertFalse(cache.exists())
        if done.returncode == 0:
            self.assertIn("not kept for reports, which need the ceilings and the rows of weights", done.stdout)

    def gpu_file(self, name, gpu, scale):
        """Writes a micro.json of a GPU with the names that rows of a GPU have. Returns its path. `scale` scales its speeds."""
        end = "/backend:gpu/mode:ring"

        def row(row_name, seconds, valid=1, **figures):
            figures = {key: value * scale for key, value in figures.items()}
            return {"name": row_name + end, "run_type": "iteration", "median_s": seconds, "p10_s": seconds * .99,
                    "p25_s": seconds * .99, "p75_s": seconds * 1.01, "p90_s": seconds * 1.01, "valid": valid, **figures}

        rows = [row("ceiling/read/mib:1024/access:staged", 2.4e-4, bytes_per_second=4.4e12),
                row("ceiling/flops/lib/w:bf16", 1e-3, flops_per_second=7.9e14)]
        for batch, share in ((1, .95), (8, .94), (32, .85)):
            rows.append(row(f"weights/preset:llama3-8b/op:gate_up/w:bf16/batch:{batch}", 6e-5, int(batch != 32),
                            bytes_per_second=4.4e12 * share))
        for context, share in ((1024, .6), (8192, .9)):
            rows.append(row(f"attention/preset:llama3-8b/kv:bf16/batch:32/ctx:{context}/page:16/layout:nhd/order:random",
                            1e-4, bytes_per_second=4.4e12 * share))
        for tokens, share in ((512, .5), (2048, .8), (8192, .9)):
            rows.append(row(f"prefill/gemm/engine:lib/preset:llama3-8b/op:gate_up/w:bf16/tokens:{tokens}", 1e-3,
                            flops_per_second=7.9e14 * share))
        rows.append(row("layer/preset:llama3-8b/w:bf16/kv:bf16/batch:1/ctx:4096", 1.2e-4) |
                    {"part_qkv_s": 1e-5, "part_attention_s": 4e-5, "part_gate_up_s": 5e-5, "gap_s": 5e-6})
        path = self.directory / name
        path.write_text(json.dumps({
            "context": {"paretoken_schema": "paretoken/micro/2", "date": "2026-11-21T09:40:00Z", "devices": [
                {"id": "gpu0", "backend": "gpu", "name": gpu, "driver": "580.82.07"}]}, "benchmarks": rows}))
        return path

    def test_two_results_are_drawn_beside_each_other(self):
        first = self.gpu_file("h200.json", "NVIDIA H200", 1)
        second = self.gpu_file("other.json", "NVIDIA <b>H900</b>", .8)
        page = self.directory / "page.html"
        self.succeeds(paretoken("micro", "compare", first, second, "--report", page))
        self.assertNotIn("<b>H900</b>", page.read_text())
        with Browser() as browser:
            light = look_at(self, browser, page, "light")
            dark = look_at(self, browser, page, "dark")
            self.assertEqual(int(browser.evaluate("return document.documentElement.dataset.charts")), 4)
            browser.devtools("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1,
                             mobile=True)
            browser.open(page)
            self.assertLessEqual(browser.evaluate("return document.documentElement.scrollWidth"), 390)
        self.assertGreater(brightness(light), 200)
        self.assertLess(brightness(dark), 80)
        tables = self.directory / "page.md"
        self.succeeds(paretoken("micro", "compare", first, second, "--report", tables))
        self.assertIn("| Batch | bf16, first | bf16, second |", tables.read_text())
        self.assertIn("| 32 | 3,740\\* | 2,990\\* |", tables.read_text())
        self.fails_clearly(paretoken("micro", "compare", first, second, "--report", "page.pdf"), 2, "--report", ".html")

    def test_limits_come_from_the_results_of_a_real_gpu(self):
        micro = ROOT / "reports" / "reference" / "h100-sxm" / "micro.json"
        gpu = "NVIDIA H100 80GB HBM3"
        run = self.directory / "run"
        self.succeeds(paretoken("run", "sim:llama3-8b/h100-sxm/bf16", "--virtual", "--num-prompts", 200, "--isl", 512,
                                "--osl", 64, "--gpu", gpu, "--out", run))
        # A run whose own record does not say that its server is simulated has the limits of its hardware.
        path = run / "run.json"
        result = json.loads(path.read_text())
        del result["provenance"]["simulator"]
        path.write_text(json.dumps(result))
        page = self.directory / "report.html"
        self.succeeds(paretoken("report", run, "--micro", micro, "--model-card", "llama-3.1-8b", "--out", page))
        configuration = json.loads(page.with_suffix(".json").read_text())["configurations"][0]
        terms = {term["name"]: term for term in configuration["limit_terms"]}
        memory = terms["memory bandwidth"]
        self.assertIn(gpu, memory["source"])
        self.assertAlmostEqual(memory["value"], 3157, delta=2)
        self.assertTrue(any(name.startswith("reached by our weight kernel") for name in terms), list(terms))
        self.assertTrue(configuration["hard_limit"] and configuration["reachable"])
        tables = page.with_suffix(".md").read_text()
        self.assertIn("What the hardware can do", tables)
        self.assertIn("read ceiling 3,160", tables)

    def test_shapes_from_a_config(self):
        config = self.directory / "config.json"
        config.write_text(json.dumps({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1536,
                                      "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2,
                                      "vocab_size": 1000}))
        path = self.directory / "micro.json"
        done = paretoken("micro", "--quick", "--filter", "^weights/w:q4_k|^attention", "--model-card", config, "--out",
                         path, timeout=180)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        names = [row["name"] for row in json.loads(path.read_text())["benchmarks"]]
        self.assertTrue(any("heads:8x2x64" in name for name in names), names)

    def test_what_cannot_be(self):
        gone = self.directory / "gone.json"
        self.fails_clearly(paretoken("micro", "--model-card", gone, "--out", self.directory / "x.json"), 2, "gone.json")
        self.fails_clearly(paretoken("micro", "--quick", "--full"), 2, "--full")
        self.fails_clearly(paretoken("micro", "compare", gone, gone), (2, 3), "gone.json")
        self.fails_clearly(paretoken("micro", "compare", gone), 2, "SECOND")
        other = self.directory / "other.json"
        other.write_text("{}")
        self.fails_clearly(paretoken("micro", "compare", other, other), 2, "other.json", "context")
        self.assertFalse((self.directory / "x.json").exists())


if __name__ == "__main__":
    unittest.main()
