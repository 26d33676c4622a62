"""What scripts/busy_host reads out of packets."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "busy_host"
loader = importlib.machinery.SourceFileLoader("busy_host", str(SCRIPT))
busy_host = importlib.util.module_from_spec(importlib.util.spec_from_loader("busy_host", loader))
loader.exec_module(busy_host)


def request(at, port, name):
    return at, port, True, f"POST /v1 HTTP/1.1\r\nX-Request-Id: {name}\r\n\r\n{{}}".encode()


def tokens(at, port, count):
    return at, port, False, b'data: {"choices":[{"index":0,"delta":{"content":" a"}}]}\n\n' * count


class Packets(unittest.TestCase):
    def test_tokens_belong_to_the_request_of_their_connection(self):
        role = (1.5, 7, False, b'data: {"choices":[{"delta":{"role":"assistant","content":null}}]}\n\n')
        found = busy_host.true_requests([request(1, 7, "a"), request(1.25, 8, "b"), role, tokens(2, 7, 1), tokens(2.5, 8, 2),
                                         tokens(3, 7, 1), (3.5, 7, False, b"0\r\n\r\n"), request(4, 7, "c")])
        self.assertEqual(found["a"], {"sent": 1, "tokens": [2, 3], "ended": 3.5})
        self.assertEqual(found["b"], {"sent": 1.25, "tokens": [2.5, 2.5], "ended": 2.5})
        self.assertEqual(found["c"], {"sent": 4, "tokens": [], "ended": 4})

    def test_a_request_that_is_sent_again_counts_from_the_first_time(self):
        found = busy_host.true_requests([request(1, 7, "a"), request(2, 9, "a"), tokens(3, 9, 1)])
        self.assertEqual(found["a"], {"sent": 1, "tokens": [3], "ended": 3})

    def test_a_slot_waits_from_the_end_of_an_answer_to_the_next_request(self):
        busy = [{"sent": 0, "ended": 4}, {"sent": 1, "ended": 9}, {"sent": 5, "ended": 9}, {"sent": 9, "ended": 12}]
        self.assertAlmostEqual(busy_host.share_of_waiting(busy, 2), 1 / 17)


if __name__ == "__main__":
    unittest.main()
