"""The Markdown that scripts/gpu_check leaves. Pure."""

from . import readings, stages


def percent(value):
    return "" if value is None else f"{float(value) * 100:.1f} %"


def suite_table(rows, changes, device):
    """`device`: what the identity stage found, for rows that are held against the link to the host."""
    lines = ["| row | speed | of its ceiling | of the asymptote | of the library's flops | cv | second call | valid |",
             "|---|---|---|---|---|---|---|---|"]
    for name, row in rows.items():
        if row.get("error_message"):
            lines.append(f"| {name} | FAILED: {row['error_message']} | | | | | | no |")
            continue
        change = changes.get(name)
        valid = "yes" if row.get("valid") else f"no: {row.get('label', '')}"
        if "median_s" not in row:
            lines.append(f"| {name} | | | | | | | {valid} |")
            continue
        copied = name.startswith("copy/")  # the GPU's memory is not what bounds it
        of_ceiling = readings.of_link(name, row, device) if copied else row.get("of_ceiling")
        lines.append(f"| {name} | {stages.speed_text(row, name)} | {percent(of_ceiling)} | "
                     f"{'' if copied else percent(row.get('of_asymptote'))} | "
                     f"{percent(readings.of_library(name, rows))} | {percent(row.get('cv'))} | "
                     f"{'' if change is None else f'{change * 100:+.1f} %'} | {valid} |")
    return lines


def bytes_table(proven):
    lines = ["| row | claimed, MB | read, MB | difference |", "|---|---|---|---|"]
    for name, row in proven.items():
        lines.append(f"| {name} | {row['claimed'] / 1e6:.1f} | {row['read'] / 1e6:.1f} | "
                     f"{(row['read'] / row['claimed'] - 1) * 100:+.2f} % |")
    return lines


def peer_table(table):
    lines = ["| row | peer | ours, us | theirs, us | theirs ÷ ours | verdict |", "|---|---|---|---|---|---|"]
    for row in table:
        ours, theirs = ("{1:.1f} ({0:.1f}–{2:.1f})".format(*(1e6 * x for x in row[key])) for key in ("ours_s", "theirs_s"))
        lines.append(f"| {row['name']} | {row['peer']} | {ours} | {theirs} | {row['ratio']:.3f} | {row['verdict']} |")
    return lines


def page(document):
    """The whole check."""
    lines = [f"# GPU check, {document['started']}", ""]
    if document["rehearsal"]:
        lines += ["**A rehearsal: CPU backend and recorded tools. No figure here is of a GPU.**", ""]
    lines += ["| stage | verdict | seconds |", "|---|---|---|"]
    lines += [f"| {stage['name']} | {stage['verdict']} | {stage['seconds']:.0f} |" for stage in document["stages"]]
    device = next((stage["data"]["device"] for stage in document["stages"] if "device" in stage["data"]), {})
    for stage in document["stages"]:
        lines += ["", f"## {stage['name']}: {stage['verdict']}", ""]
        data = stage["data"]
        if stage["name"] == "suite" and data.get("rows"):
            lines += suite_table(data["rows"], data.get("repeatability", {}), device)
            lines += ["", "Of the library's flops: ÷ ceiling/flops/lib of the same numbers, added up in the same way; "
                          "fp8 rows without accum:fast are held against the ceiling without it.", ""]
        if stage["name"] == "bytes" and data:
            lines += bytes_table(data) + [""]
        if stage["name"] == "peers" and data.get("table"):
            lines += peer_table(data["table"]) + [""]
        lines += [f"- {line}" for line in stage["lines"]]
    return "\n".join(lines) + "\n"
