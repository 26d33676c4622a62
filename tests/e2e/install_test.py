"""`cmake --install` into a prefix that is then moved: the programs run from there."""

import shutil
import subprocess

from harness import ROOT, Case, environment

VIRTUAL = ("sweep", "sim:llama3-8b-h100-fp8", "--concurrency", "1,2", "--num-prompts", "50", "--virtual")


class Install(Case):
    def setUp(self):
        super().setUp()
        subprocess.run(["cmake", "--install", ROOT / "build" / "release", "--prefix", self.directory / "first"], check=True,
                       capture_output=True)
        self.prefix = self.directory / "moved"
        shutil.move(self.directory / "first", self.prefix)

    def installed(self, *arguments):
        return subprocess.run([self.prefix / "bin" / "paretoken", *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.directory, env=environment(), stdin=subprocess.DEVNULL, timeout=120, check=False)

    def test_the_moved_prefix_sweeps_reports_and_finds_the_microbenchmarks(self):
        self.succeeds(self.installed(*VIRTUAL, "--out", "sweep"))
        self.succeeds(self.installed("report", "sweep", "--no-micro", "--out", "report.html"))
        micro = self.installed("micro", "--quick", "--filter", "^ceiling/read/backend", "--out", "micro.json")
        self.assertIn(micro.returncode, (0, 4), micro.stderr)  # 4: unsteady, on a busy machine
        self.assertTrue((self.directory / "micro.json").exists())

    def test_without_the_microbenchmarks_the_error_names_where_they_should_be(self):
        program = self.prefix / "libexec" / "paretoken" / "paretoken-microbench"
        program.unlink()
        self.fails_clearly(self.installed("micro", "--out", "micro.json"), 3, "paretoken-microbench", str(program))

    def test_the_manual_page_and_the_completions_of_shells_are_installed(self):
        share = self.prefix / "share"
        self.assertIn(".TH paretoken 1", (share / "man" / "man1" / "paretoken.1").read_text())
        self.assertTrue((share / "zsh" / "site-functions" / "_paretoken").read_text().startswith("#compdef paretoken"))
        self.assertIn("complete -c paretoken", (share / "fish" / "vendor_completions.d" / "paretoken.fish").read_text())
        loaded = subprocess.run(["bash", "-c", '. "$0"; COMP_WORDS=(paretoken swe); COMP_CWORD=1; _paretoken; echo "${COMPREPLY[@]}"',
                                 share / "bash-completion" / "completions" / "paretoken"],
                                capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(loaded.stdout.split(), ["sweep"])

    def test_cards_the_schema_and_the_licences_of_linked_libraries_are_installed(self):
        cards = {path.relative_to(ROOT / "cards") for path in (ROOT / "cards").rglob("*.json")}
        share = self.prefix / "share"
        self.assertEqual({path.relative_to(share / "paretoken" / "cards") for path in share.rglob("cards/**/*.json")}, cards)
        self.assertTrue((share / "paretoken" / "schema.json").exists())
        notices = (share / "doc" / "paretoken" / "THIRD_PARTY_NOTICES").read_text()
        for part in ("Boost", "OpenSSL", "simdjson", "fmt", "CLI11", "JSON for Modern C++", "Google Benchmark", "Chart.js"):
            self.assertIn(f"======== {part} (", notices)
        self.assertIn("Boost Software License - Version 1.0", notices)
