"""Real proxies before the simulated server: what each of them changes is told, and the command or the setting that the message
names works. A proxy that is not installed is skipped."""

import contextlib
import os
import re
import socket
import subprocess

from harness import (Case, buffering_proxy, paretoken, refused_port, request_lines, run_json, self_signed_certificate,
                     simulated_server, started, tool, wait_until)

MODEL = "llama3-8b-h100-bf16"  # the name of the simulated server's model
SMALL = ("--isl", 16, "--osl", 24, "--concurrency", 2, "--num-prompts", 12, "--num-warmups", 0, "--scrape", "none")
SLOW = ("--profile", "ideal?ttft=2s&itl=1ms")
EVEN = ("--profile", "ideal?ttft=50ms&itl=5ms")


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Proxies(Case):
    """The configuration of a proxy is that of one place, with the address of the server behind it in it."""

    def setUp(self):
        super().setUp()
        self.running = contextlib.ExitStack()
        self.addCleanup(self.running.close)
        self.port = refused_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def behind(self, *options):
        """Starts a simulated server; returns HOST:PORT."""
        return self.running.enter_context(simulated_server(*options)).split("//")[1]

    def starts(self, command, name, text):
        program = tool(command[0])
        if program is None:
            self.skipTest(f"{command[0]} is not installed")
        (self.directory / name).write_text(text)
        environment = {**os.environ, "HOME": str(self.directory), "XDG_DATA_HOME": str(self.directory)}
        self.running.enter_context(started([program, *command[1:], self.directory / name], env=environment,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        wait_until(lambda: listens(self.port), what=f"{command[0]} listening")

    def nginx(self, place, further=";"):
        temporary = " ".join(f"{kind}_temp_path {self.directory}/{kind};" for kind in
                             ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.starts(("nginx", "-e", "stderr", "-g", f"daemon off; pid {self.directory}/pid;", "-c"), "nginx.conf",
                    f"worker_processes 1; error_log stderr; events {{}} http {{ access_log off; {temporary} "
                    f"server {{ listen 127.0.0.1:{self.port}{further} {place} }} }}")

    def haproxy(self, server, bind="", settings="", rules=""):
        self.starts(("haproxy", "-q", "-f"), "haproxy.cfg", f"""
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  {settings}
frontend front
  bind 127.0.0.1:{self.port} {bind}
  {rules}
  default_backend back
backend back
  {server}
""")

    def caddy(self, place, address=None, options=""):
        self.starts(("caddy", "run", "--adapter", "caddyfile", "--config"), "Caddyfile",
                    f"{{\n admin off\n auto_https off\n {options}\n}}\n"
                    f"{address or 'http://127.0.0.1'}:{self.port} {{\n{place}\n}}\n")

    def run_it(self, url, *options):
        return paretoken("run", url, *SMALL, *options, "--overwrite", "--out", self.directory / "run")

    def works(self, done):
        """Asserts that most requests were answered. Caddy may end an answer without a body when the server begins it before
        Caddy has sent the whole request."""
        self.assertIn(done.returncode, (0, 4), f"{done.stdout}\n{done.stderr}")
        counts = run_json(self.directory / "run")["counts"]
        self.assertGreater(counts["ok"], counts["failed"], done.stdout)

    # ---- TLS with a certificate that nobody knows

    def tls_is_told_and_works(self):
        url = f"https://127.0.0.1:{self.port}"
        plain = self.run_it(self.url)
        self.assertEqual(plain.returncode, 3, plain.stderr)
        self.assertIn(f"try {url}", plain.stderr)
        refused = self.run_it(re.search(r"https://[\d.:]+", plain.stderr).group())
        self.fails_clearly(refused, 3, "certificate", "--ca-file", "--insecure")
        self.works(self.run_it(url, "--ca-file", self.directory / "cert.pem"))
        self.works(self.run_it(url, "--insecure"))

    def test_nginx_with_its_own_certificate(self):
        pem = self_signed_certificate(self.directory)
        self.nginx(f"ssl_certificate {pem}; ssl_certificate_key {pem}; location / {{ proxy_pass http://{self.behind()}; }}",
                   " ssl;")
        self.tls_is_told_and_works()

    def test_haproxy_with_its_own_certificate(self):
        pem = self_signed_certificate(self.directory)
        self.haproxy(f"server s {self.behind()}", bind=f"ssl crt {pem}")
        self.tls_is_told_and_works()

    def test_caddy_with_its_own_certificate(self):
        self_signed_certificate(self.directory)
        self.caddy(f" tls {self.directory}/cert.pem {self.directory}/key.pem\n reverse_proxy {self.behind()}",
                   address="https://127.0.0.1")
        self.tls_is_told_and_works()

    # ---- a server below a prefix

    def prefix_is_told_and_works(self):
        lost = self.run_it(self.url, "--model", MODEL)
        self.fails_clearly(lost, 3, f"{self.url}/v1/chat/completions", "--endpoint", "404")
        self.works(self.run_it(self.url, "--model", MODEL, "--endpoint", "/llm/v1/chat/completions"))
        self.works(self.run_it(f"{self.url}/llm/v1/chat/completions"))
        self.works(self.run_it(f"{self.url}/llm"))

    def test_nginx_with_a_prefix(self):
        self.nginx(f"location /llm/ {{ proxy_pass http://{self.behind()}/; }}")
        self.prefix_is_told_and_works()

    def test_haproxy_with_a_prefix(self):
        self.haproxy(f"http-request replace-path /llm(/.*) \\1\n  server s {self.behind()}",
                     rules="http-request return status 404 content-type text/plain string nothing unless { path_beg /llm/ }")
        self.prefix_is_told_and_works()

    def test_caddy_with_a_prefix(self):
        self.caddy(f" handle_path /llm/* {{\n reverse_proxy {self.behind()}\n }}\n handle {{\n respond 404\n }}")
        self.prefix_is_told_and_works()

    def test_a_redirect_leads_to_the_address_to_give(self):
        server = self.behind()
        self.nginx(f"location / {{ return 301 http://{server}$request_uri; }}")
        told = self.run_it(self.url)
        self.fails_clearly(told, 3, "HTTP 301", f"give http://{server} as the URL")
        self.works(self.run_it(re.search(r"give (\S+) as the URL", told.stderr).group(1)))

    # ---- no server, or one that is too slow

    def test_haproxy_without_a_server(self):
        self.haproxy(f"server s 127.0.0.1:{refused_port()} check inter 200ms", settings="option redispatch")
        done = self.run_it(self.url, "--timeout", "3s")
        self.fails_clearly(done, 3, "503", "HAProxy has no server behind it", "No server is available")
        self.assertNotIn("loading", done.stderr)

    def test_nginx_without_a_server(self):
        self.nginx(f"location / {{ proxy_pass http://127.0.0.1:{refused_port()}; }}")
        self.fails_clearly(self.run_it(self.url), 3, "502", "nginx got no answer from the server behind it")

    def test_caddy_without_a_server(self):
        self.caddy(f" reverse_proxy 127.0.0.1:{refused_port()}")
        self.fails_clearly(self.run_it(self.url), 3, "502", "Caddy got no answer from the server behind it")

    def test_nginx_that_waits_too_short(self):
        server = self.behind(*SLOW)
        self.nginx(f"location / {{ proxy_pass http://{server}; proxy_read_timeout 500ms; }}")
        self.fails_clearly(self.run_it(self.url), 3, "was cut off after 0.5 s, before any output", "proxy_read_timeout")
        self.works(self.run_it(f"http://{server}"))

    def test_haproxy_that_waits_too_short(self):
        server = self.behind(*SLOW)
        self.haproxy(f"server s {server}", settings="timeout server 500ms")
        self.fails_clearly(self.run_it(self.url), 3, "was cut off after 0.5 s, before any output", "timeout server")

    def test_proxies_that_get_no_head_in_time_say_so_with_their_own_page(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.listen(8)
            server = f"127.0.0.1:{silent.getsockname()[1]}"
            self.haproxy(f"server s {server}", settings="timeout server 300ms")
            self.fails_clearly(self.run_it(self.url), 3, "504", "HAProxy did not wait long enough", "timeout server")
            self.running.close()
            self.nginx(f"location / {{ proxy_pass http://{server}; proxy_read_timeout 300ms; }}")
            self.fails_clearly(self.run_it(self.url), 3, "504", "nginx did not wait long enough", "proxy_read_timeout")
            self.running.close()
            self.caddy(f" reverse_proxy {server} {{\n transport http {{\n response_header_timeout 300ms\n }}\n }}")
            self.fails_clearly(self.run_it(self.url), 3, "504", "Caddy did not wait long enough", "response_header_timeout")

    # ---- buffers, and small packets that wait for each other

    def test_proxies_that_buffer_or_wait_for_packets_lose_no_token(self):
        settings = ("proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;", "proxy_buffering off; tcp_nodelay off;",
                    "gzip on; gzip_types *; gzip_proxied any;")
        for own in settings:
            with self.subTest(own):
                self.nginx(f"location / {{ proxy_pass http://{self.behind(*EVEN)}; proxy_http_version 1.1; {own} }}")
                self.works(self.run_it(self.url))
                self.running.close()
        self.haproxy(f"server s {self.behind(*EVEN)}", settings="no option http-no-delay")
        self.works(self.run_it(self.url))
        self.assertEqual({line["streamed_tokens"] for line in request_lines(self.directory / "run")}, {24})

    def buffered(self, tokens, block=None):
        """Returns the result of a run behind a proxy that buffers answers, and the texts of its reasons by their checks."""
        with buffering_proxy(f"http://{self.behind(*EVEN)}", block) as url:
            done = paretoken("run", url, "--isl", 16, "--osl", tokens, "--num-prompts", 12, "--num-warmups", 0,
                             "--scrape", "none", "--overwrite", "--out", self.directory / "run")
        self.measures(done)
        result = run_json(self.directory / "run")
        texts = {reason["check"]: reason["text"] for reason in result["validity"]["reasons"]}
        return result, texts, " ".join(done.stdout.split())

    def test_a_proxy_that_buffers_answers_is_told_with_the_setting_to_change(self):
        result, texts, said = self.buffered(32)
        self.assertIn("proxy_buffering off", said)
        self.assertIn("proxy_buffering off", texts["bunched_stream"])
        self.assertIn("a CDN neither compression nor buffering", texts["bunched_stream"])
        self.assertGreater(result["metrics"]["ttft_s"]["p50"], .15, "the user waits for the whole answer")
        for absent in ("itl_s", "tpot_s"):
            self.assertNotIn(absent, result["metrics"])
        _, texts, _ = self.buffered(8)  # too few tokens to be judged by their times
        self.assertIn("proxy_buffering off", texts["buffered_stream"])
        result, texts, _ = self.buffered(128, block=4096)
        self.assertIn("proxy_buffering off", texts["buffered_stream"])
        self.assertNotIn("itl_s", result["metrics"])
