"""Command lines from the documentation of other load generators, with their tool's name replaced by ours.

foreign_lines.json holds the lines with the documents that they are from, and what is expected of each: that it `runs`, that it
names the `sweep` that measures it, or that it says what is `absent`."""

import json
import pathlib
import re
import shlex

from harness import Case, paretoken

HERE = pathlib.Path(__file__).resolve().parent
LINES = json.loads((HERE / "foreign_lines.json").read_text())
DOCUMENT = HERE.parents[1] / "docs" / "coming-from.md"
STARTS = re.compile(r"^(?:\S*/)?(?:vllm bench serve|python3? -m sglang\.bench_serving|guidellm benchmark run|guidellm benchmark"
                    r"|guidellm run|aiperf profile|genai-perf profile)\s+")
FILES = {
    "sharegpt": json.dumps([{"conversations": [{"from": "human", "value": f"question {i}"}, {"from": "gpt", "value": "yes"}]}
                            for i in range(9)]),
    "mooncake": "".join(json.dumps({"timestamp": 50 * i, "input_length": 64, "output_length": 4, "hash_ids": [i]}) + "\n"
                        for i in range(9)),
    "custom": "".join(json.dumps({"prompt": f"question {i}"}) + "\n" for i in range(9)),
}


def words_of(line):
    """Returns the words behind the tool's name. A place to fill in ("<your data path>") is one word."""
    filled = re.sub(r"\$\{?\w+\}?", "4", re.sub(r"<[^>]*>", "PLACE", STARTS.sub("", line)))
    return shlex.split(filled, comments=True)


class ForeignLines(Case):
    busy = True

    def with_files(self, words):
        """Replaces the names of files by files of the kind that the line asks for."""
        line = " ".join(words)
        kind = ("sharegpt" if "sharegpt" in line.lower() else
                "mooncake" if re.search("mooncake|timed_trace|fixed-schedule|trace_synthetic", line) else "custom")
        file = self.directory / f"{kind}.json"
        file.write_text(FILES[kind])
        return [re.sub(r"[\w./~-]*[\w-]\.(?:jsonl|json|csv|txt)(?=$|\")", str(file), word)
                if re.search("--dataset-path|--input-file|--data$", words[i - 1] if i else "") or "=" in word and
                word.startswith("--dataset-path") else word
                for i, word in enumerate(words)]

    def outcome_of(self, line):
        out = self.directory / "out"
        ours = ("--url", "sim:ideal", "--virtual", "--num-prompts", 12, "--out", out, "--overwrite")
        words = self.with_files(words_of(line))
        words = [word for i, word in enumerate(words)  # a computed run has no server with a cache and a profiler
                 if word != "--flush-cache" and (word != "--profile" or (words[i + 1:] or ["--"])[0][0] != "-")]
        done = paretoken("run", *words, *ours)
        if "this measures all of them: paretoken sweep" in done.stderr:
            rest = ("--dry-run",)
            return "sweep", paretoken("sweep", *words, *ours, *rest)
        return ("absent" if done.returncode == 2 and "without a counterpart" in done.stderr else "runs"), done

    def check(self, tool):
        for row in LINES:
            if row["tool"] != tool:
                continue
            with self.subTest(row["line"]):
                outcome, done = self.outcome_of(row["line"])
                said = f"{row['line']}\n{done.args}\n{done.stdout}\n{done.stderr}"
                self.assertEqual(outcome, row["expected"], said)
                self.assertIn(done.returncode, (2,) if outcome == "absent" else (0, 4, 5), said)
                translated = paretoken("translate", row["line"])
                self.assertIn(f"paretoken {'sweep' if outcome == 'sweep' else 'run'} ", translated.stdout + "paretoken run "
                              if outcome == "absent" else translated.stdout, translated.stderr)

    def test_the_examples_of_the_document_are_what_translate_prints(self):
        """docs/coming-from.md has pairs of lines: one of the other tool, and ours."""
        lines = [line for block in re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
                 for line in block.replace("\\\n", " ").splitlines() if line.strip()]
        pairs = [(a, b) for a, b in zip(lines, lines[1:]) if STARTS.match(a)]
        self.assertGreaterEqual(len(pairs), 48)
        for theirs, ours in pairs:
            with self.subTest(theirs):
                done = self.succeeds(paretoken("translate", theirs))
                self.assertEqual(done.stdout.splitlines()[0].split(), ours.split())
                outcome, done = self.outcome_of(theirs)
                self.assertEqual(outcome, "sweep" if ours.startswith("paretoken sweep") else "runs", done.stderr)
                self.assertIn(done.returncode, (0, 4, 5), done.stderr)

    def test_the_table_of_the_document_has_every_option(self):
        text = DOCUMENT.read_text()
        for row in self.succeeds(paretoken("translate", "--list")).stdout.splitlines():
            self.assertIn(row, text)

    def test_lines_of_vllm(self):
        self.check("vllm")

    def test_lines_of_sglang(self):
        self.check("sglang")

    def test_lines_of_guidellm(self):
        self.check("guidellm")

    def test_lines_of_aiperf(self):
        self.check("aiperf")
