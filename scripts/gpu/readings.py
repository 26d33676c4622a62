"""What the outputs of nvidia-smi, compute-sanitizer, ncu and paretoken-microbench say. Pure."""

import csv
import io
import json
import re

REPEATABLE = 0.02
PROVEN_BYTES = 0.03

UNITS = {"byte": 1, "kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9, "": 1}


def first_json(text):
    """The first JSON object in a program's output, or None."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0]
    except ValueError:
        return None


def json_lines(text):
    """The lines that are JSON objects; a program that was stopped may have left half of one."""
    found = (first_json(line) for line in text.splitlines() if line.startswith("{"))
    return [one for one in found if one is not None]


def rows_of(document):
    """{row name: its object} of a Google Benchmark file; rows that failed have "error_occurred"."""
    return {row["name"]: row for row in document.get("benchmarks", []) if row.get("run_type", "iteration") == "iteration"}


def context_of(text):
    """The description of the machine at the head of a Google Benchmark file, whole or not; {} without one."""
    start = text.find('"context":')
    return (first_json(text[start:]) if start >= 0 else None) or {}


def written_rows(text):
    """rows_of a file that may have lost its end: a stopped program has written whole rows, but no last brackets."""
    for end in ("", "]}"):
        try:
            return rows_of(json.loads(text.rstrip().rstrip(",") + end))
        except ValueError:
            continue
    return {}


def failed_rows(rows):
    return {name: row.get("error_message", "no reason given") for name, row in rows.items() if row.get("error_occurred")}


def sanitizer_errors(output):
    """How many errors compute-sanitizer counted; None where it did not come to its end and had found none, or where
    it cannot work on this GPU (which it counts as an error)."""
    if "Device not supported" in output:
        return None
    counts = re.findall(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", output)
    if counts:
        return sum(int(errors or hazards) for errors, hazards in counts)
    return len(re.findall(r"^========= (?:Invalid |Error: Race)", output, re.MULTILINE)) or None


def ncu_values(output, metric="dram__bytes_read.sum"):
    """[(kernel, bytes)] from ncu --csv; lines before the table are its messages and the program's own."""
    lines = output.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    values = []
    for row in csv.DictReader(io.StringIO("\n".join(line for line in lines[start:] if line.startswith('"')))):
        if row.get("Metric Name") != metric:
            continue
        number = float(row["Metric Value"].replace(",", ""))
        values.append((row["Kernel Name"], number * UNITS.get(row.get("Metric Unit", "").lower(), 1)))
    return values


def ncu_refusal(output):
    """Why ncu read nothing, or None."""
    if "ERR_NVGPUCTRPERM" in output:
        return "this user may not read the GPU's counters (ERR_NVGPUCTRPERM)"
    found = re.search(r"==ERROR==\s*(.+)", output)
    return found.group(1).strip() if found else None


def smi_table(output, keys):
    """One {key: text} per GPU from nvidia-smi --format=csv,noheader,nounits."""
    lines = [line for line in output.strip().splitlines() if line.strip()]
    return [dict(zip(keys, (cell.strip() for cell in line.split(",")))) for line in lines]


def speed_of(row):
    """What is compared between runs: bytes/s, flops/s, or launches/s; None for a row without a time."""
    for key in ("bytes_per_second", "flops_per_second"):
        if row.get(key):
            return float(row[key])
    median = row.get("median_s")
    return 1 / float(median) if median else None


def slopes(rows, least_bytes=64e6):
    """{kind of row: bytes/s} by least squares of time against claimed bytes, where there are three sizes or more: what
    each further byte costs, whatever a launch does. Bytes that were claimed and not read show as a speed beyond the
    ceiling's."""
    points = {}
    for name, row in rows.items():
        kind = re.match(r"(ceiling/read)/|(attention|mla|weights)/.*?/((?:kv|w):\w+)", name)
        if kind and row.get("read_bytes", 0) >= least_bytes and row.get("median_s") and not row.get("error_occurred"):
            key = kind.group(1) or f"{kind.group(2)} {kind.group(3)}"
            points.setdefault(key, []).append((float(row["read_bytes"]), float(row["median_s"])))
    found = {}
    for key, pairs in points.items():
        sizes, times = zip(*pairs)
        mean_size, mean_time = sum(sizes) / len(pairs), sum(times) / len(pairs)
        spread = sum((size - mean_size) ** 2 for size in sizes)
        slope = sum((size - mean_size) * (time - mean_time) for size, time in pairs) / spread if spread else 0
        if len({round(size) for size in sizes}) >= 3 and slope > 0:
            found[key] = 1 / slope
    return found


def repeatability(first, second):
    """[(name, second ÷ first − 1)] of rows in both, the largest change first."""
    changes = []
    for name, row in second.items():
        before, now = speed_of(first.get(name, {})), speed_of(row)
        if before and now:
            changes.append((name, now / before - 1))
    return sorted(changes, key=lambda change: -abs(change[1]))


def interval(rows):
    """(low, median, high) seconds of one thing measured several times: the outermost quartiles, and the middle median."""
    medians = sorted(float(row["median_s"]) for row in rows)
    low = min(float(row.get("p25_s") or row["median_s"]) for row in rows)
    high = max(float(row.get("p75_s") or row["median_s"]) for row in rows)
    return low, medians[len(medians) // 2], high


def verdict(ours, theirs):
    """"faster" or "slower" only where the intervals do not overlap."""
    if ours[2] < theirs[0]:
        return "faster"
    if ours[0] > theirs[2]:
        return "slower"
    return "ambiguous"


def chosen_rows(names, patterns):
    """For each pattern the first name that matches, no name twice."""
    chosen = []
    for pattern in patterns:
        found = next((name for name in names if re.search(pattern, name) and name not in chosen), None)
        if found:
            chosen.append(found)
    return chosen
