"""The speeds that the simulator predicts against published ones: the second half of scripts/fidelity.

A prediction gets the model, the formats, the GPUs, the engine, the parallelism and the size of the KV cache, if a row states it, as
its user knew them; no measured speed. Where a row does not say how many ranks a server has (MLPerf), the fastest number of ranks
that divides the GPUs is taken, because submitters chose it for speed. Uses the standard library only.
"""

import concurrent.futures
import functools
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile

ENGINES = [("tensorrt", "trtllm"), ("nim", "trtllm"), ("sglang", "sglang"), ("vllm", "vllm"), ("llama.cpp", "llamacpp")]
# Data sets of MLPerf Inference: the requests, all of which are in an offline test, and the limits of the server test: seconds of the
# 99th percentile of TTFT and of TPOT.
DATA_SETS = [("llama-2-70b", 24576, (2, .2)), ("llama-3.1-405b", 8313, (6, .175)), ("llama-3.1-8b", 13368, (2, .1)),
             ("mixtral", 15000, (2, .2)), ("deepseek-r1", 4388, (2, .08))]
OTHER_DATA_SET = ("", 10000, (2, .2))
SERVER_STEPS = (1024, 2048, 4096, 8192)  # largest steps that a submitter with limits on latency may choose from
DTYPES = {"mixed 4 bit": "iq4_xs", "q4_k_s": "q4_k", "q4_k_m": "q4_k"}
FULL_WAVES = 3  # an offline test lasts at least ten minutes: so many batches of requests show its steady speed

# Classes of rows, by name: the bounds of the median, the bounds of most rows, and the share that must be within these.
BANDS = {
    "dense, one GPU": ((.95, 1.05), (.8, 1.25)),
    "dense, NVLink": ((.95, 1.05), (.75, 1.3)),
    "dense, PCIe": ((.85, 1.15), (.7, 1.4)),
    "dense, network": (None, (.5, 2)),
    "MoE": ((.85, 1.15), (.7, 1.4)),
    "MLA": ((.85, 1.15), (.7, 1.4)),
    "fp4": ((.95, 1.05), (.8, 1.25)),
    "prompt-heavy": ((.85, 1.15), (.7, 1.4)),
}


def engine_of(row):
    name = row["engine"].lower()
    return next((engine for word, engine in ENGINES if word in name), "vllm")


def is_mlperf(row):
    return "MLPerf" in row["engine_version"]


def data_set_of(row):
    return next((known for known in DATA_SETS if row["model"].lower().startswith(known[0])), OTHER_DATA_SET)


def class_of(row, kind):
    """The class by the kind of model and the link; each row has one."""
    if kind != "dense":
        return kind
    if int(row["gpu_count"] or 1) == 1:
        return "dense, one GPU"
    link = row["link"].lower()
    return "dense, " + {"pcie": "PCIe", "network": "network"}.get(link, "NVLink")


def further_classes_of(row):
    """Classes that overlap with the others."""
    more = []
    if "fp4" in row["weights_dtype"]:
        more.append("fp4")
    if row["isl"] and row["osl"] and int(row["isl"]) >= 8 * int(row["osl"]):
        more.append("prompt-heavy")
    return more


def gpu_of(row):
    """The card of a row's GPU. GPUs that are linked by PCIe are those of that form."""
    gpu = row["gpu"]
    if row["link"] == "PCIe" and "A100 80" in gpu:
        return "a100-80gb-pcie"
    if "A100 40" in gpu:
        return "a100-40gb"
    if gpu == "H100 PCIe":
        return "h100-pcie"
    if gpu.startswith("H100"):
        return "h100-sxm"
    return gpu.split(" 80 GB")[0].lower().replace(" ", "-")


def types_of(row):
    weights = DTYPES.get(row["weights_dtype"].lower(), row["weights_dtype"])
    return weights + (f"/{row['kv_dtype']}" if row["kv_dtype"] else "/fp8" if weights == "fp8" else "")


def cache_of(row):
    """The stated size of the cache, as a change of the profile."""
    if found := re.search(r"KV cache (\d+) tokens", row["note"]):
        return {"blocks": int(found[1]) // 16}
    if found := re.search(r"KV cache ([\d.]+) GiB", row["note"]):
        return {"kv_memory": f"{found[1]}GiB"}
    return {}


def profile_of(row, shape, ranks, more):
    gpus = gpu_of(row) + (f"x{ranks}" if ranks > 1 else "")
    changes = {"engine": engine_of(row), **cache_of(row)}
    if ranks > 1 and (row["parallelism"].startswith("DEP") or "attention data parallel" in row["note"]):
        changes["parallel"] = "dep"
    elif row["parallelism"] == "layers" or int(row["pp"] or 1) > 1:
        changes["parallel"] = "layers"
    if row["link"] == "network":
        changes["link"] = "ethernet"
    elif row["link"] == "PCIe" and is_mlperf(row):
        changes["link"] = "pcie"  # a submitter's own machine: the GPUs read each other's memory
    if changes["engine"] == "llamacpp":
        changes["max_batched_tokens"] = microbatch_of(row)
    text = "&".join(f"{name}={value}" for name, value in changes.items())
    return f"sim:{shape}/{gpus}/{types_of(row)}?{text}{more}"


def microbatch_of(row):
    found = re.search(r"microbatch (?:of )?(\d+)", row["note"])
    return int(found[1]) if found else 512


def ranks_of(row):
    """The numbers of ranks that a server may have."""
    gpus = int(row["gpu_count"] or 1)
    if not is_mlperf(row):
        return [gpus]
    return [count for count in (1, 2, 4, 8) if gpus % count == 0]


def spread(mean):
    """Lengths around a mean, because those of the data sets vary: from half to one and a half times."""
    return f"uniform:min={mean // 2},max={mean + mean // 2}"


def drawn_length(row, what, mean):
    """The lengths that a note states ("inputs of 220 to 1000 tokens"), or else the mean."""
    found = re.search(what + r" of (\d+) to (\d+)", row["note"])
    return f"uniform:min={found[1]},max={found[2]}" if found else mean


def load_of(row, replicas):
    """The options of the load of one of `replicas` servers."""
    isl, osl = drawn_length(row, "inputs", row["isl"]), drawn_length(row, "answers", row["osl"])
    load = row["load"]
    if load.startswith("llama-bench"):
        decode = "tg" in load
        return ["--isl", "16" if decode else isl, "--osl", osl if decode else "2", "--concurrency", "1", "--num-prompts", "3"]
    if is_mlperf(row):
        lengths = ["--isl", spread(int(isl)), "--osl", spread(int(osl))]
        requests = min(data_set_of(row)[1] * FULL_WAVES // replicas, 12000)
        return [*lengths, "--concurrency", str(requests), "--num-prompts", str(requests)]
    lengths = ["--isl", isl, "--osl", osl]
    if load == "closed loop":  # the clients of these rows open all slots at once, and the wave of prompts comes back each round
        streams = int(row["concurrency"])
        return [*lengths, "--concurrency", str(streams), "--ramp-up", "0s", "--num-prompts", row["num_prompts"] or str(max(10, 6 * streams))]
    if load == "poisson":  # the column of the concurrency has the requests per second
        most = re.search(r"at most (\d+) in flight", row["note"])
        limit = ["--concurrency", most[1]] if most else []
        return [*lengths, "--request-rate", row["concurrency"], *limit, "--num-prompts", row["num_prompts"]]
    requests = str(min(int(row["num_prompts"]), 12000))
    return [*lengths, "--concurrency", requests, "--num-prompts", requests]


@functools.lru_cache(maxsize=None)
def measured(binary, profile, load):
    """The result of a virtual run; a text if it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        done = subprocess.run([binary, "run", profile, "--virtual", *load, "--timeout", "1000h", "--salt", "fidelity", "--out", str(out)],
                              capture_output=True, text=True, check=False)
        if not (out / "run.json").exists():
            return (done.stderr.strip().splitlines() or ["no result"])[-1]
        return json.loads((out / "run.json").read_text())


def is_within(run, limits):
    highest = [run["metrics"][metric].get("p99") for metric in ("ttft_s", "tpot_s")]
    return all(value is not None and value <= limit for value, limit in zip(highest, limits))


def served_within_limits(row, binary, profile, offline):
    """The output tokens per second of a server at the highest rate that meets the limits of MLPerf, by bisection."""
    lengths = load_of(row, 1)[:4]
    saturated = offline["whole_run"]["requests_per_s"]
    best = 0
    for step in SERVER_STEPS:
        low, high = .1, 1.05
        while high - low > .03:
            rate = saturated * (low + high) / 2
            load = [*lengths, "--request-rate", f"{rate:.4g}", "--num-prompts", str(max(1500, int(120 * rate)))]
            run = measured(binary, f"{profile}&max_batched_tokens={step}", tuple(load))
            if isinstance(run, str) or not is_within(run, data_set_of(row)[2]):
                high = (low + high) / 2
            else:
                low = (low + high) / 2
                best = max(best, rate * float(row["osl"]))
    return best


def figure_of(row, run):
    """The figure of a run that a row has."""
    metrics = run["metrics"]
    if row["load"].startswith("llama-bench"):
        if "tg" in row["load"]:
            return 1 / metrics["tpot_s"]["mean"]
        return int(row["isl"]) / metrics["ttft_s"]["mean"]
    for word, metric in (("TTFT", "ttft_s"), ("ITL", "itl_s"), ("TPOT", "tpot_s")):
        if word in row["metric"]:
            return metrics[metric]["p50" if "p50" in row["metric"] else "mean"] * 1e3
    steady = row["load"] == "closed loop" and run["throughput"].get("output_tokens_per_s")
    return steady or run["whole_run"]["output_tokens_per_s"]


def predicted(row, binary, shape, more):
    """Sets the predicted figure of a row and the profile, or why there is none."""
    if row["gpu"].startswith("CPU"):
        row["error"] = "no card of this CPU"
        return
    gpus = int(row["gpu_count"] or 1)
    runs = {}
    for ranks in ranks_of(row):
        profile = profile_of(row, shape, ranks, more)
        runs[profile] = (gpus // ranks, measured(binary, profile, tuple(load_of(row, gpus // ranks))))
    done = {profile: run for profile, run in runs.items() if not isinstance(run[1], str)}
    if not done:
        row["error"] = runs.popitem()[1][1]
        return
    row["profile"] = max(done, key=lambda profile: done[profile][0] * figure_of(row, done[profile][1]))
    replicas, run = done[row["profile"]]
    served = served_within_limits(row, binary, row["profile"], run) if row["load"] == "server" else figure_of(row, run)
    row["predicted"] = served * replicas
    row["ratio"] = row["predicted"] / float(row["value"])


def predict_all(rows, binary, shape_of, kind_of, more=""):
    for row in rows:
        row["classes"] = [class_of(row, kind_of(row)), *further_classes_of(row)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda row: predicted(row, binary, shape_of(row["model"]), more), rows))


def metric_of(row):
    """Figures per second are compared together; times of first and of later tokens apart."""
    if row["unit"] == "tok/s":
        return "tokens/s"
    return "TTFT" if "TTFT" in row["metric"] else "TPOT"


def class_table(rows):
    """A row per class and metric."""
    text = "| class | figure | rows | median | least | greatest | within | band | without one model |\n"
    text += "|---|---|--:|--:|--:|--:|--:|---|---|\n"
    for name, (_, band) in BANDS.items():
        for metric in ("tokens/s", "TPOT", "TTFT"):
            of = [row for row in rows if name in row["classes"] and metric_of(row) == metric and "ratio" in row]
            if not of:
                continue
            ratios = [row["ratio"] for row in of]
            within = sum(band[0] <= ratio <= band[1] for ratio in ratios) / len(ratios)
            text += (f"| {name} | {metric} | {len(of)} | {statistics.median(ratios):.2f} | {min(ratios):.2f} | {max(ratios):.2f} | "
                     f"{within:.0%} | {band[0]:g} to {band[1]:g} | {without_one_model(of)} |\n")
    return text


def without_one_model(rows):
    """The range of medians when the rows of each model in turn are left out."""
    models = sorted({row["model"] for row in rows})
    if len(models) < 2:
        return ""
    medians = [statistics.median(row["ratio"] for row in rows if row["model"] != model) for model in models]
    return f"{min(medians):.2f} to {max(medians):.2f}"


def band_of(row):
    return BANDS[row["classes"][0]][1]


def is_met(row):
    least, most = band_of(row)
    return least <= row["ratio"] <= most


def row_text(row):
    gpus = f"{row['gpu_count'] or 1} × {row['gpu']}" + (f", {row['parallelism']}" if row["parallelism"] else "")
    load = row["load"].split(",")[0] + (f" {row['concurrency']}" if row["concurrency"] else "")
    lengths = f"{row['isl'] or '–'}/{row['osl'] or '–'}"
    unit = row["unit"] if metric_of(row) == "tokens/s" else f"ms {metric_of(row)}"
    figures = [row["error"], ""] if "error" in row else [f"{row['predicted']:.4g}", f"{row['ratio']:.2f}"]
    cells = [row["id"], ", ".join(row["classes"]), f"{row['model']}, {row['weights_dtype']}", gpus, f"{lengths}, {load}",
             f"{float(row['value']):.4g} {unit}", *figures]
    return "| " + " | ".join(cells) + " |\n"


def row_table(rows):
    head = "| row | class | model | GPUs | load | published | predicted | ÷ |\n|---|---|---|---|---|--:|--:|--:|\n"
    return head + "".join(map(row_text, rows))


def text_of(rows, binary, shape_of, kind_of, more="", every_row=False, no_row=False):
    """The table of classes, and the rows that are outside the band of their class, or all rows."""
    predict_all(rows, binary, shape_of, kind_of, more)
    shown = rows if every_row else [row for row in rows if "ratio" in row and not is_met(row)]
    return class_table(rows) + ("" if no_row else "\n" + row_table(shown))


# ---- refitted constants

# The constants that were fitted to rows of the table: the name in a profile, the rows, and the values that are tried.
FITTED = [
    ("reach.linear_fp4", lambda row: "fp4" in row["classes"] and row["classes"][0].startswith("dense"), (.29, .33, .37, .41, .45)),
    ("reach.experts", lambda row: row["classes"][0] in ("MoE", "MLA"), (.5, .6, .7, .8, .9)),
    ("reach.link_share", lambda row: row["classes"][0] == "dense, PCIe" and not is_mlperf(row), (.12, .14, .17, .2, .24)),
]


def mean_error(rows):
    return statistics.mean(abs(math.log(row["ratio"])) for row in rows)


def refitted(rows, binary, shape_of, kind_of, name, values):
    """The rows of each model, predicted with the value that fits the rows of all other models best."""
    tried = {}
    for value in values:
        tried[value] = [dict(row) for row in rows]
        predict_all(tried[value], binary, shape_of, kind_of, f"&{name}={value}")
        tried[value] = [row for row in tried[value] if row.get("ratio")]
    left_out, chosen = [], []
    for model in sorted({row["model"] for row in rows}):
        best = min(values, key=lambda value: mean_error([row for row in tried[value] if row["model"] != model]))
        chosen.append(best)
        left_out += [row for row in tried[best] if row["model"] == model]
    return left_out, chosen


def leave_one_out_table(rows, binary, shape_of, kind_of):
    for row in rows:
        row["classes"] = [class_of(row, kind_of(row)), *further_classes_of(row)]
    text = "| constant | rows | models | values | median of models left out | within the band |\n|---|--:|--:|---|--:|--:|\n"
    for name, is_of, values in FITTED:
        of = [row for row in rows if is_of(row)]
        if len({row["model"] for row in of}) < 2:
            continue
        left_out, chosen = refitted(of, binary, shape_of, kind_of, name, values)
        ratios = [row["ratio"] if metric_of(row) == "tokens/s" else 1 / row["ratio"] for row in left_out]
        within = sum(map(is_met, left_out)) / len(left_out)
        text += (f"| `{name}` | {len(left_out)} | {len(chosen)} | {min(chosen):g} to {max(chosen):g} | {statistics.median(ratios):.2f} | "
                 f"{within:.0%} |\n")
    return text
