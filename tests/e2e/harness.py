"""Common code of the end-to-end tests: it runs the built program and starts the servers that it measures (pages.py starts
the browser).

Every server is a context manager that stops it at the end, and listens only on the loopback. Only the standard library is
needed.
"""

import atexit
import contextlib
import http.server
import json
import os
import pathlib
import re
import select
import shutil
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("PARETOKEN", ROOT / "build" / "release" / "paretoken"))

# Output of a program that crashed instead of printing a message.
TRACES = re.compile(r"terminate called|Assertion|Segmentation|core dumped|AddressSanitizer|Traceback|\bwhat\(\):|#0 0x")


# Checks of core/validity/checks.cpp that can fail on a host without a free core, whatever the server does.
REASONS_OF_THE_HOST = {"loop_lag", "refill_lag", "achieved_rate", "unstamped_delay", "late_grouping", "client_cpu", "hiccups",
                       "clock_jump", "instrument", "connection_wait", "slot_wait", "buffered_stream"}


def reasons_of_invalid_runs(arguments):
    """Returns the reasons why runs in the directories among the arguments are invalid: pairs of a path and a check."""
    found = []
    for argument in map(pathlib.Path, map(str, arguments)):
        if not argument.is_dir():
            continue
        for path in argument.rglob("run.json"):
            validity = json.loads(path.read_text()).get("validity", {})
            found += [(path, reason["check"]) for reason in validity.get("reasons", [])
                      if reason["severity"] == "invalid"]
    return found


class Case(unittest.TestCase):
    """A test with a directory of its own, and assertions on the outcome of a command."""

    busy = False  # whether it uses the processors most of the time (tests/e2e/__main__.py)
    long = False  # whether it takes about a minute, so that it should not begin last

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="paretoken-e2e-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def succeeds(self, done):
        self.assertEqual(done.returncode, 0, f"{done.args}\n{done.stdout}\n{done.stderr}")
        return done

    def measures(self, done):
        """Asserts that the command completed its measurement. On a busy machine it may report that the measurement is
        invalid for reasons of the host; every other reason fails the test."""
        self.assertIn(done.returncode, (0, 4), f"{done.args}\n{done.stdout}\n{done.stderr}")
        if done.returncode == 4:
            self.assertRegex(done.stderr, r"(?m)^paretoken: .*valid measurement|^paretoken: .*measurement is invalid")
            for run, code in reasons_of_invalid_runs(done.args):
                self.assertIn(code, REASONS_OF_THE_HOST, f"{run}\n{done.args}\n{done.stdout}\n{done.stderr}")
        return done

    def fails_clearly(self, done, code, *words):
        """Asserts that the command ended with `code` and printed one line of error on stderr, which contains every word."""
        said = f"{done.args}\nexit {done.returncode}\nstdout: {done.stdout}\nstderr: {done.stderr}"
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), said)
        self.assertIsNone(TRACES.search(done.stdout + done.stderr), said)
        errors = [line for line in done.stderr.splitlines() if line.startswith("paretoken: ")]
        self.assertEqual(len(errors), 1, said)
        for word in words:
            self.assertIn(word.lower(), errors[0].lower(), said)

    def matches_schema(self, path, kind):
        """Asserts that the JSON file matches the schema of its kind ("run", "sweep", "report", …) in reports/schema.json. A
        file of the kind "request" has one JSON value per line."""
        try:
            import jsonschema
        except ImportError:
            self.skipTest("the validator of JSON schemas is not installed (python3-jsonschema)")
        schema = json.loads((ROOT / "reports" / "schema.json").read_text())
        validator = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]})
        text = pathlib.Path(path).read_text()
        for value in text.splitlines() if kind == "request" else [text]:
            for error in validator.iter_errors(json.loads(value)):
                self.fail(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:500]}")

    def never_called_good(self, directory):
        """Asserts that `report` refuses the run directory, or says that no run is valid and shows every point as invalid."""
        page = self.directory / "never.html"
        done = paretoken("report", directory, "--out", page)
        if done.returncode != 4:
            self.fails_clearly(done, (2, 3), str(directory))
            self.assertFalse(page.exists(), "a refused report must leave no page")
            return
        model = json.loads(page.with_suffix(".json").read_text())
        points = [point for configuration in model["configurations"] for point in configuration["points"]]
        self.assertEqual({point["run"]["validity"]["verdict"] for point in points}, {"invalid"}, done.stdout)


def paretoken(*arguments, timeout=120, env=None, **options):
    """Runs the binary to its end. API keys in the environment of the caller are not passed on."""
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          env=environment(env), stdin=subprocess.DEVNULL, check=False, **options)


# The tests neither read nor change the results of `paretoken micro` that the user's cache directory holds.
CACHE = tempfile.mkdtemp(prefix="paretoken-e2e-cache-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


def environment(extra=None):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    return {**kept, "XDG_CACHE_HOME": CACHE, **(extra or {})}


def tool(name):
    """Returns the path of a program that is installed or that scripts/setup --test put into build/tools; None if there is none."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:{ROOT}/build/tools")


@contextlib.contextmanager
def started(command, **options):
    """Starts a process, yields it, and stops it at the end in any case."""
    process = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


def address_from(process, seconds=60):
    """Returns the first http(s) address that a server prints on its standard output."""
    text, end = "", time.monotonic() + seconds
    while time.monotonic() < end:
        ready, _, _ = select.select([process.stdout], [], [], 0.2)
        if ready:
            chunk = os.read(process.stdout.fileno(), 4096).decode()
            text += chunk
            found = re.search(r"https?://[0-9.]+:\d+(?=\s)", text)
            if found:
                return found.group()
            if not chunk:
                break
    raise AssertionError(f"no address from {process.args}: {text!r}")


@contextlib.contextmanager
def simulated_server(*options, env=None):
    """Runs `paretoken serve` on a free port. Yields its address."""
    with started([BINARY, "serve", "--port", 0, *options], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                 env=environment(env)) as process:
        yield address_from(process)


@contextlib.contextmanager
def llamacpp_process(*options):
    """Runs the real llama.cpp server. Yields its process and its address. It has one thread unless the options say otherwise: its
    threads use processor time while they wait for each other, and other tests run at the same time."""
    command = [ROOT / "scripts" / "servers" / "llamacpp", "--until-stdin-closes", "--threads", 1, *options]
    with started(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield process, address_from(process, seconds=300)


@contextlib.contextmanager
def llamacpp(*options):
    """The same, of which it yields the address alone."""
    with llamacpp_process(*options) as (_, address):
        yield address


def llamacpp_model():
    """Returns the path of the GGUF file that `llamacpp` serves."""
    return subprocess.run([ROOT / "scripts" / "servers" / "llamacpp", "--print-model"], capture_output=True, text=True,
                          check=True).stdout.strip()


def refused_port():
    """Returns a port of the loopback on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def byte_server(answer):
    """Runs a TCP server that sends the bytes `answer` on every connection and closes it. Yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):
                    connection.recv(65536)
                    connection.sendall(answer)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)


@contextlib.contextmanager
def http_server(answer, certificate=None, version=None, threads=True, asks_certificate=False):
    """Runs an HTTP server that answers each request with `answer(method, path, headers, body) → (status, content type,
    bytes)`. If it returns an iterator of bytes, they are sent as chunks. `certificate`: a PEM file, with which it speaks TLS.
    `version`: the latest version of TLS that it speaks. `asks_certificate`: whether clients must have that certificate, too.
    Without `threads`, it serves one connection at a time. Yields its address."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, kind, data = answer(self.command, self.path, self.headers, body)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            whole = isinstance(data, bytes)
            self.send_header(*("Content-Length", str(len(data))) if whole else ("Transfer-Encoding", "chunked"))
            self.end_headers()
            if whole:
                self.wfile.write(data)
                return
            for piece in data:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

        do_GET = do_POST = respond

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer if threads else http.server.HTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            pass  # some tests check that the client refuses a certificate

    with Server(("127.0.0.1", 0), Handler) as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            if version:
                context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, version
                context.set_ciphers("DEFAULT:@SECLEVEL=0")
            if asks_certificate:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(5)


def buffering_proxy(url, block=None):
    """Runs a proxy that reads an answer of the server at `url` to its end before it passes it on, or `block` bytes of it."""
    def answer(method, path, _headers, body):
        request = urllib.request.Request(url + path, body or None, {"Content-Type": "application/json"}, method=method)
        try:
            answered = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            answered = error
        kind = answered.headers["Content-Type"]
        if block is None:
            with answered:
                return answered.status, kind, answered.read()
        return answered.status, kind, iter(lambda: answered.read(block), b"")

    return http_server(answer)


@contextlib.contextmanager
def behind_tls(address, certificate):
    """Passes TLS connections on to a plain server at `address`. Yields the address with https."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    host, port = address.split("//")[1].split(":")

    def pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError), context.wrap_socket(self.request, server_side=True) as client, \
                    socket.create_connection((host, int(port))) as server:
                back = threading.Thread(target=pump, args=(server, client), daemon=True)
                back.start()
                pump(client, server)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 256

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(5)


def self_signed_certificate(directory):
    """Writes a PEM file with a new key and certificate for localhost. Returns its path."""
    path = directory / "server.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", directory / "key.pem", "-out",
                    directory / "cert.pem"], capture_output=True, check=True)
    path.write_bytes((directory / "key.pem").read_bytes() + (directory / "cert.pem").read_bytes())
    return path


def run_json(directory):
    return json.loads((pathlib.Path(directory) / "run.json").read_text())


def request_lines(directory):
    """Returns the complete lines of requests.jsonl, parsed."""
    lines = (pathlib.Path(directory) / "requests.jsonl").read_text().split("\n")
    return [json.loads(line) for line in lines[:-1]]


def totals_of(directory):
    """Returns what does not depend on speed: the counts of a run, and the tokens and the outcome of each request by its number."""
    counts = run_json(directory)["counts"]
    lines = request_lines(directory)
    requests = {(line.get("warmup", False), line["index"]): (line["prompt_tokens"], line["completion_tokens"], line["outcome"])
                for line in lines}
    return {"lines": len(lines), "requests": requests, **{name: counts[name] for name in ("requests", "ok", "failed", "warmup")}}


def wait_until(condition, seconds=30, what="the condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true within {seconds} s")
