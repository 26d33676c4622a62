#!/usr/bin/env python3
"""Measures the time that PyTorch, and FlashInfer if it is installed, need for the work of the rows of paretoken-microbench.
Prints one line of JSON for each row as soon as it has been measured or skipped.

The protocol is that of the rows that they are compared with: random operands in a ring that is several times larger than
the L2 cache, one CUDA graph that cycles through the ring, a warm-up, replays between CUDA events, medians and quartiles. The
outputs are checked against float64 before anything is timed. Each library gets the layout that suits it best: attention in
PyTorch has a contiguous cache without page tables. `--probe` prints the names of the rows without measuring.
"""

import json
import math
import sys

MOST_COPIES = 1024
REPLAYS = 15
REPLAY_S = 5e-3
WARM_UP_S = 0.2
MOST_LAUNCHES = 2048
ATTENTION_BOUND = 1e-2  # bf16 outputs
MATRIX_BOUND = 1e-2

# (query heads, KV heads, head dimension); from the models' config.json.
HEADS = {"llama3-8b": (32, 8, 128), "llama3-70b": (64, 8, 128), "qwen3-235b-a22b": (64, 4, 128),
         "llama2-7b": (32, 32, 128)}
ATTENTION = (("llama3-70b", 16, 8192), ("llama3-8b", 32, 4096), ("llama2-7b", 8, 4096))
# Rows of weights: (preset, op, rows, k, formats).
MATRICES = (("llama3-8b", "gate_up", 2 * 14336, 4096, ("bf16", "fp8", "int4")),
            ("llama3-8b", "qkv", 6144, 4096, ("bf16", "fp8", "int4")),
            ("llama3-70b", "down", 8192, 28672, ("fp8", "int4")))
BATCHES = (1, 32)
# Prompts: (preset, tokens) of attention; (preset, op, rows, k, tokens, formats) of a library's products.
PROMPTS = (("llama3-8b", 8192),)
PROMPT_MATRICES = (("llama3-8b", "gate_up", 2 * 14336, 4096, 2048, ("bf16", "fp8")),)


def attention_name(preset, batch, context):
    return f"attention/preset:{preset}/kv:bf16/batch:{batch}/ctx:{context}/page:16/layout:nhd/order:random"


def matrix_name(preset, op, form, batch):
    return f"weights/preset:{preset}/op:{op}/w:{form}/batch:{batch}"


def prompt_name(preset, tokens):
    return f"prefill/attention/engine:mma_sync/preset:{preset}/kv:bf16/batch:1/tokens:{tokens}"


def prompt_matrix_name(preset, op, form, tokens):
    return f"prefill/gemm/engine:lib/preset:{preset}/op:{op}/w:{form}/tokens:{tokens}"


def row_names():
    names = [attention_name(*shape) for shape in ATTENTION]
    for preset, op, _, _, forms in MATRICES:
        names += [matrix_name(preset, op, form, batch) for form in forms for batch in BATCHES]
    names += [prompt_name(*shape) for shape in PROMPTS]
    names += [prompt_matrix_name(preset, op, form, tokens)
              for preset, op, _, _, tokens, forms in PROMPT_MATRICES for form in forms]
    return names


def copies_for(bytes_per_copy, device):
    import torch
    properties = torch.cuda.get_device_properties(device)
    ring = 4 << 30 if properties.total_memory >= 40e9 else 1 << 30  # as ours
    return max(1, math.ceil(5 * properties.L2_cache_size / bytes_per_copy),
               min(math.ceil(ring / bytes_per_copy), MOST_COPIES))


def relative_error(out, reference):
    difference = (out.double() - reference).norm() / reference.norm()
    return float(difference) if math.isfinite(float(difference)) else math.inf


def whole_rounds(launches, copies):
    """How many launches a graph gets that should have so many: whole rounds of the ring, one at least."""
    return copies * max(1, min(math.ceil(launches / copies), MOST_LAUNCHES // copies))


def timed(launch, copies):
    """Seconds per launch: (median, p25, p75) over replays of one graph. They follow each other without a gap: where the
    GPU waits for the host, the time of a replay has the start of its graph in it."""
    import torch
    stream = torch.cuda.Stream()

    def captured(launches):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for i in range(launches):
                launch(i % copies)
        return graph

    def replay_seconds(graph, count):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
        for event in events[:-1]:
            event.record()
            graph.replay()
        events[-1].record()
        events[-1].synchronize()
        return [begin.elapsed_time(end) * 1e-3 for begin, end in zip(events, events[1:])]

    with torch.cuda.stream(stream):
        for i in range(min(copies, 4)):
            launch(i)
        launches = whole_rounds(8, copies)  # of a graph: launched one by one, small ones cost the host more
        graph = captured(launches)
        once = min(replay_seconds(graph, 4)) / launches
        if launches != whole_rounds(REPLAY_S / once, copies):
            launches = whole_rounds(REPLAY_S / once, copies)
            del graph
            graph = captured(launches)
        replay_seconds(graph, max(3, math.ceil(WARM_UP_S / (launches * once))))
        seconds = sorted(replay / launches for replay in replay_seconds(graph, REPLAYS))
    return seconds[len(seconds) // 2], seconds[len(seconds) // 4], seconds[3 * len(seconds) // 4]


def row(name, peer, seconds):
    """`seconds`: of `timed`, and which setting of the peer it was where that was tried out."""
    told = {"name": name, "peer": peer, "median_s": seconds[0], "p25_s": seconds[1], "p75_s": seconds[2]}
    return told | ({"setting": seconds[3]} if len(seconds) > 3 else {})


def reference_attention(q, k, v):
    """float64, of request 0; q [heads, dim], k and v [kv heads, tokens, dim]."""
    import torch
    group = q.shape[0] // k.shape[0]
    k, v = (x.double().repeat_interleave(group, 0) for x in (k, v))
    weights = torch.softmax(torch.einsum("hd,htd->ht", q.double(), k) / math.sqrt(q.shape[1]), -1)
    return torch.einsum("ht,htd->hd", weights, v)


def sdpa(preset, batch, context, backend):
    """torch.nn.functional.scaled_dot_product_attention over contiguous caches."""
    import torch
    from torch.nn.attention import sdpa_kernel
    heads, kv_heads, dim = HEADS[preset]
    per_copy = 2 * batch * kv_heads * context * dim * 2
    copies = copies_for(per_copy, 0)
    q = torch.randn(batch, heads, 1, dim, device="cuda", dtype=torch.bfloat16)
    caches = [torch.randn(2, batch, kv_heads, context, dim, device="cuda", dtype=torch.bfloat16) for _ in range(copies)]

    def launch(i):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, caches[i][0], caches[i][1],
                                                                    enable_gqa=heads != kv_heads)

    error = relative_error(launch(0)[0, :, 0], reference_attention(q[0, :, 0], caches[0][0, 0], caches[0][1, 0]))
    if not error <= ATTENTION_BOUND:
        raise ValueError(f"its output is off by {error:.1e}")
    return timed(launch, copies)


def sdpa_prompt(preset, tokens, backend):
    """The same function over a whole prompt, each query seeing what is before it. One copy: arithmetic bounds it."""
    import torch
    from torch.nn.attention import sdpa_kernel
    heads, kv_heads, dim = HEADS[preset]
    q = torch.randn(1, heads, tokens, dim, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(1, kv_heads, tokens, dim, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def launch(_):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != kv_heads)

    out = launch(0)
    for query in (0, tokens // 2, tokens - 1):
        seen = query + 1
        error = relative_error(out[0, :, query], reference_attention(q[0, :, query], k[0, :, :seen], v[0, :, :seen]))
        if not error <= ATTENTION_BOUND:
            raise ValueError(f"its output for query {query} is off by {error:.1e}")
    return timed(launch, 1)


def flashinfer_decode(preset, batch, context):
    """FlashInfer's paged decode with a random page table; planning happens before anything is timed."""
    import flashinfer
    import torch
    heads, kv_heads, dim = HEADS[preset]
    page = 16
    pages = batch * context // page
    copies = copies_for(2 * batch * kv_heads * context * dim * 2, 0)
    pool = torch.randn(copies * pages, 2, page, kv_heads, dim, device="cuda", dtype=torch.bfloat16)
    q = torch.randn(batch, heads, dim, device="cuda", dtype=torch.bfloat16)
    order = torch.randperm(copies * pages, device="cuda", dtype=torch.int64).to(torch.int32)
    first = torch.arange(0, pages + 1, context // page, device="cuda", dtype=torch.int32)
    last = torch.full((batch,), page, device="cuda", dtype=torch.int32)
    plans = []
    for i in range(copies):
        workspace = torch.empty(128 << 20, device="cuda", dtype=torch.uint8)
        plan = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_tensor_cores=heads > kv_heads)
        plan.plan(first, order[i * pages:(i + 1) * pages], last, heads, kv_heads, dim, page,
                  q_data_type=torch.bfloat16, kv_data_type=torch.bfloat16)
        plans.append(plan)
    mine = pool[order[:context // page].long()].permute(1, 3, 0, 2, 4).reshape(2, kv_heads, context, dim)
    error = relative_error(plans[0].run(q, pool)[0], reference_attention(q[0], mine[0], mine[1]))
    if not error <= ATTENTION_BOUND:
        raise ValueError(f"its output is off by {error:.1e}")
    return timed(lambda i: plans[i].run(q, pool), copies)


def checked_matrix(launch, reference, bound=MATRIX_BOUND):
    error = relative_error(launch(0), reference)
    if not error <= bound:
        raise ValueError(f"its output is off by {error:.1e}")


def matrix_bf16(rows, k, batch):
    import torch
    copies = copies_for(rows * k * 2, 0)
    weights = [torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) for _ in range(copies)]
    x = torch.randn(batch, k, device="cuda", dtype=torch.bfloat16)
    checked_matrix(lambda i: x @ weights[i].t(), x.double() @ weights[0].double().t())
    return timed(lambda i: x @ weights[i].t(), copies)


def matrix_fp8(rows, k, batch):
    """torch._scaled_mm: activations in fp8 as well, padded to 16 rows, which it demands; what those cost is the peer's.
    With sums that stay in the tensor cores and without, the faster of the two."""
    import torch
    copies = copies_for(rows * k, 0)
    weights = [torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for _ in range(copies)]
    x = torch.randn(max(batch, 16), k, device="cuda").to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    reference = x.double() @ weights[0].double().t()
    found, refused = [], None
    for fast in (False, True):
        def launch(i, fast=fast):
            return torch._scaled_mm(x, weights[i].t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16,
                                    use_fast_accum=fast)

        try:
            # In the tensor cores each step of 32 of k cuts the sum off 13 bits below its largest part.
            checked_matrix(launch, reference, MATRIX_BOUND + (k / 32 / 8192 if fast else 0))
            found.append((*timed(launch, copies), f"use_fast_accum={fast} was the faster"))
        except Exception as error:  # one setting that does not work leaves the other
            refused = error
    if not found:
        raise refused
    return min(found)


def matrix_int4(rows, k, batch):
    """torch._weight_int4pack_mm with groups of 128."""
    import torch
    group = 128
    copies = copies_for(rows * k // 2, 0)
    x = torch.randn(batch, k, device="cuda", dtype=torch.bfloat16)
    scales = torch.rand(k // group, rows, 1, device="cuda") * 0.01 + 0.01
    zeros = torch.zeros_like(scales)
    scales_and_zeros = torch.cat([scales, zeros], -1).to(torch.bfloat16).contiguous()
    packed, first = [], None
    for i in range(copies):
        codes = torch.randint(0, 16, (rows, k), device="cuda", dtype=torch.int32)
        first = codes if i == 0 else first
        bytes_ = (codes[:, ::2] << 4 | codes[:, 1::2]).to(torch.uint8)
        packed.append(torch._convert_weight_to_int4pack(bytes_, 8))
    factor = scales_and_zeros[..., 0].double().t().repeat_interleave(group, 1)
    reference = x.double() @ ((first.double() - 8) * factor).t()

    def launch(i):
        return torch._weight_int4pack_mm(x, packed[i], group, scales_and_zeros)

    checked_matrix(launch, reference)
    return timed(launch, copies)


MATRIX_PEERS = {"bf16": (matrix_bf16, "torch matmul"), "fp8": (matrix_fp8, "torch._scaled_mm, x padded to 16 rows"),
                "int4": (matrix_int4, "torch._weight_int4pack_mm")}


def measurements():
    """(row, peer, function) of everything that this machine may be able to run."""
    from torch.nn.attention import SDPBackend
    for shape in ATTENTION:
        name = attention_name(*shape)
        yield name, "torch SDPA flash", lambda s=shape: sdpa(*s, SDPBackend.FLASH_ATTENTION)
        yield name, "torch SDPA cuDNN", lambda s=shape: sdpa(*s, SDPBackend.CUDNN_ATTENTION)
        yield name, "FlashInfer", lambda s=shape: flashinfer_decode(*s)
    for preset, op, rows, k, forms in MATRICES:
        for batch in BATCHES:
            for form in forms:
                function, peer = MATRIX_PEERS[form]
                yield (matrix_name(preset, op, form, batch), peer,
                       lambda f=function, r=rows, c=k, b=batch: f(r, c, b))
    for shape in PROMPTS:
        for peer, backend in (("torch SDPA flash", SDPBackend.FLASH_ATTENTION),
                              ("torch SDPA cuDNN", SDPBackend.CUDNN_ATTENTION)):
            yield prompt_name(*shape), peer, lambda s=shape, b=backend: sdpa_prompt(*s, b)
    for preset, op, rows, k, tokens, forms in PROMPT_MATRICES:
        for form in forms:
            function, peer = MATRIX_PEERS[form]
            yield (prompt_matrix_name(preset, op, form, tokens), peer,
                   lambda f=function, r=rows, c=k, t=tokens: f(r, c, t))


def main(argv):
    try:
        import torch
    except ImportError:
        print(json.dumps({"rows": [], "because": "no torch here"}))
        return 0
    if not torch.cuda.is_available():
        print(json.dumps({"rows": [], "because": "torch sees no GPU"}))
        return 0
    if "--probe" in argv:
        print(json.dumps({"rows": row_names(), "torch": torch.__version__}))
        return 0
    torch.manual_seed(1)
    for name, peer, function in measurements():
        try:
            told = row(name, peer, function())
        except Exception as error:  # a peer that cannot do this row leaves the others theirs
            text = str(error).splitlines()
            told = {"skipped": f"{peer} on {name}: skipped, {type(error).__name__}: {text[0][:160] if text else ''}"}
        print(json.dumps(told), flush=True)
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
