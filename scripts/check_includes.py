#!/usr/bin/env python3
"""Checks the include directions and header rules of ARCHITECTURE.md over every source file of a tree.

    scripts/check_includes.py [--sizes] [ROOT]

Prints each violation as `file:line: rule` and exits with 1 if there is one. With --sizes, it prints the sizes of the product code
instead: lines, the longest files, the fullest folders, the share of comments in headers, and how many headers of the project a
source includes, directly or through others. Uses the standard library only.
"""

import collections
import pathlib
import re
import statistics
import sys

SUFFIXES = {".h", ".cuh", ".cpp", ".cu"}
HEADER_SUFFIXES = {".h", ".cuh"}

# Which top-level folders a folder may include, besides itself. Dependencies only point down.
FOLDERS = {
    "core": set(),
    "cards": {"core"},
    "datasets": {"core"},
    "simulator": {"core", "cards"},  # never loadgen: a client's mistake must not be mirrored by the server it is tested on
    "loadgen": {"core", "cards", "datasets", "simulator"},  # simulator: for "virtual" alone
    "microbench": {"core", "cards"},
    "reports": {"core", "cards"},
    "experiments": {"core", "cards", "datasets", "loadgen", "simulator", "reports"},
    "cli": {"core", "cards", "datasets", "loadgen", "microbench", "reports", "simulator", "experiments"},
    "benchmarks": {"core", "datasets", "loadgen", "reports", "experiments"},
}
# Folders that may use tests/support: what is measured there are the streams recorded for the tests.
FOLDERS_ON_RECORDINGS = {"benchmarks"}

# Inside these folders: which rooms a room includes directly; whatever is reachable along these arrows may be included.
# Every room may include the files that stand beside the rooms, which include no room.
ROOMS = {
    "core": {
        "text": set(),
        "evidence": set(),
        "record": set(),
        "result": {"record", "evidence", "text"},
        "validity": {"result"},
        "run": {"plan", "validity"},
        "plan": {"result"},
    },
    "reports": {
        "document": set(),
        "analysis": {"document"},
        "files": {"analysis"},
        "pages": {"files"},
    },
    "reports/analysis": {
        "cost": set(),
        "plan": {"cost"},
        "sweep": set(),
        "micro": set(),
        "cache": {"cost"},
        "gate": {"cost", "sweep"},
        "model": {"cache", "micro", "sweep"},
        "sections": {"model"},
        "compare": {"model"},
        "first_look": set(),
    },
}

# Inside these folders: which parts a part includes directly. A part is a folder or a file without its suffix; whatever is
# reachable along these arrows may be included.
PARTS = {
    "loadgen": {
        "load": set(),
        "progress": set(),
        "interruption": set(),
        "periodic": set(),
        "laziness": set(),
        "http": set(),
        "protocol": set(),
        "scrape": {"http", "periodic"},
        "power": {"scrape"},
        "advice": {"http"},
        "probe": {"http", "protocol", "advice"},
        "client_options": {"http", "protocol"},
        "client": {"client_options"},
        "route": set(),
        "load_options": {"client_options", "load", "route"},
        "worker": {"client", "load_options", "laziness", "progress"},
        "run": {"worker", "scrape", "power", "interruption", "periodic"},
        "virtual": {"run"},  # a run without sockets
    },
    "loadgen/probe": {
        "endpoint": set(),
        "asker": {"endpoint"},
        "models": {"asker"},
        "trial": {"asker"},
        "settlement": {"trial"},
        "lengths": {"trial"},
        "probe": {"models", "settlement", "lengths"},
    },
    "loadgen/load": {
        "arrival": set(),
        "limits": set(),
        "stop_monitor": {"limits"},
        "schedule": {"arrival", "limits"},
        "pacing": set(),
        "class_load": {"arrival", "limits", "pacing"},
        "dispatch": {"schedule", "pacing"},
        "job_progress": set(),
        "jobs": {"schedule", "job_progress"},
        "mix": {"class_load", "dispatch", "jobs"},
    },
    "reports/files": {
        "plan_file": set(),
        "file_io": set(),
        "json": {"plan_file"},
        "events": set(),
        "server_lines": {"json"},
        "watch_lines": {"json"},
        "run_directory": {"recorded_files", "watch_lines"},
        "records": {"json", "events", "file_io"},
        "recorded_files": {"records", "server_lines"},
        "shards": {"output_directory"},
        "alerts_file": {"file_io"},
        "probe_file": {"json", "file_io"},
        "refold": {"recorded_files"},
        "gate": {"run_directory", "probe_file"},
        "output_directory": {"run_directory", "watch_lines"},
        "interop": {"run_directory"},
    },
    "experiments": {
        "watcher": set(),
        "alerting": set(),
        "server": {"watcher", "alerting"},
        "fleet": {"run"},
        "quality": {"server"},
        "session": {"server"},
        "run": {"quality", "session"},
        "calibrate": {"run"},
        "cache": {"run"},
        "gate": {"run"},
        "sweep": {"run"},
        "sizing": {"sweep"},
        "server_fit": {"run"},
        "simulated_rate": {"run"},
        "watch": {"server"},
        "first_look": {"sweep"},
    },
    "microbench": {
        "kernel": set(),
        "collect": set(),
        "shapes": set(),
        "threads": set(),
        "devices": set(),
        "reporters": set(),
        "rows": {"collect"},
        "suite": {"rows"},
        "cpu": {"kernel", "rows", "shapes", "threads"},
        "gpu": {"cpu", "rows", "shapes"},
        "main": {"suite", "reporters", "devices", "cpu", "gpu"},
    },
    "microbench/cpu": {
        "isa": set(),
        "fetch": set(),
        "formats": set(),
        "memory": set(),
        "machine": set(),
        "ring": {"memory"},
        "pages": {"ring"},
        "tiles": {"isa"},
        "vectors": {"fetch", "isa"},
        "read": {"vectors"},
        "sampling": {"read"},
        "flops": {"tiles"},
        "ceilings": {"pages", "sampling", "flops"},
        "weights": {"vectors", "formats", "ring", "tiles"},
        "attention": {"weights", "pages"},
        "rows": {"attention", "ceilings", "machine"},
    },
    "microbench/gpu": {
        "host_device": set(),
        "formats": {"host_device"},
        "device": {"formats"},
        "rows": {"device"},
        "protocol": {"rows"},
        "weights": {"rows"},
        "attention": {"rows"},
        "mla": {"attention"},
        "layer": {"mla", "weights"},
        "gemm": {"weights"},
        "ceilings": {"weights", "protocol"},
        "measure": {"ceilings"},
        "backend": {"measure"},
    },
}
# Folders of the project that a part of loadgen may not use although loadgen may.
LOADGEN_FORBIDDEN_FOLDERS = {
    "http": {"cards", "datasets"},
    "protocol": {"cards", "datasets"},
}
# The parts of loadgen that may use the simulator: they drive its engine in virtual time.
LOADGEN_PARTS_ON_SIMULATOR = {"virtual"}

# Libraries that no header may include: each costs seconds in every file that includes it.
HEAVY_LIBRARIES = re.compile(r"nlohmann/|simdjson|boost/beast|boost/asio/ssl|openssl/|CLI/|benchmark/|regex$|iostream$")
HEAVY_HEADERS_ALLOWED = {
    "cli/commands.h": re.compile("CLI/"),
    "cli/options/plan_options.h": re.compile("CLI/"),
    "reports/files/json/archive.h": re.compile("nlohmann/"),  # only files of reports/files include these
    "reports/files/interop/readers/foreign_json.h": re.compile("nlohmann/"),
    "reports/files/interop/readers/foreign_load.h": re.compile("nlohmann/json_fwd"),
    "reports/files/interop/readers/foreign_summary.h": re.compile("nlohmann/json_fwd"),
    "reports/files/interop/readers/yaml.h": re.compile("nlohmann/json_fwd"),
    "loadgen/protocol/event_reader.h": re.compile("simdjson"),  # only the protocols' own files include it
    "simulator/answers/request_reader.h": re.compile("simdjson"),  # the same for the simulator's protocols
}
# reports: the only files that know JSON.
REPORTS_JSON_FILES = {"reports/files/plan_file.cpp", "reports/files/json/gate_file.cpp", "reports/files/gate/gate_run.cpp",
                      "reports/files/records.cpp", "reports/pages/inferencex.cpp", "reports/analysis/micro/micro_results.cpp"}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD_HEADER = re.compile(r"[a-z0-9_]+$")


def reachable_from(part, arrows):
    """Everything along the arrows from `part`, itself included."""
    found, left = set(), [part]
    while left:
        current = left.pop()
        if current not in found:
            found.add(current)
            left.extend(arrows.get(current, ()))
    return found


def part_of(path, folder):
    """The part of a folder that a file below it belongs to: loadgen/http/url.h → http; loadgen/arrival.cpp → arrival."""
    return path.removeprefix(folder + "/").split("/")[0].split(".")[0]


def folder_of_both(table, path, included):
    """The innermost folder of PARTS or ROOMS that contains both files, or None."""
    folders = [folder for folder in table if path.startswith(folder + "/") and included.startswith(folder + "/")]
    return max(folders, key=len, default=None)


def folder_violation(path, included):
    """The rule that including `included` from `path` breaks, or None. Both are paths from the root."""
    source, target = path.split("/")[0], included.split("/")[0]
    folder = folder_of_both(PARTS, path, included)
    if folder and not pathlib.PurePath(path).stem.endswith("_test"):
        return part_violation(folder, path, included)
    if source == "tests":
        parts = path.split("/")
        if target == "tests" or len(parts) < 3 or parts[1] not in FOLDERS:
            return None
        source = parts[1]  # a test may include what the code it tests may
        if source == "cli":
            return None
    if source not in FOLDERS:
        return None
    if target == "tests":
        return None if source in FOLDERS_ON_RECORDINGS else f"{source} may not include tests"
    if target == source:
        if path.startswith("tests/"):
            return None
        folder = folder_of_both(ROOMS, path, included)
        return room_violation(folder, path, included) if folder else None
    if target not in FOLDERS[source]:
        allowed = ", ".join(sorted(FOLDERS[source])) or "nothing of the project but itself"
        return f"{source} may not include {target} (it may: {allowed})"
    if source == "loadgen" and not path.startswith("tests/"):
        part = part_of(path, "loadgen")
        if target in LOADGEN_FORBIDDEN_FOLDERS.get(part, ()) or (
                target == "simulator" and part not in LOADGEN_PARTS_ON_SIMULATOR):
            return f"loadgen/{part} may not include {target}"
    return None


def room_of(path, folder):
    """The room of a folder: core/text/printable.h → text; core/units.h, which stands in no room, → None."""
    parts = path.removeprefix(folder + "/").split("/")
    return parts[0] if len(parts) > 1 else None


def room_violation(folder, path, included):
    rooms = ROOMS[folder]
    source, target = room_of(path, folder), room_of(included, folder)
    for room in (source, target):
        if room is not None and room not in rooms:
            return f"{folder}/{room} has no row in ROOMS of scripts/check_includes.py"
    if target is None:
        return None
    if source is None:
        return f"the files of {folder} outside of its rooms may not include {folder}/{target}"
    if target not in reachable_from(source, rooms):
        return f"{folder}/{source} may not include {folder}/{target}"
    return None


def part_violation(folder, path, included):
    parts = PARTS[folder]
    source, target = part_of(path, folder), part_of(included, folder)
    for part in (source, target):
        if part not in parts:
            return f"{folder}/{part} has no row in PARTS of scripts/check_includes.py"
    if target not in reachable_from(source, parts):
        return f"{folder}/{source} may not include {folder}/{target}"
    return None


def library_violation(path, included):
    """The rule that a library include breaks, or None."""
    folder = path.split("/")[0]
    if pathlib.PurePath(path).suffix in HEADER_SUFFIXES and folder != "tests" and HEAVY_LIBRARIES.match(included):
        allowed = HEAVY_HEADERS_ALLOWED.get(path)
        if not (allowed and allowed.match(included)):
            return f"<{included}> is too heavy for a header: include it in the .cpp that needs it"
    if folder == "core" and not STANDARD_HEADER.match(included) and not included.startswith("fmt/"):
        return f"core uses only the standard library and fmt, not <{included}>"
    if folder == "reports" and included.startswith("nlohmann/") and path not in REPORTS_JSON_FILES and (
            not path.startswith(("reports/files/json/", "reports/files/interop/"))):
        return "in reports only reports/files/json/ and " + ", ".join(sorted(REPORTS_JSON_FILES)) + " may include nlohmann"
    return None


def violations_of(root, path):
    """(line, rule) for every rule that the file at root/path breaks."""
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    found = []
    if pathlib.PurePath(path).suffix in HEADER_SUFFIXES:
        first = next((line.strip() for line in lines if line.strip() and not line.lstrip().startswith("//")), "")
        if first != "#pragma once":
            found.append((1, "a header starts with #pragma once"))
    for number, line in enumerate(lines, start=1):
        include = INCLUDE.match(line)
        if not include:
            continue
        quote, included = include.groups()
        top = included.split("/")[0]
        if quote == '"':
            if top not in FOLDERS and top != "tests" or ".." in included.split("/"):
                found.append((number, f'"{included}" is not a path from the root'))
                continue
            if not (root / included).is_file():
                found.append((number, f'"{included}" does not exist'))
                continue
            rule = folder_violation(path, included)
        elif top in FOLDERS and (root / included).is_file():
            rule = f'<{included}> is a file of the project: use "{included}"'
        else:
            rule = library_violation(path, included)
        if rule:
            found.append((number, rule))
    return found


def sources_below(root):
    for folder in [*FOLDERS, "tests"]:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SUFFIXES:
                yield file.relative_to(root).as_posix()


def headers_of(path, lines, known):
    """The headers of the project that a file includes, directly or through others."""
    found, left = set(), [path]
    while left:
        for line in lines[left.pop()]:
            include = INCLUDE.match(line)
            if include and include[1] == '"' and include[2] in known and include[2] not in found:
                found.add(include[2])
                left.append(include[2])
    return found


def print_sizes(root):
    """The sizes of the product code: everything outside tests and benchmarks."""
    paths = [path for path in sources_below(root) if path.split("/")[0] not in ("tests", "benchmarks")]
    lines = {path: (root / path).read_text(encoding="utf-8").splitlines() for path in paths}
    headers = {path for path in paths if pathlib.PurePath(path).suffix in HEADER_SUFFIXES}
    folders = collections.Counter(str(pathlib.PurePath(path).parent) for path in paths)
    in_headers = [line.strip() for path in headers for line in lines[path]]
    comments = sum(line.startswith("//") for line in in_headers)
    behind = {path: len(headers_of(path, lines, headers)) for path in paths if path not in headers}
    most = sorted(behind, key=behind.get, reverse=True)[:5]
    print(f"lines of product code: {sum(map(len, lines.values()))} in {len(paths)} files")
    print("longest files: " + ", ".join(f"{path} {len(lines[path])}" for path in
                                        sorted(paths, key=lambda path: len(lines[path]), reverse=True)[:8]))
    print("fullest folders: " + ", ".join(f"{folder} {count}" for folder, count in folders.most_common(6)))
    print(f"comment lines in headers: {100 * comments / len(in_headers):.1f} %")
    print(f"headers behind a source: median {statistics.median(behind.values()):.0f}, "
          "most " + ", ".join(f"{path} {behind[path]}" for path in most))


def main(argv):
    arguments = [argument for argument in argv[1:] if argument != "--sizes"]
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    if "--sizes" in argv:
        print_sizes(root)
        return 0
    files = list(sources_below(root))
    broken = 0
    for path in files:
        for line, rule in violations_of(root, path):
            print(f"{path}:{line}: {rule}")
            broken += 1
    print(f"check_includes: {len(files)} files, {broken} violations", file=sys.stderr)
    return 1 if broken or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
