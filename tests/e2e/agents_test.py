"""Jobs of agents: order, joins, pauses, failures and cancellations, on the simulator over sockets and in virtual time."""

import collections
import contextlib
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

from harness import (BINARY, ROOT, Case, environment, http_server, paretoken, request_lines, run_json, simulated_server,
                     wait_until)

SAMPLES = ROOT / "tests" / "golden" / "agents"


def random_jobs(count, seed):
    """Returns the rows of `count` jobs, and {job: [(agent, ids it waits for, id whose history it continues, pause)]}."""
    draw = random.Random(seed)
    rows, jobs = [], {}
    for number in range(count):
        job, turns, agents = f"job {number}", [], {}
        for turn in range(draw.randint(1, 7)):
            agent = 0 if turn == 0 else draw.randrange(3)
            after = {f"t{other}" for other in range(turn) if draw.random() < 0.3}
            fork = f"t{draw.randrange(turn)}" if turn > 0 and agent not in agents and draw.random() < 0.3 else None
            delay, tool = draw.choice([0, 0.01, 0.03]), draw.choice([0, 0.02])
            row = {"job": job, "conversation": f"agent {agent}", "id": f"t{turn}", "output_tokens": 3, "delay_s": delay,
                   "tool_s": tool, "messages": [{"role": "user", "content": f"turn {turn} of {job}"}]}
            if after:
                row["after"] = sorted(after)
            if fork:
                row["fork_of"] = fork
            rows.append(row)
            history = agents.get(agent, fork)
            turns.append((agent, after | ({history} - {None}), history, delay + tool))
            agents[agent] = f"t{turn}"
        jobs[number] = turns
    return rows, jobs


def jobs_with_one_root(count, seed):
    """Random jobs in which every turn but the first waits for one, so that indexes follow the rows."""
    rows, jobs = random_jobs(count, seed)
    for row in rows:
        number, at = int(row["job"].split()[1]), int(row["id"][1:])
        agent, after, history, pause = jobs[number][at]
        if at == 0:
            pause = row["delay_s"] = row["tool_s"] = 0
        elif not after:
            after = {"t0"}
            row["after"] = ["t0"]
        jobs[number][at] = (agent, after, history, pause)
    return rows, jobs


def sent_by_job(directory):
    """Returns {number of the job: {id of the turn: record}}; the texts of the turns are in the file in order."""
    by_first = collections.defaultdict(dict)
    for record in request_lines(directory):
        by_first[record["job"]][f"t{record['index'] - record['job']}"] = record
    return dict(enumerate(by_first[first] for first in sorted(by_first)))


def truth_of(address):
    """Returns {id of the request: what the server's own log says of it}."""
    with urllib.request.urlopen(address + "/sim/truth") as answer:
        return {entry["id"]: entry for entry in json.load(answer)["requests"]}


def most_at_once(spans):
    """Returns the largest number of spans of time that have one moment in common."""
    live = highest = 0
    for _, change in sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans]):
        live += change
        highest = max(highest, live)
    return highest


def most_live_jobs(sent):
    return most_at_once([(min(record["started_s"] for record in records.values()),
                          max(record["closed_s"] for record in records.values())) for records in sent.values()])


def at_95_percent(values):
    return sorted(values)[int(0.95 * (len(values) - 1))]


@contextlib.contextmanager
def late_wake_ups():
    """Yields a list to which a thread adds, every 10 ms, by how much it woke up late."""
    late, ended = [0.0], threading.Event()

    def sleep():
        due = time.monotonic() + 0.01
        while not ended.wait(due - time.monotonic()):
            late.append(time.monotonic() - due)
            due = time.monotonic() + 0.01

    thread = threading.Thread(target=sleep)
    thread.start()
    try:
        yield late
    finally:
        ended.set()
        thread.join()


class SessionCase(Case):
    def check_session_headers(self, records, truth, scope):
        """Checks by the server's log that all requests of each agent ("conversation") or job ("job") have one value of the
        session header, and that no two of them have the same."""
        values = collections.defaultdict(set)
        for record in records:
            values[record.get(scope, record["index"])].add(truth[record["id"]].get("affinity"))
        self.assertEqual({len(of) for of in values.values()}, {1})
        different = set().union(*values.values())
        self.assertNotIn(None, different)
        self.assertEqual(len(different), len(values))
        return len(values)


class Agents(SessionCase):
    def rows_file(self, rows):
        path = self.directory / "jobs.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def check_jobs(self, jobs, sent, ends, tolerance):
        """Checks which turns of each job were sent, and that each was due when those it waits for had ended and its pause was
        over. `ends` returns when the answer of a record ended."""
        lost = 0
        for number, turns in jobs.items():
            records = sent[number]
            ok = {turn for turn, record in records.items() if record["outcome"] == "ok"}
            over = {}  # when each turn had ended or was skipped
            for at, (agent, after, history, pause) in enumerate(turns):
                turn = f"t{at}"
                own = {f"t{i}" for i in range(at) if turns[i][0] == agent}
                needed = ({history} if history else set()) | (own & after)
                expected = (not after or after & ok) and needed <= ok
                self.assertEqual(turn in records, bool(expected), (number, turn))
                lost += not expected
                released = max((over[other] for other in after), default=0)
                over[turn] = ends(records[turn]) if expected else released
                if not expected or not after:
                    continue
                self.assertAlmostEqual(records[turn]["scheduled_s"], released + pause, delta=tolerance, msg=(number, turn))
        return lost

    def test_every_turn_of_200_random_jobs_follows_those_it_waits_for_by_the_servers_own_log(self):
        rows, jobs = jobs_with_one_root(200, 1)
        out = self.directory / "run"
        with simulated_server("--profile", "llama3-8b-h100-fp8") as address, late_wake_ups() as idle:
            ran = paretoken("run", address, "--dataset-path", self.rows_file(rows), "--concurrency", 8, "--workers", 2,
                            "--num-prompts", "all", "--out", out)
            self.measures(ran)
            truth = truth_of(address)
        sent = sent_by_job(out)
        self.assertEqual(len(sent), 200)
        self.assertEqual(self.check_jobs(jobs, sent, lambda record: record["closed_s"], 1e-6), 0)
        self.check_waits(jobs, sent, truth, idle)
        self.assertLessEqual(most_live_jobs(sent), 8)
        self.check_session_headers(request_lines(out), truth, "conversation")

    def check_waits(self, jobs, sent, truth, idle):
        """Checks by the server's clock that no turn came before its time, and that the record of each states by how much it came
        after it. `idle` tells how late this machine let a sleeping thread wake up."""
        records = [record for turns in sent.values() for record in turns.values()]
        clocks_apart = min(truth[record["id"]]["received_ns"] / 1e9 - record["sent_s"] for record in records)
        unstated, late = [], collections.defaultdict(list)
        for number, turns in jobs.items():
            for at, (_, after, _, pause) in enumerate(turns):
                if not after:
                    continue
                record = sent[number][f"t{at}"]
                written = max(truth[sent[number][other]["id"]]["written_ns"][-1] for other in after)
                waited = (truth[record["id"]]["received_ns"] - written) / 1e9
                self.assertGreaterEqual(waited, pause, (number, at))
                lag = record["sent_s"] - record["scheduled_s"]
                self.assertGreaterEqual(lag, 0, (number, at))
                unstated.append(record["sent_s"] + clocks_apart - written / 1e9 - pause - lag)
                late[len(after) > 1, pause > 0].append(lag)
        self.assertLess(at_95_percent(unstated), 0.002)
        self.assertEqual(len(late), 4, "joins and single edges, each with a pause and without one")
        for kind, lags in late.items():
            self.assertLess(at_95_percent(lags), 0.1 + 5 * at_95_percent(idle), kind)

    def test_jobs_end_although_answers_break_off(self):
        rows, jobs = jobs_with_one_root(60, 2)
        out = self.directory / "run"
        with simulated_server("--profile", "llama3-8b-h100-fp8", "--fault", "reset:p=.15,after=1tok") as address:
            ran = paretoken("run", address, "--dataset-path", self.rows_file(rows), "--concurrency", 6, "--num-prompts", "all",
                            "--out", out)
        self.assertIn(ran.returncode, (0, 4), ran.stderr)
        sent = sent_by_job(out)
        self.assertEqual(len(sent), 60, "every job was begun, so that none held its slot")
        failed = [record for records in sent.values() for record in records.values() if record["outcome"] != "ok"]
        self.assertGreater(len(failed), 10)
        # After a failure, a further delay of at most 1.28 s stands before the next turn.
        self.assertGreater(self.check_jobs(jobs, sent, lambda record: record["closed_s"], 1.3), 5)

    def test_virtual_time_gives_the_same_order_and_pauses_byte_for_byte(self):
        rows, jobs = jobs_with_one_root(200, 3)
        path, lines = self.rows_file(rows), []
        for run in ("a", "b"):
            out = self.directory / run
            self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset-path", path, "--concurrency", 8,
                                    "--num-prompts", "all", "--salt", "s", "--out", out))
            lines.append((out / "requests.jsonl").read_bytes())
        self.assertEqual(lines[0], lines[1])
        sent = sent_by_job(out)
        self.assertEqual(self.check_jobs(jobs, sent, lambda record: record["closed_s"], 1e-6), 0)
        self.assertLessEqual(most_live_jobs(sent), 8)

    def test_a_cap_on_requests_limits_those_of_all_live_jobs(self):
        spec, most = "agents:jobs=12,turns=4,fanout=4,subturns=2,tool=100ms", {}
        for cap in (None, 5):
            out = self.directory / f"cap-{cap}"
            self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset", spec, "--concurrency", 4,
                                    "--num-prompts", 12, *(("--max-in-flight", cap) if cap else ()), "--out", out))
            records = request_lines(out)
            self.assertEqual(len(records), 12 * (4 + 4 * 2))
            most[cap] = most_at_once([(record["started_s"], record["closed_s"]) for record in records])
            self.assertEqual(most_live_jobs(sent_by_job(out)), 4)
            self.assertEqual(any(record["slot_wait_s"] > 0 for record in records), cap is not None)
        self.assertGreater(most[None], 5)
        self.assertEqual(most[5], 5)

    def test_pauses_are_scaled_and_cut_and_the_result_is_another_workload(self):
        rows = [{"job": "j", "conversation": "main", "messages": [{"role": "user", "content": "a"}], "output_tokens": 2},
                {"job": "j", "conversation": "main", "delay_s": 1, "tool_s": 10, "output_tokens": 2,
                 "messages": [{"role": "user", "content": "b"}]},
                {"job": "j", "conversation": "main", "tool_s": 300, "output_tokens": 2,
                 "messages": [{"role": "user", "content": "c"}]}]
        path, workloads = self.rows_file(rows), set()
        for number, (options, pauses) in enumerate((((), (11, 300)), (("--tool-scale", 0.5), (6, 150)),
                                                    (("--tool-scale", 0.5, "--idle-cap", "60s"), (6, 60)))):
            out = self.directory / f"run-{number}"
            self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset-path", path, "--num-prompts", 1,
                                    *options, "--out", out))
            turns = sorted(request_lines(out), key=lambda record: record["index"])
            for before, turn, pause in zip(turns, turns[1:], pauses):
                self.assertAlmostEqual(turn["scheduled_s"] - before["closed_s"], pause, delta=1e-6)
            workloads.add(run_json(out)["workload"]["fingerprint"])
        self.assertEqual(len(workloads), 3, "runs under different caps are not comparable")
        for option, value in (("--idle-cap", "60s"), ("--idle-job-cap", "60s"), ("--tool-time", "5s")):
            self.fails_clearly(paretoken("run", "sim:", "--virtual", option, value), 2, option, "synthetic")
        self.fails_clearly(paretoken("run", "sim:", "--virtual", "--dataset-path", path, "--tool-time", "often"), 2,
                           "--tool-time", "lognormal:mean=2s,cv=1")

    def test_times_of_tools_are_drawn_for_each_turn_of_each_play_of_a_file(self):
        rows = [{"job": "j", "conversation": "main", "messages": [{"role": "user", "content": f"{turn}"}], "output_tokens": 2,
                 **({"tool_s": 3} if turn % 2 else {"delay_s": 0.5 if turn else 0})} for turn in range(100)]
        path, drawn = self.rows_file(rows), []
        for name, more in (("a", ()), ("b", ()), ("seed", ("--seed", 1)), ("workers", ("--workers", 2, "--concurrency", 2)),
                           ("half", ("--tool-scale", 0.5))):
            out = self.directory / name
            self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset-path", path, "--num-prompts", 4,
                                    "--tool-time", "lognormal:mean=5s,cv=1", *more, "--out", out))
            turns = {record["index"]: record for record in request_lines(out)}
            pauses = {i: turns[i]["scheduled_s"] - turns[i - 1]["closed_s"] for i in range(400) if i % 100}
            drawn.append([round(pauses[i], 6) for i in pauses if i % 2])
            for i in pauses:
                if i % 2 == 0:
                    self.assertAlmostEqual(pauses[i], 0.5, delta=1e-6, msg="a turn without a time of tools has none")
        self.assertEqual(drawn[0], drawn[1])
        self.assertEqual(drawn[0], drawn[3], "the draws do not depend on the workers")
        self.assertNotEqual(drawn[0], drawn[2])
        for whole, half in zip(drawn[0], drawn[4]):
            self.assertAlmostEqual(half, whole / 2, delta=1e-5)
        self.assertEqual(len(set(drawn[0])), 200, "each play has draws of its own")
        self.assertAlmostEqual(sum(drawn[0]) / 200, 5, delta=1.5)
        self.assertIn("tool_time", run_json(out)["plan"])

    def test_an_idle_job_pauses_no_longer_than_its_cap_whatever_other_jobs_do(self):
        rows = []
        for job, tool in (("a", 100), ("b", 30)):
            rows += [{"job": job, "id": "0", "conversation": "main", "prompt": "go", "output_tokens": 10},
                     {"job": job, "id": "1", "conversation": "left", "after": ["0"], "prompt": "l", "output_tokens": 10, "tool_s": tool},
                     {"job": job, "id": "2", "conversation": "right", "after": ["0"], "prompt": "r", "output_tokens": 10,
                      "tool_s": tool + 4},
                     {"job": job, "id": "3", "conversation": "main", "after": ["1", "2"], "prompt": "on", "output_tokens": 10,
                      "tool_s": 8}]
        path, fingerprints = self.rows_file(rows), set()
        for cap, expected in ((None, {"a": (100, 104, 8), "b": (30, 34, 8)}), ("20s", {"a": (20, 24, 8), "b": (20, 24, 8)}),
                              ("5s", {"a": (5, 9, 5), "b": (5, 9, 5)})):
            out = self.directory / str(cap)
            self.succeeds(paretoken("run", "sim:ideal", "--virtual", "--dataset-path", path, "--concurrency", 2, "--num-prompts", "all",
                                    *(("--idle-job-cap", cap, "--workers", 2) if cap else ()), "--out", out))
            fingerprints.add(run_json(out)["workload"]["fingerprint"])
            lines = sorted(request_lines(out), key=lambda line: line["index"])
            for job, turns in (("a", lines[:4]), ("b", lines[4:])):
                left, right = (turn["scheduled_s"] - turns[0]["closed_s"] for turn in turns[1:3])
                last = turns[3]["scheduled_s"] - max(turns[1]["closed_s"], turns[2]["closed_s"])
                for found, wanted in zip((left, right, last), expected[job]):
                    self.assertAlmostEqual(found, wanted, delta=1e-3, msg=(cap, job))
        self.assertEqual(len(fingerprints), 3)

    def test_no_turn_is_sent_after_the_run_was_cancelled(self):
        rows = []
        for job in range(8):
            for step in range(100):
                rows.append({"job": f"{job}", "conversation": "main", "id": f"m{step}", "prompt": "on", "output_tokens": 2,
                             **({"after": [f"{helper}{step - 1}" for helper in "lr"]} if step else {})})
                rows += [{"job": f"{job}", "conversation": helper, "id": f"{helper}{step}", "after": [f"m{step}"], "prompt": "help",
                          "output_tokens": 2, "tool_s": 0.05} for helper in "lr"]
        out = self.directory / "run"
        with simulated_server("--profile", "llama3-8b-h100-fp8") as address:
            run = subprocess.Popen([BINARY, "run", address, "--dataset-path", self.rows_file(rows), "--num-prompts", "all",
                                    "--concurrency", "4", "--out", out], env=environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            wait_until(lambda: (out / "requests.jsonl").exists() and len(request_lines(out)) > 40, what="some turns")
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=60)
            ended_ns = time.monotonic_ns()
            time.sleep(0.3)
            truth = truth_of(address)
        records = request_lines(out)
        self.assertLess(max(entry["received_ns"] for entry in truth.values()), ended_ns)
        ids = {record["id"] for record in records}
        self.assertLessEqual({name for name in truth if name.startswith("pt-")}, ids, "the run knows of every request")
        self.assertLess(len(records), len(rows) / 4)
        self.assertEqual({record["job"] for record in records}, {0, 300, 600, 900}, "no further job is begun in a free slot")
        self.assertEqual((run_json(out)["jobs"]["ok"], run_json(out)["jobs"]["unfinished"]), (0, 4))

    def test_a_converted_file_has_the_same_jobs(self):
        rows, _ = jobs_with_one_root(30, 4)
        path, once, twice = self.rows_file(rows), self.directory / "once.jsonl", self.directory / "twice.jsonl"
        for row in rows:
            if int(row["id"][1:]) > 0 and "fork_of" in row or row["id"] != "t0":
                row["messages"].insert(0, {"role": "assistant", "content": "recorded"})
        # An agent's first turn without a history begins with a message of the user.
        seen = set()
        for row in rows:
            if (row["job"], row["conversation"]) not in seen and "fork_of" not in row and row["id"] != "t0":
                row["messages"].pop(0)
            seen.add((row["job"], row["conversation"]))
        self.rows_file(rows)
        self.succeeds(paretoken("dataset", "convert", path, once))
        self.succeeds(paretoken("dataset", "convert", once, twice))
        self.assertEqual(once.read_bytes(), twice.read_bytes())
        written = [json.loads(line) for line in once.read_text().splitlines()]
        self.assertEqual(len(written), len(rows))
        self.assertEqual(sum("fork_of" in row for row in written), sum("fork_of" in row for row in rows))
        self.assertAlmostEqual(sum(row.get("tool_s", 0) for row in written), sum(row["tool_s"] for row in rows), places=6)


class Recorder:
    """A server that answers every request with two tokens, and keeps the headers and the body of each."""

    def __init__(self):
        self.requests, self.lock = [], threading.Lock()

    def __call__(self, method, _path, headers, body):
        if method == "GET":
            return 200, "application/json", b'{"object":"list","data":[{"id":"m"}]}'
        with self.lock:
            self.requests.append(({name.lower(): value for name, value in headers.items()}, json.loads(body)))
        usage = {"prompt_tokens": 8, "completion_tokens": 2}
        events = [{"choices": [{"index": 0, "delta": {"content": "ok ok"}, "finish_reason": None}]},
                  {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": usage}]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        return 200, "text/event-stream", text.encode()


class Sessions(SessionCase):
    ROWS = [{"job": "j", "conversation": "main", "id": "m", "prompt": "plan", "output_tokens": 2},
            {"job": "j", "conversation": "left", "id": "l", "after": ["m"], "prompt": "left", "output_tokens": 2},
            {"job": "j", "conversation": "main", "after": ["l"], "prompt": "conclude", "output_tokens": 2}]

    def requests_of(self, rows, *options):
        path = self.directory / "jobs.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        recorder = Recorder()
        with http_server(recorder) as address:
            ran = paretoken("run", address, "--dataset-path", path, "--num-prompts", 2, "--no-ignore-eos", "--scrape", "none",
                            *options, "--out", self.directory / "run", "--overwrite")
        self.assertIn(ran.returncode, (0, 4), ran.stderr)
        return recorder.requests[-2 * len(rows):]

    def test_each_agent_of_each_play_has_an_id_of_its_own_in_the_usual_headers(self):
        sent = self.requests_of(self.ROWS)
        ids = [headers["x-session-affinity"] for headers, _ in sent]
        self.assertEqual([headers["x-correlation-id"] for headers, _ in sent], ids)
        self.assertEqual(ids[0], ids[2])
        self.assertEqual(len(set(ids)), 4, "two agents in two plays of the job")
        self.assertNotIn("j", ids, "an id comes from the play and not from the file")

    def test_other_names_jobs_parents_and_fields_of_the_body_carry_ids_on_demand(self):
        sent = self.requests_of(self.ROWS, "--session-header", "X-Dynamo-Session-ID=agent", "--session-header",
                                "X-Dynamo-Parent-Session-ID=parent", "--session-header", "X-Job=job", "--session-header",
                                "X-Final=final", "--session-field", "prompt_cache_key=agent", "--session-field", "cache_salt=job")
        main, left = sent[0][0], sent[1][0]
        self.assertNotIn("x-session-affinity", main)
        self.assertNotIn("x-dynamo-parent-session-id", main, "the main agent has no parent")
        self.assertEqual(left["x-dynamo-parent-session-id"], main["x-dynamo-session-id"])
        self.assertEqual(left["x-job"], main["x-job"])
        self.assertEqual([headers.get("x-final") for headers, _ in sent[:3]], [None, "true", "true"], "the last turn of each agent")
        self.assertNotEqual(sent[3][0]["x-job"], main["x-job"])
        for headers, body in sent:
            self.assertEqual(body["prompt_cache_key"], headers["x-dynamo-session-id"])
            self.assertEqual(body["cache_salt"], headers["x-job"])

    def test_none_sends_no_header_and_single_requests_have_none(self):
        for headers, _ in self.requests_of(self.ROWS, "--session-header", "none"):
            self.assertNotIn("x-session-affinity", headers)
        for headers, _ in self.requests_of([{"prompt": "alone", "output_tokens": 2}]):
            self.assertNotIn("x-session-affinity", headers)

    def test_names_with_control_characters_or_unknown_scopes_are_refused(self):
        for name in ("X: 1", "X\r\nEvil: 1", "X=user"):
            for option in ("--session-header", "--session-field", "--session-token"):
                self.fails_clearly(paretoken("run", "sim:", "--virtual", option, name), 2, option)
        self.fails_clearly(paretoken("run", "sim:", "--virtual", "--session-token", "X=final"), 2, "--session-token", "=job")
        self.fails_clearly(paretoken("run", "sim:", "--virtual", "--session-token", "X"), 2, "--session-token", "single requests")

    def test_the_ids_of_agents_and_jobs_are_those_of_their_scope_by_the_servers_own_log(self):
        for option, scope, number in (("X-Session-Affinity", "conversation", 20 * 3), ("X-Session-Affinity=job", "job", 20)):
            out = self.directory / scope
            with simulated_server("--profile", "ideal") as address:
                self.measures(paretoken("run", address, "--dataset", "agents:jobs=10,turns=4,fanout=2,subturns=2,tool=10ms", "--osl", 4,
                                        "--concurrency", 5, "--num-prompts", 20, "--workers", 2, "--session-header", option,
                                        "--host-noise", "accept", "--out", out))
                truth = truth_of(address)
            self.assertEqual(self.check_session_headers(request_lines(out), truth, scope), number, "each job is played twice")

    def tokens_by_session(self, out, truth, session):
        """Returns, for each session of a run, the tokens that its requests returned and the answers set, in order."""
        sessions = collections.defaultdict(list)
        for record in sorted(request_lines(out), key=lambda record: record["sent_s"]):
            entry = truth[record["id"]]
            sessions[record[session]].append((entry.get("session_token"), entry["set_session_token"]))
        return sessions

    def test_the_token_that_the_server_sets_is_returned_by_the_later_requests_of_its_session(self):
        options = ("--dataset", "agents:jobs=10,turns=4,fanout=2,subturns=2,tool=10ms,first=200,next=50", "--osl", 4,
                   "--concurrency", 5, "--num-prompts", 20, "--host-noise", "accept", "--session-header", "none")
        for scope in ("conversation", "job"):
            out = self.directory / scope
            with simulated_server("--profile", "llama3-8b-h100-fp8", "--replicas", 4, "--session-token", "x-session-token") as address:
                self.measures(paretoken("run", address, *options, "--workers", 2, "--session-token", f"X-Session-Token={scope}",
                                        "--keep-answers", "--out", out))
                truth = truth_of(address)
            sessions = self.tokens_by_session(out, truth, scope)
            self.assertEqual(len(sessions), 20 * (3 if scope == "conversation" else 1))
            first_tokens = set()
            for tokens in sessions.values():
                (returned, token), *later = tokens
                self.assertIsNone(returned, "a play begins without a token")
                self.assertEqual(later, [(token, token)] * len(later))
                first_tokens.add(token)
            self.assertEqual(len(first_tokens), len(sessions), "each play of a job has tokens of its own")
            self.assertTrue(all(record["outcome"] == "ok" for record in request_lines(out)))
            for path in filter(pathlib.Path.is_file, out.rglob("*")):
                for token in first_tokens:
                    self.assertNotIn(token.encode(), path.read_bytes(), f"{path.name} has a token")

    def test_a_token_keeps_a_session_on_one_engine_and_leaves_the_requests_as_they_are(self):
        options = ("--dataset", "multi_turn:turns=5,first=800,next=100", "--osl", 4, "--num-prompts", 40, "--concurrency", 4,
                   "--salt", "s", "--host-noise", "accept", "--session-header", "none")
        shares, prompts = [], []
        for name, more in (("without", ()), ("with", ("--session-token", "x-session-token"))):
            out = self.directory / name
            with simulated_server("--profile", "llama3-8b-h100-fp8", "--replicas", 4, "--session-token", "x-session-token",
                                  "--seed", 1) as address:
                self.measures(paretoken("run", address, *options, *more, "--out", out))
            records = sorted(request_lines(out), key=lambda record: record["index"])
            prompts.append([(record["index"], record["prompt_tokens"]) for record in records])
            shares.append(sum(record["cached_prompt_tokens"] for record in records) / sum(tokens for _, tokens in prompts[-1]))
        self.assertEqual(prompts[0], prompts[1])
        self.assertGreater(shares[1], shares[0] + 0.3)


class Numbers(Case):
    def test_the_figures_of_jobs_follow_from_the_requests(self):
        rows, _ = jobs_with_one_root(60, 6)
        path, out = self.directory / "jobs.jsonl", self.directory / "run"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ran = paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset-path", path, "--concurrency", 4, "--num-prompts",
                        "all", "--out", out)
        self.succeeds(ran)
        self.assertIn("outside tools", ran.stdout)
        result, jobs = run_json(out), collections.defaultdict(list)
        self.matches_schema(out / "run.json", "run")
        for record in request_lines(out):
            jobs[record["job"]].append(record)
        figures = result["jobs"]
        self.assertEqual((figures["ok"], len(jobs)), (60, 60))
        times = [max(record["closed_s"] for record in turns) - min(record["scheduled_s"] for record in turns)
                 for turns in jobs.values()]
        job_time = result["metrics"]["job_time_s"]
        self.assertAlmostEqual(job_time["mean"], sum(times) / len(times), places=6)
        self.assertIn("p50", job_time["ci95"])
        self.assertAlmostEqual(figures["metrics"]["job_turns"]["mean"], len(rows) / 60, places=9)
        self.assertLess(result["metrics"]["job_busy_s"]["mean"], job_time["mean"])
        self.assertGreater(figures["e2e_interactivity"], figures["e2e_normalized_interactivity_p90"])
        shown = paretoken("show", out)
        self.assertIn("(MLPerf)", shown.stdout)

    def run_of_jobs(self, *options):
        rows, _ = jobs_with_one_root(60, 6)
        path = self.directory / "jobs.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return paretoken("run", "sim:ideal", "--virtual", "--dataset-path", path, "--concurrency", 4, "--num-prompts", "all", "--out",
                         self.directory / "run", *options)

    def test_jobs_are_held_against_limits_of_their_own(self):
        ran = self.run_of_jobs("--goodput", "job:200ms", "--slo", "job_p90<=10s", "--slo", "job_p50:1ms")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("jobs miss it", ran.stderr)
        result, times = run_json(self.directory / "run"), collections.defaultdict(list)
        self.matches_schema(self.directory / "run" / "run.json", "run")
        for record in request_lines(self.directory / "run"):
            times[record["job"]] += [record["scheduled_s"], record["closed_s"]]
        good = sum(max(of_job) - min(of_job) <= 0.2 for of_job in times.values())
        self.assertTrue(0 < good < 60)
        self.assertEqual((result["jobs"]["judged"], result["jobs"]["good"]), (60, good))
        self.assertIn(f"60 ok, {good} good", ran.stdout)
        self.assertNotIn("goodput_per_s", result["throughput"], "a limit on jobs judges no request")
        verdicts = {slo["key"]: (slo["verdict"], slo["n"], slo["over"]) for slo in result["slo"]}
        self.assertEqual(verdicts, {"job_time_p90": ("met", 60, 0), "job_time_p50": ("missed", 60, 60)})

    def test_a_search_finds_the_most_jobs_at_once_within_a_limit(self):
        rows, _ = jobs_with_one_root(60, 6)
        path = self.directory / "jobs.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        found = paretoken("sweep", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset-path", path, "--search", "slo", "--slo",
                          "job_p90:10s", "--concurrency", "1..8", "--num-prompts", 200, "--out", self.directory / "sweep")
        self.succeeds(found)
        self.assertIn("job_p90:10s", found.stdout)

    def test_a_report_says_what_a_job_costs(self):
        self.succeeds(self.run_of_jobs("--concurrency", 2))
        card = self.directory / "card.json"
        card.write_text(json.dumps({"schema": 1, "as_of": "2026-11-01", "currency": "USD", "source": "a test", "gpus": {
            "h100-sxm": {"on_demand": 3.6}}}))
        self.succeeds(paretoken("report", self.directory / "run", "--gpu", "h100-sxm", "--price", card, "--no-micro", "--out",
                                self.directory / "report"))
        self.matches_schema(self.directory / "report.json", "report")
        point = json.loads((self.directory / "report.json").read_text())["configurations"][0]["points"][0]
        cost, jobs = point["cost"]["usd_per_job"], run_json(self.directory / "run")["jobs"]
        self.assertAlmostEqual(cost["mean"], 3.6 / jobs["jobs_per_hour"], places=12)
        self.assertLess(cost["p50"], cost["p95"])
        self.assertIn("What jobs take and cost", (self.directory / "report.md").read_text())

    def test_a_run_has_as_many_jobs_as_the_dataset_states(self):
        out = self.directory / "stated"
        self.measures(paretoken("run", "sim:ideal", "--virtual", "--dataset", "agents:jobs=12,turns=2,fanout=0,osl=4,tool=10ms",
                                "--concurrency", 4, "--out", out))
        self.assertEqual(run_json(out)["jobs"]["ok"], 12)

    def test_jobs_that_begin_inside_have_primers_that_are_in_no_figure(self):
        out = self.directory / "run"
        options = ("--dataset", "agents:jobs=30,turns=9,fanout=2,osl=16,tool=1s", "--concurrency", 6, "--num-prompts", 30,
                   "--start-inside", "0.25..0.75")
        with simulated_server("--profile", "ideal") as address:
            self.succeeds(paretoken("run", address, *options, "--tool-scale", "0.01", "--host-noise", "accept",
                                    "--out", out))
        result, records = run_json(out), request_lines(out)
        primers = [record for record in records if record.get("warmup")]
        inside = {record["job"] for record in records if record.get("inside")}
        self.assertEqual({record["job"] for record in primers}, inside)
        self.assertEqual(len(inside), 6, "one for each slot")
        self.assertEqual({record["completion_tokens"] for record in primers}, {1})
        self.assertEqual(result["counts"]["warmup"], len(primers))
        self.assertEqual(result["counts"]["requests"], len(records) - len(primers))
        self.assertEqual((result["jobs"]["ok"], result["jobs"].get("unfinished", 0)), (24, 0), "the others are whole")
        by_index = {record["index"]: record for record in records}
        for record in records:
            if record.get("inside") and not record.get("warmup"):
                self.assertGreaterEqual(record["scheduled_s"], by_index[record["job"]]["closed_s"] - 1e-6)
        for wrong, named in ((("--request-rate", 1), "closed loop"), (("--num-warmups", 3, "--concurrency", 2), "primer turns")):
            self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--dataset", "agents", "--start-inside", "0.5", *wrong), 2,
                               "--start-inside", named)

    def test_idle_time_of_the_whole_system_is_shortened_and_other_pauses_are_not(self):
        rows = [{"job": "a", "id": "0", "conversation": "a", "messages": [{"role": "user", "content": "go"}], "output_tokens": 100},
                {"job": "a", "id": "1", "conversation": "a", "messages": [{"role": "user", "content": "on"}], "output_tokens": 100,
                 "tool_s": 100},
                {"job": "b", "id": "0", "conversation": "b", "messages": [{"role": "user", "content": "go"}], "output_tokens": 100},
                {"job": "b", "id": "1", "conversation": "b", "messages": [{"role": "user", "content": "on"}], "output_tokens": 100,
                 "tool_s": 108}]
        path, out = self.directory / "jobs.jsonl", self.directory / "run"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.succeeds(paretoken("run", "sim:ideal", "--virtual", "--dataset-path", path, "--concurrency", 2, "--num-prompts", "all",
                                "--idle-system-cap", "10s", "--workers", 2, "--out", out))
        a, on_a, b, on_b = sorted(request_lines(out), key=lambda record: record["index"])
        self.assertAlmostEqual(on_a["scheduled_s"] - max(a["closed_s"], b["closed_s"]), 10, places=2)
        self.assertAlmostEqual(on_b["scheduled_s"] - on_a["scheduled_s"], 8, places=1, msg="all pauses are shortened alike")

    def test_recipes_of_benchmarks_say_which_rules_were_kept(self):
        out = self.directory / "run"
        done = paretoken("run", "sim:ideal", "--virtual", "--recipe", "agentx", "--dataset-path", SAMPLES / "weka.json",
                         "--concurrency", 2, "--duration", "1000s", "--out", out)
        self.succeeds(done)
        self.matches_schema(out / "run.json", "run")
        self.assertTrue(run_json(out)["rules"]["kept"], run_json(out)["rules"])
        done = paretoken("run", "sim:ideal", "--virtual", "--recipe", "agentx", "--dataset-path", SAMPLES / "weka.json",
                         "--concurrency", 2, "--duration", "100s", "--seed", 1, "--out", out, "--overwrite")
        self.succeeds(done)
        self.assertIn("not kept: duration", done.stdout)
        broken = [rule["name"] for rule in run_json(out)["rules"]["rules"] if not rule["kept"]]
        self.assertEqual(broken, ["duration", "seed"])
        self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", "--recipe", "agentx"), 2, "--dataset-path", "Weka")

    def test_limits_on_jobs_need_jobs(self):
        for option in ("--goodput", "--slo"):
            self.fails_clearly(paretoken("run", "sim:ideal", "--virtual", option, "job:60s"), 2, option, "jobs of agents")
        self.fails_clearly(self.run_of_jobs("--stop", "slo:job_p95:3s"), 2, "--stop", "run has ended")

    def test_a_run_of_single_requests_has_no_jobs(self):
        out = self.directory / "run"
        self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--num-prompts", 20, "--out", out))
        self.assertNotIn("jobs", run_json(out))


class Formats(Case):
    def test_a_sample_of_each_format_is_recognised_and_replayed_in_virtual_time(self):
        for name, dataset, turns in (("weka.json", "weka", 4), ("agentic_mooncake.jsonl", "agentic_mooncake", 4),
                                     ("mooncake_session.jsonl", "mooncake_session", 4), ("aiperf_dag.jsonl", "dag_jsonl", 9),
                                     ("mlcommons_agentic.jsonl", "mlperf_agentic", 2), ("otel_spans.json", "otel_spans", 2)):
            with self.subTest(name):
                out = self.directory / name
                ran = self.ran_virtually(SAMPLES / name, out)
                self.assertEqual(ran["plan"]["dataset"].split(":")[0], dataset)
                records = request_lines(out)
                self.assertEqual(len(records), turns)
                self.assertEqual({record["outcome"] for record in records}, {"ok"})

    def ran_virtually(self, path, out):
        self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset-path", path, "--num-prompts", "all",
                                "--out", out))
        return run_json(out)

    def test_converted_rows_keep_jobs_waits_pauses_and_lengths(self):
        for name in ("weka.json", "agentic_mooncake.jsonl", "mlcommons_agentic.jsonl", "aiperf_dag.jsonl", "otel_spans.json"):
            with self.subTest(name):
                rows = self.directory / f"{name}.rows"
                self.succeeds(paretoken("dataset", "convert", SAMPLES / name, rows))
                described = [json.loads(paretoken("dataset", "describe", "--json", path).stdout)
                             for path in (SAMPLES / name, rows)]
                self.assertEqual(described[0]["jobs"], described[1]["jobs"])
                self.assertEqual(described[0].get("input_tokens"), described[1].get("input_tokens"))
                self.ran_virtually(SAMPLES / name, self.directory / f"{name}.a")
                self.ran_virtually(rows, self.directory / f"{name}.b")
                pauses = [[(line["index"], line.get("wanted_input_tokens"), line["wanted_output_tokens"], line["conversation"],
                            line["job"]) for line in sorted(request_lines(self.directory / f"{name}.{run}"),
                                                            key=lambda line: line["index"])] for run in "ab"]
                self.assertEqual(pauses[0], pauses[1])

    def test_generated_jobs_are_described_converted_and_played_alike(self):
        spec = "agents:jobs=20,turns=uniform:min=2;max=6,fanout=2,next=100,osl=20,tool=lognormal:mean=100ms;cv=1"
        rows = self.directory / "rows.jsonl"
        self.succeeds(paretoken("dataset", "convert", spec, rows))
        described = [json.loads(paretoken("dataset", "describe", what, "--json").stdout) for what in (spec, rows)]
        for one in described:
            one.pop("format")
        self.assertEqual(described[0], described[1])
        other = json.loads(paretoken("dataset", "describe", spec, "--seed", 1, "--json").stdout)
        self.assertNotEqual(other["jobs"]["turns"], described[0]["jobs"]["turns"])
        lengths = []
        for name, options in (("a", ("--dataset", spec)), ("b", ("--dataset-path", rows))):
            out = self.directory / name
            self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", *options, "--num-prompts", 20, "--concurrency", 4,
                                    "--out", out))
            lengths.append([(record["job"], record["prompt_tokens"])
                            for record in sorted(request_lines(out), key=lambda record: record["index"])])
        self.assertEqual(lengths[0], lengths[1])
        self.assertEqual(len(lengths[0]), described[0]["jobs"]["turns"])

    def test_describe_says_what_the_jobs_are_made_of(self):
        weka = json.loads(paretoken("dataset", "describe", "--json", SAMPLES / "weka.json").stdout)
        jobs = weka["jobs"]
        self.assertEqual((jobs["jobs"], jobs["agents"], jobs["turns"], jobs["depth"]), (1, 2, 4, 2))
        # Of 256 + 192 + 256 + 384 tokens, 192 and 256 stood at the beginning of an earlier prompt.
        self.assertAlmostEqual(jobs["best_possible_cache_hit"], 448 / 1088)
        self.assertEqual(jobs["tool_s"]["max"], 3)
        text = paretoken("dataset", "describe", SAMPLES / "weka.json").stdout
        self.assertIn("1 jobs of 2 agents and 4 turns", text)
        self.assertIn("count from the start of the sub-agent", text)

    def test_a_run_has_the_best_possible_hit_of_its_file_and_the_course_of_its_live_jobs(self):
        for name in ("weka.json", "agentic_mooncake.jsonl"):
            described = json.loads(paretoken("dataset", "describe", "--json", SAMPLES / name).stdout)
            out = self.directory / name
            ran = self.ran_virtually(SAMPLES / name, out)
            self.assertAlmostEqual(ran["workload"]["best_possible_cached_ratio"], described["jobs"]["best_possible_cache_hit"])
            live = next(series for series in ran["series"] if series["name"] == "live_jobs")
            self.assertEqual(live["unit"], "jobs")
            self.assertGreater(max(live["values"]), 0.5)
            self.assertLessEqual(max(live["values"]), described["jobs"]["jobs"] + 1e-9)
            page = self.directory / f"{name}.md"
            self.succeeds(paretoken("report", out, "--out", page))
            share = f"{100 * ran['workload']['best_possible_cached_ratio']:.0f} %"
            self.assertTrue(any("Best possible" in line for line in page.read_text().splitlines()))
            self.assertIn(share, page.read_text())
        messages = self.ran_virtually(SAMPLES / "mlcommons_agentic.jsonl", self.directory / "messages")
        self.assertNotIn("best_possible_cached_ratio", messages["workload"], "messages have no blocks")

    def test_a_tenth_of_a_large_trace_is_read_and_replayed_in_little_memory(self):
        ran = subprocess.run([sys.executable, ROOT / "benchmarks" / "agent_jobs.py", "--jobs", "39", "--requests", "9882",
                              "--binary", BINARY], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        megabytes = {line.split(":")[0]: float(re.search(r"(\d+) MB", line)[1]) for line in ran.stdout.splitlines()}
        self.assertGreater(megabytes["file"], 50)
        self.assertLess(megabytes["describe"], 500)
        self.assertLess(megabytes["replay"], 500)

    def test_formats_that_are_not_read_are_refused_by_name(self):
        for name, words in (("trie.jsonl", "EvalScope"), ("bailian.jsonl", "Bailian")):
            self.fails_clearly(paretoken("run", "sim:", "--virtual", "--dataset-path", SAMPLES / name), 2, words,
                               "which is not read")

    def test_tool_messages_and_recorded_answers_reach_the_server_as_they_came(self):
        recorder = Recorder()
        with http_server(recorder) as address:
            ran = paretoken("run", address, "--dataset-path", SAMPLES / "mlcommons_agentic.jsonl", "--num-prompts", "all",
                            "--no-ignore-eos", "--scrape", "none", "--out", self.directory / "run")
        self.assertIn(ran.returncode, (0, 4), ran.stderr)
        last = recorder.requests[-1][1]
        self.assertEqual([message["role"] for message in last["messages"]], ["system", "user", "assistant", "tool", "tool"])
        rows = [json.loads(line) for line in (SAMPLES / "mlcommons_agentic.jsonl").read_text().splitlines()]
        self.assertEqual(last["messages"][2]["tool_calls"], rows[1]["tool_calls"])
        self.assertEqual(last["messages"][3], {"role": "tool", "content": "main.cpp", "tool_call_id": "c1"})
        self.assertEqual(last["tools"], rows[0]["tools"])
        self.assertEqual(run_json(self.directory / "run")["plan"]["replies"], "recorded")

    def test_a_trace_of_long_jobs_is_replayed(self):
        draw, path = random.Random(5), self.directory / "traces.jsonl"
        turns = 0
        with path.open("w") as out:
            for job in range(20):
                t, context, requests, unused = 0.0, list(range(1, 40)), [], 40
                for turn in range(draw.randint(20, 60)):
                    if draw.random() < 0.03:
                        context = context[:draw.randint(1, len(context))]
                    new = draw.randint(1, 12)
                    context = context + list(range(unused, unused + new))
                    unused += new
                    api, think = draw.uniform(1, 5), draw.expovariate(1 / 3)
                    requests.append({"t": t, "type": "s", "model": "m", "in": 64 * len(context) - draw.randint(0, 63), "out": 20,
                                     "hash_ids": context, "api_time": api, "think_time": think if turn else None,
                                     "input_types": ["tool_result"]})
                    t += api + think
                turns += len(requests)
                out.write(json.dumps({"id": f"job-{job}", "block_size": 64, "hash_id_scope": "local",
                                      "requests": requests}) + "\n")
        run = self.directory / "run"
        self.succeeds(paretoken("run", "sim:llama3-8b-h100-fp8", "--virtual", "--dataset-path", path, "--concurrency", 6,
                                "--num-prompts", "all", "--idle-cap", "10s", "--out", run))
        records = request_lines(run)
        self.assertEqual(len(records), turns)
        for record in records:
            self.assertLessEqual(abs(record["prompt_tokens"] - record["wanted_input_tokens"]), 64)
        self.assertGreater(sum(record.get("cached_prompt_tokens", 0) for record in records) /
                           sum(record["prompt_tokens"] for record in records), 0.5)


if __name__ == "__main__":
    unittest.main()
