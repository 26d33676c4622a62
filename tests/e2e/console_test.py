"""What people see of run, sweep, gate, try and a dead server, in terminals of 80 and 120 columns and through a pipe.

The captures are kept in tests/golden/console with their figures masked. `PARETOKEN_UPDATE_GOLDEN=1 python3 tests/e2e console`
writes them anew.
"""

import os
import re
import signal
import unittest

from harness import ROOT, Case, paretoken, refused_port
from terminal import in_terminal

GOLDEN = ROOT / "tests" / "golden" / "console"
SIMULATED = "sim:llama3-8b-h100-bf16?jitter=0"
SMALL = ("--isl", 64, "--osl", 16)


def masked(text, directory):
    """Returns the text without what differs between two runs: figures, bars, directories, and the judgement of the host."""
    text = text.replace(str(directory), "DIR")
    text = re.sub(r"[━─]+", "━", text)
    text = re.sub(r"[▁▂▃▄▅▆▇█]+", "▁", text)
    text = re.sub(r"(?m)^ +(note|why) .*\n(?:            .*\n)*", "", text)
    text = re.sub(r"(?m)^paretoken: the measurement is invalid.*\n", "", text).replace("paretoken show DIR", "paretoken report DIR")
    text = re.sub(r"\b(valid|warn|INVALID|invalid)\b", "VERDICT", text)
    text = re.sub(r"VERDICT, (?=(within|met|missed|too few)\b)", "", text)
    text = re.sub(r"; warn: .*?; (?=DIR)|; VERDICT: .*?; (?=DIR)", "; ", text)
    text = re.sub(r"the client (keeps up|is late: p95 \S+ ms)", "the client …", text)
    text = re.sub(r"(?<![A-Za-z\d.])\d+(?:[.,:]\d+)*(?![\w-])|–(?= ms)|(?<= )∞", "9", text)
    text = re.sub(r"(?m)^ +\* (?:too few requests|not certified).*\n| \(9 % CI\)| \(9–9\)|(?<=9)\*| \(about 9 left\)", "", text)
    text = re.sub(r"(?<=\S)  +", "  ", text)
    # Runs in virtual time go on side by side, so that the lines of their progress come in any order.
    return re.sub(r"(?m)(?:^(?:\[|  c=).*\n)+", lambda found: "".join(sorted(found.group().splitlines(True))), text)


class Consoles(Case):
    maxDiff = None

    def is_golden(self, name, text):
        path = GOLDEN / f"{name}.txt"
        text = masked(text, self.directory)
        if os.environ.get("PARETOKEN_UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.assertEqual(path.read_text(), text, f"{name}: PARETOKEN_UPDATE_GOLDEN=1 writes the files anew")

    def fits(self, text, columns):
        """Asserts that no line is wider than the terminal, except those that can be copied or are one message."""
        for line in text.splitlines():
            whole = re.match(r"paretoken: |  (next|page|report|certify|continue) |.*DIR|note: |\[", line)
            if not whole and str(self.directory) not in line:
                self.assertLessEqual(len(line), columns, line)

    def shown(self, name, *arguments, code=0, out=True):
        """Captures the command in both terminals and through a pipe."""
        terminals = []
        for columns in (80, 120, None):
            words = (*arguments, "--out", self.directory / f"{columns}") if out else arguments
            if columns is None:
                done = paretoken(*words)
                status, text = done.returncode, done.stderr + "---\n" + done.stdout
                self.assertNotIn("\x1b", text)
            else:
                status, terminal, _ = in_terminal(columns, *words)
                text = terminal.text()
                terminals.append(terminal)
            self.assertIn(status, (code, 4), text)
            self.fits(text, columns or 80)
            self.is_golden(f"{name}-{columns or 'piped'}", text.replace(f"{self.directory}/{columns}", str(self.directory)))
        return terminals

    def test_a_run(self):
        terminals = self.shown("run", "run", SIMULATED, "--concurrency", 4, "--num-prompts", 60, *SMALL, "--host-noise", "accept")
        for terminal, columns in zip(terminals, (80, 120)):
            self.assertGreater(len(terminal.drawings), 2, "the panel is redrawn")
            panel = terminal.drawings[-1]
            self.assertEqual(len(panel), 4)
            for line in panel:
                self.assertLess(len(line), columns)
            for said, line in zip(("c=4 .* left$", "in flight .* req/s .* tok/s", "TTFT p50 .* ITL p50", "no failures"), panel):
                self.assertRegex(line, said)
            self.assertNotIn("in flight", terminal.text(), "the panel is removed at the end")

    def test_a_sweep(self):
        self.shown("sweep", "sweep", SIMULATED, "--virtual", "--concurrency", "1..16", "--num-prompts", 300, "--slo",
                   "ttft_p95:800", *SMALL)

    def test_a_gate(self):
        self.shown("gate", "gate", "--baseline-url", SIMULATED, "--candidate-url", SIMULATED, "--virtual", "--num-prompts", 200,
                   *SMALL)

    def test_a_first_look(self):
        self.shown("try", "try", SIMULATED, "--virtual", "--depth", "128,512", "--time", "20s")

    def test_a_dead_server(self):
        self.shown("dead", "run", f"http://127.0.0.1:{refused_port()}", code=3)

    def test_a_panel_has_no_colour_if_that_is_not_wanted(self):
        words = ("run", SIMULATED, "--concurrency", 4, "--num-prompts", 20, *SMALL)
        _, _, plain = in_terminal(80, *words, "--out", self.directory / "plain", env={"NO_COLOR": "1"})
        self.assertIn("\x1b[3A", plain)
        self.assertNotRegex(plain, r"\x1b\[\d+m")
        _, _, dumb = in_terminal(80, *words, "--out", self.directory / "dumb", env={"TERM": "dumb"})
        self.assertNotIn("\x1b", dumb)

    def test_the_text_of_an_interrupt_stays_above_the_panel(self):
        interrupted = []

        def on_text(process, text):
            if text.count("\x1b[3A") > 2 and not interrupted:
                interrupted.append(process.send_signal(signal.SIGINT))

        status, terminal, _ = in_terminal(80, "run", SIMULATED, "--concurrency", 2, "--num-prompts", 5000, "--out",
                                          self.directory / "run", on_text=on_text)
        self.assertEqual(status, 3)
        self.assertIn("no further request is started", terminal.text())
        self.assertNotIn("in flight  ", terminal.text())


if __name__ == "__main__":
    unittest.main()
