"""The stages of scripts/gpu_check. Each is a function of the check and its time limit that returns an Outcome; none
of them ends the check."""

import dataclasses
import json
import pathlib
import sys
import time

from . import readings

PEERS = pathlib.Path(__file__).with_name("peers.py")
SMI_KEYS = ("name", "driver_version", "pci.bus_id", "clocks.mem", "clocks.max.mem", "clocks.sm", "clocks.max.sm",
            "mig.mode.current", "power.limit", "temperature.gpu")
CANARY_MIB = 512

# Rows whose kernels are ours; the rest of what is verified is a library's.
OWN_FAMILIES = ("weights", "attention", "mla", "layer", "prefill/attention")
OWN_ROWS = f"^({'|'.join((*OWN_FAMILIES, 'copy'))})"
LIBRARY_ROWS = "gemm_lib|prefill/gemm"
# A kernel that faults takes its process with it, and no more than its family. What time runs out on comes last.
VERIFIED_FAMILIES = (*OWN_FAMILIES, LIBRARY_ROWS, "copy")
FAMILIES = ("ceiling|launch", *VERIFIED_FAMILIES)
SUITE_SECONDS = 180

# One row per kernel worth proving; the first name that matches is taken.
PROVEN_ROWS = (r"^attention/.*llama3-70b/kv:bf16/.*layout:nhd/order:random", r"^attention/.*kv:fp8/",
               r"^weights/.*/op:gate_up/w:bf16/batch:1/", r"^weights/.*/op:gate_up/w:int4/batch:1/", r"^mla/", r"^attention/.*kv:int8/",
               r"^weights/.*/op:gate_up/w:fp8/batch:1/", r"^weights/.*/w:mxfp4/batch:1/")
PROVEN_KERNELS = "attention_decode|mla_decode|multiply_weights"
# Rows of each way of reading that twice the ring must not make slower: all lines evicted first, or not.
DOUBLED_ROWS = (r"^(ceiling/read/mib:256/|weights/preset:llama3-8b/op:gate_up/w:(bf16|int4)/batch:1/|"
                r"attention/preset:llama3-70b/kv:bf16/.*layout:nhd/order:random)")
SAME_TIME = 0.01


@dataclasses.dataclass
class Outcome:
    verdict: str  # passed, failed, skipped
    lines: list = dataclasses.field(default_factory=list)  # what a person reads; for skipped and failed, why
    data: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Check:
    commands: object
    binary: str
    canary: str  # "" where there is none
    out: pathlib.Path
    previous: pathlib.Path  # folder of an earlier call
    rehearse: bool = False

    def rows(self, name, limit_s, flags=(), filter_=None):
        """Runs the benchmark program. ({row: object}, Result); rows are empty when it wrote nothing."""
        path = self.out / name
        path.unlink(missing_ok=True)
        argv = [self.binary, *flags, f"--benchmark_out={path}", "--benchmark_out_format=json"]
        if self.rehearse:
            argv = [self.binary, "--quick", "--threads=1", "--working-set=8M",
                    *(flag for flag in flags if not flag.startswith(("--gpu", "--full"))), *argv[1 + len(flags):]]
        if filter_:
            argv.append(f"--benchmark_filter={filter_}")
        result = self.commands.run(argv, limit_s)
        try:
            return readings.written_rows(path.read_text(encoding="utf-8")), result
        except OSError:
            return {}, result

    def families(self, name, limit_s, flags=(), families=FAMILIES):
        """The rows of each family by a process of its own, in one file. ({row: object}, complaints, seconds)"""
        begin = time.monotonic()
        if self.rehearse:
            families = ("|".join(families),)  # quick ones, and one start
        rows, complaints, context = {}, [], {}
        for done, family in enumerate(families):
            left = limit_s - (time.monotonic() - begin)
            if left < 3:
                complaints.append(f"{family}: not run, the stage's time was up")
                continue
            share = left if done + 1 == len(families) else left * 0.7  # a family that hangs leaves time for others
            found, result = self.rows(f"family-{name}", share, flags, f"^({family}).*{self.backend}")
            path = self.out / f"family-{name}"
            if path.exists():
                context = context or readings.context_of(path.read_text(encoding="utf-8"))
                path.unlink()
            rows.update(found)
            if result.timed_out or (not found and not nothing_matched(result)):
                complaints.append(ended_badly(result, family))
        (self.out / name).write_text(json.dumps({"context": context, "benchmarks": list(rows.values())}, indent=1),
                                     encoding="utf-8")
        return rows, complaints, time.monotonic() - begin

    @property
    def backend(self):
        return "backend:cpu" if self.rehearse else "backend:gpu"


def nothing_matched(result):
    """Such rows do not exist on this machine: no cublasLt, or a program without them."""
    return result.code == 2 and "no row matches" in result.output


def ended_badly(result, what):
    if result.timed_out:
        return f"{what} did not end within {result.seconds:.0f} s; it was at: {result.tail(1)}"
    return f"{what} exited {result.code}: {result.tail()}"


def identity(check, limit_s):
    """Which GPU, driver and clocks, who else is on it, and whether the tools find what was planted."""
    result = check.commands.run([check.binary, "--gpu-identity"], limit_s, "identity.json")
    device = readings.first_json(result.output)
    if result.code != 0 or device is None:
        return Outcome("failed", [ended_badly(result, "--gpu-identity")])
    if device.get("gpu", "") is None:
        return Outcome("failed", [f"no GPU to check: {device.get('because', 'no reason given')}"], {"device": device})
    data = {"device": device}
    lines = [", ".join(f"{key} {value}" for key, value in device.items())]
    wrong = []
    smi = check.commands.run(["nvidia-smi", f"--query-gpu={','.join(SMI_KEYS)}", "--format=csv,noheader,nounits"], 10,
                             "nvidia-smi.csv")
    if smi.code == 0:
        data["smi"] = readings.smi_table(smi.output, SMI_KEYS)
        for gpu in data["smi"]:
            lines.append(", ".join(f"{key} {value}" for key, value in gpu.items()))
            if gpu.get("mig.mode.current") == "Enabled":
                wrong.append("MIG is on: figures of a slice prove nothing of the GPU")
    else:
        lines.append(f"nvidia-smi: skipped, {smi.tail(1)}")
    others = check.commands.run(["nvidia-smi", "--query-compute-apps=pid,name", "--format=csv,noheader"], 10,
                                "processes.csv")
    if others.code == 0 and others.output.strip():
        wrong.append(f"another process is on the GPU: {others.output.strip().splitlines()[0]}")
    for name, found in canaries(check).items():
        data[f"canary_{name}"] = found
        lines.append(f"canary {name}: {found}")
        if found.startswith("NOT"):
            wrong.append(f"canary {name}: {found}")
    return Outcome("failed" if wrong else "passed", wrong + lines, data)


def canaries(check):
    """{tool: "found …" | "NOT found …" | "skipped: why"} for faults and sizes that are known."""
    result = {}
    for tool, fault in (("memcheck", "oob"), ("racecheck", "race")):
        result[tool] = canary_of_sanitizer(check, tool, fault)
    result["ncu"] = canary_of_ncu(check)
    return result


def canary_of_sanitizer(check, tool, fault):
    if not check.canary:
        return "skipped: no canary program beside the binary, and no nvcc to build it"
    if not check.commands.has("compute-sanitizer"):
        return "skipped: no compute-sanitizer here"
    ran = check.commands.run(["compute-sanitizer", "--tool", tool, check.canary, fault], 20, f"canary-{tool}.txt")
    errors = readings.sanitizer_errors(ran.output)
    if errors is None:
        return f"skipped: {ran.tail(1)}"
    return f"found {errors} errors" if errors else "NOT found: the planted fault went unreported"


def canary_of_ncu(check):
    if not check.canary:
        return "skipped: no canary program beside the binary, and no nvcc to build it"
    if not check.commands.has("ncu"):
        return "skipped: no ncu here"
    ran = check.commands.run(ncu([check.canary, "read", str(CANARY_MIB)], "canary_read", "--launch-count", "1"), 30,
                             "canary-ncu.csv")
    values = readings.ncu_values(ran.output)
    if not values:
        return f"skipped: {readings.ncu_refusal(ran.output) or ran.tail(1)}"
    off = values[0][1] / (CANARY_MIB << 20) - 1
    return f"{'found' if abs(off) <= readings.PROVEN_BYTES else 'NOT found'} {CANARY_MIB} MiB within {off * 100:+.1f} %"


def ncu(argv, kernels, *flags):
    """One metric needs one pass, so that caches and clocks stay as they are."""
    return ["ncu", "--csv", "--print-units", "base", "--metrics", "dram__bytes_read.sum", "--clock-control", "none",
            "--cache-control", "none", "--kernel-name-base", "function", "-k", f"regex:{kernels}", *flags, *argv]


def verify(check, limit_s):
    """Every kernel against fp64 on small ragged shapes; then the same with a fault in each operand."""
    begin = time.monotonic()
    rows, complaints, _ = check.families("verify.json", limit_s * 0.7, ["--gpu-verify"],
                                         VERIFIED_FAMILIES)
    (check.out / "verify.json").unlink(missing_ok=True)
    failed = readings.failed_rows(rows)
    if failed or complaints or not rows:
        reasons = [f"{name}: {why}" for name, why in failed.items()] + complaints
        return Outcome("failed", reasons or ["nothing was verified"], {"rows": len(rows), "failed": failed})
    lacking = readings.lacking_rows(rows)
    left = max(5, limit_s - (time.monotonic() - begin))
    spoilt, complaints, _ = check.families("planted.json", left, ["--gpu-verify", "--plant-fault"],
                                           VERIFIED_FAMILIES)
    (check.out / "planted.json").unlink(missing_ok=True)
    spoilt = {name: row for name, row in spoilt.items() if name not in readings.lacking_rows(spoilt)}
    missed = sorted(set(spoilt) - set(readings.failed_rows(spoilt)))
    if not spoilt or complaints:
        return Outcome("failed", complaints or ["nothing was verified with a planted fault"], {"rows": len(rows)})
    if missed:
        return Outcome("failed", [f"a planted fault went unnoticed: {name}" for name in missed], {"rows": len(rows)})
    return Outcome("passed", [f"{len(rows) - len(lacking)} rows agree with fp64, and all {len(spoilt)} with a planted "
                              "fault do not", *(f"{name}: not here: {why}" for name, why in lacking.items())],
                   {"rows": len(rows) - len(lacking), "planted": len(spoilt)})


def sanitizer(check, limit_s):
    """memcheck and racecheck over our kernels on small shapes; the library's are left out."""
    if not check.commands.has("compute-sanitizer"):
        return Outcome("skipped", ["no compute-sanitizer here"])
    log, lines, bad = [], [], []
    end = time.monotonic() + limit_s
    for tool, share in (("memcheck", 0.4), ("racecheck", 1)):
        argv = ["compute-sanitizer", "--tool", tool, "--launch-timeout", "30", check.binary, "--gpu-verify",
                f"--benchmark_filter={OWN_ROWS}"]
        ran = check.commands.run(argv, (end - time.monotonic()) * share, f"{tool}.txt")
        log.append(f"$ {' '.join(argv)}\n{ran.output[-6000:]}")
        errors = readings.sanitizer_errors(ran.output)
        if errors:
            bad.append(f"{tool}: {errors} errors")
        lines.append(f"{tool}: {errors} errors" if errors is not None else f"{tool}: skipped, {ended_badly(ran, 'it')}")
    (check.out / "sanitizer.txt").write_text("\n".join(log), encoding="utf-8")
    if bad:
        return Outcome("failed", lines)
    return Outcome("skipped" if any("skipped" in line for line in lines) else "passed", lines)


def ceilings(check, limit_s):
    """What the GPU reads, writes and computes at most; and whether twice the ring changes what a kernel takes."""
    rows, result = check.rows("ceilings.json", limit_s, filter_=f"^ceiling/.*{check.backend}")
    if not rows:
        return Outcome("failed", [ended_badly(result, "the ceilings")])
    failed, lacking = readings.failed_rows(rows), readings.lacking_rows(rows)
    lines = [f"{name}: {speed_text(row)}" for name, row in rows.items() if name not in failed and name not in lacking]
    lines += [f"{name}: FAILED, {why}" for name, why in failed.items()]
    lines += [f"{name}: not here: {why}" for name, why in lacking.items()]
    ring, changed = ring_doubling(check, max(5, limit_s - result.seconds))
    return Outcome("failed" if failed or changed else "passed", lines + ring, {"rows": brief(rows)})


def ring_doubling(check, limit_s):
    """(lines, whether a time changed by 1 % or more). The largest change of each family is told."""
    help_ = check.commands.run([check.binary, "--help"], 10)
    if check.rehearse or "--ring-scale" not in help_.output:
        return ["ring doubling: skipped, the program has no --ring-scale" if not check.rehearse
                else "ring doubling: skipped in a rehearsal"], False
    once, _ = check.rows("ring.json", limit_s / 2, ["--quick"], DOUBLED_ROWS)
    twice, _ = check.rows("ring.json", limit_s / 2, ["--quick", "--ring-scale=2"], DOUBLED_ROWS)
    (check.out / "ring.json").unlink(missing_ok=True)
    return doubling_lines(readings.repeatability(once, twice))


def doubling_lines(changes):
    """Of readings.repeatability(once, twice): (a line for the largest change of each family, whether one is too large)"""
    if not changes:
        return ["ring doubling: skipped, no row was measured twice"], False
    largest = {}
    for name, change in changes:  # the largest first
        largest.setdefault(name.split("/")[0], (name, change))
    return [f"ring doubling: {change * 100:+.2f} % on {name}" for name, change in largest.values()], \
        any(abs(change) >= SAME_TIME for _, change in changes)


def suite(check, limit_s):
    """The default suite. Held against an earlier call's, where there is one."""
    before = {}
    for folder in (check.previous, check.out):
        try:
            before = readings.rows_of(json.loads((folder / "suite.json").read_text(encoding="utf-8")))
            break
        except (OSError, ValueError):
            continue
    name = "suite.json" if not before or check.previous != check.out else "suite-2.json"
    rows, complaints, seconds = check.families(name, limit_s)
    failed, lacking = readings.failed_rows(rows), readings.lacking_rows(rows)
    if not rows:
        return Outcome("failed", complaints or ["nothing was measured"])
    invalid = {n: row.get("label", "") for n, row in rows.items()
               if n not in failed and n not in lacking and row.get("valid") == 0}
    lines = [f"{len(rows)} rows in {seconds:.0f} s, {len(failed)} failed, {len(invalid)} invalid, "
             f"{len(lacking)} not for this machine", *complaints]
    if seconds > SUITE_SECONDS:
        lines.append(f"LONGER than the {SUITE_SECONDS} s that the default suite may take (as {len(FAMILIES)} processes, "
                     "each with its own read ceiling)")
    lines += [f"{n}: FAILED, {why}" for n, why in failed.items()]
    lines += [f"{n}: not here: {why}" for n, why in lacking.items()]
    data = {"rows": brief(rows), "seconds": seconds, "invalid": invalid, "lacking": lacking}
    if not before:
        lines.append("repeatability: skipped, no earlier call's suite.json in --previous or --out")
    else:
        data["repeatability"] = dict(readings.repeatability(before, rows))
        lines += readings.repeatability_lines(before, rows)
    return Outcome("failed" if failed or complaints else "passed", lines, data)


def bytes_(check, limit_s):
    """dram__bytes_read.sum of eight kernels against the bytes that their rows claim."""
    if not check.commands.has("ncu"):
        return Outcome("skipped", ["no ncu here: all rows are bytes: unproven", *slope_lines(check)])
    listed = check.commands.run([check.binary, "--list"], 20, "list.txt" if check.rehearse else None)
    chosen = readings.chosen_rows([line for line in listed.output.splitlines() if "backend:gpu" in line], PROVEN_ROWS)
    if not chosen:
        return Outcome("skipped", ["no row to prove: the program lists none of those chosen"])
    end = time.monotonic() + limit_s
    log, why, data = [], {}, {}
    # All in one process; what it did not tell, by one each.
    for names in (chosen, *([name] for name in chosen)):
        names = [name for name in names if name not in data]
        left = end - time.monotonic()
        if not names:
            continue
        if left < 5:
            why.update({name: why.get(name, "the stage's time was up") for name in names})
            continue
        ran = check.commands.run(profiled(check.binary, names), left, "ncu.csv")
        log.append(f"# {', '.join(names)}\n{ran.output[-6000:]}")
        refusal = readings.ncu_refusal(ran.output)
        why.update(dict.fromkeys(names, refusal or (ended_badly(ran, "ncu") if ran.code else "ncu told no bytes of it")))
        data.update({name: row for name, row in readings.proven_bytes(ran.output, names).items() if name in names})
        if refusal:
            break
    (check.out / "ncu.txt").write_text("\n".join(log), encoding="utf-8")
    lines = [f"{name}: {row['read'] / 1e6:.1f} MB read, {(row['read'] / row['claimed'] - 1) * 100:+.2f} % of what it claims"
             for name, row in data.items()]
    lines += [f"{name}: bytes: unproven, {why[name]}" for name in chosen if name not in data]
    if not data:
        return Outcome("skipped", lines + slope_lines(check))
    off = [row["read"] / row["claimed"] - 1 for row in data.values()]
    if any(change < -readings.PROVEN_BYTES for change in off):
        lines.append("fewer bytes than claimed: either the claim is wrong, or a part of the ring stays in L2")
    return Outcome("failed" if any(abs(change) > readings.PROVEN_BYTES for change in off) else "passed", lines, data)


def profiled(binary, names):
    """The command that reads the counters of two launches of each row."""
    rows = "|".join(names)
    return ncu([binary, "--gpu-profile", f"--benchmark_filter=^({rows})$"], PROVEN_KERNELS, "--profile-from-start", "off")


def slope_lines(check):
    """What stands in for counters: the cost of a further byte, held against the read ceiling's. No proof."""
    speeds = readings.slopes(suite_rows(check))
    ceiling = speeds.pop("ceiling/read", None)
    lines = []
    for kind, speed in sorted(speeds.items()):
        of_ceiling = f", {speed / ceiling * 100:.1f} % of the read ceiling's" if ceiling else ""
        doubt = ": BEYOND it, so fewer bytes are read than claimed" if ceiling and speed > 1.02 * ceiling else ""
        lines.append(f"slope of time against claimed bytes, {kind}: {speed / 1e9:.0f} GB/s{of_ceiling}{doubt}")
    return lines


def suite_rows(check):
    """Rows of this call's suite, or an earlier one's."""
    for path in (check.out / "suite-2.json", check.out / "suite.json", check.previous / "suite.json"):
        try:
            return readings.rows_of(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return {}


def peers(check, limit_s):
    """The same work in PyTorch and what it carries, in turns: ours, theirs, theirs, ours."""
    end = time.monotonic() + limit_s
    probe = check.commands.run([sys.executable, PEERS, "--probe"], 60, "peers-probe.json")
    found = readings.first_json(probe.output)
    if not found or not found.get("rows"):
        return Outcome("skipped", [f"no peers: {(found or {}).get('because') or probe.tail(1)}"])
    # Full: it has the library's rows at a decode step's batches.
    names = [f"{name}/" for name in found["rows"] if not check.rehearse] or ["weights/"]
    libraries = [readings.library_row(name) for name in names if name.startswith("weights/")]
    ours, theirs, notes = {}, {}, []

    def own(left, filter_):
        rows, result = check.rows("ours.json", left, ["--full"], f"^({'|'.join(filter_)})")
        (check.out / "ours.json").unlink(missing_ok=True)
        if result.code != 0 and not nothing_matched(result):
            notes.append(ended_badly(result, "ours"))
        return [(name.split("/backend:")[0], row) for name, row in rows.items()
                if row.get("median_s") and not row.get("error_occurred")]

    for turn in ("ours", "theirs", "theirs", "ours"):
        left = end - time.monotonic()
        if left < 10:
            notes.append(f"stopped before a turn of {turn}: the stage's time was up")
            break
        if turn == "ours":
            for name, row in own(left, names):
                ours.setdefault(name, []).append(row)
            continue
        for name, row in own(left * 0.3, libraries):
            if name.startswith("gemm_lib/"):
                theirs.setdefault((name.replace("gemm_lib/", "weights/", 1), "cuBLASLt"), []).append(row)
        result = check.commands.run([sys.executable, PEERS], max(5, end - time.monotonic()), "peers.json")
        for row in readings.json_lines(result.output):
            if "median_s" in row:
                theirs.setdefault((row["name"], row["peer"]), []).append(row)
                setting = f"{row['peer']} on {row['name']}: {row['setting']}" if row.get("setting") else ""
                notes += [setting] if setting and setting not in notes else []
            elif row.get("skipped") not in notes:
                notes.append(row.get("skipped", str(row)))
        if result.code != 0:
            notes.append(ended_badly(result, turn))
    table = compared(ours, theirs)
    (check.out / "peers.json").write_text(json.dumps(table, indent=1), encoding="utf-8")
    if not table:
        return Outcome("skipped", ["nothing could be compared", *notes])
    lines = [f"{row['name']} against {row['peer']}: {row['verdict']}, {row['ratio']:.3f} x its speed" for row in table]
    lost = sum(row["verdict"] == "slower" for row in table)
    return Outcome("passed", [f"{len(table)} comparisons, {lost} lost", *lines, *notes], {"table": table})


def compared(ours, theirs):
    table = []
    for (name, peer), rows in sorted(theirs.items()):
        if name not in ours:
            continue
        mine, other = readings.interval(ours[name]), readings.interval(rows)
        table.append({"name": name, "peer": peer, "ours_s": mine, "theirs_s": other, "ratio": other[1] / mine[1],
                      "verdict": readings.verdict(mine, other)})
    return table


def speed_text(row, name=""):
    """Products of many tokens and prompts are bound by arithmetic, whatever they read."""
    if row.get("bytes_per_second") and not (row.get("flops_per_second") and name.startswith(("prefill/", "gemm_lib/"))):
        return f"{row['bytes_per_second'] / 1e9:.1f} GB/s"
    if row.get("flops_per_second"):
        return f"{row['flops_per_second'] / 1e12:.2f} TFLOP/s"
    return f"{float(row.get('median_s', 0)) * 1e6:.2f} us"


def brief(rows):
    """What the tables need of each row."""
    keys = ("bytes_per_second", "flops_per_second", "median_s", "of_ceiling", "of_asymptote", "cv", "valid", "label",
            "error_message")
    return {name: {key: row[key] for key in keys if key in row} for name, row in rows.items()}


# Name, seconds at most, seconds without which it is not worth starting, function. They add up to more than a call has:
# what is worth least comes last.
STAGES = (
    ("identity", 90, 5, identity),
    ("verify", 90, 10, verify),
    ("ceilings", 60, 10, ceilings),
    ("suite", 250, 30, suite),
    ("bytes", 90, 20, bytes_),
    ("peers", 240, 40, peers),
    ("sanitizer", 200, 20, sanitizer),
)
