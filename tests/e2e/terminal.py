"""Runs a command in a pseudo-terminal, and keeps what a person would see: a small terminal that knows the control codes which
paretoken uses."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from harness import BINARY, environment

CODE = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\[[\d;]*m|[\r\n]|[^\x1b\r\n]+")


class Terminal:
    """The screen with everything that scrolled out of it above it, as lines of text without colours."""

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column = columns, [""], 0, 0
        self.drawings = []  # the lines as they were before each return to the begin of a panel

    def feed(self, text):
        for found in CODE.finditer(text):
            self.take(found)

    def take(self, found):
        word, count, code = found.group(), int(found.group(1) or 1), found.group(2)
        if word == "\r":
            self.column = 0
        elif word == "\n":
            self.row, self.column = self.row + 1, 0
            if self.row == len(self.lines):
                self.lines.append("")
        elif code == "A":
            self.drawings.append(list(self.lines))
            self.row = max(0, self.row - count)
        elif code == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif code == "J":
            self.lines = self.lines[:self.row] + [self.lines[self.row][:self.column]]
        elif code is None and not word.startswith("\x1b"):
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + word + line[self.column + len(word):]
            self.column += len(word)

    def text(self):
        return "\n".join(line.rstrip() for line in self.lines).rstrip() + "\n"


def in_terminal(columns, *arguments, env=None, timeout=120, on_text=None):
    """Runs the binary in a pseudo-terminal of this width. Returns its exit status, the Terminal, and the raw text. `on_text` is
    called with the process and the text so far, whenever there is more."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([str(word) for word in (BINARY, *arguments)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env=environment({"TERM": "xterm-256color", **(env or {})}))
    os.close(theirs)
    raw, end = b"", time.monotonic() + timeout
    try:
        while time.monotonic() < end:
            ready, _, _ = select.select([ours], [], [], .2)
            if not ready:
                continue
            try:
                data = os.read(ours, 65536)
            except OSError:  # the program has ended
                break
            if not data:
                break
            raw += data
            if on_text:
                on_text(process, raw.decode(errors="replace"))
        else:
            raise AssertionError(f"{arguments} did not end within {timeout} s")
        process.wait(timeout=30)
    finally:
        os.close(ours)
        if process.poll() is None:
            process.kill()
            process.wait()
    terminal = Terminal(columns)
    terminal.feed(raw.decode(errors="replace"))
    return process.returncode, terminal, raw.decode(errors="replace")
