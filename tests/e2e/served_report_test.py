"""`paretoken report --serve` serves the page on the loopback only, and refreshes it when runs end."""

import http.client
import json
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.parse

from harness import BINARY, Case, address_from, environment, paretoken, started
from pages import Browser


def fetched(address, path="/", method="GET", host=None):
    """Makes one request. Returns its status and the text of the answer."""
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    try:
        connection.request(method, path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class ServedReport(Case):
    def land(self, name):
        self.succeeds(paretoken("run", "sim:llama3-8b/h100/bf16", "--virtual", "--concurrency", len(name), "--isl", 64, "--osl", 16,
                                "--num-prompts", 200, "--out", self.directory / "runs" / name))

    def served(self, *arguments):
        (self.directory / "runs").mkdir(exist_ok=True)
        return started([BINARY, "report", self.directory / "runs", "--serve", *arguments], stdout=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, env=environment())

    def test_the_page_and_the_files_follow_the_runs_that_land(self):
        with self.served() as process:
            address = address_from(process)
            self.assertTrue(address.startswith("http://127.0.0.1:"), address)
            status, text = fetched(address)
            self.assertEqual(status, 200)
            self.assertIn("No run has ended yet", text)
            self.assertIn(f"<code>paretoken report {self.directory / 'runs'}</code> shows what a run has measured so far", text)
            self.assertEqual(fetched(address, "/report.json")[0], 404)
            self.land("a")
            first = fetched(address, "/version")[1]
            self.assertIn("1 run ·", fetched(address)[1])
            self.land("bb")
            self.assertNotEqual(fetched(address, "/version")[1], first)
            self.assertIn("2 runs ·", fetched(address)[1])
            status, text = fetched(address, "/report.json")
            self.assertEqual(status, 200)
            held = self.directory / "served.json"
            held.write_text(text)
            self.matches_schema(held, "report")
            self.assertEqual(len(json.loads(fetched(address, "/report.inferencex.json")[1])), 2)
            self.assertEqual(sorted(path.name for path in (self.directory / "runs").iterdir()), ["a", "bb"], "nothing is written")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=30), 0)

    def test_a_run_that_has_not_ended_is_not_shown(self):
        self.land("a")
        unfinished = self.directory / "runs" / "b"
        unfinished.mkdir()
        for name in ("begun.json", "requests.jsonl"):
            shutil.copy(self.directory / "runs" / "a" / name, unfinished)
        with self.served() as process:
            self.assertIn("1 run ·", fetched(address_from(process))[1])

    def test_an_open_page_loads_itself_anew(self):
        self.land("a")
        with self.served() as process, Browser() as browser:
            browser.visit(address_from(process))
            self.assertIn("1 run ·", browser.evaluate("return document.querySelector('.meta').textContent"))
            self.land("bb")
            end = time.monotonic() + 90
            while "2 runs" not in (text := browser.evaluate("return document.querySelector('.meta')?.textContent || ''")):
                self.assertLess(time.monotonic(), end, text)
                time.sleep(0.5)
            self.assertEqual([entry for entry in browser.console() if entry["level"] == "SEVERE"
                              and "favicon" not in entry["message"]], [])

    def test_only_this_machine_reads_it_and_only_what_it_offers(self):
        self.land("a")
        with self.served() as process:
            address = address_from(process)
            self.assertEqual(fetched(address, host="evil.example")[0], 403)
            self.assertEqual(fetched(address, host="localhost:1")[0], 200)
            self.assertEqual(fetched(address, "/../run.json")[0], 404)
            self.assertEqual(fetched(address, method="POST")[0], 405)
            head = fetched(address, method="HEAD")
            self.assertEqual(head, (200, ""))
            parts = urllib.parse.urlsplit(address)
            with socket.create_connection((parts.hostname, parts.port), timeout=60) as silent:
                with socket.create_connection((parts.hostname, parts.port), timeout=60) as rude:
                    rude.sendall(b"hello\r\n\r\n")
                    self.assertIn(b"400 Bad Request", rude.recv(4096))
                with socket.create_connection((parts.hostname, parts.port), timeout=60) as endless:
                    endless.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 20000)
                    self.assertIn(b"431", endless.recv(4096))
                self.assertEqual(fetched(address)[0], 200, "who says nothing holds up nobody")
                silent.close()

    def test_addresses_that_cannot_be_listened_on_are_refused(self):
        self.land("a")
        runs = self.directory / "runs"
        self.fails_clearly(paretoken("report", runs, "--serve", "--listen", "0.0.0.0:0"), 2, "0.0.0.0", "this machine only")
        self.fails_clearly(paretoken("report", runs, "--serve", "--listen", "eighty"), 2, "HOST:PORT")
        self.fails_clearly(paretoken("report", runs, "--listen", "127.0.0.1:0"), 2, "--serve")
        for option, value in (("--out", self.directory / "page.html"), ("--format", "csv")):
            self.fails_clearly(paretoken("report", runs, "--serve", option, value), 2, "--serve", option)
        self.fails_clearly(paretoken("report", self.directory / "nowhere", "--serve"), 2, "nowhere")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.fails_clearly(paretoken("report", runs, "--serve", "--listen", f"127.0.0.1:{port}"), 3, str(port))


if __name__ == "__main__":
    unittest.main()
