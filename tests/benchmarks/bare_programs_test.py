"""The bare server sends what it says it sends, and both clients count exactly that: `bare_programs_test.py BUILD`."""

import contextlib
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
CHUNK_BYTES = 262


def client_cost():
    """The script's functions, so that its reading of the truth is tested too."""
    module = type(sys)("client_cost")
    module.__file__ = str(ROOT / "scripts/client_cost")
    exec(compile(pathlib.Path(module.__file__).read_text(), module.__file__, "exec"), module.__dict__)
    return module


COST = client_cost()


@contextlib.contextmanager
def bare_server(phase="spread", itl="5ms"):
    process = subprocess.Popen([BUILD / "paretoken-bare-server", "--ttft", "10ms", "--itl", itl, "--phase", phase],
                               stdout=subprocess.PIPE, text=True)
    try:
        yield COST.Server(process, int(process.stdout.readline().rsplit(":", 1)[1]))
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=20)
        process.stdout.close()
    if code != 0:
        raise AssertionError(f"the bare server exited {code}")


def exchange(server, tokens, request_id, usage=True):
    """The bytes of one answer."""
    body = json.dumps({"max_tokens": tokens, "stream_options": {"include_usage": usage}}, separators=(",", ":"))
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nx-request-id: {request_id}\r\n"
                           f"content-length: {len(body)}\r\n\r\n{body}".encode())
        answer = b""
        while not answer.endswith(b"\r\n0\r\n\r\n"):
            answer += connection.recv(65536)
    return answer


class BareServer(unittest.TestCase):
    def test_chunks_are_262_bytes_and_the_last_ones_end_the_stream(self):
        with bare_server() as server:
            answer = exchange(server, 4, "a")
        head, stream = answer.split(b"\r\n\r\n", 1)
        self.assertTrue(head.startswith(b"HTTP/1.1 200 OK"))
        chunks = [stream[at:at + CHUNK_BYTES] for at in range(0, 4 * CHUNK_BYTES, CHUNK_BYTES)]
        for chunk in chunks:
            self.assertRegex(chunk, re.compile(rb"0ff\r\ndata: \{.*\}\n\n\r\n", re.DOTALL))
        events = [json.loads(chunk[5:].strip().removeprefix(b"data: ")) for chunk in chunks]
        self.assertEqual([event["choices"][0]["finish_reason"] for event in events], [None, None, None, "length"])
        self.assertTrue(all(event["choices"][0]["delta"]["content"] for event in events))
        rest = stream[4 * CHUNK_BYTES:]
        self.assertIn(b'"completion_tokens":4', rest)
        self.assertTrue(rest.endswith(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"))

    def test_usage_comes_only_when_it_is_asked_for(self):
        with bare_server() as server:
            self.assertNotIn(b"usage", exchange(server, 2, "a", usage=False))

    def test_nothing_is_written_before_it_is_due_and_lateness_never_adds_up(self):
        with bare_server(itl="2ms") as server:
            exchange(server, 50, "a")
            stream = server.truth()["a"]
        late = [at - stream["due_ns"] - i * 2_000_000 for i, at in enumerate(stream["written_ns"])]
        self.assertEqual(len(late), 50)
        self.assertGreaterEqual(min(late), 0)
        self.assertGreaterEqual(stream["due_ns"] - stream["received_ns"], 10_000_000)

    def test_lockstep_puts_all_streams_on_one_grid(self):
        with bare_server("lockstep") as server:
            for name in "abc":
                exchange(server, 2, name)
            due = sorted(stream["due_ns"] for stream in server.truth().values())
        self.assertEqual([(b - a) % 5_000_000 for a, b in zip(due, due[1:])], [0, 0])

    def test_truth_is_given_once(self):
        with bare_server() as server:
            exchange(server, 2, "a")
            self.assertEqual(list(server.truth()), ["a"])
            self.assertEqual(server.truth(), {})


class HighestRate(unittest.TestCase):
    def test_a_freeze_at_one_rate_does_not_end_what_higher_rates_were_kept_up_with(self):
        def steps(*shares):
            return [{"rate": i + 1, "coalesced": {"ours": share}} for i, share in enumerate(shares)]
        self.assertEqual(COST.highest(steps(0, 0.012, 0, 0.002, 0.03, 0.02), "ours"), 4)
        self.assertEqual(COST.highest(steps(0, 0.002, 0.02, 0.03), "ours"), 2)
        self.assertEqual(COST.highest(steps(0.02, 0.03), "ours"), 0)

    def test_a_ladder_that_ends_too_early_or_was_disturbed_proves_nothing(self):
        def steps(*clean):
            return [{"rate": i + 1, "clean": one} for i, one in enumerate(clean)]
        self.assertEqual(COST.verdict_on(steps(True, True, True), 2, 2), "ok")
        self.assertEqual(COST.verdict_on(steps(True, True, True), 2, 1), "MISSED")
        self.assertEqual(COST.verdict_on(steps(True, True, False), 2, 2), "ok")
        self.assertEqual(COST.verdict_on(steps(True, False, True), 2, 2), "INCONCLUSIVE")
        self.assertEqual(COST.verdict_on(steps(True, True, True), 3, 3), "INCONCLUSIVE")
        self.assertEqual(COST.verdict_on(steps(True, True, True), 0, 0), "INCONCLUSIVE")

    def test_values_that_never_fall_keep_their_mean_where_they_are_pooled(self):
        self.assertEqual(COST.never_falling([1, 3, 2, 4]), [1, 2.5, 2.5, 4])
        self.assertEqual(COST.never_falling([3, 2, 1]), [2, 2, 2])


class Rows(unittest.TestCase):
    def test_tls_may_cost_a_fifth_more_and_busy_rounds_decide_nothing(self):
        def rounds(ratio, disturbed=()):
            cost = {"load": 10_000, "fold": 100, "system": 7_000, "user": 3_000}
            more = {key: value * ratio for key, value in cost.items()}
            return [{"plain": {"cost": cost}, "tls": {"cost": more}, "ratio": ratio, "disturbed": disturbed}] * 3
        self.assertEqual(COST.tls_row_of(200, 20_000, rounds(1.19))["verdict"], "ok")
        self.assertEqual(COST.tls_row_of(200, 20_000, rounds(1.25))["verdict"], "MISSED")
        row = COST.tls_row_of(200, 20_000, rounds(1.25, ["others used 50 %"]) + rounds(1.1)[:2])
        self.assertEqual((row["verdict"], row["clean"], row["rounds"]), ("INCONCLUSIVE", 2, 5))
        self.assertEqual(COST.cost_text(row["cost_ns"]["plain"]), "10.0 (3.0 + 7.0)")

    def test_sending_is_judged_by_undisturbed_rounds(self):
        def rounds(p99_s, disturbed=()):
            return [{"p50_s": 20e-6, "p99_s": p99_s, "disturbed": disturbed}] * 3
        self.assertEqual(COST.sending_row_of(rounds(80e-6))["verdict"], "ok")
        self.assertEqual(COST.sending_row_of(rounds(120e-6))["verdict"], "MISSED")
        self.assertEqual(COST.sending_row_of(rounds(1, ["probe lost 9 %"]) + rounds(80e-6))["p99_s"], 80e-6)
        self.assertEqual(COST.sending_row_of(rounds(80e-6, ["probe lost 9 %"]))["verdict"], "INCONCLUSIVE")

    def test_the_delay_of_sending_is_that_of_requests_due_beside_all_streams(self):
        records = [{"scheduled_s": 0.5, "sent_s": 0.9}, {"scheduled_s": 2.0, "sent_s": 2.25}]
        self.assertEqual(COST.sending_delays(records, 1.02), [0.25])


class Clients(unittest.TestCase):
    def test_the_bare_client_counts_what_was_sent(self):
        for phase in ("spread", "lockstep", "arrival"):
            with self.subTest(phase), bare_server(phase) as server:
                done = subprocess.run([BUILD / "paretoken-bare-client", "--port", str(server.port), "--streams", "3",
                                       "--requests", "7", "--tokens", "5"], capture_output=True, text=True, check=True)
                counted = json.loads(done.stdout)
                self.assertEqual(server.stats()["chunks"], 35)
            self.assertEqual((counted["events"], counted["requests"]), (35, 7))

    def test_paretoken_counts_what_was_sent_and_is_joined_by_id(self):
        with tempfile.TemporaryDirectory() as scratch, bare_server() as server:
            run = pathlib.Path(scratch, "run")
            done = subprocess.run([BUILD / "paretoken", "run", server.url, "--concurrency", "4", "--num-prompts", "8",
                                   "--isl", "8", "--osl", "6", "--out", run], capture_output=True, text=True,
                                  check=False)
            self.assertIn(done.returncode, (0, 4), done.stderr)  # 4: a busy machine, which is no matter here
            records = [json.loads(line) for line in (run / "requests.jsonl").read_text().splitlines()]
            truth = server.truth()
        self.assertEqual([(record["outcome"], record["chunks"]) for record in records], [("ok", 6)] * 8)
        for record in records:
            self.assertEqual(len(truth[record["id"]]["written_ns"]), 6)
        _, half_width = COST.clock_bracket([(record, truth[record["id"]]) for record in records])
        # Each side maps the kernel's stamps to its clock by itself, a little apart.
        self.assertGreaterEqual(half_width, -20_000, "an event before its write, or a request received before it was sent")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BUILD = pathlib.Path(sys.argv.pop(1))
    unittest.main()
