"""Makes the table, the chart and the JSON file of a comparison. Computing text is pure; `write` alone touches files."""

import datetime
import html
import json
import math
import os
import pathlib
import platform
import shutil
import statistics
import subprocess

from compare.clients import CLIENTS
from compare.process import DISTURBED_ABOVE
from compare.truth import cpu_per_event_s



def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory_bytes():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def version_of_paretoken(program):
    words = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10,
                           check=False).stdout.split()
    return words[1] if len(words) > 1 else "unknown"


def empty_result(options, missing, versions):
    return {"schema": "paretoken/clients/1", "date": datetime.date.today().isoformat(),
            "machine": {"cpu": cpu_model(), "cores": os.cpu_count(), "memory_bytes": memory_bytes(),
                        "kernel": platform.release()},
            "versions": versions, "missing": missing, "profile": options.profile, "isl": options.isl,
            "osl": options.osl, "levels": options.levels, "cpu_streams": options.cpu_streams,
            "cpu_rounds": options.cpu_rounds,
            "requests_per_stream": options.requests_per_stream, "least_requests": options.least_requests,
            "server_core": options.server_core, "client_core": options.client_core, "runs": [], "failures": []}


# figures --------------------------------------------------------------------------------------------------------------

def milliseconds(seconds):
    """Three digits, more where the value is small enough to need them."""
    if seconds is None:
        return "–"
    value = seconds * 1e3
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 30 else f"{value:.2f}"


def signed_duration(seconds):
    sign, size = "−" if seconds < 0 else "+", abs(seconds)
    if size < 0.5e-6:
        return "0 µs"
    if size < 1e-3:
        return f"{sign}{size * 1e6:.0f} µs"
    return f"{sign}{size * 1e3:.1f} ms" if size < 0.1 else f"{sign}{size * 1e3:.0f} ms"


def difference(row, figure, p):
    reported, true = row["reported_s"][figure][p], row["true_s"][figure][p]
    return None if reported is None or true is None else reported - true


def cell(row, figure, p):
    true, reported = row["true_s"][figure][p], row["reported_s"][figure][p]
    return f"{milliseconds(true)} → {milliseconds(reported)}"


def one_line(row):
    error = difference(row, "ttft", "p50")
    return (f"{row['completed']} done, {row['joined']} joined, TTFT p50 {cell(row, 'ttft', 'p50')} ms"
            f"{'' if error is None else ' (' + signed_duration(error) + ')'}, {row['cpu_s']:.2f} s of CPU")


def rows_of(result, client, streams, output_tokens):
    return [row for row in result["runs"]
            if (row["client"], row["streams"], row["output_tokens"]) == (client, streams, output_tokens)]


def cpu_per_event(result, client):
    """Seconds, the median over the pairs of runs; None where there is no pair that tells."""
    shorter, longer = ([(row["events"], row["cpu_s"]) for row in rows_of(result, client, result["cpu_streams"], osl)]
                       for osl in result["osl"])
    slopes = [slope for slope in map(cpu_per_event_s, shorter, longer) if slope is not None]
    return statistics.median(slopes) if slopes else None


def costs(result, client):
    """What a client takes: {cpu_per_event_s, start_up_s (median), peak_rss_bytes, most_processes}, absent as None."""
    runs = [row for row in result["runs"] if row["client"] == client]
    starts = [row["start_up_s"] for row in runs if row["start_up_s"] is not None]
    at_level = [row for row in runs if row["streams"] == result["cpu_streams"]]
    return {"cpu_per_event_s": cpu_per_event(result, client),
            "start_up_s": statistics.median(starts) if starts else None,
            "peak_rss_bytes": max((row["peak_rss_bytes"] for row in at_level), default=None),
            "most_processes": max((row["most_processes"] for row in at_level), default=None)}


# text -----------------------------------------------------------------------------------------------------------------

def table(head, right, rows):
    """A Markdown table; columns named in `right` are set to the right."""
    lines = [head, ["---:" if name in right else "---" for name in head], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def said(row):
    if not row["doubts"]:
        return "no"
    more = len(row["doubts"]) - 1
    return row["doubts"][0].replace("|", "/").replace("\n", " ") + (f" (and {more} more)" if more else "")


def truth_table(result):
    head = ["streams", "client", "TTFT p50", "TTFT p99", "ITL p50", "ITL p99", "e2e p50", "e2e p99",
            "error of one TTFT, p50 / p99", "doubted itself"]
    rows = []
    for streams in result["levels"]:
        for client in result["versions"]:
            for row in rows_of(result, client, streams, result["osl"][0])[-1:]:
                errors = row["ttft_error_s"]
                rows.append([str(streams), CLIENTS[client].title,
                             *(cell(row, figure, p) for figure in ("ttft", "itl", "e2e") for p in ("p50", "p99")),
                             f"{signed_duration(errors['p50'])} / {signed_duration(errors['p99'])}" if errors else "–",
                             said(row)])
    return table(head, set(head) - {"client", "doubted itself"}, rows)


def definitions_table(result):
    """The runs of paretoken by the definitions of the others, which shows what is not a matter of the clients."""
    head = ["streams", "definitions of", "TTFT p50", "TTFT p99", "ITL p50", "ITL p99", "e2e p50", "e2e p99"]
    rows = []
    for streams in result["levels"]:
        for row in rows_of(result, "paretoken", streams, result["osl"][0])[-1:]:
            for client, figures in {"paretoken": row["reported_s"], **row.get("by_definitions_s", {})}.items():
                rows.append([str(streams), CLIENTS[client].title,
                             *(milliseconds(figures.get(figure, {}).get(p))
                               for figure in ("ttft", "itl", "e2e") for p in ("p50", "p99"))])
    return table(head, set(head) - {"definitions of"}, rows)


def imported_table(result):
    """What other clients reported, and what `paretoken import` computes of the same file, beside the truth."""
    head = ["streams", "client", "TTFT p50", "TTFT p99", "ITL p50", "ITL p99", "e2e p50", "e2e p99"]
    rows = [[str(row["streams"]), CLIENTS[row["client"]].title,
             *(f"{cell(row, figure, p)} → {milliseconds(row['imported_s'][figure][p])}"
               for figure in ("ttft", "itl", "e2e") for p in ("p50", "p99"))]
            for streams in result["levels"] for client in result["versions"]
            for row in rows_of(result, client, streams, result["osl"][0])[-1:] if "imported_s" in row]
    return table(head, set(head) - {"client"}, rows)


def cost_table(result):
    head = ["client", "version", "CPU per event", "to paretoken's", "start to first request", "peak memory",
            "processes"]
    ours = costs(result, "paretoken")["cpu_per_event_s"]
    rows = []
    for client, version in result["versions"].items():
        cost = costs(result, client)
        cpu, start = cost["cpu_per_event_s"], cost["start_up_s"]
        ratio = f"{cpu / ours:.1f}×" if cpu and ours and ours > 0 else "–"
        rows.append([CLIENTS[client].title, version, "–" if cpu is None else f"{cpu * 1e6:.1f} µs", ratio,
                     "–" if start is None else f"{start:.2f} s",
                     "–" if cost["peak_rss_bytes"] is None else f"{cost['peak_rss_bytes'] / 2**20:,.0f} MiB",
                     str(cost["most_processes"] or "–")])
    return table(head, set(head) - {"client", "version"}, rows)


def pinning(result):
    where = [f"{who} on core {core}" for who, core in (("server", result["server_core"]),
                                                        ("client", result["client_core"])) if core != ""]
    return ", ".join(where) or "nothing pinned"


def machine_sentence(result):
    machine = result["machine"]
    return (f"Measured on {result['date']}: {machine['cpu']}, {machine['cores']} cores, "
            f"{machine['memory_bytes'] / 2**30:.0f} GiB, Linux {machine['kernel']}; {pinning(result)}; loopback.")


def quiet_sentence(result):
    if not result["runs"]:
        return ""
    worst = max(row["machine_lost_before"] for row in result["runs"])
    late = statistics.median(row["server_late_s"]["p99"] for row in result["runs"])
    state = "the machine was disturbed, the figures are not to be trusted" if worst > DISTURBED_ABOVE else "quiet"
    return (f"A spinning process lost at most {worst * 100:.1f} % of its time before a run ({state}); the server wrote "
            f"99 % of tokens within {late * 1e6:,.0f} µs of their time (median of the runs).")


def reasons(result):
    lines = [f"- {CLIENTS[name].title} is missing: {reason}" for name, reason in result["missing"].items()]
    lines += [f"- {CLIENTS[row['client']].title} failed at {row['streams']} streams, {row['output_tokens']} tokens: "
              f"{row['reason']}" for row in result["failures"]]
    return "\n".join(lines)


def markdown(result):
    short, long = result["osl"]
    ids = sorted({CLIENTS[row["client"]].title for row in result["runs"] if not row["joined"]})
    parts = [
        "# Comparison of clients with the server's log",
        f"Every client generates the same loads on the same simulated server (`{result['profile']}`). The server logs "
        "when the kernel received each request and when the server wrote each token. Each cell is *true value → reported "
        "value* in milliseconds; the true value is that of the same run. Delays of the server itself, also those that a "
        "client's load causes, are part of the true value, so that the difference is due to the client alone.",
        f"The loads are closed loops of streamed chat completions with prompts of {result['isl']} tokens and answers of "
        f"{short} tokens, one token per event. There are {result['requests_per_stream']} requests per stream, and at least "
        f"{result['least_requests']}.",
        truth_table(result),
        "![Difference between reported and true time to first token](clients.svg)",
        "- *Error of one TTFT*: reported minus true value of each request, matched by request id"
        + (f" (not possible for {', '.join(ids)}: compared by distribution)." if ids else "."),
        "- For GuideLLM, ITL is the mean of each request's gaps, because it reports no single gaps; the true value is "
        "computed in the same way. For AIPerf, ITL is its inter-chunk latency.",
        "- *Doubted itself*: the warnings about its own figures that the tool gave in its result or its log.",
        "## The same run by each definition",
        "The requests of paretoken's runs, computed by the definitions of each client (`paretoken show DIR --definitions "
        "NAME`, docs/definitions.md). What differs here is a matter of words; what differs above beyond that is the client.",
        definitions_table(result),
        "## After import",
        "`paretoken import` reads the result file of each client and computes our metrics from *its* times of requests. Each "
        "cell is *true value → reported by the client → computed after import* in milliseconds. What an import cannot mend is "
        "the client's own delay.",
        imported_table(result),
        "## Cost of the clients",
        cost_table(result),
        "- CPU per event: CPU time (user and system, all processes) from the first request to the end. It is the increase "
        f"per event between loads with answers of {short} and of {long} tokens at {result['cpu_streams']} streams, so "
        f"that the costs of start-up and of requests are not included. The median of up to {result['cpu_rounds']} pairs "
        "is given; the clients were measured in turn. The cost per event is lower at higher loads.",
        "- Start to first request: the time from the start of the process until the kernel received the first request of "
        "the load, median of the runs. Probes before that are not counted as requests, but their time is included: "
        "paretoken first asks the server how it counts the tokens of a prompt.",
        "- Peak memory: resident memory of all processes of the tool, sampled ten times per second, at "
        f"{result['cpu_streams']} streams. Pages that processes share count for each of them.",
        "## How",
        machine_sentence(result) + " " + quiet_sentence(result),
        "`scripts/compare_clients --out DIR` repeats the comparison; its file `clients.json` has all figures.",
    ]
    if why := reasons(result):
        parts.append(why)
    text = ""
    for part in parts:  # list items stay together
        text += part + ("\n" if part.startswith("- ") else "\n\n")
        if part.startswith("- ") and parts.index(part) + 1 < len(parts):
            text += "" if parts[parts.index(part) + 1].startswith("- ") else "\n"
    return text.rstrip() + "\n"


# chart ----------------------------------------------------------------------------------------------------------------

STYLE = """
  .card { fill: #ffffff; stroke: #d7dbe0; } .text { fill: #24292f; } .dim { fill: #57606a; }
  .grid { stroke: #d7dbe0; } .band { fill: #f3f5f7; }
  .c0 { --c: #0b7a4b; } .c1 { --c: #1f5fbf; } .c2 { --c: #a2480f; } .c3 { --c: #7a3fb0; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d; } .text { fill: #e6edf3; } .dim { fill: #9198a1; }
    .grid { stroke: #30363d; } .band { fill: #161b22; }
    .c0 { --c: #3fb97f; } .c1 { --c: #6ea8ff; } .c2 { --c: #f0914f; } .c3 { --c: #c297f5; }
  }
  .p50 { fill: var(--c); } .p99 { fill: none; stroke: var(--c); stroke-width: 2; }
  .span { stroke: var(--c); stroke-width: 2; opacity: .45; }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; } .title { font-size: 16px; font-weight: 600; }
"""
WIDTH, LEFT, RIGHT, TOP, ROW, GAP = 880, 206, 190, 84, 24, 14
AXIS = (1e-6, 1.0)


def place(seconds):
    """x of a duration on the logarithmic axis; what is off it stands at its edge."""
    low, high = (math.log10(edge) for edge in AXIS)
    at = min(max(math.log10(max(abs(seconds), 1e-12)), low), high)
    return LEFT + (at - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def svg_text(x, y, text, kind="text", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{html.escape(text)}</text>'


def svg_axis(bottom):
    names = {1e-6: "1 µs", 1e-5: "10 µs", 1e-4: "100 µs", 1e-3: "1 ms", 1e-2: "10 ms", 1e-1: "100 ms", 1.0: "1 s"}
    lines = []
    for value, name in names.items():
        x = place(value)
        lines.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" class="grid"/>')
        lines.append(svg_text(x, TOP - 12, name, "dim", "middle"))
    return lines


def svg_row(client, y, p50, p99):
    kind = f"c{list(CLIENTS).index(client)}"
    middle = y + ROW / 2
    return [f'<g class="{kind}">',
            f'<line x1="{place(p50):.1f}" y1="{middle}" x2="{place(p99):.1f}" y2="{middle}" class="span"/>',
            f'<circle cx="{place(p99):.1f}" cy="{middle}" r="5" class="p99"/>',
            f'<circle cx="{place(p50):.1f}" cy="{middle}" r="5.5" class="p50"/>', "</g>",
            svg_text(LEFT - 12, middle + 4.5, CLIENTS[client].title, "text", "end"),
            svg_text(WIDTH - RIGHT + 14, middle + 4.5, f"{signed_duration(p50)} / {signed_duration(p99)}", "dim")]


def chart(result):
    """An SVG: per number of streams and client, how far reported TTFT is from the truth, p50 and p99."""
    body, y = [], TOP
    for index, streams in enumerate(result["levels"]):
        rows = [(client, difference(row, "ttft", "p50"), difference(row, "ttft", "p99"))
                for client in result["versions"] for row in rows_of(result, client, streams, result["osl"][0])[-1:]]
        rows = [row for row in rows if None not in row]
        if not rows:
            continue
        if index % 2 == 0:
            body.append(f'<rect x="1" y="{y - GAP / 2}" width="{WIDTH - 2}" height="{len(rows) * ROW + GAP}" '
                        'class="band"/>')
        body.append(svg_text(18, y + len(rows) * ROW / 2 + 4.5, f"{streams} streams"))
        for client, p50, p99 in rows:
            body += svg_row(client, y, p50, p99)
            y += ROW
        y += GAP
    height = y + 30
    bands = [line for line in body if line.startswith("<rect")]
    others = [line for line in body if not line.startswith("<rect")]
    title = "Time to first token: how far the reported value is from the truth"
    note = "● p50 · ○ p99 · |reported − true| on a logarithmic axis; at the right: p50 / p99 with their sign"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" role="img" '
        f'aria-label="{title}">', f"<style>{STYLE}</style>",
        f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="8" class="card"/>', *bands,
        svg_text(18, 28, title, "text title"), svg_text(18, 48, note, "dim"), *svg_axis(y - GAP / 2), *others,
        svg_text(18, height - 12, f"{result['machine']['cpu']}, {result['machine']['cores']} cores, {pinning(result)}, "
                                  f"{result['date']}; server: {result['profile']}", "dim"), "</svg>", ""])


def write(result, folder):
    """clients.json, clients.md and clients.svg, each replaced whole."""
    texts = {"clients.json": json.dumps(result | {"costs": {name: costs(result, name) for name in result["versions"]}},
                                        indent=1, ensure_ascii=False) + "\n",
             "clients.md": markdown(result), "clients.svg": chart(result)}
    for name, text in texts.items():
        part = folder / f".{name}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(folder / name)
