"""Which first tokens scripts/truth_check calls late, and which of them their records explain."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
MS = 1_000_000


def truth_check():
    module = type(sys)("truth_check")
    module.__file__ = str(ROOT / "scripts/truth_check")
    exec(compile(pathlib.Path(module.__file__).read_text(), module.__file__, "exec"), module.__dict__)
    return module


CHECK = truth_check()
CLOCKS_APART_NS = 5_000 * MS  # the server's clock at the client's zero


def pair(sent_ms, received_ms, written_ms, read_ms, sent_token_ms=None, stated_ms=0):
    """A record and the server's entry of a request with one token, at milliseconds of the client's clock."""
    record = {"sent_s": sent_ms / 1e3, "first_event_s": read_ms / 1e3, "first_early_s": stated_ms / 1e3}
    at = [CLOCKS_APART_NS + round(ms * MS) for ms in (received_ms, written_ms, sent_token_ms or written_ms)]
    return record, {"received_ns": at[0], "due_ns": [at[1]], "written_ns": [at[1]], "first_sent_ns": at[2]}


def level_of(pairs):
    level = CHECK.Level()
    level.add({"metrics": {"itl_s": {"p50": 0, "p99": 0}}, "window": {"begin_s": 0, "end_s": 1},
               "validity": {"verdict": "valid"}}, pairs)
    return level


CHECK.true_gaps = lambda pairs, window: [0.01]  # these answers have one token
PROMPT = pair(sent_ms=0, received_ms=0.01, written_ms=20, read_ms=20.01)


class LateFirstTokens(unittest.TestCase):
    def test_a_large_prompt_that_waits_in_the_sockets_makes_no_token_late(self):
        large = pair(sent_ms=0, received_ms=30, written_ms=50, read_ms=50.02)
        level = level_of([PROMPT, large])
        self.assertEqual(level.late(by_receipt=True), [])
        self.assertEqual(len(level.late(by_receipt=False)), 1)

    def test_a_token_that_lay_unread_is_late_unless_its_record_says_so(self):
        unread = pair(sent_ms=0, received_ms=0.01, written_ms=20, read_ms=25)
        stated = pair(sent_ms=0, received_ms=0.01, written_ms=20, read_ms=25, stated_ms=5)
        level = level_of([PROMPT, unread, stated])
        for by_receipt in (True, False):
            self.assertEqual(len(level.late(by_receipt)), 2)
            self.assertEqual(len(level.unexplained(by_receipt)), 1)

    def test_a_server_that_paused_between_its_clock_and_its_write_makes_no_token_late(self):
        paused = pair(sent_ms=0, received_ms=0.01, written_ms=20, sent_token_ms=28, read_ms=28.01)
        after = pair(sent_ms=0, received_ms=0.01, written_ms=20, sent_token_ms=28, read_ms=20.01)  # paused after its write
        level = level_of([PROMPT, paused, after])
        self.assertEqual(level.late(by_receipt=True), [])


if __name__ == "__main__":
    unittest.main()
