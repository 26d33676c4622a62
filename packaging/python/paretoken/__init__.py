"""Reads the runs that the program paretoken leaves:

    import paretoken
    run = paretoken.load("runs/mine/c16")
    run.metrics["ttft_s"]["p95"], run.throughput["output_tokens_per_s"]
    run.requests["first_event_s"]      # one value per request
    run.events["time_s"]               # one value per event of an answer's stream

Columns are NumPy arrays if NumPy is installed, else lists. `python -m paretoken` runs the program itself.
"""

from ._files import Run, RunError, load

__all__ = ["Run", "RunError", "load"]
