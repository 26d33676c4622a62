"""`micro` and `micro compare`: what is written, what is shown, and how differences are told."""

import json
import unittest

from harness import Case, paretoken

FEW = "^ceiling/(read|flops/kind:int8)|^weights/w:(q4_0|q6_k)/layout:packed/batch:1/"


class Micro(Case):
    def measure(self, name, *arguments, env=None):
        path = self.directory / name
        # Elsewhere is busy: rows may be called unsteady, which is an answer too.
        done = paretoken("micro", "--quick", "--filter", FEW, "--out", path, *arguments, timeout=180, env=env)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        return path, done

    def test_a_result_has_a_table_bounds_and_fits(self):
        path, done = self.measure("micro.json")
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

    def test_compare_tells_faster_from_slower_and_lists_what_has_no_match(self):
        path, _ = self.measure("first.json")
        result = json.loads(path.read_text())
        for row in result["benchmarks"]:
            row["valid"] = 1
            row.pop("label", None)
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
        """A run directory that says that this machine's CPU served it."""
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
        path, done = self.measure("micro.json", env={"XDG_CACHE_HOME": str(cache)})
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

    def test_a_filtered_result_without_a_ceiling_is_not_kept(self):
        cache = self.directory / "cache"
        done = paretoken("micro", "--quick", "--filter", "^weights/w:q4_0/layout:packed/batch:1/", "--out",
                         self.directory / "micro.json", env={"XDG_CACHE_HOME": str(cache)}, timeout=180)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertFalse(cache.exists())

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
