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


def lacking_rows(rows):
    """{row: why} of rows that this machine lacks something for: they are listed, say so, and were not measured."""
    return {name: row.get("label", "no reason given") for name, row in rows.items()
            if row.get("valid") == 0 and "median_s" not in row and not row.get("error_occurred")}


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


def proven_bytes(output, names):
    """{row: {"claimed", "read"}} of rows that paretoken-microbench --gpu-profile launched under ncu. It tells each
    row and how often it launched it, in order; nothing where the kernels that ncu saw are not as many."""
    told = [first_json(line[line.index("{"):]) for line in output.splitlines() if '{"profiled"' in line]
    told = [row for row in told if row]
    values = [value for _, value in ncu_values(output)]
    if not told or len(values) != sum(row["launches"] for row in told):
        return {}
    proven = {}
    for row in told:
        mine, values = values[:row["launches"]], values[row["launches"]:]
        name = next((name for name in names if name.startswith(row["profiled"] + "/backend:")), None)
        if name:
            proven[name] = {"claimed": row["read_bytes"], "read": sum(mine) / len(mine)}
    return proven


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


def repeatability_lines(first, second):
    """What a person reads of two suites: how many rows agree, those that do not, and those that only one has."""
    changes = repeatability(first, second)
    if not changes:
        return ["repeatability: no row was measured in both calls"]
    beyond = [change for change in changes if abs(change[1]) > REPEATABLE]
    sizes = sorted(abs(change) for _, change in changes)
    lines = [f"repeatability: {len(changes) - len(beyond)} of {len(changes)} rows within {REPEATABLE * 100:.0f} %",
             f"repeatability: half of the rows within {sizes[len(sizes) // 2] * 100:.2f} %, "
             f"all within {sizes[-1] * 100:.1f} %"]
    unsteady = {name for name, _ in beyond if 0 in (first[name].get("valid"), second[name].get("valid"))}
    for name, change in beyond[:10]:
        why = ", called invalid in one of the calls" if name in unsteady else ""
        lines.append(f"repeatability: {name} {change * 100:+.1f} %{why}")
    if len(beyond) > 10:
        lines.append(f"repeatability: and {len(beyond) - 10} more")
    measured = {name for name, row in first.items() if speed_of(row)} ^ {name for name, row in second.items() if speed_of(row)}
    if measured:
        lines.append(f"repeatability: {len(measured)} rows were measured in one call only, e.g. {min(measured)}")
    return lines


def library_row(name):
    """The row of the library's product that a row of weights is held against."""
    return name.replace("weights/", "gemm_lib/", 1)


def axis(name, key):
    """The value of "key:value" in a row's name, or ""."""
    found = re.search(rf"/{key}:([^/]+)", name)
    return found.group(1) if found else ""


def of_library(name, rows):
    """Operations per second of a product or a prompt's attention ÷ the most that the library reached with such
    numbers, added up in the same way, in the same call; None for other rows."""
    flops = rows[name].get("flops_per_second")
    if not flops or not re.match("gemm_lib/|prefill/", name):
        return None
    kind = axis(name, "w") or axis(name, "kv")
    best = [row["flops_per_second"] for other, row in rows.items()
            if other.startswith("ceiling/flops/lib/") and axis(other, "w") == kind
            and axis(other, "accum") == axis(name, "accum") and row.get("flops_per_second")]
    return flops / max(best) if best else None


def of_link(name, row, device):
    """Bytes per second of a copy ÷ what the link to the host carries, where that is known."""
    link = device.get("gpu_pcie_bytes_per_second")
    if not name.startswith("copy/") or not link or not row.get("bytes_per_second"):
        return None
    return row["bytes_per_second"] / float(link)


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
