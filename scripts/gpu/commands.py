"""Runs programs with a time limit; a rehearsal answers for the tools that only a machine with a GPU has."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import time


@dataclasses.dataclass
class Result:
    code: int  # 124: it ran past its limit
    output: str  # standard output and error together
    seconds: float

    @property
    def timed_out(self):
        return self.code == 124

    def tail(self, lines=3):
        return " / ".join(self.output.strip().splitlines()[-lines:])


class Commands:
    """The real machine."""

    def has(self, tool):
        return pathlib.Path(tool).exists() if "/" in tool else shutil.which(tool) is not None

    def run(self, argv, limit_s, recording=None):  # noqa: ARG002: recordings are for rehearsals
        begin = time.monotonic()
        try:
            process = subprocess.Popen([str(word) for word in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, text=True, errors="replace",
                                       preexec_fn=os.setpgrp)  # a group of its own, in this session: it ends with us
        except OSError as error:
            return Result(127, str(error), 0)
        try:
            output, _ = process.communicate(timeout=limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            output = stopped(process)
            code = 124
        return Result(code, output, time.monotonic() - begin)


def stopped(process):
    """Ends the process and all that it started; what it had written. A process that even SIGKILL does not end (in the
    driver, say) is left behind."""
    send(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=3)
    send(process, signal.SIGKILL)  # also what outlived the group's leader and may hold the pipe
    try:
        return process.communicate(timeout=5)[0]
    except subprocess.TimeoutExpired as error:
        process.stdout.close()
        written = error.output or ""
        return written if isinstance(written, str) else written.decode(errors="replace")


def send(process, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


class Rehearsal(Commands):
    """Tools that need a GPU are answered from recordings; everything else runs."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def has(self, tool):
        return True

    def run(self, argv, limit_s, recording=None):
        if recording is None:
            return super().run(argv, limit_s)
        path = self.folder / recording
        if not path.exists():
            return Result(127, f"no recording {path}", 0)
        text = path.read_text(encoding="utf-8")
        first, _, rest = text.partition("\n")
        if first.startswith("exit "):
            return Result(int(first.split()[1]), rest, 0.01)
        return Result(0, text, 0.01)
