"""Starts what is measured and what it is measured on; every process has a time limit and ends with its block."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

DISTURBED_ABOVE = 0.05  # share of time lost by a spinning process
SUPERVISOR = pathlib.Path(__file__).with_name("supervise.py")


class Failure(Exception):
    """Something that keeps one run, or all, from being made: what, and what to do."""


def quiet_environment(extra):
    """This process's environment without proxies, with every tool told to stay off the network."""
    kept = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    return kept | {"no_proxy": "*", "DO_NOT_TRACK": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_DISABLE_TELEMETRY": "1",
                   "PYTHONUNBUFFERED": "1", "COLUMNS": "160"} | extra


def on_core(core):
    """For preexec_fn: pins the process to a core; an empty core leaves it free."""
    def pin():
        if core != "":
            os.sched_setaffinity(0, {int(core)})
    return pin


@contextlib.contextmanager
def serving(binary, profile, core, log):
    """The URL of a simulated server that ends with the block: it lives as long as its standard input."""
    with open(log, "w", encoding="utf-8") as errors:
        process = subprocess.Popen([binary, "serve", "--port", "0", "--profile", profile, "--until-stdin-closes"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                                   preexec_fn=on_core(core))
    try:
        words = process.stdout.readline().split()
        url = next((word for word in words if word.startswith("http://")), None)
        if url is None:
            raise Failure(f"{binary} serve did not start: see {log}")
        yield url
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def truth_of(url):
    """Entries of the server's log of finished requests, in the order in which they ended."""
    with urllib.request.urlopen(url + "/sim/truth", timeout=60) as answer:
        truth = json.load(answer)
    if truth["dropped"]:
        raise Failure(f"the server's log overflowed ({truth['dropped']} requests lost): ask for fewer requests")
    return truth["requests"]


def supervised(command, environment, folder, core, timeout_s):
    """Runs a client to its end, its output in folder/log.txt. What supervise.py says about it."""
    account = folder / "process.json"
    account.unlink(missing_ok=True)
    with open(folder / "log.txt", "w", encoding="utf-8") as log:
        process = subprocess.Popen([sys.executable, str(SUPERVISOR), str(account), str(core), str(timeout_s), *command],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder,
                                   env=environment)
        expired = False
        try:
            process.wait(timeout=timeout_s + 30)
        except BaseException as error:
            expired = True
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=15)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
    if expired:
        raise Failure(f"did not end in {timeout_s:.0f} s and was ended: see {folder / 'log.txt'}")
    if not account.exists():
        raise Failure(f"{command[0]} could not be run: see {folder / 'log.txt'}")
    return json.loads(account.read_text())


def time_lost_by_spinning(core, seconds=0.5):
    """Share of time in which a spinning process on this core did not run: what else the machine does just now."""
    before = os.sched_getaffinity(0)
    try:
        on_core(core)()
        begin = previous = time.monotonic_ns()
        lost = 0
        while previous - begin < seconds * 1e9:
            now = time.monotonic_ns()
            if now - previous > 50_000:
                lost += now - previous
            previous = now
        return lost / (previous - begin)
    finally:
        os.sched_setaffinity(0, before)


def quiet_or_given_up(core, patience_s):
    """Waits for the machine to be quiet, no longer than the patience. The share of time last lost."""
    deadline = time.monotonic() + patience_s
    lost = time_lost_by_spinning(core)
    while lost > DISTURBED_ABOVE and time.monotonic() < deadline:
        time.sleep(0.2)
        lost = time_lost_by_spinning(core)
    return lost
