"""Plants one violation of each kind in a small tree and expects exactly it; run with `python3 tests/scripts/…`."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_includes.py"

CLEAN_TREE = {
    "core/units.h": "#pragma once\n// A comment.\n#include <vector>\n#include <fmt/format.h>\n",
    "core/plan/plan.h": '#pragma once\n#include "core/units.h"\n#include "core/record/record.h"\n',
    "core/record/record.h": "#pragma once\n",
    "cards/model.h": '#pragma once\n#include "core/units.h"\n',
    "cards/model.cpp": '#include "cards/model.h"\n#include <nlohmann/json.hpp>\n',
    "datasets/dataset.h": "#pragma once\n",
    "loadgen/load/arrival.h": "#pragma once\n",
    "loadgen/load/limits.h": "#pragma once\n",
    "loadgen/load/schedule.h": '#pragma once\n#include "loadgen/load/arrival.h"\n#include "datasets/dataset.h"\n',
    "loadgen/load/dispatch.h": '#pragma once\n#include "loadgen/load/schedule.h"\n#include "loadgen/load/limits.h"\n',
    "loadgen/http/url.h": "#pragma once\n",
    "loadgen/protocol/sse.h": "#pragma once\n",
    "loadgen/client.h": '#pragma once\n#include "loadgen/http/url.h"\n',
    "loadgen/client.cpp": '#include "loadgen/client.h"\n#include "loadgen/protocol/sse.h"\n',
    "loadgen/worker.cpp": '#include "loadgen/client.h"\n#include "loadgen/protocol/sse.h"\n',
    "simulator/engine/engine.h": "#pragma once\n",
    "simulator/server.cpp": '#include "cards/model.h"\n#include <boost/beast/http.hpp>\n',
    "loadgen/virtual.cpp": '#include "simulator/engine/engine.h"\n',
    "microbench/kernel.h": '#pragma once\n#include "cards/model.h"\n',
    "reports/files/json/archive.cpp": "#include <nlohmann/json.hpp>\n",
    "reports/document/table.h": "#pragma once\n",
    "reports/analysis/model/front.h": '#pragma once\n#include "reports/document/table.h"\n',
    "reports/pages/html.h": '#pragma once\n#include "reports/analysis/model/front.h"\n#include "reports/document/table.h"\n',
    "experiments/run.h": '#pragma once\n#include "loadgen/load/arrival.h"\n#include "reports/document/table.h"\n',
    "cli/commands.h": "#pragma once\n#include <CLI/App.hpp>\n",
    "cli/run.cpp": '#include "cli/commands.h"\n#include "loadgen/client.h"\n#include "reports/document/table.h"\n',
    "tests/support/server.h": "#pragma once\n",
    "tests/loadgen/client_test.cpp": '#include "tests/support/server.h"\n#include "loadgen/client.h"\n',
}


def check(changes):
    """The exit code and the lines printed for the clean tree with some files replaced or added."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**CLEAN_TREE, **changes}.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


class CheckIncludes(unittest.TestCase):
    def finds(self, path, text, where, words):
        code, lines = check({path: text})
        self.assertEqual(code, 1, lines)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"{where}: "), lines)
        self.assertIn(words, lines[0])

    def test_a_tree_that_follows_every_rule_passes(self):
        self.assertEqual(check({}), (0, []))

    def test_an_empty_tree_does_not_pass_silently(self):
        with tempfile.TemporaryDirectory() as root:
            done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)

    def test_dependencies_only_point_down(self):
        self.finds("core/new.cpp", '#include "cards/model.h"\n', "core/new.cpp:1", "core may not include cards")
        self.finds("reports/new.cpp", '\n#include "loadgen/client.h"\n', "reports/new.cpp:2",
                   "reports may not include loadgen")
        self.finds("microbench/new.cu", '#include "reports/document/table.h"\n', "microbench/new.cu:1",
                   "microbench may not include reports")
        self.finds("datasets/new.cpp", '#include "cards/model.h"\n', "datasets/new.cpp:1",
                   "datasets may not include cards")
        self.finds("reports/new.cpp", '#include "experiments/run.h"\n', "reports/new.cpp:1",
                   "reports may not include experiments")
        self.finds("experiments/new.cpp", '#include "cli/commands.h"\n', "experiments/new.cpp:1",
                   "experiments may not include cli")

    def test_a_test_may_include_only_what_its_subject_may(self):
        self.finds("tests/core/new_test.cpp", '#include "cards/model.h"\n', "tests/core/new_test.cpp:1",
                   "core may not include cards")

    def test_product_code_may_not_include_tests(self):
        self.finds("reports/new.cpp", '#include "tests/support/server.h"\n', "reports/new.cpp:1",
                   "reports may not include tests")

    def test_the_simulated_server_never_sees_the_clients_parser(self):
        self.finds("simulator/new.cpp", '#include "loadgen/protocol/sse.h"\n', "simulator/new.cpp:1",
                   "simulator may not include loadgen")

    def test_only_virtual_time_drives_the_simulators_engine(self):
        self.finds("loadgen/client.cpp", '#include "simulator/engine/engine.h"\n', "loadgen/client.cpp:1",
                   "loadgen/client may not include simulator")

    def test_arrows_inside_core_are_one_way(self):
        self.finds("core/record/record.h", '#pragma once\n#include "core/plan/plan.h"\n', "core/record/record.h:2",
                   "core/record may not include core/plan")
        self.finds("core/new.h", '#pragma once\n#include "core/plan/plan.h"\n', "core/new.h:2",
                   "outside of its rooms may not include core/plan")
        self.finds("core/cellar/new.cpp", '#include "core/units.h"\n', "core/cellar/new.cpp:1", "core/cellar has no row")

    def test_arrows_inside_reports_are_one_way(self):
        self.finds("reports/analysis/model/new.cpp", '#include "reports/pages/html.h"\n', "reports/analysis/model/new.cpp:1",
                   "reports/analysis may not include reports/pages")
        self.finds("reports/attic/new.cpp", '#include "reports/document/table.h"\n', "reports/attic/new.cpp:1",
                   "reports/attic has no row")

    def test_arrows_inside_loadgen_are_one_way(self):
        self.finds("loadgen/http/new.cpp", '#include "loadgen/client.h"\n', "loadgen/http/new.cpp:1",
                   "loadgen/http may not include loadgen/client")
        self.finds("loadgen/protocol/new.cpp", '#include "datasets/dataset.h"\n', "loadgen/protocol/new.cpp:1",
                   "loadgen/protocol may not include datasets")

    def test_arrows_inside_experiments_are_one_way(self):
        self.finds("experiments/server/new.cpp", '#include "experiments/run.h"\n', "experiments/server/new.cpp:1",
                   "experiments/server may not include experiments/run")

    def test_arrows_inside_microbench_and_its_folders_are_one_way(self):
        for path, included in [("microbench/cpu/isa.h", "microbench/gpu/rows.h"),
                               ("microbench/gpu/device/kernel.h", "microbench/gpu/rows.h"),
                               ("microbench/cpu/isa.h", "microbench/cpu/rows.h")]:
            with self.subTest(path):
                code, lines = check({path: f'#pragma once\n#include "{included}"\n', included: "#pragma once\n"})
                self.assertEqual((code, len(lines)), (1, 1), lines)
                self.assertRegex(lines[0], f"^{path}:2: microbench/.* may not include microbench/")

    def test_a_new_part_needs_a_row(self):
        self.finds("loadgen/oracle.cpp", '#include "loadgen/client.h"\n', "loadgen/oracle.cpp:1", "has no row")
        self.finds("experiments/oracle.cpp", '#include "experiments/run.h"\n', "experiments/oracle.cpp:1", "has no row")

    def test_heavy_libraries_stay_out_of_headers(self):
        for library in ["nlohmann/json.hpp", "simdjson.h", "boost/beast/core.hpp", "boost/asio/ssl.hpp",
                        "openssl/ssl.h", "CLI/App.hpp", "regex", "iostream"]:
            with self.subTest(library):
                self.finds("loadgen/http/new.h", f"#pragma once\n#include <{library}>\n", "loadgen/http/new.h:2",
                           "too heavy for a header")

    def test_only_two_headers_of_cli_may_include_the_option_parser(self):
        self.finds("cli/new.h", "#pragma once\n#include <CLI/App.hpp>\n", "cli/new.h:2", "too heavy")
        self.finds("cli/commands.h", "#pragma once\n#include <nlohmann/json.hpp>\n", "cli/commands.h:2", "too heavy")

    def test_core_does_no_input_or_output(self):
        for header in ["sys/socket.h", "unistd.h", "boost/asio.hpp"]:
            with self.subTest(header):
                self.finds("core/new.cpp", f"#include <{header}>\n", "core/new.cpp:1", "core uses only")

    def test_json_is_known_in_few_files_of_reports(self):
        self.finds("reports/new.cpp", "#include <nlohmann/json.hpp>\n", "reports/new.cpp:1", "may include nlohmann")

    def test_includes_are_paths_from_the_root(self):
        self.finds("core/new.cpp", '#include "units.h"\n', "core/new.cpp:1", "not a path from the root")
        self.finds("core/new.cpp", '#include "core/../core/units.h"\n', "core/new.cpp:1", "not a path from the root")
        self.finds("core/new.cpp", "#include <core/units.h>\n", "core/new.cpp:1", "is a file of the project")
        self.finds("core/new.cpp", '#include "core/gone.h"\n', "core/new.cpp:1", "does not exist")

    def test_a_header_starts_with_pragma_once(self):
        self.finds("core/new.h", "#include <vector>\n", "core/new.h:1", "#pragma once")


class Architecture(unittest.TestCase):
    """ARCHITECTURE.md and the READMEs of the folders say what the checker enforces, and the checker knows what is there."""

    ROOT = SCRIPT.parents[1]

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(SCRIPT.parent))
        import check_includes
        cls.checker = check_includes

    def test_its_table_of_folders_is_what_is_checked(self):
        text = (self.ROOT / "ARCHITECTURE.md").read_text()
        table = text.split("## Folders", 1)[1].split("```", 1)[0]
        told = {}
        for row in table.splitlines():
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            folder = cells[0].split("`")[1].strip("/") if "`" in cells[0] else ""
            if len(cells) != 3 or folder not in self.checker.FOLDERS:
                continue
            may_use = set(re.findall("`([a-z]+)`", cells[2])) & set(self.checker.FOLDERS)
            told[folder] = may_use or (set(told) if "all of the above" in cells[2] else set())
        self.assertEqual(told, self.checker.FOLDERS)

    def arrows_told(self, folder):
        """The block of arrows in the folder's README, or in that of the folder around it, under "Inside"."""
        page = self.ROOT / folder / "README.md"
        if page.is_file():
            return page.read_text().split("```")[1]
        around, name = folder.rsplit("/", 1)
        return (self.ROOT / around / "README.md").read_text().split(f"## Inside {name}\n", 1)[1].split("```")[1]

    def test_arrows_inside_folders_are_what_is_checked(self):
        for folder, arrows in {**self.checker.ROOMS, **self.checker.PARTS}.items():
            with self.subTest(folder):
                told = {part: set() for part in arrows}
                for line in self.arrows_told(folder).splitlines():
                    for chain in re.split(" {3,}", line):
                        steps = [set(re.findall("[a-z_]+", step)) for step in chain.split("→")]
                        for sources, targets in zip(steps, steps[1:]):
                            for source in sources & set(arrows):
                                told[source] |= targets & set(arrows)
                self.assertEqual(told, arrows)

    def pages(self):
        return [self.ROOT / "ARCHITECTURE.md", *(page for folder in self.checker.FOLDERS for page in (self.ROOT / folder).rglob("README.md"))]

    def test_the_map_is_one_page_and_that_of_a_folder_half_a_page(self):
        for page in self.pages():
            with self.subTest(page):
                self.assertLessEqual(len(page.read_text().splitlines()), 120 if page.parent == self.ROOT else 60)

    def test_the_places_that_the_pages_name_exist(self):
        for page in self.pages():
            folders = [self.ROOT / folder for folder in (*self.checker.FOLDERS, "tests")]
            for place in re.findall(r"`([a-z][\w./*]*/[\w./*]*)`", page.read_text()):
                names = [place.rstrip("/"), place.rstrip("/") + ".h", place.rstrip("/") + ".cpp"]
                found = place.startswith("paretoken/") or any(any(folder.rglob(name)) for folder in folders for name in names) or (
                    any(any(self.ROOT.glob(name)) for name in names))
                with self.subTest(page=page, place=place):
                    self.assertTrue(found)

    def test_no_arrows_go_in_a_circle(self):
        for arrows in [self.checker.FOLDERS, *self.checker.PARTS.values(), *self.checker.ROOMS.values()]:
            for part, targets in arrows.items():
                for target in targets:
                    self.assertNotIn(part, self.checker.reachable_from(target, arrows), f"{part} ↔ {target}")

    def test_the_rooms_are_those_that_exist_and_small(self):
        for folder, arrows in self.checker.ROOMS.items():
            rooms = {path.name: len(list(path.iterdir())) for path in (self.ROOT / folder).iterdir()
                     if path.is_dir() and any(file.suffix in self.checker.SUFFIXES for file in path.rglob("*"))}
            self.assertEqual(set(arrows), set(rooms))
            self.assertLessEqual(max(rooms.values()), 30)

    def test_the_parts_of_folders_are_those_that_exist(self):
        for folder, arrows in self.checker.PARTS.items():
            parts = {path.name.split(".")[0] for path in (self.ROOT / folder).iterdir()
                     if path.is_dir() or path.suffix in self.checker.SUFFIXES and not path.stem.endswith("_test")}
            self.assertEqual(set(arrows), parts)


if __name__ == "__main__":
    unittest.main()
