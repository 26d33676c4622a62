"""The tables of docs/faults.md: servers that misbehave. For each kind the program must not crash, must end in time, must
use little memory, must count the requests under the right outcome and must end with the right exit code. Answers that were
complete must keep their figures."""

import collections
import contextlib
import os
import re
import ssl
import subprocess
import tempfile
import time
import unittest

from harness import (BINARY, ROOT, TRACES, Case, address_from, environment, http_server, paretoken, refused_port,
                     request_lines, run_json, self_signed_certificate, simulated_server, started)
from hostile_server import MODES, HostileServer, endless, whole

TIMEOUT, SLACK = 3, 5  # seconds
MOST_MEMORY = 200 << 20
OK, USAGE, RUNTIME, INVALID, INTERRUPTED = 0, 2, 3, 4, 130
TOKENS, REQUESTS = 8, 24

Ended = collections.namedtuple("Ended", "returncode stdout stderr seconds memory args")

# Mode of hostile_server.py → exit code if every generation request gets this answer, and outcome of such requests.
MATRIX = {
    "good": (OK, "ok"),
    "stall": (RUNTIME, "timed_out"),
    "stall_midway": (RUNTIME, "timed_out"),
    "error_500": (RUNTIME, "http_error"),
    "echo": (RUNTIME, "http_error"),
    "redirect": (RUNTIME, "http_error"),
    "later_429": (RUNTIME, "http_error"),
    "no_stream": (INVALID, "ok"),
    "compressed": (RUNTIME, "malformed"),
    "wrong_content_type": (OK, "ok"),
    "html": (RUNTIME, "malformed"),
    "empty_body": (INVALID, "empty"),
    "endless_stream": (RUNTIME, "malformed"),
    "endless_pings": (RUNTIME, "malformed"),
    "endless_line": (RUNTIME, "malformed"),
    "endless_object": (RUNTIME, "malformed"),
    "endless_error": (RUNTIME, "http_error"),
    "endless_head": (RUNTIME, "malformed"),
    "endless_interim": (RUNTIME, "malformed"),
    "lying_usage": (INVALID, "malformed"),
    "huge_usage": (RUNTIME, "malformed"),
    "negative_usage": (RUNTIME, "malformed"),
    "left_open": (OK, "ok"),
    "no_done": (OK, "ok"),
    "done_twice": (OK, "ok"),
    "slow_drip": (OK, "ok"),
    "slow_headers": (OK, "ok"),
    "oversized_line": (RUNTIME, "malformed"),
    "bad_utf8": (RUNTIME, "malformed"),
    "bad_json": (RUNTIME, "malformed"),
    "bad_chunk": (RUNTIME, "malformed"),
    "half_close": (RUNTIME, "disconnected"),
    "reset": (RUNTIME, "disconnected"),
    "truncated": (RUNTIME, "truncated"),
    "error_event": (RUNTIME, "stream_error"),
    "not_http": (RUNTIME, "malformed"),
}


# Option of `paretoken serve` and its value → outcome of the affected requests; "ok": such an answer is accepted.
SWITCHES = {
    "--quirk": {"crlf": "ok", "bare-cr": "ok", "no-space": "ok", "pings": "ok", "split": "ok", "coalesce": "ok",
                "close-delimited": "ok", "no-done": "ok", "null-content": "ok", "reasoning-content": "ok",
                "gzip": "malformed"},
    "--fault": {"reset": "disconnected", "stall": "ok", "slow-headers": "ok", "http-429": "http_error",
                "http-503": "http_error", "error-chunk": "stream_error", "truncate": "truncated"},
}


def measured(*arguments, env=None, seconds=120):
    """Runs the binary to its end. Returns its output, its exit code, and the time and the memory that it took."""
    command = [str(word) for word in (BINARY, *arguments)]
    # AddressSanitizer keeps freed memory for a while; this limits how much.
    env = {"ASAN_OPTIONS": "quarantine_size_mb=8", **(env or {})}
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, env=environment(env))
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - began > seconds:
                process.kill()
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        stderr.seek(0)
        return Ended(process.returncode, stdout.read(), stderr.read(), time.monotonic() - began, used.ru_maxrss * 1024,
                     command)


def load(address, out, *further, env=None):
    """Runs with all requests in flight at once, so that all of them together take no longer than the timeout."""
    return measured("run", address, "--concurrency", REQUESTS, "--num-prompts", REQUESTS, "--isl", 16, "--osl", TOKENS,
                    "--timeout", f"{TIMEOUT}s", "--out", out, *further, env=env)


class Faults(Case):
    long = True

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as directory, HostileServer("good") as server:
            cls.usual = load(server.address, f"{directory}/run").seconds  # what this machine takes in any case

    def check_ended(self, done, mode):
        said = (f"{mode}: exit {done.returncode} after {done.seconds:.1f} s with {done.memory >> 20} MiB\n"
                f"{done.stdout}\n{done.stderr}")
        self.assertIsNone(TRACES.search(done.stdout + done.stderr), said)
        # The probe and the run may each take the timeout.
        self.assertLess(done.seconds, 2 * TIMEOUT + SLACK + self.usual, said)
        self.assertLess(done.memory, MOST_MEMORY, said)
        return said

    def check_good_ones(self, lines, said):
        for line in lines:
            if line["outcome"] != "ok" or line["chunks"] == 0:
                continue
            self.assertEqual(line["chunks"], TOKENS, said)
            self.assertEqual(line["streamed_tokens"], TOKENS, said)
            self.assertLess(line["ttft_s"] if "ttft_s" in line else 0, TIMEOUT, said)

    def test_the_page_names_every_row(self):
        page = (ROOT / "docs" / "faults.md").read_text()
        self.assertEqual(set(MATRIX), set(MODES))
        for mode in MODES:
            self.assertIn(f"`{mode}`", page)
        for name in [name for names in SWITCHES.values() for name in names]:
            self.assertIn(f"`{name}`", page)

    def test_every_switch_of_the_simulated_server_ends_as_what_it_is(self):
        help_text = paretoken("serve", "--help").stdout
        for option, switches in SWITCHES.items():
            for name, outcome in switches.items():
                self.assertIn(name, help_text)
                with self.subTest(name), simulated_server("--profile", "ideal?ttft=5ms&itl=2ms", option, name) as address:
                    out = self.directory / name
                    done = load(address, out)
                    said = self.check_ended(done, name)
                    if done.returncode == RUNTIME:  # the probe was struck already
                        self.assertNotEqual(outcome, "ok", said)
                        continue
                    self.assertIn(done.returncode, (OK, INVALID) if outcome == "ok" else (INVALID,), said)
                    lines = request_lines(out)
                    self.assertEqual({line["outcome"] for line in lines}, {outcome}, said)
                    self.check_good_ones(lines, said)

    def test_every_server_ends_in_time_as_what_it_is(self):
        for mode, (code, outcome) in MATRIX.items():
            with self.subTest(mode), HostileServer(mode) as server:
                out = self.directory / mode
                done = load(server.address, out)
                said = self.check_ended(done, mode)
                if code in (OK, INVALID) and outcome == "ok" and mode != "no_stream":
                    self.assertIn(done.returncode, (OK, INVALID), said)  # a busy host may say so of itself
                    self.assertEqual(run_json(out)["counts"]["ok"], REQUESTS, said)
                    self.check_good_ones(request_lines(out), said)
                    continue
                self.assertEqual(done.returncode, code, said)
                if code == INVALID:
                    self.assertEqual({line["outcome"] for line in request_lines(out)}, {outcome}, said)

    def test_every_server_that_turns_bad_leaves_the_good_answers_as_they_were(self):
        for mode, (_, outcome) in MATRIX.items():
            with self.subTest(mode), HostileServer(mode, good_first=8) as server:
                out = self.directory / mode
                done = load(server.address, out)
                said = self.check_ended(done, mode)
                lines = request_lines(out)
                self.assertEqual(len(lines), REQUESTS, said)
                outcomes = collections.Counter(line["outcome"] for line in lines)
                struck = set(outcomes) - {"ok"}
                if mode == "endless_pings":  # a busy machine takes longer than the timeout to read so much
                    struck = {"malformed" if one == "timed_out" else one for one in struck}
                self.assertEqual(struck, {outcome} - {"ok"}, f"{outcomes}\n{said}")
                self.assertGreater(outcomes["ok"], 0, said)
                self.check_good_ones(lines, said)
                if outcome != "ok" or mode == "no_stream":
                    self.assertEqual(done.returncode, INVALID, said)
                else:
                    self.assertIn(done.returncode, (OK, INVALID), said)

    def test_a_list_of_models_without_end_is_given_up(self):
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for piece in (b"[" * 1000, b'{"data":' * 100, b" " * 1000):
            with HostileServer("good", models=endless(head, b"%x\r\n%s\r\n" % (len(piece), piece))) as server:
                done = load(server.address, self.directory / "run")
                self.check_ended(done, "endless models")
                self.fails_clearly(done, RUNTIME, "longer than 4 MiB")

    def test_a_server_that_loads_its_model_is_waited_for_and_no_longer_than_the_timeout(self):
        models = lambda x: x.send(whole(503, {"error": {"message": "loading"}}, "Retry-After: 1"))  # noqa: E731
        with HostileServer("good", models=models) as server:
            done = load(server.address, self.directory / "run")
            said = self.check_ended(done, "loading")
            self.assertEqual(done.returncode, RUNTIME, said)
            self.assertIn("asking again", done.stderr)
            self.assertIn("503", done.stderr.splitlines()[-1])

    def test_a_key_that_a_server_quotes_is_nowhere(self):
        for good_first in (0, 8):
            with HostileServer("echo", good_first) as server:
                done = load(f"{server.address}?key=QUERYKEY456", self.directory / "run", "-v", "-H", "X-Team: TEAMKEY789",
                            env={"OPENAI_API_KEY": "SECRETKEY123\n"})
                self.assertEqual(done.returncode, INVALID if good_first else RUNTIME, done.stderr)
                self.assertIn("***", done.stdout + done.stderr)
                texts = [done.stdout, done.stderr]
                for path in self.directory.rglob("*"):
                    if path.is_file():
                        texts.append(path.read_bytes().decode("utf-8", "replace"))
                for secret in ("SECRETKEY", "TEAMKEY", "QUERYKEY"):
                    self.assertFalse([text for text in texts if secret in text], secret)

    def test_the_first_signal_ends_a_probe_that_waits(self):
        with HostileServer("stall") as server:
            with started([BINARY, "run", server.address, "--out", self.directory / "run"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         env=environment()) as process:
                line = b""
                while b"waiting for" not in line:
                    line = process.stderr.readline()
                    self.assertTrue(line, "it said nothing")
                process.terminate()
                self.assertEqual(process.wait(timeout=5), INTERRUPTED)
                self.assertIn(b"interrupted", process.stderr.read())

    def test_a_server_that_is_killed_and_started_again_is_the_servers_outage(self):
        out = self.directory / "run"
        port = refused_port()
        serve = [BINARY, "serve", "--port", port, "--profile", "ideal?ttft=5ms&itl=1ms"]
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(started(serve, stdout=subprocess.PIPE))
            address = address_from(first)
            run = stack.enter_context(started(
                [BINARY, "run", address, "--arrivals", "constant:rate=40", "--num-prompts", 160, "--isl", 16, "--osl", 8,
                 "--out", out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()))
            while not (out / "requests.jsonl").exists() or len(request_lines(out)) < 30:
                time.sleep(0.02)
            first.kill()
            first.wait()
            time.sleep(0.7)
            address_from(stack.enter_context(started(serve, stdout=subprocess.PIPE)))
            self.assertEqual(run.wait(timeout=60), INVALID)
        lines = request_lines(out)
        outcomes = [line["outcome"] for line in lines]
        self.assertEqual(len(lines), 160)
        self.assertLessEqual(set(outcomes), {"ok", "connect_failed", "disconnected"})
        self.assertIn("connect_failed", outcomes)
        self.assertEqual(outcomes[-20:], ["ok"] * 20, "what came after the restart came well")
        reasons = {reason["check"] for reason in run_json(out)["validity"]["reasons"]}
        self.assertIn("errors", reasons)
        self.assertNotIn("achieved_rate", reasons, "the client kept its schedule")


class WrongAddresses(Case):
    def test_names_that_do_not_resolve_and_ports_that_nobody_listens_on(self):
        self.fails_clearly(load("http://no-such-host.invalid:8000", self.directory / "run"), RUNTIME, "resolve")
        self.fails_clearly(load("http://no-such-host.invalid:8000", self.directory / "run",
                                env={"HTTPS_PROXY": "http://proxy:3128"}), RUNTIME, "HTTPS_PROXY is set")
        self.fails_clearly(load(f"http://127.0.0.1:{refused_port()}", self.directory / "run"), RUNTIME, "connect")

    def test_the_wrong_scheme_is_named_with_the_right_one(self):
        with HostileServer("good") as server:
            done = load(server.address.replace("http:", "https:"), self.directory / "run")
            self.fails_clearly(done, RUNTIME, "plain HTTP", server.address)
        certificate = self_signed_certificate(self.directory)
        with http_server(lambda *_: (404, "text/plain", b""), certificate) as address:
            done = load(address.replace("https:", "http:"), self.directory / "run")
            self.fails_clearly(done, RUNTIME, "speaks TLS", address)

    def test_credentials_in_the_address_are_refused_and_not_told(self):
        done = load("http://user:SECRETKEY123@127.0.0.1:1", self.directory / "run")
        self.fails_clearly(done, USAGE, "not supported")
        self.assertNotIn("SECRETKEY", done.stdout + done.stderr)

    def test_a_key_with_a_line_end_inside_is_refused_and_not_told(self):
        done = load("http://127.0.0.1:1", self.directory / "run", env={"OPENAI_API_KEY": "SECRET\nX-Admin: 1"})
        self.fails_clearly(done, USAGE, "OPENAI_API_KEY", "line end")
        self.assertNotIn("SECRET", done.stdout + done.stderr)


class Certificates(Case):
    def certificate(self, *options, subject="localhost", names="DNS:localhost,IP:127.0.0.1"):
        path = self.directory / "bad.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={subject}", "-addext",
                        f"subjectAltName={names}", "-keyout", self.directory / "k.pem", "-out",
                        self.directory / "c.pem", *options], capture_output=True, check=True)
        path.write_bytes((self.directory / "k.pem").read_bytes() + (self.directory / "c.pem").read_bytes())
        return path

    def refused(self, certificate, *words, trusted=True):
        with http_server(lambda *_: (404, "text/plain", b""), certificate) as address:
            trust = ("--ca-file", self.directory / "c.pem") if trusted else ()
            self.fails_clearly(load(address, self.directory / "run", *trust), RUNTIME, "TLS", *words)

    def test_of_an_unknown_authority(self):
        self.refused(self.certificate("-days", "2"), "self-signed", "--ca-file", trusted=False)

    def test_for_another_host(self):
        self.refused(self.certificate("-days", "2", subject="other", names="DNS:other.example"), "mismatch")

    def test_that_has_expired(self):
        made = self.certificate("-days", "2")
        config = self.directory / "ca.conf"
        config.write_text(f"[ca]\ndefault_ca=d\n[d]\ndatabase={self.directory}/index\nrand_serial=yes\n"
                          f"new_certs_dir={self.directory}\ndefault_md=sha256\npolicy=p\n"
                          f"certificate={self.directory}/c.pem\nx509_extensions=x\n[p]\ncommonName=supplied\n"
                          "[x]\nsubjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:TRUE\n")
        (self.directory / "index").write_text("")
        subprocess.run(["openssl", "ca", "-batch", "-config", config, "-ss_cert", self.directory / "c.pem", "-cert",
                        self.directory / "c.pem", "-keyfile", self.directory / "k.pem", "-startdate",
                        "20200101000000Z", "-enddate", "20200102000000Z", "-notext", "-out",
                        self.directory / "old.pem"], capture_output=True, check=True)
        (self.directory / "c.pem").write_bytes((self.directory / "old.pem").read_bytes())
        made.write_bytes((self.directory / "k.pem").read_bytes() + (self.directory / "old.pem").read_bytes())
        self.refused(made, "expired")

    def test_with_an_old_version_of_tls(self):
        made = self.certificate("-days", "2")
        with http_server(lambda *_: (404, "text/plain", b""), made, version=ssl.TLSVersion.TLSv1_1) as address:
            self.fails_clearly(load(address, self.directory / "run", "--insecure"), RUNTIME, "TLS")

    def test_of_the_client_that_the_server_asks_for(self):
        made = self.certificate("-days", "2")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for trust in (("--insecure",), ("--ca-file", self.directory / "c.pem")):
                with http_server(lambda *_: (404, "text/plain", b""), made, version=version, asks_certificate=True) as address:
                    done = load(address, self.directory / "run", *trust)
                self.fails_clearly(done, RUNTIME, "asks for a client certificate", "put a proxy")
                for wrong in ("self-signed", "give", "--model"):
                    self.assertNotIn(wrong, done.stderr)


if __name__ == "__main__":
    unittest.main()
