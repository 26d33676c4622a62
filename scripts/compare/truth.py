"""Joins what a client reported with what the server knows, and computes both sides' figures. Pure; times in seconds."""

import dataclasses

FIGURES = ("ttft", "itl", "e2e")
PERCENTILES = (50, 99)


@dataclasses.dataclass
class Request:
    """One request as the client saw it; `id` as the server knows it."""
    id: str
    ttft_s: float | None = None
    e2e_s: float | None = None
    sent_s: float | None = None  # on the client's own clock; only where the client cuts a window
    scheduled_s: float | None = None


@dataclasses.dataclass
class Reported:
    """What a client's result says. `percentiles["ttft"][99]` in seconds."""
    percentiles: dict
    gaps: str  # "each" gap between tokens is a sample, or the "mean" of a request's gaps
    requests: list  # of Request; empty where the client keeps none that the server knows
    completed: int
    failed: int = 0
    window: tuple | None = None  # (begin_s, end_s) on the clock of sent_s, where figures leave out the rest
    doubts: list = dataclasses.field(default_factory=list)


def percentile(values, p):
    """p in percent, linear between neighbours (type 7). None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    place = p / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def first_token_s(entry):
    return (entry["written_ns"][0] - entry["received_ns"]) / 1e9


def whole_s(entry):
    return (entry["written_ns"][-1] - entry["received_ns"]) / 1e9


def gaps_s(entry):
    written = entry["written_ns"]
    return [(later - earlier) / 1e9 for earlier, later in zip(written, written[1:])]


def of_the_job(entries, output_tokens):
    """Finished answers of the length that was asked for: probes and warm-ups of a client are shorter or cut off."""
    return [entry for entry in entries if entry["complete"] and sum(entry["tokens"]) == output_tokens]


def joined(requests, entries):
    """Pairs of (request, entry) with the same id."""
    by_id = {entry["id"]: entry for entry in entries}
    return [(request, by_id[request.id]) for request in requests if request.id in by_id]


def true_samples(reported, entries, output_tokens):
    """({figure: samples in seconds}, pairs): the requests, and the tokens, that the client's own figures cover."""
    pairs = joined(reported.requests, entries)
    if reported.window and pairs:
        return samples_in_window(reported.window, pairs), pairs
    covered = [entry for _, entry in pairs] if pairs else of_the_job(entries, output_tokens)
    if reported.gaps == "each":
        gaps = [gap for entry in covered for gap in gaps_s(entry)]
    else:
        gaps = [sum(gaps_s(entry)) / len(gaps_s(entry)) for entry in covered if gaps_s(entry)]
    return {"ttft": [first_token_s(entry) for entry in covered], "itl": gaps,
            "e2e": [whole_s(entry) for entry in covered]}, pairs


def samples_in_window(window, pairs):
    """Requests scheduled, and tokens written, within the client's window. A request is received when it was sent at
    the earliest, which places the client's clock on the server's."""
    origin_ns = min(entry["received_ns"] - request.sent_s * 1e9 for request, entry in pairs)
    begin_ns, end_ns = (origin_ns + edge * 1e9 for edge in window)
    begin, end = window
    covered = [entry for request, entry in pairs if begin <= request.scheduled_s < end]
    gaps = [(later - earlier) / 1e9 for _, entry in pairs
            for earlier, later in zip(entry["written_ns"], entry["written_ns"][1:]) if begin_ns <= later < end_ns]
    return {"ttft": [first_token_s(entry) for entry in covered], "itl": gaps,
            "e2e": [whole_s(entry) for entry in covered]}


def percentiles_of(samples):
    return {figure: {p: percentile(samples[figure], p) for p in PERCENTILES} for figure in FIGURES}


def request_errors(pairs):
    """Reported minus true time to first token, request by request: {p: seconds}, empty where none could be joined."""
    errors = [request.ttft_s - first_token_s(entry) for request, entry in pairs if request.ttft_s is not None]
    return {p: percentile(errors, p) for p in PERCENTILES} if errors else {}


def first_of_the_job_ns(entries, pairs, output_tokens):
    """When the first request of the job reached the server; None when none did. Probes do not count."""
    ours = [entry for _, entry in pairs] or of_the_job(entries, output_tokens)
    return min((entry["received_ns"] for entry in ours), default=None)


def cpu_before_s(account, at_ns):
    """CPU time that a client had taken by then, between the samples that supervise.py took."""
    points = [[account["start_ns"], 0.0], *account["cpu_samples"],
              [account["start_ns"] + round(account["wall_s"] * 1e9), account["cpu_s"]]]
    for (begin, low), (end, high) in zip(points, points[1:]):
        if begin <= at_ns < end:
            return low + (high - low) * (at_ns - begin) / (end - begin)
    return 0.0 if at_ns < account["start_ns"] else account["cpu_s"]


def server_lateness(entries):
    """How long after their time tokens were written, {p: seconds}: the server's own precision."""
    late = [(written - due) / 1e9 for entry in entries for due, written in zip(entry["due_ns"], entry["written_ns"])]
    return {p: percentile(late, p) for p in PERCENTILES}


def events_of(entries):
    """Chunks with output that the server wrote."""
    return sum(len(entry["written_ns"]) for entry in entries)


def cpu_per_event_s(short, long):
    """Slope of CPU time over events between two runs alike but for the length of answers: what is done per request
    cancels out. `short` and `long` are (events, cpu_s). None where the runs do not tell."""
    events = long[0] - short[0]
    return (long[1] - short[1]) / events if events > 0 else None


def named(percentiles):
    """The same with p50 for 50, as JSON needs it."""
    return {f"p{p}": value for p, value in percentiles.items()}
