"""What compare_builds finds in what two builds left; run with `python3 tests/scripts/…`."""

import importlib.machinery
import importlib.util
import json
import pathlib
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "compare_builds"
LOADER = importlib.machinery.SourceFileLoader("compare_builds", str(SCRIPT))
compare_builds = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare_builds", LOADER))
LOADER.exec_module(compare_builds)

BEFORE = {"schema": "paretoken/run/1", "options": {"workers": "1"}, "provenance": {"host_cores": 2},
          "counts": {"ok": 3, "by_class": {"timeout": 1}}, "metrics": {"ttft_s": {"p50": 0.25, "ci95": {"p50": [0.2, 0.3]}}},
          "partial": False}
AFTER = {"schema": "paretoken/run/2", "plan": {"workers": 1}, "provenance": {"host_cores": 4},
         "counts": {"ok": 3, "by_outcome": {"timeout": 1}}, "totals": {"requests": 3},
         "metrics": {"ttft_s": {"p50": 0.25, "ci95": {"p50": [0.2, 0.3]}}}, "partial": False}


class CompareBuilds(unittest.TestCase):
    def left_by(self, root, result, records=b'{"index":0}\n{"index":1}\n'):
        directory = pathlib.Path(root) / "c0001"
        directory.mkdir(parents=True)
        (directory / "run.json").write_text(json.dumps(result))
        (directory / "requests.jsonl").write_bytes(records)
        return pathlib.Path(root)

    def compared(self, after, records=b'{"index":0}\n{"index":1}\n'):
        with tempfile.TemporaryDirectory() as place:
            one = self.left_by(pathlib.Path(place) / "before", BEFORE)
            two = self.left_by(pathlib.Path(place) / "after", after, records)
            return compare_builds.compare_directories(one, two)[0]

    def test_equal_numbers_under_the_names_of_either_schema_are_equal(self):
        self.assertEqual(self.compared(AFTER), [])

    def test_a_number_that_differs_is_named_with_both_values(self):
        for path, value in ((("metrics", "ttft_s", "p50"), 0.26), (("counts", "by_outcome", "timeout"), 2)):
            after = json.loads(json.dumps(AFTER))
            at = after
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
            found = self.compared(after)
            self.assertEqual(len(found), 1, found)
            self.assertIn(".".join(path), found[0])
            self.assertIn(str(value), found[0])

    def test_records_must_be_equal_byte_for_byte(self):
        found = self.compared(AFTER, b'{"index":0}\n{"index":2}\n')
        self.assertEqual(len(found), 1, found)
        self.assertIn("line 2", found[0])
        self.assertIn("1 after", self.compared(AFTER, b'{"index":0}\n')[0])

    def test_events_must_be_equal_byte_for_byte(self):
        with tempfile.TemporaryDirectory() as place:
            one, two = (self.left_by(pathlib.Path(place) / build, BEFORE) for build in ("before", "after"))
            (one / "c0001" / "events.bin").write_bytes(b"abc")
            self.assertIn("3 bytes and absent", compare_builds.compare_directories(one, two)[0][0])
            (two / "c0001" / "events.bin").write_bytes(b"abd")
            self.assertIn("events.bin", compare_builds.compare_directories(one, two)[0][0])
            (two / "c0001" / "events.bin").write_bytes(b"abc")
            self.assertEqual(compare_builds.compare_directories(one, two)[0], [])

    def test_numbers_and_truth_values_of_sweeps_and_reports_are_compared_without_provenance(self):
        with tempfile.TemporaryDirectory() as place:
            one, two = (self.left_by(pathlib.Path(place) / build, BEFORE) for build in ("before", "after"))
            for name in ("sweep.json", "report.json"):
                (one / name).write_text(json.dumps({"points": [{"on_front": True, "provenance": {"cores": 2}}]}))
                self.assertIn("is missing", compare_builds.compare_directories(one, two)[0][0])
                (two / name).write_text(json.dumps({"points": [{"on_front": False, "provenance": {"cores": 4}}]}))
                self.assertEqual(compare_builds.compare_directories(one, two)[0],
                                 [f"{name}: points.0.on_front: True before, False after"])
                (two / name).write_text(json.dumps({"points": [{"on_front": True, "provenance": {"cores": 4}}]}))
                self.assertEqual(compare_builds.compare_directories(one, two)[0], [])

    def test_runs_that_only_one_build_left_are_a_difference(self):
        with tempfile.TemporaryDirectory() as place:
            one = self.left_by(pathlib.Path(place) / "before", BEFORE)
            (pathlib.Path(place) / "after").mkdir()
            self.assertIn("c0001", compare_builds.compare_directories(one, pathlib.Path(place) / "after")[0][0])


if __name__ == "__main__":
    unittest.main()
