"""Servers that misbehave, for the end-to-end tests and for experiments by hand.

`python3 tests/e2e/hostile_server.py MODE [GOOD_FIRST]` listens on the loopback and prints its address. The first GOOD_FIRST
generation requests get a proper answer, and all further ones the answer of the mode. A mode is a function that writes raw
bytes to the connection, so that it can send malformed HTTP too.
"""

import contextlib
import gzip
import json
import socket
import struct
import sys
import threading
import time

WORD, PROMPT_TOKENS = "word ", 16
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(data, end="\n\n"):
    return chunk(("data: " + (data if isinstance(data, str) else json.dumps(data)) + end).encode())


def word(finish=None, text=WORD):
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


def words(count):
    return [event(word("length" if i == count - 1 else None)) for i in range(count)]


def usage(count, prompt=PROMPT_TOKENS):
    return event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": count}})


def whole(status, body, *headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}", *headers))
    return head.encode() + b"\r\n" + data


DONE, END = event("[DONE]"), b"0\r\n\r\n"


class Closed(Exception):
    """Raised by a mode to close the connection."""


class Exchange:
    """One request and its connection. `count` is the number of tokens that the request asks for."""

    def __init__(self, connection, head, body, count):
        self.connection, self.head, self.body, self.count = connection, head, body, count

    def send(self, *pieces):
        for piece in pieces:
            self.connection.sendall(piece)

    def send_for_ever(self, piece):
        block = piece * max(1, 65536 // len(piece))
        while True:
            self.connection.sendall(block)

    def wait_for_ever(self):
        with contextlib.suppress(OSError):
            while self.connection.recv(65536):
                pass
        raise Closed


def good(x):
    x.send(STREAM_HEAD)
    for piece in words(x.count):
        x.send(piece)
        time.sleep(0.001)
    x.send(usage(x.count) + DONE + END)


def stream(*pieces):
    """Returns a mode that answers with these pieces in one chunked stream. A piece is bytes or a function of the exchange."""
    return lambda x: x.send(STREAM_HEAD, *[piece(x) if callable(piece) else piece for piece in pieces])


def half(x):
    return b"".join(words(x.count)[:x.count // 2])


def all_words(x):
    return b"".join(words(x.count))


def slow_drip(x):
    answer = STREAM_HEAD + all_words(x) + usage(x.count) + DONE + END
    for i in range(0, len(answer), 64):
        x.send(answer[i:i + 64])
        time.sleep(0.005)


def slow_headers(x):
    for byte in STREAM_HEAD:
        x.send(bytes([byte]))
        time.sleep(0.003)
    x.send(all_words(x), usage(x.count), DONE, END)


def stall(x):
    x.wait_for_ever()


def stall_midway(x):
    x.send(STREAM_HEAD, half(x))
    x.wait_for_ever()


def endless(head, piece):
    def mode(x):
        x.send(head)
        x.send_for_ever(piece)
    return mode


def half_close(x):
    x.send(STREAM_HEAD, half(x))
    x.connection.shutdown(socket.SHUT_WR)
    x.wait_for_ever()


def reset(x):
    x.send(STREAM_HEAD, half(x))
    x.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise Closed


def left_open(x):
    x.send(STREAM_HEAD, all_words(x), usage(x.count), DONE)
    x.wait_for_ever()


def echo(x):
    x.send(whole(500, {"error": {"message": "your headers: " + x.head.decode("latin-1")}}))


def no_stream(x):
    x.send(whole(200, {"choices": [{"index": 0, "message": {"content": WORD * x.count}, "finish_reason": "length"}],
                       "usage": {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": x.count}},
                 "Content-Type: application/json"))


def compressed(x):
    x.send(whole(200, gzip.compress(b"data: {}\n\n"), "Content-Type: text/event-stream", "Content-Encoding: gzip"))


def wrong_content_type(x):
    body = "".join("data: " + json.dumps(word("length" if i == x.count - 1 else None)) + "\n\n"
                   for i in range(x.count)) + "data: [DONE]\n\n"
    x.send(whole(200, body.encode(), "Content-Type: text/html"))


def bad_utf8(x):
    x.send(STREAM_HEAD, half(x), chunk(b'data: {"choices":[{"index":0,"delta":{"content":"\xff\xfe\xc3("}}]}\n\n'),
           all_words(x), usage(x.count), DONE, END)


def oversized_line(x):
    x.send(STREAM_HEAD, chunk(b"data: " + b"x" * (3 << 20) + b"\n\n"), DONE, END)


MODES = {
    "good": good,
    "stall": stall,
    "stall_midway": stall_midway,
    "error_500": lambda x: x.send(whole(500, {"error": {"message": "out of memory"}})),
    "echo": echo,
    "redirect": lambda x: x.send(whole(307, b"", "Location: http://elsewhere.example/v1")),
    "later_429": lambda x: x.send(whole(429, {"error": {"message": "slow down"}}, "Retry-After: 60")),
    "no_stream": no_stream,
    "compressed": compressed,
    "wrong_content_type": wrong_content_type,
    "html": lambda x: x.send(whole(200, b"<html>hello</html>", "Content-Type: text/html")),
    "empty_body": lambda x: x.send(whole(200, b"", "Content-Type: text/event-stream")),
    "endless_stream": endless(STREAM_HEAD, event(word())),
    "endless_pings": endless(STREAM_HEAD, chunk(b": ping\n\n")),
    "endless_line": endless(STREAM_HEAD, chunk(b"x" * 1000)),
    "endless_object": endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunk(b"{" * 1000)),
    "endless_error": endless(b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n", chunk(b"y" * 1000)),
    "endless_head": endless(b"HTTP/1.1 200 OK\r\n", b"X-Filler: " + b"z" * 1000 + b"\r\n"),
    "endless_interim": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "lying_usage": stream(all_words, usage(1_000_000), DONE, END),
    "huge_usage": stream(all_words, usage(10**10), DONE, END),
    "negative_usage": stream(all_words, usage(-1), DONE, END),
    "left_open": left_open,
    "no_done": stream(all_words, lambda x: usage(x.count), END),
    "done_twice": stream(all_words, lambda x: usage(x.count), DONE, DONE, chunk(b"data: {\n\n"), END),
    "slow_drip": slow_drip,
    "slow_headers": slow_headers,
    "oversized_line": oversized_line,
    "bad_utf8": bad_utf8,
    "bad_json": stream(half, chunk(b'data: {"choices":[{"delta\n\n'), END),
    "bad_chunk": stream(half, b"zz\r\nno chunk\r\n"),
    "half_close": half_close,
    "reset": reset,
    "truncated": stream(half, END),
    "error_event": stream(half, event({"error": {"message": "the engine died"}}), END),
    "not_http": lambda x: x.send(b"SSH-2.0-OpenSSH_9.2\r\n"),
}


class HostileServer:
    """Serves one mode, a name or a function, at the URL `address`. `models` is a mode that replaces the answer to
    GET /v1/models."""

    def __init__(self, mode, good_first=0, models=None):
        self.mode, self.good_first, self.models = mode if callable(mode) else MODES[mode], good_first, models
        self.generations, self.lock = 0, threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError, Closed, ValueError):
            pending = b""
            while True:
                while b"\r\n\r\n" not in pending:
                    more = connection.recv(65536)
                    if not more:
                        return
                    pending += more
                head, _, pending = pending.partition(b"\r\n\r\n")
                length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                               if line.lower().startswith(b"content-length:")), 0)
                while len(pending) < length:
                    pending += connection.recv(65536)
                body, pending = pending[:length], pending[length:]
                self.answer(connection, head, body)

    def answer(self, connection, head, body):
        path = head.split(b" ")[1].decode()
        if path.startswith("/v1/models"):
            if self.models:
                self.models(Exchange(connection, head, body, 0))
            else:
                connection.sendall(whole(200, {"data": [{"id": "m"}]}, "Content-Type: application/json"))
            return
        if not path.startswith(("/v1/chat/completions", "/v1/completions")):
            connection.sendall(whole(404, {}))
            return
        with self.lock:
            is_good = self.generations < self.good_first
            self.generations += 1
        (good if is_good else self.mode)(Exchange(connection, head, body, json.loads(body)["max_tokens"]))


if __name__ == "__main__":
    with HostileServer(sys.argv[1], int((sys.argv + ["0"])[2])) as server:
        print(server.address, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
