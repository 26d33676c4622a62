"""Runs one program to its end and accounts for all of its processes; used as a program of its own.

    supervise.py RESULT_JSON CORE TIMEOUT_S COMMAND…

The command and everything it starts run on CORE (empty: anywhere). This program is their reaper, so that CPU time of
processes which outlive their parent is counted too, and none is left when it ends: what still runs after the command
is given a few seconds, then killed. It ends them also when it is told to end or when its own parent dies.
RESULT_JSON: {start_ns (CLOCK_MONOTONIC), wall_s, cpu_s, cpu_samples [[ns, cpu_s so far], …], peak_rss_bytes,
most_processes, exit_code, timed_out}.
"""

import ctypes
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SAMPLE_EVERY_S = 0.1
GRACE_S = 5.0
PAGE_BYTES = resource.getpagesize()
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def children_of(pid):
    children = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += [int(word) for word in task.read_text().split()]
        except OSError:
            continue
    return children


def descendants_of(pid):
    found, frontier = [], [pid]
    while frontier:
        frontier = [child for parent in frontier for child in children_of(parent)]
        found += frontier
    return found


def resident_bytes(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def cpu_s_of(pid):
    """CPU time of a process and of the children that it has waited for."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15]) / TICKS_PER_S
    except (OSError, ValueError):
        return 0.0


def cpu_s_reaped():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def signal_all(signum):
    for pid in descendants_of(os.getpid()):
        try:
            os.kill(pid, signum)
        except ProcessLookupError:
            pass


def reap_until_none(deadline):
    """Collects orphans handed to this process. False when some still run at the deadline."""
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            time.sleep(0.02)
    return False


def end_all():
    signal_all(signal.SIGTERM)
    if not reap_until_none(time.monotonic() + GRACE_S):
        signal_all(signal.SIGKILL)
        reap_until_none(time.monotonic() + GRACE_S)


def on_termination(*_):
    end_all()
    os._exit(143)


def exit_code_of(status):
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def supervise(command, core, timeout_s):
    def on_its_core():
        if core:
            os.sched_setaffinity(0, {int(core)})

    start_ns = time.monotonic_ns()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=on_its_core, start_new_session=True)
    os.nice(10)  # this process only: it shall not be in the way of what it watches
    deadline = time.monotonic() + timeout_s
    peak, most, status, cpu_samples = 0, 0, None, []
    while status is None and time.monotonic() < deadline:
        tree = descendants_of(os.getpid())
        peak = max(peak, sum(resident_bytes(pid) for pid in tree))
        most = max(most, len(tree))
        cpu_samples.append([time.monotonic_ns(), cpu_s_reaped() + sum(cpu_s_of(pid) for pid in tree)])
        next_sample = time.monotonic() + SAMPLE_EVERY_S
        while status is None and time.monotonic() < next_sample:
            pid, raised = os.waitpid(process.pid, os.WNOHANG)
            status = raised if pid else None
            if status is None:
                time.sleep(0.02)
    wall_s = (time.monotonic_ns() - start_ns) / 1e9
    if status is None or not reap_until_none(time.monotonic() + GRACE_S):
        end_all()
    return {"start_ns": start_ns, "wall_s": wall_s, "cpu_s": cpu_s_reaped(), "cpu_samples": cpu_samples,
            "peak_rss_bytes": peak, "most_processes": most,
            "exit_code": None if status is None else exit_code_of(status), "timed_out": status is None}


def main():
    result, core, timeout_s, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, on_termination)
    signal.signal(signal.SIGINT, on_termination)
    try:
        account = supervise(command, core, float(timeout_s))
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(127)
    pathlib.Path(result).write_text(json.dumps(account))


if __name__ == "__main__":
    main()
