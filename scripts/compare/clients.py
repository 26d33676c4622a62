"""The clients: how each is asked for the same job, and what its result files say. Reading is pure but for files."""

import dataclasses
import json
import pathlib
import re
import subprocess

from compare.truth import PERCENTILES, Reported, Request, named, percentile


@dataclasses.dataclass
class Job:
    """One closed loop, the same for every client."""
    url: str
    streams: int
    requests: int
    input_tokens: int
    output_tokens: int
    model: str
    tokenizer: str
    folder: pathlib.Path


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def read_json_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def scaled(value, factor):
    return None if value is None else value * factor


DEFINITIONS = ("vllm", "guidellm", "aiperf")  # clients whose definitions `paretoken show` knows


# paretoken ------------------------------------------------------------------------------------------------------------

def paretoken_command(program, job):
    return [program, "run", job.url, "--concurrency", str(job.streams), "--num-prompts", str(job.requests),
            "--isl", str(job.input_tokens), "--osl", str(job.output_tokens), "--out", str(job.folder / "result")]


def paretoken_request(record):
    return Request(record["id"], record["first_event_s"] - record["sent_s"], record["last_event_s"] - record["sent_s"],
                   record["sent_s"], record["scheduled_s"])


def read_paretoken(job, _log):
    """Its window counts from the first request's scheduled time, the times of requests from a little earlier."""
    run = read_json(job.folder / "result/run.json")
    measured = [record for record in read_json_lines(job.folder / "result/requests.jsonl") if not record.get("warmup")]
    begin = min((record["scheduled_s"] for record in measured), default=0.0)
    records = [record for record in measured if record["outcome"] == "ok"]
    metrics = {figure: run["metrics"].get(f"{figure}_s", {}) for figure in ("ttft", "itl", "e2e")}
    return Reported({figure: {p: values.get(f"p{p}") for p in PERCENTILES} for figure, values in metrics.items()},
                    "each", [paretoken_request(record) for record in records], run["counts"]["ok"],
                    run["counts"]["failed"], (begin + run["window"]["begin_s"], begin + run["window"]["end_s"]),
                    [f"{reason['severity']}: {reason['text']}" for reason in run["validity"]["reasons"]])


def by_definitions(program, folder):
    """A run of paretoken by the definitions of the other clients: {client: {figure: {p50, p99}}} in seconds."""
    return {name: {row["figure"]: {p: row["theirs"].get(p) for p in ("p50", "p99")}
                   for row in json.loads(subprocess.run([program, "show", folder, "--definitions", name, "--json"],
                                                        capture_output=True, text=True, check=True).stdout)["rows"]}
            for name in DEFINITIONS}


def after_import(program, source, folder):
    """What paretoken computes of another client's times of requests, by its own definitions: {figure: {p50, p99}} in
    seconds. Times of the whole run, as the client's own figures have them; ITL of its window."""
    subprocess.run([program, "import", source, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    records = [record for record in read_json_lines(folder / "requests.jsonl") if record["outcome"] == "ok"]
    itl = read_json(folder / "run.json")["metrics"].get("itl_s", {})
    times = {figure: named({p: percentile([record[end] - record["sent_s"] for record in records], p) for p in PERCENTILES})
             for figure, end in (("ttft", "first_event_s"), ("e2e", "last_event_s"))}
    return times | {"itl": {f"p{p}": itl.get(f"p{p}") for p in PERCENTILES}}


# vLLM bench -----------------------------------------------------------------------------------------------------------

VLLM_ID = "compare-"


def vllm_command(program, job):
    return [program, "bench", "serve", "--backend", "openai-chat", "--base-url", job.url,
            "--endpoint", "/v1/chat/completions", "--model", job.model, "--tokenizer", job.tokenizer,
            "--dataset-name", "random", "--random-input-len", str(job.input_tokens),
            "--random-output-len", str(job.output_tokens), "--num-prompts", str(job.requests),
            "--max-concurrency", str(job.streams), "--ignore-eos", "--save-result", "--save-detailed",
            "--result-dir", str(job.folder), "--result-filename", "result.json",
            "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99",
            "--request-id-prefix", VLLM_ID, "--ready-check-timeout-sec", "0", "--disable-tqdm"]


def read_vllm(job, _log):
    """The detailed lists are in the order of the requests' ids. It has no word on the client's own condition."""
    result = read_json(job.folder / "result.json")
    tags = {"ttft": "ttft", "itl": "itl", "e2e": "e2el"}

    def figures(tag):
        return {p: scaled(result.get(f"p{p}_{tag}_ms", result.get(f"median_{tag}_ms") if p == 50 else None), 1e-3)
                for p in PERCENTILES}

    latencies = result.get("latencies") or [None] * len(result["ttfts"])
    requests = [Request(f"{VLLM_ID}{i}", ttft, latency)
                for i, (ttft, latency) in enumerate(zip(result["ttfts"], latencies)) if ttft]
    return Reported({figure: figures(tag) for figure, tag in tags.items()}, "each", requests, result["completed"],
                    result.get("failed", 0))


# GuideLLM -------------------------------------------------------------------------------------------------------------

def guidellm_command(program, job):
    return [program, "run", "--disable-progress",
            "--backend", f"kind=openai_http,target={job.url},model={job.model},request_format=/v1/chat/completions",
            "--profile", f"kind=concurrent,streams={job.streams}",
            "--constraint", f"kind=max_requests,count={job.requests}",
            "--tokenizer", f"kind=huggingface_auto,model={job.tokenizer}",
            "--data", f"kind=synthetic_text,prompt_tokens={job.input_tokens},output_tokens={job.output_tokens}",
            "--output", f"kind=json,path={job.folder / 'result.json'}"]


def guidellm_doubts(benchmark):
    return [warning["message"] if isinstance(warning, dict) else str(warning)
            for warning in benchmark.get("warnings") or []]


def read_guidellm(job, _log):
    """Its inter-token latency is the mean of each request's gaps. The id of an answer ends with the server's."""
    benchmark = read_json(job.folder / "result.json")["benchmarks"][0]

    def figures(name, factor):
        found = benchmark["metrics"][name]["successful"]["percentiles"]
        return {p: scaled(found.get(f"p{p:02}"), factor) for p in PERCENTILES}

    requests = [Request(re.sub(r"^(chat)?cmpl-", "", request["response_id"] or ""),
                        scaled(request["time_to_first_token_ms"], 1e-3), request["request_latency"])
                for request in benchmark["requests"]["successful"]]
    state = benchmark["scheduler_state"]
    return Reported({"ttft": figures("time_to_first_token_ms", 1e-3), "itl": figures("inter_token_latency_ms", 1e-3),
                     "e2e": figures("request_latency", 1)}, "mean", requests, state["successful_requests"],
                    state["errored_requests"] + state["cancelled_requests"], None, guidellm_doubts(benchmark))


# AIPerf ---------------------------------------------------------------------------------------------------------------

def aiperf_command(program, job):
    return [program, "profile", "-m", job.model, "--url", job.url, "--endpoint-type", "chat", "--streaming",
            "--tokenizer", job.tokenizer, "--concurrency", str(job.streams), "--request-count", str(job.requests),
            "--synthetic-input-tokens-mean", str(job.input_tokens), "--synthetic-input-tokens-stddev", "0",
            "--output-tokens-mean", str(job.output_tokens), "--output-tokens-stddev", "0",
            "--extra-inputs", "ignore_eos:true", "--use-server-token-count",
            "--artifact-dir", str(job.folder / "result"), "--ui", "none", "--no-server-metrics", "--no-gpu-telemetry"]


def aiperf_request(line):
    metrics = line["metrics"]
    return Request(line["metadata"]["x_request_id"], scaled(metrics.get("time_to_first_token", {}).get("value"), 1e-3),
                   scaled(metrics.get("request_latency", {}).get("value"), 1e-3))


def aiperf_doubts(log):
    """Titles of the warnings that it prints in boxes, and its notes that a worker's event loop was late."""
    titles = sorted({title.strip() for title in re.findall(r"[╭┌][─━ ]*([^─━╮┐\n]*Warning)[─━ ]*[╮┐]", log)})
    late = [float(ms) for ms in re.findall(r"Event loop for \S+ is taking too long to run\. Overhead: ([0-9.]+)ms",
                                           log)]
    if late:
        titles.append(f"logged {len(late)} times that an event loop was late, by up to {max(late):.0f} ms")
    return titles


def read_aiperf(job, log):
    """Its gaps between chunks are the inter-chunk latency; what it calls inter-token latency is a mean per request."""
    result = read_json(job.folder / "result/profile_export_aiperf.json")
    lines = [line for line in read_json_lines(job.folder / "result/profile_export.jsonl")
             if line["metadata"].get("benchmark_phase", "profiling") == "profiling" and line.get("metrics")]
    tags = {"ttft": "time_to_first_token", "itl": "inter_chunk_latency", "e2e": "request_latency"}
    figures = {figure: {p: scaled(result.get(tag, {}).get(f"p{p}"), 1e-3) for p in PERCENTILES}
               for figure, tag in tags.items()}
    failed = sum(error.get("count", 1) for error in result.get("error_summary") or [])
    return Reported(figures, "each", [aiperf_request(line) for line in lines],
                    int(result.get("request_count", {}).get("avg", 0)), failed, None, aiperf_doubts(log))


# ----------------------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Client:
    """`program` is the file to run in the environment's bin/; `offline` what keeps it from looking for a hub; `result` what
    `paretoken import` takes of its folder."""
    name: str
    title: str
    command: object
    read: object
    package: str = ""  # as pip knows it; empty for what is built here
    program: str = ""
    offline: dict = dataclasses.field(default_factory=dict)
    result: str = "result.json"


OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

CLIENTS = {client.name: client for client in (
    Client("paretoken", "paretoken", paretoken_command, read_paretoken),
    Client("vllm", "vLLM bench", vllm_command, read_vllm, "vllm", "vllm", OFFLINE | {"VLLM_TARGET_DEVICE": "cpu"}),
    Client("guidellm", "GuideLLM", guidellm_command, read_guidellm, "guidellm", "guidellm", OFFLINE),
    # Refuses a tokenizer in a local folder when told to be offline; with one it asks for nothing.
    Client("aiperf", "AIPerf", aiperf_command, read_aiperf, "aiperf", "aiperf", result="result"),
)}
