"""`paretoken cache` measures prefix caching: on the simulator in virtual time, on the simulator over sockets, and on
llama.cpp."""

import contextlib
import http.server
import itertools
import json
import threading
import time
import unittest
import urllib.error
import urllib.request

from harness import Case, http_server, llamacpp, paretoken, simulated_server
from pages import Browser, look_at

PROFILE = "sim:llama3-8b-h100-bf16"


def codes_in(report):
    return [verdict["code"] for verdict in report["verdicts"]]


class Virtual(Case):
    def measured(self, *options, target=PROFILE, out="out", code=0):
        done = paretoken("cache", target, "--virtual", "--salt", "s", "--out", self.directory / out, *options)
        self.assertEqual(done.returncode, code, f"{done.stdout}\n{done.stderr}")
        return json.loads((self.directory / out / "cache.json").read_text())

    def test_every_arm_hits_as_the_engine_says_and_the_time_follows(self):
        report = self.measured("--concurrency", "1")
        self.assertEqual(codes_in(report), ["works", "dynamic_head"])
        self.assertEqual(report["granularity_tokens"], 16)
        self.assertLess(report["least_cached_prefix"], 64)
        level = report["levels"][0]
        self.assertEqual({arm["prefix"] for arm in level["arms"]}, {256, 512, 1024, 2048, 4096, 8192})
        for arm in level["arms"]:
            self.assertEqual(arm["failed"], 0)
            self.assertAlmostEqual(arm["hit"]["usage"], arm["hit"]["expected"], places=12, msg=arm)
        self.assertEqual(level["hit"]["usage"], level["hit"]["expected"])
        # The fit predicts the times of the cold requests of the same run.
        cold = {arm["prefix"]: arm["ttft_p50_s"] for arm in level["arms"] if arm["arm"] == "cold"}
        fit = level["fit"]
        def at(tokens):
            terms = (fit["base_s"]["value"], fit["per_token_s"]["value"], fit.get("per_token2_s", {}).get("value", 0))
            return sum(term * tokens ** power for power, term in enumerate(terms))
        for prefix, seconds in cold.items():
            self.assertAlmostEqual(at(prefix + 64) / seconds, 1, delta=0.15, msg=prefix)
        page = (self.directory / "out" / "cache.md").read_text()
        self.assertIn("## 1 request in flight", page)

    def test_the_same_command_gives_the_same_bytes(self):
        for out in "a", "b":
            self.measured("--prefix", "256,1024", out=out)
        for name in "c1/requests.jsonl", "c8/requests.jsonl", "c1/events.bin":
            self.assertEqual((self.directory / "a" / name).read_bytes(), (self.directory / "b" / name).read_bytes())

    def test_a_server_without_a_cache_is_off(self):
        report = self.measured("--concurrency", "1", target=PROFILE + "?prefix_cache=0")
        self.assertEqual(codes_in(report), ["off"])
        self.assertNotIn("granularity_tokens", report)

    def test_a_cache_that_is_too_small_thrashes(self):
        for blocks, code in ((400, "thrashing"), (2000, "works")):
            with self.subTest(blocks):
                report = self.measured("--prefix", "256,512,1024", "--concurrency", "1", "--overwrite",
                                       target=f"{PROFILE}?blocks={blocks}")
                self.assertEqual(codes_in(report)[0], code)

    def test_the_working_set_is_what_the_blocks_hold(self):
        for blocks in 300, 700, 1500:
            with self.subTest(blocks):
                report = self.measured("--prefix", "1024", "--suffix", "16", "--osl", "1", "--concurrency", "1", "--samples", "6",
                                       "--working-set", "1..64", "--overwrite", target=f"{PROFILE}?blocks={blocks}")
                found = report["working_set"]
                self.assertEqual(found["lost"], found["held"] + 1)
                self.assertAlmostEqual(found["held"], 16 * blocks // found["request_tokens"], delta=1)

    def test_the_idle_time_that_a_prefix_survives_is_sought_and_prices_follow_the_rate(self):
        report = self.measured("--prefix", "1024", "--concurrency", "1", "--samples", "6", "--ttl", "10m", "--price", "2026-11-cloud",
                               "--gpu", "h100")
        idle = report["idle_time"]
        self.assertEqual((idle["held_s"], "lost_s" in idle), (600, False), "a simulated cache forgets nothing by time")
        self.assertEqual([tried["idle_s"] for tried in idle["found"]], [1, 5, 30, 120, 600])
        arms = {arm["arm"]: arm for arm in report["levels"][0]["arms"]}
        self.assertLess(arms["warm"]["usd_per_m_output"], arms["cold"]["usd_per_m_output"])
        self.assertIn("$", report["price"])
        self.fails_clearly(paretoken("cache", PROFILE, "--virtual", "--ttl", "0.1s", "--out", self.directory / "bad"), 2, "--ttl")

    def test_hits_are_told_before_during_and_after_a_burst(self):
        options = ("--prefix", "1024", "--concurrency", "1", "--samples", "6", "--burst", "2", "--overwrite")
        burst = self.measured(*options)["burst"]
        self.assertEqual((burst["rate"], burst["prefixes"]), (2, 8))
        for phase in "before", "during", "after":
            self.assertGreater(burst[phase], 0.98)
        # With 100 prefixes none is used twice in the 30 s before the burst. The burst has 240 requests.
        many = self.measured(*options, "--burst-prefixes", "100")["burst"]
        self.assertNotIn("before", many)
        self.assertGreater(min(many["during"], many["after"]), 0.98)
        small = self.measured(*options, "--burst-prefixes", "100", target=PROFILE + "?blocks=700")["burst"]
        self.assertLess(max(small["during"], small["after"]), 0.02)
        for options, words in ((("--burst", "0"), ["--burst"]), (("--burst", "2,3"), ["--burst 2,3", "one rate"]),
                               (("--burst-prefixes", "3"), ["--burst-prefixes", "--burst"]),
                               (("--working-set", "1,5,9"), ["--working-set 1,5,9", "1..64"]),
                               (("--spin", "1ms"), ["--spin", "--virtual"])):
            with self.subTest(options):
                self.fails_clearly(paretoken("cache", PROFILE, "--virtual", *options, "--out", self.directory / "bad"), 2, *words)

    def test_a_report_shows_the_experiment_alone_and_beside_runs(self):
        found = self.measured("--prefix", "256,512,1024,2048", "--concurrency", "1", "--samples", "8", "--working-set", "1..8", "--ttl", "5s",
                              "--burst", "2")
        self.matches_schema(self.directory / "out" / "cache.json", "cache")
        page = self.directory / "report.html"
        done = self.succeeds(paretoken("report", self.directory / "out", "--out", page))
        self.matches_schema(page.with_suffix(".json"), "report")
        told = json.loads(page.with_suffix(".json").read_text())
        self.assertEqual(told["configurations"], [])
        self.assertEqual(told["caches"], [{"directory": str(self.directory / "out"),
                                           **{key: value for key, value in found.items() if key not in ("schema", "version")}}])
        markdown = page.with_suffix(".md").read_text()
        for verdict in found["verdicts"]:
            self.assertIn(verdict["code"] + ":", done.stdout)
            self.assertIn(f"**{verdict['code'].replace('_', chr(92) + '_')}**", markdown)
        with Browser() as browser:
            for scheme in "light", "dark":
                look_at(self, browser, page, scheme)
            drawn = browser.evaluate("return [...document.querySelectorAll('canvas')].map(canvas => canvas.id)")
            self.assertEqual(drawn, ["cache-0-level-0-ttft", "cache-0-level-0-fit", "cache-0-working-set", "cache-0-idle-time"])
            self.assertEqual(browser.evaluate("return document.querySelectorAll('.figures')[0].children.length"), 4)
            browser.devtools("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
            browser.open(page)
            self.assertLessEqual(browser.evaluate("return document.documentElement.scrollWidth"), 390)

        self.succeeds(paretoken("run", PROFILE, "--virtual", "--num-prompts", 40, "--concurrency", 4, "--out", self.directory / "run"))
        self.measures(paretoken("report", self.directory / "run", self.directory / "out", "--out", page))
        both = json.loads(page.with_suffix(".json").read_text())
        self.assertEqual((len(both["configurations"]), len(both["caches"])), (1, 1))
        self.assertIn('id="cache-0-title"', page.read_text())
        self.assertIn('id="frontier"', page.read_text())

    def test_a_damaged_or_foreign_experiment_is_refused_by_name(self):
        out, page = self.directory / "made", self.directory / "report.html"
        out.mkdir()
        for text, words in (("{", ["invalid JSON"]), ('{"schema": "other/1"}', ["other/1", "schema"]),
                            ('{"schema": "paretoken/cache/1", "target": "x", "verdicts": []}', ["levels"])):
            (out / "cache.json").write_text(text)
            self.fails_clearly(paretoken("report", out, "--out", page), 2, str(out / "cache.json"), *words)
        self.fails_clearly(paretoken("report", out, "--out", out / "cache", "--format", "json"), 2, "replace")

    def test_bad_input_is_refused_in_one_line(self):
        for options, words in ((["--hit", "1.5"], ["--hit", "1.5"]), (["--prefix", "0"], ["--prefix"]),
                               (["--samples", "2"], ["--samples", "6"]), (["--suffix", "0"], ["--suffix"]),
                               (["--prefix", "256,200000"], ["context", "200000"])):
            with self.subTest(options):
                self.fails_clearly(paretoken("cache", PROFILE, "--virtual", "--out", self.directory / "bad", *options), 2, *words)
        self.measured("--prefix", "256", "--concurrency", "1")
        self.fails_clearly(paretoken("cache", PROFILE, "--virtual", "--out", self.directory / "out"), 2, "--overwrite")


def forwarded(address, body, path):
    request = urllib.request.Request(address + path, body or None, {"Content-Type": "application/json"} if body else {})
    try:
        answer = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers["Content-Type"] or "text/plain", answer.read()


class BehindSockets(Case):
    long = True

    OPTIONS = ("--prefix", "512", "--concurrency", "1", "--samples", "6")

    def measured(self, address, out, *options):
        done = paretoken("cache", address, *self.OPTIONS, "--out", self.directory / out, *options)
        self.assertIn(done.returncode, (0, 4), f"{done.stdout}\n{done.stderr}")  # 4: a busy host, or nothing can be told
        return json.loads((self.directory / out / "cache.json").read_text()), done

    def test_three_accounts_agree_and_a_salt_that_was_used_contaminates(self):
        with simulated_server("--profile", "llama3-8b-h100-bf16") as address:
            report, _ = self.measured(address, "first", "--salt", "s")
            self.assertEqual(codes_in(report)[0], "works")
            hits = report["levels"][0]["hit"]
            for account in "usage", "server":
                self.assertAlmostEqual(hits[account], hits["expected"], delta=0.03)
            again, _ = self.measured(address, "second", "--salt", "s")
            self.assertIn("contaminated", codes_in(again))

    def test_two_replicas_behind_one_address_are_found_partly(self):
        profile = ("--profile", "llama3-8b-h100-bf16")
        with simulated_server(*profile) as one, simulated_server(*profile) as other:
            turns, lock = itertools.cycle((one, other)), threading.Lock()

            def answer(method, path, _headers, body):
                with lock:
                    address = next(turns) if method == "POST" and "completions" in path else one
                return forwarded(address, body, path)

            with http_server(answer) as proxy:
                report, _ = self.measured(proxy, "replicas", "--scrape", "none")
        self.assertEqual(codes_in(report)[0], "partly", report["verdicts"])

    def test_a_cache_that_forgets_by_time_is_found_out(self):
        used, lock = {}, threading.Lock()

        def answer(_method, path, _headers, body):
            """Adds a salt to the request. It changes when no request with this beginning came for 3 s, so that the server
            does not find the beginning in its cache."""
            if "completions" in path:
                asked = json.loads(body)
                with lock:
                    last, generation = used.get(beginning := str(asked["messages"])[:300], (time.monotonic(), 0))
                    generation += time.monotonic() - last > 3
                    used[beginning] = (time.monotonic(), generation)
                body = json.dumps({**asked, "cache_salt": str(generation)}).encode()
            return forwarded(server, body, path)

        with simulated_server("--profile", "llama3-8b-h100-bf16") as server, http_server(answer) as proxy:
            report, done = self.measured(proxy, "ttl", "--scrape", "none", "--ttl", "10m")
        self.assertEqual((report["idle_time"]["held_s"], report["idle_time"]["lost_s"]), (1, 5))
        self.assertIn("after 5 s it was gone", " ".join(done.stdout.split()))

    def test_a_proxy_that_repeats_answers_is_found(self):
        with simulated_server("--profile", "ideal?ttft=20ms&itl=5ms") as server, storing_proxy(server) as proxy:
            report, _ = self.measured(proxy, "proxy", "--scrape", "none")
        self.assertIn("response_cache", codes_in(report), report["verdicts"])


@contextlib.contextmanager
def storing_proxy(server):
    """A proxy that forwards answers as they arrive, and stores them. It answers an equal request at once with the stored
    answer. Yields its address."""
    stored = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            status, kind, data = forwarded(server, None, self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = urllib.request.Request(server + self.path, body, {"Content-Type": "application/json"})
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            if body in stored:
                kind, pieces = stored[body]
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n")
                return
            pieces = []
            try:
                answer = urllib.request.urlopen(request, timeout=30)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                kind = answer.headers["Content-Type"]
                self.send_header("Content-Type", kind)
                self.end_headers()
                while piece := answer.read1(65536):
                    pieces.append(piece)
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")
            stored[body] = kind, pieces

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        proxy.daemon_threads = True
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{proxy.server_address[1]}"
        finally:
            proxy.shutdown()
            thread.join(5)


class RealServer(Case):
    busy = True

    def test_llamacpp_with_its_cache_and_without(self):
        options = ("--hit", "0", "--samples", "6", "--concurrency", "1", "--osl", "4")
        for switch, first, lengths in (((), "works", ("--prefix", "96")),
                                       (("--no-prompt-cache",), "off", ("--prefix", "48", "--suffix", "16"))):
            with self.subTest(first), llamacpp("--slots", 1, *switch) as address:
                out = self.directory / first
                self.measures(paretoken("cache", address, *options, *lengths, "--out", out, timeout=600))
                report = json.loads((out / "cache.json").read_text())
                codes = codes_in(report)
                self.assertEqual(codes[0], first, report["verdicts"])
                self.assertNotIn("contaminated", codes)
                if first == "works":
                    self.assertEqual(report["granularity_tokens"], 1)
                    self.assertIn("dynamic_head", codes)
                    hits = report["levels"][0]["hit"]
                    self.assertAlmostEqual(hits["usage"], hits["server"], delta=0.02)
                    self.assertNotIn("pinned", {arm["arm"] for arm in report["levels"][0]["arms"]}, "one slot is no choice")

    def test_llamacpp_finds_beginnings_again_that_are_sent_to_a_slot_each(self):
        with llamacpp("--slots", 2, "--ctx", 1024) as address:
            out = self.directory / "slots"
            self.measures(paretoken("cache", address, "--prefix", "64", "--samples", "6", "--hit", "0", "--concurrency", "1",
                                    "--osl", "4", "--suffix", "16", "--out", out, timeout=900))
        report = json.loads((out / "cache.json").read_text())
        arms = {arm["arm"]: arm for arm in report["levels"][0]["arms"]}
        self.assertEqual(set(arms), {"cold", "primed", "warm", "pinned", "dynamic-first", "repeat"})
        self.assertEqual(arms["pinned"]["n"], 6)
        self.assertGreater(arms["pinned"]["hit"]["usage"], .8 * arms["pinned"]["hit"]["expected"])
        self.assertIn("(warm with id_slot)", report["verdicts"][0]["evidence"])


if __name__ == "__main__":
    unittest.main()
