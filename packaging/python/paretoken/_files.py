"""Reads run.json, requests.jsonl and events.bin of a run directory (docs/files.md describes them)."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import struct
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple, Union

try:
    import numpy
except ImportError:  # the columns are lists
    numpy = None  # type: ignore[assignment]

RUN_SCHEMA = "paretoken/run/3"
EVENTS_SCHEMA = b"paretoken/events/1"
KINDS = ("content", "reasoning", "tool_call")

Column = Union["numpy.ndarray[Any, Any]", List[Any]]
Columns = Mapping[str, Column]


class RunError(ValueError):
    """A directory is no run that can be read. The text names the file and says what to do."""


@dataclass(frozen=True)
class Run:
    """One run. Times are in seconds; names of keys contain the unit. A quantity that was not measured is absent."""

    directory: pathlib.Path
    result: Mapping[str, Any]  #: all of run.json

    @property
    def verdict(self) -> str:
        """Whether the measurement can be trusted: "valid", "warn" or "invalid"."""
        return str(self.result["validity"]["verdict"])

    @property
    def metrics(self) -> Mapping[str, Mapping[str, Any]]:
        """The distribution of each metric in the window: `metrics["ttft_s"]["p95"]`."""
        return self.result["metrics"]  # type: ignore[no-any-return]

    @property
    def throughput(self) -> Mapping[str, Any]:
        """The figures of the window: `throughput["output_tokens_per_s"]`."""
        return self.result["throughput"]  # type: ignore[no-any-return]

    @functools.cached_property
    def requests(self) -> Columns:
        """A column per field of requests.jsonl, with one value per request. A value that is absent is NaN in an array of
        numbers and None elsewhere."""
        rows = list(_request_lines(self.directory / "requests.jsonl"))
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {name: _column([row.get(name) for row in rows]) for name in names}

    @functools.cached_property
    def events(self) -> Columns:
        """The events of the answers' streams, in the order in which requests ended: `request` (the request's index),
        `warmup`, `time_s` (as the times of `requests`), `tokens`, `kind`, `grouped` (read together with the event before),
        `kernel_time` (whether the kernel took the time) and `choice` (the number of the choice, if answers have several)."""
        columns: Dict[str, List[Any]] = {name: [] for name in ("request", "warmup", "time_s", "tokens", "kind", "grouped",
                                                               "kernel_time", "choice")}
        for index, body in _frames(self.directory / "events.bin"):
            _append_events(columns, index, body)
        return {name: _column(values) for name, values in columns.items()}


def load(directory: Union[str, "os.PathLike[str]"]) -> Run:
    """Reads the run in a directory. Raises RunError if there is none."""
    path = pathlib.Path(directory)
    if (path / "sweep.json").exists():
        raise RunError(f"{path} is a sweep; load the run of one of its points, a directory below it that has run.json")
    try:
        result = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{path} has no run.json: it is no run, or the run has not ended") from None
    except ValueError as error:
        raise RunError(f"{path / 'run.json'} is not JSON: {error}") from None
    schema = result.get("schema") if isinstance(result, dict) else None
    if schema != RUN_SCHEMA:
        raise RunError(f"{path / 'run.json'} has the schema {schema!r}; this version of paretoken reads {RUN_SCHEMA!r}")
    return Run(path, result)


def _column(values: List[Any]) -> Column:
    """Numbers as an array of their type, with NaN where one is absent; everything else as an array of objects."""
    if numpy is None:
        return values
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present):
        if len(present) == len(values):
            return numpy.array(values)
        return numpy.array([numpy.nan if value is None else value for value in values], dtype=float)
    if len(present) == len(values) and all(isinstance(value, bool) for value in present):
        return numpy.array(values, dtype=bool)
    return numpy.array(values, dtype=object)


def _request_lines(path: pathlib.Path) -> Iterator[Dict[str, Any]]:
    """The last line of a run that was killed may be incomplete; it is left out."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.endswith("\n"):
                return
            yield json.loads(line)


def _crc32c_table() -> Sequence[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC32C = _crc32c_table()


def _crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _CRC32C[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def _frames(path: pathlib.Path) -> Iterator[Tuple[int, bytes]]:
    """Yields the index and the body of each frame, until one is cut off or damaged. A run may have kept no events."""
    if not path.exists():
        return
    data = path.read_bytes()
    if data[:24].rstrip(b"\0") != EVENTS_SCHEMA:
        raise RunError(f"{path} does not begin with {EVENTS_SCHEMA.decode()}")
    at = 32
    while at + 16 <= len(data):
        length, crc, index = struct.unpack_from("<IIQ", data, at)
        end = at + 16 + length
        if end > len(data) or _crc32c(data[at + 8:end]) != crc:
            return
        yield index, data[at + 16:end]
        at = end


class _Numbers:
    """Reads the unsigned LEB128 numbers of a frame's body, one after the other."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def byte(self) -> int:
        self.at += 1
        return self.body[self.at - 1]

    def number(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7


def _append_events(columns: Dict[str, List[Any]], index: int, body: bytes) -> None:
    numbers = _Numbers(body)
    warmup = bool(numbers.byte() & 1)
    count = numbers.number()
    described = 0
    while described < count:
        attributes = numbers.byte()
        tokens = attributes >> 4
        if tokens == 15:
            tokens = numbers.number()
        run = numbers.number()
        described += run
        columns["tokens"] += [tokens] * run
        columns["kind"] += [KINDS[attributes & 3]] * run
        columns["grouped"] += [bool(attributes & 4)] * run
        columns["kernel_time"] += [not attributes & 8] * run
    at_ns = 0
    for _ in range(count):
        zigzag = numbers.number()
        at_ns += zigzag >> 1 ^ -(zigzag & 1)
        columns["time_s"].append(at_ns / 1e9)
    choices: List[int] = []
    while numbers.at < len(body) and len(choices) < count:  # only answers with several choices have them
        choice = numbers.byte()
        choices += [choice] * numbers.number()
    columns["choice"] += choices or [0] * count
    columns["request"] += [index] * count
    columns["warmup"] += [warmup] * count
