"""Command lines from the documentation of other load generators, with their tool's name replaced by ours.

foreign_lines.json holds the lines with the documents that they are from, and what is expected of each: that it `runs`, that it
names the `sweep` that measures it, that it says which `file` is to be saved and the command for it, which other command does it
(`elsewhere`), what is `absent`, or that a value is to be given first (`refused`). Lines of `other` tools are translated, and the
translation is run."""

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
OTHERS = re.compile(r"^(?:vllm bench (?:throughput|latency|sweep)|python3? -m sglang\.bench_(?:one_batch|offline)|genai-bench |evalscope "
                    r"|python3? token_benchmark_ray|inference-benchmarker|perf_analyzer|inference-perf)")
FILES = {
    "sharegpt": json.dumps([{"conversations": [{"from": "human", "value": f"question {i}"}, {"from": "gpt", "value": "yes"}]}
                            for i in range(9)]),
    "mooncake": "".join(json.dumps({"timestamp": 50 * i, "input_length": 64, "output_length": 4, "hash_ids": [i]}) + "\n"
                        for i in range(9)),
    "custom": "".join(json.dumps({"prompt": f"question {i}"}) + "\n" for i in range(9)),
    "turns": "".join(json.dumps({"session_id": f"s{i}", "turns": [{"text": "a"}, {"text": "b"}]}) + "\n" for i in range(9)),
    "burstgpt": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n" +
                "".join(f"{i},M,64,4,68,API log\n" for i in range(9)),
}
UNREACHABLE = {"--server-profile": 0, "--reset-cache": 0, "--scrape": 1, "--push": 1, "--ready-timeout": 1, "--endpoint": 1}  # if virtual


def words_of(line):
    """Returns the words behind the tool's name. A place to fill in ("<your data path>") is one word."""
    words = shlex.split(filled(STARTS.sub("", line)), comments=True)
    return words[:words.index("--")] if "--" in words else words


def filled(line):
    """Returns the line with a file or a number in its places to fill in."""
    line = re.sub(r"<[^>]*>", "PLACE", re.sub(r"<[^>]*jsonl>", "place.jsonl", line))
    return re.sub(r"\$\{\w+[^}]*\}|\$\w+", "4", re.sub(r"\$\(.*?\)+", "4", line))


def without(words, options):
    """Returns the words without these options, each with the number of its values."""
    kept = []
    while words:
        word, *words = words
        if word in options:
            words = words[options[word]:]
        else:
            kept.append(word)
    return kept


class ForeignLines(Case):
    busy = True

    def with_files(self, words):
        """Replaces the names of files by files of the kind that the line asks for."""
        line = " ".join(words)
        kind = ("sharegpt" if "sharegpt" in line.lower() else
                "mooncake" if re.search("mooncake|timed_trace|fixed-schedule|trace_synthetic", line) else
                "turns" if "multi_turn" in line or "dag_jsonl" in line else
                "burstgpt" if "burstgpt" in line else "custom")
        file = self.directory / f"{kind}.json"
        file.write_text(FILES[kind])
        name = r"[\w./~-]*[\w-]\.(?:jsonl|json|csv|txt)(?=$|\")" + ("|^4$" if kind == "sharegpt" else "")
        return [re.sub(name, str(file), word)
                if re.search("--dataset-path|--input-file|--data$|--text", words[i - 1] if i else "") or
                word.startswith("--dataset-path=") else word
                for i, word in enumerate(words)]

    def outcome_of(self, line):
        out = self.directory / "out"
        ours = ("--url", "sim:ideal", "--virtual", "--num-prompts", 12, "--out", out, "--overwrite")
        words = self.with_files(words_of(line))
        words = [word for i, word in enumerate(words)  # a variable of its own may hold further options
                 if word != "4" or i == 0 or words[i - 1].startswith("-")]
        words = [word for i, word in enumerate(words)  # a computed run has no server with a cache and a profiler
                 if word != "--flush-cache" and (word != "--profile" or (words[i + 1:] or ["--"])[0][0] != "-")]
        words = without(words, {"--ready-check-timeout-sec": 1, "--wait-for-model-timeout": 1, "--server-metrics": 1,
                                "--server-metrics-urls": 1, "--otel-url": 1, "--profile-steps": 1})
        done = paretoken("run", *words, *ours)
        if "this measures all of them: paretoken sweep" in done.stderr:
            rest = ("--dry-run",)
            return "sweep", paretoken("sweep", *words, *ours, *rest)
        if done.returncode != 2 or "without a counterpart" not in done.stderr:
            return "runs", done
        return "file" if "; then: paretoken " in done.stderr else "absent", done

    def outcome_of_translation(self, line):
        """Runs what translate prints. A server is not started. A script keeps its variables, which it sets."""
        done = paretoken("translate", line if "\n" in line else filled(line))
        if "without a counterpart" in done.stderr:
            return "file" if "; then: paretoken " in done.stderr else "absent", done
        if done.returncode == 2:
            return "elsewhere" if "paretoken" in "".join(done.stderr.split(":", 2)[2:]) else "refused", done
        command, *words = shlex.split(filled(done.stdout.splitlines()[0]))[1:]
        if "--server-cmd" in words or "--cells" in words:
            return "sweep" if command == "sweep" else "runs", done
        return "sweep" if command == "sweep" else "runs", self.run_of(command, words)

    def run_of(self, command, words):
        """Runs a command of ours against the simulator. A sweep only says what it would measure."""
        words = words[1:] if words[:1] == ["4"] else words  # the address, which the test gives
        words = without(words, {**UNREACHABLE, "--server-cmd": 1})
        return paretoken(command, *self.with_files(words), "--url", "sim:ideal", "--virtual", "--num-prompts", 12, "--out",
                         self.directory / "out", "--overwrite", *(("--dry-run",) if command == "sweep" else ()))

    def check(self, tool):
        for row in LINES:
            if row["tool"] != tool:
                continue
            with self.subTest(row["line"]):
                other = row["tool"] == "other"
                outcome, done = self.outcome_of_translation(row["line"]) if other else self.outcome_of(row["line"])
                said = f"{row['line']}\n{done.args}\n{done.stdout}\n{done.stderr}"
                self.assertEqual(outcome, row["expected"], said)
                refused = outcome in ("absent", "file", "elsewhere", "refused")
                if outcome == "file":  # the command that is printed for the saved file
                    command, *words = shlex.split(done.stderr.rsplit("; then: ", 1)[1])[1:]
                    ran = self.run_of(command, words)
                    self.assertIn(ran.returncode, (0, 4, 5), f"{said}\n{ran.args}\n{ran.stderr}")
                self.assertIn(done.returncode, (2,) if refused else (0, 4, 5), said)
                if not refused:
                    self.assertIn(f"paretoken {'sweep' if outcome == 'sweep' else 'run'} ",
                                  paretoken("translate", row["line"]).stdout, said)

    def test_the_examples_of_the_document_are_what_translate_prints(self):
        """docs/coming-from.md has pairs of lines: one of the other tool, and ours."""
        lines = [line for block in re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
                 for line in block.replace("\\\n", " ").splitlines() if line.strip()]
        pairs = [(a, b) for a, b in zip(lines, lines[1:]) if STARTS.match(a) or OTHERS.match(a)]
        self.assertGreaterEqual(len(pairs), 48)
        for theirs, ours in pairs:
            with self.subTest(theirs):
                done = self.succeeds(paretoken("translate", theirs))
                self.assertEqual(done.stdout.splitlines()[0].split(), ours.split())
                outcome, done = self.outcome_of(theirs) if STARTS.match(theirs) else self.outcome_of_translation(theirs)
                self.assertEqual(outcome, "sweep" if ours.startswith("paretoken sweep") else "runs", done.stderr)
                self.assertIn(done.returncode, (0, 4, 5), done.stderr)

    def test_the_table_of_the_document_has_every_option(self):
        text = DOCUMENT.read_text()
        for row in self.succeeds(paretoken("translate", "--list")).stdout.splitlines():
            self.assertIn(row, text)

    def test_a_line_without_quotes_keeps_the_order_of_its_words(self):
        line = "vllm bench serve --model M --dataset-name random --random-input-len 9 --num-prompts 3"
        quoted = self.succeeds(paretoken("translate", line)).stdout
        self.assertEqual(self.succeeds(paretoken("translate", *line.split())).stdout, quoted)

    def test_lines_of_vllm(self):
        self.check("vllm")

    def test_lines_of_sglang(self):
        self.check("sglang")

    def test_lines_of_guidellm(self):
        self.check("guidellm")

    def test_lines_of_aiperf(self):
        self.check("aiperf")

    def test_lines_of_other_tools(self):
        self.check("other")

    def test_a_configuration_names_secrets_of_the_environment_without_reading_them(self):
        file = self.directory / "config.yaml"
        file.write_text("schemaVersion: '2.0'\nbenchmark:\n  endpoint:\n    urls: ['http://h:1']\n"
                        "    headers: {Authorization: 'Bearer ${MY_TOKEN}', X-Team: '${TEAM}'}\n")
        done = paretoken("translate", f"aiperf profile --config {file} --request-rate=3",
                         env={"MY_TOKEN": "never-shown", "TEAM": "blue"})
        if "was built without" in done.stderr:
            self.skipTest("built without libyaml")
        self.assertNotIn("never-shown", done.stdout + done.stderr)
        self.assertIn("Authorization: Bearer ${MY_TOKEN}", done.stdout)
        self.assertIn("X-Team: blue", done.stdout)

    def test_the_name_of_a_file_stands_for_its_content(self):
        script = self.directory / "bench.sh"
        script.write_text("bench() {\n  local c=$1; shift\n  vllm bench serve --model M --max-concurrency $c \"$@\"\n}\n"
                          "for c in 2 4; do\n  bench $c --num-prompts 9\ndone\n")
        done = self.succeeds(paretoken("translate", script))
        self.assertIn('--concurrency "$c" --num-prompts 9 ', done.stdout)
        self.assertIn("with --concurrency 2,4 in place of $c", done.stdout)
        config = self.directory / "config.yaml"
        config.write_text("load:\n  type: constant\n  stages:\n  - {rate: 2, duration: 30}\nserver: {base_url: 'http://h:1'}\n"
                          "data: {type: random}\n")
        done = paretoken("translate", config)
        if "was built without" not in done.stderr:
            self.assertIn("--arrivals constant:rate=2 --duration 30s", done.stdout)

    def test_the_configuration_of_inference_perf_is_read(self):
        file = self.directory / "config.yml"
        file.write_text("load:\n  type: poisson\n  stages:\n  - rate: 2\n    duration: 30\napi:\n  type: completion\n  streaming: true\n"
                        "server:\n  type: vllm\n  model_name: M\n  base_url: http://0.0.0.0:8000\n  ignore_eos: true\ndata:\n"
                        "  type: random\n  input_distribution: {min: 10, max: 100, mean: 50, std_dev: 10}\n")
        done = paretoken("translate", f"inference-perf --config_file {file}")
        if "was built without" in done.stderr:
            self.skipTest("built without libyaml")
        self.assertEqual(done.stdout.splitlines()[0],
                         "paretoken run http://127.0.0.1:8000 --model M --endpoint-type completions --request-rate 2 --duration 30s "
                         "--isl normal:mean=50,stddev=10,min=10,max=100 --ignore-eos", done.stderr)

    def test_the_configuration_of_vllm_is_read(self):
        file = self.directory / "config.yaml"
        file.write_text("model: M\nport: 8000\ndataset-name: random\nnum-prompts: 50\nrequest-rate: 2\nsave_result: true\n")
        done = paretoken("translate", f"vllm bench serve --config {file} --random-input-len 100 --num-prompts 9")
        if "was built without" in done.stderr:
            self.skipTest("built without libyaml")
        self.assertEqual(done.stdout.splitlines()[0],
                         "paretoken run http://127.0.0.1:8000 --model M --endpoint-type completions --request-rate 2 "
                         "--num-prompts 9 --isl 100 --osl 128", done.stderr)

    def test_the_files_of_a_sweep_of_vllm_and_of_guidellms_lengths_are_read(self):
        params = {name: self.directory / f"{name}.json" for name in ("serve", "bench", "both")}
        params["serve"].write_text('[{"max_num_seqs": 8}, {"max_num_seqs": 16}]')
        params["bench"].write_text('[{"request_rate": 2}, {"request_rate": 4}]')
        params["both"].write_text('[{"request_rate": 2}, {"max_concurrency": 4}]')
        sweep = "vllm bench sweep serve --serve-cmd 'vllm serve M' --bench-cmd 'vllm bench serve --model M --num-prompts 9' "
        done = self.succeeds(paretoken("translate", f"{sweep} --serve-params {params['serve']} --bench-params {params['bench']}"))
        self.assertIn("--max-num-seqs {max_num_seqs} --port {port}", done.stdout)
        self.assertIn("--grid max_num_seqs=8,16 --request-rate 2,4 ", done.stdout)
        done = paretoken("translate", f"{sweep} --bench-params {params['both']}")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("would be refused: this sweep varies", done.stderr)
        lengths = self.directory / "lengths.yaml"
        lengths.write_text("prompt_tokens: 100\noutput_tokens: 20\n")
        done = paretoken("translate", f"guidellm benchmark --target http://h --rate-type concurrent --rate 2 --data {lengths}")
        if "was built without" not in done.stderr:
            self.assertIn("run http://h --concurrency 2 --isl 100 --osl 20", done.stdout)
