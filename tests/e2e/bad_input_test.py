"""Wrong input of a user: the command prints one clear line, ends with exit code 2 or 3, and leaves nothing that looks like
a result."""

import json
import os
import unittest

from harness import (Case, byte_server, http_server, llamacpp, paretoken, refused_port, self_signed_certificate,
                     simulated_server)

SMALL = ("--concurrency", 1, "--num-prompts", 2, "--isl", 16, "--osl", 4)


class BadInput(Case):
    def setUp(self):
        super().setUp()
        self.out = self.directory / "run"

    def run_it(self, *arguments, **options):
        return paretoken("run", *arguments, "--out", self.out, **options)

    def leaves_nothing_good(self):
        if self.out.exists():
            self.never_called_good(self.out)

    def test_unknown_flag(self):
        self.fails_clearly(self.run_it("--concurency", 4), 2, "--concurency")

    def test_unknown_command(self):
        self.fails_clearly(paretoken("runn"), 2, "runn")

    def test_values_that_make_no_sense(self):
        for arguments, word in [
            (("--concurrency", 0), "concurrency"),
            (("--concurrency", "many"), "concurrency"),
            (("--request-rate", -1), "rate"),
            (("--duration", "10 parsecs"), "10 parsecs"),
            (("--isl", 0), "isl"),
            (("--extra-body", "{top_k: 5"), "extra-body"),
            (("--extra-body", "[1]"), "extra-body"),
            (("--metadata", "noequals"), "metadata"),
            (("-H", "no colon"), "Name: value"),
            (("--goodput", "speed:5"), "speed"),
            (("--endpoint-type", "telepathy"), "telepathy"),
        ]:
            with self.subTest(arguments):
                self.fails_clearly(self.run_it("sim:ideal", *SMALL[2:], *arguments), 2, word)
        self.leaves_nothing_good()

    def test_a_value_that_cannot_be_read_is_told_with_its_option(self):
        level = ("--concurrency", "1,2")
        for command, option in [
            (("cache", "sim:ideal", "--virtual"), "--suffix"),
            (("cache", "sim:ideal", "--virtual"), "--osl"),
            (("cache", "sim:ideal", "--virtual"), "--ttl"),
            (("gate", "--baseline-url", "sim:ideal", "--candidate-url", "sim:ideal", "--virtual"), "--max-time"),
            (("sweep", "sim:ideal", "--virtual", "--search", "slo", "--slo", "ttft_p90:500"), "--max-time"),
            (("sweep", "sim:ideal", "--virtual", "--search", "slo", "--slo", "ttft_p90:500", *level), "--at"),
            (("watch", "sim:ideal", "--virtual"), "--duration"),
            (("serve",), "--spin"),
        ]:
            with self.subTest(command=command, option=option):
                self.fails_clearly(paretoken(*command, option, "soon"), 2, f"{option} 'soon'")
        self.fails_clearly(paretoken("sweep", "sim:ideal", "--virtual", "--request-rate", "auto:few"), 2, "--request-rate 'few'")

    def test_url_that_is_none(self):
        self.fails_clearly(self.run_it("htp://nowhere", *SMALL), 2, "htp://nowhere")
        self.fails_clearly(self.run_it("http://", *SMALL), 2, "http://")

    def test_unknown_simulator_profile(self):
        self.fails_clearly(self.run_it("sim:warp-drive", *SMALL), 2, "warp-drive", "llama3-8b-h100-bf16")

    def test_a_gpu_that_the_simulated_server_does_not_have(self):
        for gpu in ("l40s", "h100x2"):
            self.fails_clearly(self.run_it("sim:llama3-8b/h100/fp8", *SMALL[2:], "--virtual", "--gpu", gpu), 2, f"--gpu {gpu[:4]}", "simulates h100-sxm")
        self.leaves_nothing_good()

    def test_refused_port(self):
        port = refused_port()
        self.fails_clearly(self.run_it(f"http://127.0.0.1:{port}", *SMALL), 3, f"127.0.0.1:{port}", "refused")
        self.leaves_nothing_good()

    def test_host_that_does_not_resolve(self):
        self.fails_clearly(self.run_it("http://no-such-host.invalid:8000", *SMALL), 3, "no-such-host.invalid")
        self.leaves_nothing_good()

    def test_server_that_does_not_speak_http(self):
        with byte_server(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n") as address:
            self.fails_clearly(self.run_it(address, *SMALL), 3, address, "HTTP")
        self.leaves_nothing_good()

    def test_server_that_closes_without_a_word(self):
        with byte_server(b"") as address:
            self.fails_clearly(self.run_it(address, *SMALL), 3, address)
        self.leaves_nothing_good()

    def test_server_that_does_not_speak_openai(self):
        def page(*_):
            return 200, "text/html", b"<html><body>It works!</body></html>"

        def nothing(*_):
            return 404, "text/html", b"<html><body>404 Not Found</body></html>"

        for answer in (page, nothing):
            for extra in ((), ("--model", "m")):
                with self.subTest(answer.__name__, extra=extra), http_server(answer) as address:
                    self.fails_clearly(self.run_it(address, *SMALL, *extra), 3, address)
        self.leaves_nothing_good()

    def test_self_signed_certificate_is_refused_until_insecure_is_asked(self):
        def answer(method, path, _headers, _body):
            if method == "GET" and path == "/v1/models":
                return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
            return 401, "application/json", b'{"error":{"message":"Incorrect API key provided"}}'

        with http_server(answer, certificate=self_signed_certificate(self.directory)) as address:
            self.fails_clearly(self.run_it(address, *SMALL), 3, "certificate", "--insecure")
            self.leaves_nothing_good()
            self.fails_clearly(self.run_it(address, *SMALL, "--insecure"), 3, "401")

    def test_tls_asked_of_a_server_without_it(self):
        with simulated_server("--profile", "ideal") as address:
            self.fails_clearly(self.run_it(address.replace("http:", "https:"), *SMALL), 3, "TLS")

    def test_missing_and_wrong_key(self):
        with llamacpp("--api-key", "sesame") as address:
            self.fails_clearly(self.run_it(address, *SMALL), 3, "401", "OPENAI_API_KEY")
            self.fails_clearly(self.run_it(address, *SMALL, env={"OPENAI_API_KEY": "wrong"}), 3, "401")
            self.leaves_nothing_good()
            self.measures(self.run_it(address, *SMALL, env={"OPENAI_API_KEY": "sesame"}))

    def test_wrong_model(self):
        with simulated_server("--profile", "ideal") as address:
            self.fails_clearly(self.run_it(address, *SMALL, "--model", "gpt-9"), 3, "gpt-9")
        self.leaves_nothing_good()

    def test_prompt_longer_than_the_context(self):
        with llamacpp("--slots", "2", "--ctx", "1024") as address:
            self.fails_clearly(self.run_it(address, "--concurrency", 1, "--num-prompts", 2, "--isl", 4000, "--osl", 4),
                               (2, 3), "context")
        self.leaves_nothing_good()

    def test_output_that_cannot_be_written(self):
        file = self.directory / "file"
        file.write_text("not a directory")
        done = paretoken("run", "sim:ideal", *SMALL, "--out", file / "run")
        self.fails_clearly(done, (2, 3), str(file))
        done = paretoken("run", "sim:ideal", *SMALL, "--out", "/proc/paretoken")
        self.fails_clearly(done, (2, 3), "/proc/paretoken")
        # /proc takes no directory, like a working directory without the permission to write.
        self.fails_clearly(paretoken("run", "sim:ideal", *SMALL, cwd="/proc"), 3, "choose another --out")

    def test_a_path_that_cannot_be_accessed_is_named_in_words(self):
        path = self.directory / ("a" * 300)
        done = paretoken("show", path)
        self.fails_clearly(done, (2, 3), "File name too long")
        self.assertNotIn("filesystem error", done.stderr)

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        self.out.mkdir()
        (self.out / "requests.jsonl").symlink_to("/dev/full")
        done = self.run_it("sim:ideal", *SMALL)
        self.fails_clearly(done, 3, "requests.jsonl", "No space left")
        (self.out / "requests.jsonl").unlink()  # it would be read as endless zeros
        self.never_called_good(self.out)


class BadReportInput(Case):
    @classmethod
    def setUpClass(cls):
        import tempfile
        cls.holder = tempfile.TemporaryDirectory(prefix="paretoken-e2e-")
        cls.addClassCleanup(cls.holder.cleanup)
        cls.good = os.path.join(cls.holder.name, "run")
        done = paretoken("run", "sim:ideal", "--concurrency", 2, "--num-prompts", 20, "--isl", 16, "--osl", 4, "--out",
                         cls.good)
        if done.returncode not in (0, 4):
            raise AssertionError(done.stderr)

    def report(self, *arguments):
        done = paretoken("report", *arguments, "--out", self.directory / "report.html")
        if done.returncode != 0:
            self.assertFalse((self.directory / "report.html").exists(), "a refused report must leave no page")
        return done

    def test_directory_that_does_not_exist_or_holds_no_run(self):
        self.fails_clearly(self.report(self.directory / "gone"), (2, 3), "gone")
        empty = self.directory / "empty"
        empty.mkdir()
        self.fails_clearly(self.report(empty), (2, 3), "empty")

    def test_malformed_price_card(self):
        card = self.directory / "prices.json"
        for text in ('{"schema": ', "[]", '{"schema": "paretoken/price/1", "rows": [{"gpu": 5}]}',
                     '{"schema": "other/9"}', ""):
            with self.subTest(text):
                card.write_text(text)
                self.fails_clearly(self.report(self.good, "--price", card, "--gpu", "h100-sxm"), 2, str(card))

    def test_unknown_price_card_and_model(self):
        self.fails_clearly(self.report(self.good, "--price", "1999-01-cloud"), 2, "1999-01-cloud")
        self.fails_clearly(self.report(self.good, "--model-card", "hal-9000"), 2, "hal-9000")

    def test_run_json_that_is_broken_or_of_another_schema(self):
        for name, text in {"broken": '{"schema": "paretoken/run/1", "cou', "foreign": json.dumps({"schema": "x/1"}),
                           "hollow": json.dumps({"schema": "paretoken/run/3"}),
                           "deep": '{"schema": "paretoken/run/3", "plan": ' + "[" * 200000 + "]" * 200000 + "}"}.items():
            with self.subTest(name):
                directory = self.directory / name
                directory.mkdir()
                (directory / "run.json").write_text(text)
                self.fails_clearly(self.report(directory), (2, 3), name)

    def test_micro_file_that_is_none(self):
        path = self.directory / "micro.json"
        path.write_text("{}")
        self.fails_clearly(self.report(self.good, "--micro", path), 2, "micro.json")
        self.fails_clearly(self.report(self.good, "--micro", self.directory / "gone.json"), (2, 3), "gone.json")

    def test_report_that_cannot_be_written(self):
        self.fails_clearly(paretoken("report", self.good, "--out", "/proc/x/report.html"), (2, 3), "/proc/x")


if __name__ == "__main__":
    unittest.main()
