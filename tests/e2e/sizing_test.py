"""`paretoken plan`: the commands of docs/plan.md, the fit against start-ups of real servers, and the simulator as its own truth."""

import json
import os
import re
import shlex
import struct
import subprocess
import sys
import unittest

from harness import BINARY, ROOT, Case, paretoken
from manifests import objects_of, yaml

ROW = re.compile(r"^\| `(paretoken plan [^`]*)` \| (.*) \|$")
LIMITS = ["--slo", "ttft_p95:800", "--slo", "tpot_p95:50"]
LOAD = ["--isl", 1024, "--osl", 128]


def planned(*arguments):
    done = paretoken("plan", *arguments, "--json")
    return done, json.loads(done.stdout) if done.returncode == 0 else {}


class Documented(Case):
    def test_every_line_of_the_table_in_the_documents_is_in_the_output_of_its_command(self):
        rows = [found.groups() for found in map(ROW.match, (ROOT / "docs" / "plan.md").read_text().splitlines()) if found]
        self.assertGreaterEqual(len(rows), 6)
        for command, answer in rows:
            with self.subTest(command):
                self.assertIn(answer, self.succeeds(paretoken(*shlex.split(command)[1:])).stdout)


class Emitted(Case):
    """Commands of servers that cannot be started here, against the options of their parsers."""
    # vllm/engine/arg_utils.py of vLLM 0.6.6: types and choices.
    VLLM = {"--tensor-parallel-size": int, "--gpu-memory-utilization": float, "--max-model-len": int, "--max-num-seqs": int,
            "--max-num-batched-tokens": int, "--kv-cache-dtype": {"auto", "fp8", "fp8_e5m2", "fp8_e4m3"}}

    def test_vllm_has_every_option_with_such_a_value(self):
        for kv in ("auto", "fp8"):
            done = self.succeeds(paretoken("plan", "--model-card", "llama-3.1-8b", "--gpu", "h100x2", "--kv", kv, "--emit", "vllm"))
            words = shlex.split(done.stdout)
            self.assertEqual(words[:3], ["vllm", "serve", "meta-llama/Llama-3.1-8B"])
            flags = dict(zip(words[3::2], words[4::2]))
            self.assertEqual(set(flags), set(self.VLLM))
            for flag, value in flags.items():
                allowed = self.VLLM[flag]
                self.assertTrue(value in allowed if isinstance(allowed, set) else allowed(value) > 0, f"{flag} {value}")
            self.assertLessEqual(float(flags["--gpu-memory-utilization"]), 1)

    def test_a_cache_that_the_engine_does_not_have_is_not_planned(self):
        for engine, kv in (("llamacpp", "fp8"), ("vllm", "int8"), ("sglang", "q8_0")):
            done, plan = planned("--model-card", "llama-3.1-8b", "--gpu", "h100x1", "--engine", engine, "--kv", f"auto,{kv}")
            self.succeeds(done)
            refused = {cell["kv"]: cell.get("refused", "") for cell in plan["cells"]}
            self.assertIn(f"{engine} has no KV cache in {kv}", refused.pop(kv))
            self.assertEqual(set(refused.values()), {""})

    def test_a_server_of_several_hosts_is_warned_about(self):
        done = self.succeeds(paretoken("plan", "--model-card", "deepseek-v3", "--gpu", "h200x16", "--emit", "vllm"))
        self.assertIn("most hosts have at most 8", done.stderr)
        self.assertTrue(done.stdout.startswith("vllm serve deepseek-ai/"), done.stdout)


ODD_NAMES = ["it's a model", 'a "b" #c: d', "$(HOME) $HOME ${HOME}", "no", "1e3", "back\\slash", "line\nfeed", "näme/模型", "- x"]


@unittest.skipIf(yaml is None, "Python's yaml is not installed (python3-yaml)")
class Manifests(Case):
    CARD = ["--model-card", "llama3-8b", "--weights", "fp8", *LOAD]

    def emitted(self, form, *arguments):
        text = self.succeeds(paretoken("plan", *arguments, "--emit", form)).stdout
        return objects_of(self, text) if form == "k8s" else list(yaml.safe_load_all(text))

    def test_kubernetes_starts_the_planned_servers_and_scales_them_within_the_limits(self):
        arguments = [*self.CARD, "--gpu", "l40sx1", *LIMITS, "--demand", "50rps"]
        plan = planned(*arguments)[1]
        cell = plan["cells"][plan["best"]]
        deployment, service, autoscaler = self.emitted("k8s", *arguments)
        self.assertEqual([one["kind"] for one in (deployment, service, autoscaler)],
                         ["Deployment", "Service", "HorizontalPodAutoscaler"])
        self.assertEqual(deployment["spec"]["replicas"], cell["fleet"]["replicas"])
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(deployment["spec"]["selector"]["matchLabels"], labels)
        self.assertEqual(service["spec"]["selector"], labels)
        server, = deployment["spec"]["template"]["spec"]["containers"]
        self.assertEqual(server["resources"]["limits"], {"nvidia.com/gpu": 1})
        self.assertEqual(service["spec"]["ports"][0]["targetPort"], server["ports"][0]["name"])
        self.assertIn(str(server["ports"][0]["containerPort"]), server["args"])
        self.assertEqual(autoscaler["spec"]["scaleTargetRef"]["name"], deployment["metadata"]["name"])
        self.assertEqual(autoscaler["spec"]["maxReplicas"], cell["fleet"]["replicas"])
        # So many in flight are within the limits, and twice as many are not.
        target = int(autoscaler["spec"]["metrics"][0]["pods"]["target"]["averageValue"])
        for factor in (1, 2):
            out = self.directory / f"times-{factor}"
            self.succeeds(paretoken("run", cell["profile"], "--virtual", *LOAD, "--concurrency", factor * target, "--num-prompts", 3000,
                                    "--out", out))
            self.assertEqual(is_within(json.loads((out / "run.json").read_text())), factor == 1, factor * target)

    def test_every_engine_and_division_is_valid_for_kubernetes(self):
        for engine in ("vllm", "sglang", "trtllm", "llamacpp"):
            model = ["--model", "owner/name"]
            for gpus in (["--gpu", "h100x4", "--pp", 2], ["--gpu", "h100x1"]):
                pp = [] if engine == "llamacpp" else gpus[2:]
                documents = self.emitted("k8s", *self.CARD, *model, *gpus[:2], *pp, "--engine", engine, *LIMITS, "--demand", "9rps")
                self.assertEqual(len(documents), 2 if engine == "trtllm" else 3)

    def test_compose_starts_every_server_on_gpus_of_its_own_behind_a_router(self):
        file, = self.emitted("compose", *self.CARD, "--gpu", "l40sx2", *LIMITS, "--demand", "60rps")
        router = file["services"].pop("router")
        servers = file["services"]
        self.assertGreater(len(servers), 1)
        devices = [device for server in servers.values()
                   for device in server["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"]]
        self.assertEqual(devices, [str(i) for i in range(2 * len(servers))])
        self.assertEqual(router["depends_on"], list(servers))
        self.assertEqual(router["ports"], ["8000:8000"])
        content = file["configs"][router["configs"][0]["source"]]["content"]
        self.assertEqual(content.count("{"), content.count("}"))
        for name in servers:
            self.assertIn(f"server {name}:8000;", content)
        one, = self.emitted("compose", *self.CARD, "--gpu", "l40sx1")
        self.assertEqual(list(one["services"]), ["server-1"])
        self.assertEqual(one["services"]["server-1"]["ports"], ["8000:8000"])

    def test_gpus_of_amd_have_their_own_devices(self):
        file, = self.emitted("compose", *self.CARD, "--gpu", "mi300xx2")
        server = file["services"]["server-1"]
        self.assertEqual((server["devices"], server["environment"]["ROCR_VISIBLE_DEVICES"]), (["/dev/kfd", "/dev/dri"], "0,1"))
        deployment, _ = self.emitted("k8s", *self.CARD, "--gpu", "mi300xx2")
        self.assertEqual(deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"], {"amd.com/gpu": 2})

    def test_names_are_the_same_behind_every_quoting(self):
        for name in ODD_NAMES:
            with self.subTest(name):
                arguments = [*self.CARD, "--gpu", "l40sx1", "--model", name]
                words = shlex.split(self.succeeds(paretoken("plan", *arguments, "--emit", "vllm")).stdout)
                self.assertEqual(words[2], name)
                file, = self.emitted("compose", *arguments)
                deployment, _ = self.emitted("k8s", *arguments)
                for word in (file["services"]["server-1"]["command"][0],
                             deployment["spec"]["template"]["spec"]["containers"][0]["args"][0]):
                    self.assertEqual(word.replace("$$", "$"), name)
                    self.assertEqual(word.count("$"), 2 * name.count("$"), "both replace variables")
                self.assertRegex(deployment["metadata"]["name"], r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")

    def test_a_model_on_this_host_is_mounted(self):
        model = self.directory / "a model"
        model.mkdir()
        (model / "config.json").write_text(json.dumps(json.loads((ROOT / "cards/models/llama-3.1-8b.json").read_text())["config"]))
        (model / "weights.safetensors").write_text("")
        arguments = ["--model-card", model, "--gpu", "h100x1", *LOAD]
        file, = self.emitted("compose", *arguments)
        server = file["services"]["server-1"]
        self.assertEqual(server["command"][0], "/model")
        self.assertEqual((server["volumes"][0]["source"], server["volumes"][0]["target"]), (str(model), "/model"))
        pod = self.emitted("k8s", *arguments)[0]["spec"]["template"]["spec"]
        self.assertIn({"name": "model", "hostPath": {"path": str(model), "type": "Directory"}}, pod["volumes"])
        self.assertIn({"name": "model", "mountPath": "/model", "readOnly": True}, pod["containers"][0]["volumeMounts"])

    def test_what_cannot_be_started_is_refused_by_name(self):
        for form, arguments, words in (
                ("k8s", ["--gpu", "h100x16", "--pp", 2], ["--emit k8s", "16 GPUs", "--tp"]),
                ("compose", ["--gpu", "mi300xx1", "--engine", "trtllm"], ["trtllm", "MI300X"]),
                ("k8s", ["--gpu", "h100x2", "--engine", "trtllm", "--attention-dp"], ["trtllm", "--attention-dp"]),
                ("trtllm", ["--gpu", "h100x1", "--engine", "trtllm", "--kv", "fp8"], ["trtllm", "--kv fp8"]),
                ("k8s", ["--gpu", "h100x1", "--engine", "llamacpp"], ["GGUF", "--model"]),
                ("compose", ["--gpu-memory", "8GiB", "--tp", 1], ["--emit", "missing"])):
            with self.subTest(form=form, arguments=arguments):
                self.fails_clearly(paretoken("plan", *self.CARD, *arguments, "--emit", form), 2, *words)
        other_weights = ["--model-card", "llama3-8b", "--gpu", "h100x1", "--weights", "int4"]
        self.fails_clearly(paretoken("plan", *other_weights, "--emit", "vllm"), 2, "int4", "--model OWNER/NAME")


class Divisions(Case):
    """Pipeline stages and expert parallelism."""

    def test_stages_carry_what_does_not_fit_on_one_gpu_and_their_load_holds(self):
        done, plan = planned("--model-card", "llama-3.1-70b", "--gpu", "h100x4", "--weights", "fp8", "--pp", "1,2,4", *LOAD,
                             "--slo", "ttft_p95:800", "--slo", "tpot_p95:60")
        self.succeeds(done)
        self.assertEqual([(cell["tp"], cell["pp"]) for cell in plan["cells"]], [(4, 1), (2, 2), (1, 4)])
        loads = [cell["speed"]["load"] for cell in plan["cells"]]
        self.assertGreater(loads[0], 0.9 * loads[1], "NVLink makes tensor parallelism the faster one")
        cell = plan["cells"][1]
        self.assertIn("stages=2", cell["profile"])
        out = self.directory / "run"
        self.succeeds(paretoken("run", cell["profile"], "--virtual", *LOAD, "--request-rate", cell["speed"]["load"], "--num-prompts",
                                3000, "--out", out))
        metrics = json.loads((out / "run.json").read_text())["metrics"]
        self.assertLessEqual(metrics["tpot_s"]["p95"], .06 * 1.1)

    def test_stages_help_where_the_link_is_slow(self):
        done, plan = planned("--model-card", "llama-3.1-70b", "--gpu", "l40sx4", "--weights", "fp8", "--pp", "1,4", "--isl", 2048, "--osl",
                             64, "--slo", "ttft_p95:6000")
        self.succeeds(done)
        tensor, staged = (cell["speed"]["requests_per_s"] for cell in plan["cells"])
        self.assertGreater(staged, tensor, "prompts of many tokens are summed through the host's memory")

    def test_experts_are_whole_on_ranks_that_are_not_equally_busy(self):
        card = ["--model-card", "qwen3-30b-a3b", "--gpu", "h100x4", *LOAD, *LIMITS]
        done, plan = planned(*card, "--ep", "1,4")
        self.succeeds(done)
        divided, whole = plan["cells"]
        self.assertEqual((divided["ep"], whole["ep"]), (1, 4))
        ratio = whole["speed"]["requests_per_s"] / divided["speed"]["requests_per_s"]
        self.assertTrue(.9 < ratio < 1.12, f"{ratio}: the busiest rank decides, and each moves the rows of its own experts only")

    def test_what_does_not_divide_is_refused_by_name(self):
        dense, experts = ["--model-card", "llama3-8b"], ["--model-card", "qwen3-30b-a3b"]
        for arguments, words in (
                ([*dense, "--gpu", "h100", "--pp", 64], ["--pp 64", "32 layers"]),
                ([*dense, "--gpu", "h100x3", "--pp", 2], ["--pp 2", "3 GPUs"]),
                ([*dense, "--gpu", "h100x1", "--pp", 2], ["--pp 2", "1 GPU "]),
                ([*dense, "--gpu", "h100", "--pp", 0], ["--pp 0"]),
                ([*dense, "--gpu", "h100x2", "--ep", 2], ["--ep 2", "no experts"]),
                ([*experts, "--gpu", "h100x4", "--ep", 3], ["--ep 3", "128 experts"]),
                ([*experts, "--gpu", "h100x4", "--ep", 2], ["--ep 2", "take --ep 4"]),
                ([*experts, "--gpu", "h100x4", "--ep", 8, "--engine", "sglang"], ["--ep 8", "--tp"]),
                ([*dense, "--gpu", "h100", "--tp", 2, "--pp", 2, "--engine", "llamacpp"], ["--pp 2", "--tp 2"])):
            with self.subTest(arguments):
                self.fails_clearly(paretoken("plan", *arguments), 2, *words)


    def test_what_would_fit_is_never_a_division_that_llamacpp_does_not_have(self):
        card = ["--model-card", "llama-3.1-405b", "--gpu", "t4", "--engine", "llamacpp"]
        for ranks in ([], ["--tp", 2], ["--pp", 2], ["--pp", "1,2", "--tp", 1]):
            with self.subTest(ranks):
                done, plan = planned(*card, *ranks)
                self.succeeds(done)
                for cell in plan["cells"]:
                    changed = "--pp" if cell["tp"] > 1 else "--tp" if cell["pp"] > 1 else "neither"
                    self.assertNotIn(changed, cell.get("nearest_change", ""))


class ByTheHour(Case):
    CELL = ["--model-card", "llama3-8b", "--gpu", "h100x1", "--weights", "fp8", *LOAD, *LIMITS]

    def hours(self, rates, name="hours.csv", first=0):
        path = self.directory / name
        path.write_text("hour,requests_per_s\n" + "".join(f"{first + i},{rate}\n" for i, rate in enumerate(rates)))
        return path

    def test_every_hour_has_its_servers_and_the_autoscaler_is_shown(self):
        rates = [20 + 40 * (hour % 24 >= 9) + 60 * (14 <= hour % 24 < 17) for hour in range(168)]
        out = self.directory / "plan"
        done, plan = planned(*self.CELL, "--demand", self.hours(rates), "--cold-start", "90s", "--out", out)
        self.succeeds(done)
        self.matches_schema(out / "plan.json", "plan")
        self.assertEqual(plan["demand"]["requests_per_s"], 120)
        load = plan["cells"][0]["speed"]["load"]
        stairs = plan["staircase"]
        for servers, rate in zip(stairs["servers"], rates):
            self.assertGreaterEqual(servers * load, rate * (1 - 1e-6))
            self.assertLess((servers - 1) * load, rate)
        self.assertEqual(stairs["reserved"] + stairs["on_demand"] + stairs["spot"], max(stairs["servers"]))
        self.assertLess(stairs["usd_per_month"], stairs["usd_of_peak_per_month"])
        scaled = plan["autoscaler"]
        self.assertEqual((scaled["cold_start_s"], scaled["cold_start_from"]), (90, "as given"))
        self.assertEqual(scaled["most_servers"], max(stairs["servers"]))
        self.assertLess(scaled["missed_share"], .2)
        self.assertGreater(scaled["kw"], .7 * min(stairs["servers"]))
        text = " ".join(self.succeeds(paretoken("plan", *self.CELL, "--demand", self.hours(rates))).stdout.split())
        for words in ("busiest of 168 hours", "Reserved", "On demand", "Spot", "idle", "kW", "assumed"):
            self.assertIn(words, text)
        self.assertIn("Servers by hour", (out / "plan.html").read_text())
        self.assertIn("Servers by hour", (out / "plan.md").read_text())
        self.assertNotRegex((out / "plan.md").read_text(), r"\b1 (?:to 1 )?servers")

    def test_the_bounds_of_the_autoscaler_are_those_of_the_hours_or_as_asked(self):
        file = self.hours([10, 200])
        plan = planned(*self.CELL, "--demand", file, "--min-servers", 3, "--max-servers", 4)[1]
        self.assertEqual((plan["autoscaler"]["least_servers"], plan["autoscaler"]["most_servers"]), (3, 4))
        if yaml is not None:
            autoscaler = list(yaml.safe_load_all(paretoken("plan", *self.CELL, "--demand", file, "--emit", "k8s").stdout))[2]["spec"]
            servers = plan["staircase"]["servers"]
            self.assertEqual((autoscaler["minReplicas"], autoscaler["maxReplicas"]), (min(servers), max(servers)))

    def test_the_busiest_hour_has_the_servers_of_the_answer_and_kubernetes_the_bounds_that_were_asked_for(self):
        arguments = ["--model-card", "llama-3.1-8b", "--gpu", "l40sx1", "--isl", 4000, "--osl", 4, "--slo", "ttft_p95:1500",
                     "--target-utilization", .6, "--demand", self.hours([10, 10, 10])]
        done, plan = planned(*arguments)
        self.succeeds(done)
        replicas = plan["cells"][plan["best"]]["fleet"]["replicas"]
        self.assertEqual(plan["staircase"]["servers"], [replicas] * 3)
        self.assertEqual((plan["autoscaler"]["least_servers"], plan["autoscaler"]["most_servers"]), (replicas, replicas))
        for bounds, least, most in (([], replicas, replicas), (["--min-servers", 3, "--max-servers", 40], 3, 40)):
            text = self.succeeds(paretoken("plan", *arguments, *bounds, "--emit", "k8s")).stdout
            self.assertIn(f"minReplicas: {least}\n", text)
            self.assertIn(f"maxReplicas: {most}\n", text)

    def test_the_time_of_a_start_can_come_from_a_sweep(self):
        sweep = self.directory / "sweep"
        self.measures(paretoken("run", "--server-cmd", f"{BINARY} serve --port {{port}} --profile ideal", "--concurrency", 1, "--num-prompts", 2, "--isl", 8, "--osl", 2, "--out", sweep))
        plan = planned(*self.CELL, "--demand", self.hours([10, 20]), "--cold-start", sweep)[1]
        started = json.loads((sweep / "run.json").read_text())["provenance"]["server"]["ready_s"]
        self.assertAlmostEqual(plan["autoscaler"]["cold_start_s"], started)
        self.assertIn(str(sweep), plan["autoscaler"]["cold_start_from"])

    def test_wrong_files_and_options_are_refused_by_name(self):
        good = self.hours([10, 20])
        gap = self.directory / "gap.csv"
        gap.write_text("hour,requests_per_s\n0,1\n2,1\n")
        columns = self.directory / "columns.csv"
        columns.write_text("time,rate\n0,1\n")
        marked = self.directory / "marked.csv"
        marked.write_text("\ufeffhour, requests_per_s \r\n0,10\r\n1,20\r\n", encoding="utf-8")
        self.succeeds(paretoken("plan", *self.CELL, "--demand", marked))
        times = self.directory / "times.csv"
        times.write_text("hour,requests_per_s\n2026-11-01T05:00:00Z,10\n2026-11-01T06:00:00Z,20\n")
        self.succeeds(paretoken("plan", *self.CELL, "--demand", times))
        for arguments, words in (
                (["--demand", gap], ["gap.csv:3", "hour 2", "every hour"]),
                (["--demand", columns], ["columns.csv:1", "hour,requests_per_s"]),
                (["--demand", self.hours([0, 0], "none.csv")], ["none.csv", "with requests"]),
                (["--demand", self.hours([1, -1], "below.csv")], ["below.csv:3", "below 0"]),
                (["--demand", self.hours([1, "x"], "text.csv")], ["text.csv:3", "x"]),
                (["--demand", "50rps", "--cold-start", "9s"], ["--cold-start", "--demand FILE"]),
                (["--demand", self.directory / "missing.csv"], ["missing.csv", "rate", "file"]),
                (["--demand", good, "--cold-start", "soon"], ["--cold-start", "soon"]),
                (["--demand", good, "--cold-start", "soon", "--price", "nonesuch"], ["--cold-start", "soon"]),
                (["--demand", good, "--min-servers", 5, "--max-servers", 4, "--price", "nonesuch"], ["--min-servers 5"]),
                (["--demand", good, "--min-servers", 5, "--max-servers", 4], ["--min-servers 5", "--max-servers 4"])):
            with self.subTest(arguments):
                self.fails_clearly(paretoken("plan", *self.CELL, *arguments), 2, *words)


class Fidelity(Case):
    """The sizes that servers logged when they started, against what `plan` predicts from their flags."""

    @classmethod
    def setUpClass(cls):
        done = subprocess.run([sys.executable, ROOT / "scripts" / "fidelity", "--binary", BINARY], capture_output=True, text=True, check=False)
        cls.code, cls.text = done.returncode, done.stdout

    def share(self, kind, bound):
        return int(re.search(rf"^- {kind}: .* (\d+)% within {bound}%", self.text, re.MULTILINE)[1])

    def test_no_server_that_started_is_refused(self):
        self.assertEqual(self.code, 0, self.text)

    def test_the_documents_have_the_table_of_this_program(self):
        document = (ROOT / "docs" / "plan.md").read_text()
        self.assertIn(self.text.strip(), document)

    def test_dense_models_are_met_in_the_median(self):
        median = float(re.search(r"^- dense: .*÷ logged ([\d.]+)", self.text, re.MULTILINE)[1])
        self.assertLess(abs(median - 1), .03)

    def test_most_start_ups_are_near(self):
        self.assertGreaterEqual(self.share("dense", 10), DENSE_WITHIN_10)
        self.assertGreaterEqual(self.share("dense", 20), DENSE_WITHIN_20)
        self.assertGreaterEqual(self.share("MoE and MLA", 15), 70)


class Searches(Case):
    def test_the_load_of_a_cell_is_that_of_its_search(self):
        out = self.directory / "plan"
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", "--weights", "fp8", *LOAD, *LIMITS, "--out", out)
        self.succeeds(done)
        cell = plan["cells"][0]
        self.assertGreater(cell["speed"]["load"], 1)
        search, = (out / "searches").glob("*/sweep.json")
        self.assertEqual(cell["speed"]["load"], json.loads(search.read_text())["search"]["within"])
        self.matches_schema(out / "plan.json", "plan")
        self.assertTrue((out / "plan.html").read_text().startswith("<!"))
        self.assertIn("req/s", (out / "plan.md").read_text())

    def test_the_smallest_number_of_gpus_holds_and_one_fewer_misses(self):
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "l40sx1", *LOAD, *LIMITS, "--demand", "50rps")
        self.succeeds(done)
        cell = plan["cells"][plan["best"]]
        replicas = cell["fleet"]["replicas"]
        self.assertGreater(replicas, 1)
        self.assertAlmostEqual(cell["fleet"]["usd_per_month"], cell["usd_per_h"] * replicas * 720, places=3)
        self.assertIn(f"{cell['fleet']['gpus']} × l40s", plan["answer"])
        for servers in (replicas, replicas - 1):
            out = self.directory / f"with-{servers}"
            self.succeeds(paretoken("run", cell["profile"], "--virtual", "--salt", "other", *LOAD, "--request-rate", 50 / servers,
                                    "--num-prompts", 4000, "--out", out))
            run = json.loads((out / "run.json").read_text())
            self.assertEqual(is_within(run), servers == replicas, servers)

    def test_the_figures_of_a_cell_do_not_depend_on_the_others(self):
        asked = ["--model-card", "llama-3.1-70b", "--gpu", "b200x2", "--isl", 2000, "--osl", 300, "--slo", "ttft_p95:2000 tpot_p95:50"]
        alone, both = (planned(*asked, "--demand", "50rps", "--weights", formats)[1]["cells"] for formats in ("bf16", "bf16,fp8"))
        self.assertEqual(alone, both[:1])

    def test_load_utilization_and_prices_agree_and_the_runs_are_long_enough_to_see_a_queue(self):
        # Requests of 200 tokens take 1.6 s alone and about 8 s at the highest load, which is between 25 and 26 per second.
        request = ["--model-card", "llama-3.1-8b", "--gpu", "h100x1", "--isl", 1000, "--osl", 200, "--slo", "ttft_p95:800"]
        for rate, target, servers in ((50, 1, 2), (20, .8, 1), (53, 1, 3)):
            out = self.directory / f"at-{rate}"
            done, plan = planned(*request, "--demand", f"{rate}rps", "--target-utilization", target, "--out", out)
            self.succeeds(done)
            cell, = plan["cells"]
            fleet, speed = cell["fleet"], cell["speed"]
            self.assertEqual(fleet["replicas"], servers, rate)
            self.assertGreater(speed["load"], 23)
            self.assertLess(speed["load"], 26)
            self.assertAlmostEqual(fleet["utilization"], rate / (servers * speed["load"]))
            self.assertLessEqual(fleet["utilization"], target + 1e-9)
            self.assertAlmostEqual(speed["output_tokens_per_s"], 200 * speed["load"])
            self.assertAlmostEqual(cell["usd_per_m_output"], cell["usd_per_h"] / 3600 / speed["output_tokens_per_s"] * 1e6)
            self.assertAlmostEqual(fleet["usd_per_m_output"] * fleet["utilization"], cell["usd_per_m_output"])
            for run in (out / "searches").glob("*/rate*/run.json"):
                run = json.loads(run.read_text())
                if run["request_rate"] < 25:
                    self.assertFalse(run["window"]["overloaded"], run["request_rate"])

    def test_tokens_cost_more_if_the_servers_serve_for_a_part_of_the_paid_time(self):
        card = {"schema": 1, "as_of": "2026-08-20", "currency": "USD", "source": "test", "gpus": {"h100": {"on_demand": 2}}}
        plans = []
        for terms in ({}, {"utilization": .5, "availability": {"mtbi_h": 9, "recovery_h": 1}}):
            (self.directory / "prices.json").write_text(json.dumps(card | terms))
            done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", *LOAD, *LIMITS, "--demand", "20rps",
                                 "--price", self.directory / "prices.json")
            self.succeeds(done)
            plans.append(plan)
        always, partly = (plan["cells"][0] for plan in plans)
        self.assertAlmostEqual(plans[1]["prices"]["earning_share"], .45)
        for prices in ((always, partly), (always["fleet"], partly["fleet"])):
            self.assertAlmostEqual(prices[0]["usd_per_m_output"] / .45, prices[1]["usd_per_m_output"])
        self.assertEqual(always["fleet"]["usd_per_month"], partly["fleet"]["usd_per_month"])
        self.assertIn("45.0 % of the paid time", plans[1]["answer"])

    def test_limits_that_no_load_meets_are_named_with_what_one_request_takes(self):
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", *LOAD, "--slo", "ttft_p95:1")
        self.succeeds(done)
        self.assertNotIn("speed", plan["cells"][0])
        self.assertIn("ttft_p95", plan["answer"])

    def test_pairs_of_lengths_are_planned_as_run_measures_them(self):
        arguments = ["--model-card", "llama3-8b", "--gpu", "h100x1", "--isl", "pairs:512/128=.7;4096/256=.3"]
        done, plan = planned(*arguments, *LIMITS)
        self.succeeds(done)
        lengths = plan["lengths"]
        self.assertAlmostEqual(lengths["input_tokens_mean"], .7 * 512 + .3 * 4096, delta=40)
        self.assertAlmostEqual(lengths["output_tokens_mean"], .7 * 128 + .3 * 256, delta=2)
        self.assertEqual(lengths["tokens_max"], 4096 + 256)
        self.assertGreater(plan["cells"][0]["speed"]["load"], 1)
        self.fails_clearly(paretoken("plan", *arguments, "--osl", 128), 2, "pairs", "--osl")

    def test_users_are_requests_in_flight(self):
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", *LOAD, *LIMITS, "--users", 40)
        self.succeeds(done)
        cell = plan["cells"][0]
        self.assertEqual(cell["speed"]["load"], int(cell["speed"]["load"]))
        self.assertGreaterEqual(cell["fleet"]["replicas"] * cell["speed"]["load"], 40)


def is_within(run):
    """Whether LIMITS hold in a run whose arrivals the server kept up with. Percentiles of a run that diverged are absent."""
    limits = {"ttft_s": .8, "tpot_s": .05}
    return all((run["metrics"][metric].get("p95") or 1e9) <= limit for metric, limit in limits.items())


class FromAFile(Case):
    """The lengths and the demand of a file of requests."""

    def log(self, rows, name="log.jsonl"):
        path = self.directory / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def test_a_log_gives_the_lengths_and_the_demand_of_its_hours(self):
        # An hour with 2 requests per second follows one with 1.
        rows = [{"at": i if i < 3600 else 3600 + (i - 3600) / 2, "prompt_tokens": 500 + i % 100, "completion_tokens": 100}
                for i in range(3600 + 7200)]
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "l40sx1", *LIMITS, "--log", self.log(rows))
        self.succeeds(done)
        self.assertAlmostEqual(plan["demand"]["requests_per_s"], 2, delta=.01)
        self.assertEqual(len(plan["staircase"]["servers"]), 2)
        self.assertIn("autoscaler", plan)
        self.assertAlmostEqual(plan["lengths"]["input_tokens_mean"], 549.5, places=3)
        self.assertEqual(plan["lengths"]["tokens_max"], 699)
        self.assertGreaterEqual(plan["cells"][0]["fleet"]["replicas"], 1)
        done, again = planned("--model-card", "llama3-8b", "--gpu", "l40sx1", *LIMITS, "--log", self.log(rows), "--demand", "30rps")
        self.succeeds(done)
        self.assertEqual(again["demand"]["requests_per_s"], 30, "what the user says counts")

    def test_a_dataset_gives_the_lengths_alone(self):
        file = self.log({"input_tokens": 1000 * (1 + i % 3), "output_tokens": 50} for i in range(30))
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", "--dataset", file)
        self.succeeds(done)
        self.assertEqual((plan["lengths"]["input_tokens_mean"], plan["lengths"]["tokens_max"]), (2000, 3050))
        self.assertEqual(plan["cells"][0]["suggested"]["max_model_len"], 3660)
        self.assertNotIn("requests_per_s", plan["demand"])
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "h100x1", "--dataset", file, *LIMITS)
        self.succeeds(done)
        self.assertGreater(plan["cells"][0]["speed"]["load"], 1)

    def test_the_columns_of_a_file_can_be_named(self):
        file = self.directory / "log.csv"
        file.write_text("at,in,out\n" + "".join(f"{i / 2},1000,100\n" for i in range(14400)))
        columns = "input_tokens=in,output_tokens=out"
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "l40sx1", *LIMITS, "--log", file, "--dataset",
                             f"columns:{columns},at_s=at")
        self.succeeds(done)
        self.assertAlmostEqual(plan["demand"]["requests_per_s"], 2, delta=.01)
        self.assertGreater(plan["cells"][0]["speed"]["load"], 1)
        done, plan = planned("--model-card", "llama3-8b", "--gpu", "l40sx1", "--dataset", f"columns:path={file},{columns}")
        self.succeeds(done)
        self.assertEqual(plan["lengths"]["tokens_max"], 1100)

    def test_files_that_say_too_little_are_refused_by_name(self):
        card = ["--model-card", "llama3-8b", "--gpu", "h100x1"]
        lengths = self.log([{"input_tokens": 10, "output_tokens": 5}], "lengths.jsonl")
        texts = self.log([{"prompt": "How are you?"}], "texts.jsonl")
        for arguments, words in (
                (["--log", lengths], ["--log", "no times", "--dataset"]),
                (["--dataset", texts], ["--dataset", "tokenizer", "--isl"]),
                (["--dataset", lengths, "--log", lengths], ["--log and --dataset"]),
                (["--log", lengths, "--isl", 100], ["--isl"]),
                (["--log", self.directory / "nothing.jsonl"], ["nothing.jsonl"])):
            with self.subTest(arguments):
                done = paretoken("plan", *card, *arguments)
                self.assertIn(done.returncode, (2, 3))
                for word in words:
                    self.assertIn(word, done.stderr)


class Inputs(Case):
    """Inputs of the speed, and what else is on the GPUs or in the host's memory."""
    CELL = ["--model-card", "llama3-8b", "--gpu", "h100x1", "--weights", "fp8", "--isl", 2000, "--osl", 128, *LIMITS]

    def speed(self, *arguments):
        done, plan = planned(*self.CELL, *arguments)
        self.succeeds(done)
        return plan, plan["cells"][0]["speed"]

    def test_a_cached_beginning_and_right_drafts_carry_more_and_a_small_chunk_changes_the_gaps(self):
        plan, plain = self.speed()
        self.assertEqual(plan["inputs"]["hit"]["value"], 0)
        self.assertTrue(plan["inputs"]["hit"]["source"].startswith("assumed"))
        self.assertEqual(plan["inputs"]["chunk"]["source"], "default of vllm on h100-sxm")
        self.assertGreaterEqual(plain["itl_p99_s"], plain["itl_p50_s"])
        self.assertTrue(.9 < plain["goodput_ratio"] <= 1)
        self.assertAlmostEqual(plain["goodput_per_s"], plain["goodput_ratio"] * plain["load"])
        plan, cached = self.speed("--hit", ".8")
        self.assertGreater(cached["load"], 1.3 * plain["load"])
        self.assertTrue(plan["inputs"]["hit"]["source"].startswith("given"))
        plan, chunked = self.speed("--chunk", 512)
        self.assertEqual(plan["inputs"]["chunk"], {"value": 512, "source": "given"})
        self.assertLess(chunked["itl_p99_s"], plain["itl_p99_s"])

    def test_drafts_shorten_the_time_per_token_and_a_slow_draft_model_takes_it_back(self):
        _, plain = self.speed("--users", 8)
        _, free = self.speed("--users", 8, "--acceptance", ".8", "--draft-tokens", 3)
        plan, heavy = self.speed("--users", 8, "--acceptance", ".8", "--draft-tokens", 3, "--draft-model", "llama-3.1-8b:weights=bf16")
        self.assertGreater(free["load"], plain["load"])
        self.assertLess(heavy["load"], free["load"])
        self.assertEqual(plan["inputs"]["drafts"], {"value": 3, "source": "given"})
        memory = plan["cells"][0]["memory"]
        self.assertAlmostEqual(memory["draft_bytes"] / 2**30, 14.96, delta=.01)
        self.assertEqual(memory["kv_bytes_per_token_and_rank"], 2 * 131072)

    def test_the_hosts_memory_is_in_the_profile_and_says_what_it_saves(self):
        done, plan = planned(*self.CELL[:-4], "--kv-offload", "128GiB", "--kv-offload-speed", "50GB/s")
        self.succeeds(done)
        cell = plan["cells"][0]
        self.assertEqual(cell["host_cache"]["tokens"], 2**20)
        self.assertAlmostEqual(cell["host_cache"]["load_s"], 2000 * 131072 / 50e9)
        self.assertIn(f"kv_offload_bytes={2**37}&kv_offload_bytes_per_s=50000000000", cell["profile"])

    def test_a_model_too_large_for_one_gpu_of_llamacpp_leaves_layers_on_the_host(self):
        card = ["--model-card", "llama-3.1-70b", "--gpu", "rtx-4090x1", "--engine", "llamacpp", "--weights", "int4", "--isl", 2000]
        done, plan = planned(*card)
        self.succeeds(done)
        option, layers = plan["cells"][0]["nearest_change"].split()
        self.assertEqual(option, "--gpu-layers")
        done, plan = planned(*card, option, layers)
        self.succeeds(done)
        self.assertTrue(plan["cells"][0]["fits"])
        self.assertGreater(plan["cells"][0]["host_layers"]["least_s_per_token"], .2)
        done, plan = planned(*card, option, int(layers) + 1)
        self.assertFalse(plan["cells"][0]["fits"])


    def test_a_gguf_file_that_does_not_fit_is_told_how_many_layers_do(self):
        text = lambda value: struct.pack("<Q", len(value)) + value.encode()
        number = lambda key, value: text("llama." + key) + struct.pack("<II", 4, value)
        layers = [text(f"blk.{i}.attn_q.weight") + struct.pack("<IQQIQ", 2, 4096, 4096, 1, 0) for i in range(8)]  # 32 MiB each
        words = ["a", "b"]
        file = self.directory / "model.gguf"
        file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1 + len(layers), 7) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
                         + number("block_count", 8) + number("embedding_length", 4096) + number("attention.head_count", 32)
                         + number("attention.head_count_kv", 8) + number("feed_forward_length", 64)
                         + text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(words)) + b"".join(map(text, words))
                         + text("token_embd.weight") + struct.pack("<IQQIQ", 2, 4096, 2, 1, 0) + b"".join(layers))
        os.truncate(file, 2**29)
        done, plan = planned("--model-card", file, "--gpu-memory", "0.8GiB", "--engine", "llamacpp", "--tp", 1, "--isl", 16, "--osl", 1)
        self.succeeds(done)
        self.assertRegex(plan["cells"][0]["nearest_change"], "^--gpu-layers [1-7]$")


class BadInput(Case):
    def test_wrong_options_are_refused_by_name(self):
        card = ["--model-card", "llama3-8b"]
        for arguments, words in (
                (["--gpu", "h100"], ["--model-card"]),
                ([*card], ["--gpu"]),
                ([*card, "--gpu", "h900"], ["--gpu", "h900"]),
                (["--model-card", "nonesuch", "--gpu", "h100"], ["nonesuch"]),
                ([*card, "--gpu", "h100", "--tp", 3], ["--tp 3", "32 attention heads"]),
                ([*card, "--gpu", "h100", "--tp", 0], ["--tp 0"]),
                ([*card, "--gpu", "h100x2", "--tp", 4], ["--gpu h100-sxmx2 is 2 GPUs", "--tp 4"]),
                ([*card, "--gpu", "h100", "--weights", "fp4"], ["did you mean mxfp4 or nvfp4?"]),
                ([*card, "--gpu", "h100", "--weights-memory", "0GiB"], ["--weights-memory 0"]),
                ([*card, "--gpu", "h100", "--isl", 0], ["--isl"]),
                ([*card, "--gpu", "h100", "--osl", "-5"], ["--osl"]),
                ([*card, "--gpu", "h100", "--weights", "fp9"], ["--weights", "fp9"]),
                ([*card, "--gpu", "h100", "--memory-fraction", 1.5], ["--memory-fraction", "1.5"]),
                ([*card, "--gpu-memory", "24"], ["--gpu-memory", "24GiB"]),
                ([*card, "--gpu-memory", "24GiB", *LIMITS], ["--gpu-memory", "--gpu NAME"]),
                ([*card, "--gpu", "h100", "--engine", "tgi"], ["--engine", "vllm"]),
                ([*card, "--gpu", "h100", "--demand", "50rps"], ["--demand", "--slo"]),
                ([*card, "--gpu", "h100", *LIMITS, "--demand", "0"], ["--demand", "above 0"]),
                ([*card, "--gpu", "h100", *LIMITS, "--demand", "5", "--target-utilization", 2], ["--target-utilization", "2"]),
                ([*card, "--gpu", "h100", *LIMITS, "--demand", "5", "--users", 5], ["--demand", "--users"]),
                ([*card, "--gpu", "h100", "--slo", "nonsense"], ["nonsense"]),
                ([*card, "--gpu", "rtx-3090", "--price", "2026-11-cloud"], ["--price", "rtx-3090"]),
                ([*card, "--gpu", "h100", "--emit", "tgi"], ["--emit", "vllm"]),
                ([*card, "--gpu", "h100", "--sampler", "triton"], ["--sampler triton", "flashinfer"]),
                ([*card, "--gpu", "h100", "--lora", "4"], ["--lora 4", "4:16"]),
                ([*card, "--gpu", "h100", "--lora", "0:16"], ["--lora 0:16", "4:16"]),
                ([*card, "--gpu", "h100", "--lora", "4:12"], ["--lora 4:12", "take 16"]),
                ([*card, "--gpu", "h100", "--acceptance", 1.5], ["--acceptance 1.5"]),
                ([*card, "--gpu", "h100", "--draft-tokens", 3], ["--draft-tokens 3", "--acceptance"]),
                ([*card, "--gpu", "h100", "--draft-model", "nonesuch"], ["nonesuch"]),
                ([*card, "--gpu", "h100", "--kv-offload", "256"], ["--kv-offload", "GiB"]),
                ([*card, "--gpu", "h100", "--kv-offload", "1GiB", "--kv-offload-speed", "25GB"], ["--kv-offload-speed 25GB", "25GB/s"]),
                ([*card, "--gpu", "h100x1", "--gpu-layers", 9], ["--gpu-layers 9", "--engine llamacpp"]),
                ([*card, "--gpu", "h100", "--hit", ".5"], ["--hit 0.5", "--slo"]),
                ([*card, "--gpu", "h100", *LIMITS, "--hit", 1.2], ["--hit 1.2"]),
                ([*card, "--gpu", "h100", *LIMITS, "--hit", ".5", "--isl", "lognormal:mean=512,cv=1"], ["--hit 0.5", "--isl 2000"]),
                ([*card, "--gpu", "h100", *LIMITS, "--price", "nonesuch", "--emit", "tgi"], ["--emit", "vllm"]),
                ([*card, "--gpu", "h100", "--max-model-len", 200000], ["--max-model-len 200000", "131072"]),
                ([*card, "--gpu", "h100", "--attention-dp"], ["--attention-dp", "no experts"]),
                ([*card, "--gpu", "h100", "--isl", 200000], ["--isl", "context"])):
            with self.subTest(arguments):
                self.fails_clearly(paretoken("plan", *arguments), 2, *words)

    def test_a_gpu_without_a_price_on_the_basis_is_planned_without_one(self):
        card = ["--model-card", "llama3-8b", "--gpu", "a10,h100", "--tp", 1, "--price-basis"]
        done, plan = planned(*card, "spot")
        self.succeeds(done)
        self.assertEqual(["usd_per_h" in cell for cell in plan["cells"]], [False, True])
        self.fails_clearly(paretoken("plan", *card, "spott"), 2, "spott", "on_demand")

    def test_a_larger_share_of_the_memory_is_the_first_remedy(self):
        done = self.succeeds(paretoken("plan", "--model-card", "deepseek-v3", "--gpu", "h20x8"))
        self.assertIn("--memory-fraction 0.95 would fit", " ".join(done.stdout.split()))

    def test_a_model_that_fits_nowhere_is_told_what_is_missing_and_what_would_fit(self):
        done = self.succeeds(paretoken("plan", "--model-card", "llama-3.1-70b", "--gpu", "h100x1"))
        self.assertRegex(done.stdout, r"[\d.]+ GiB per GPU are missing")
        self.assertIn("would fit", done.stdout)


DENSE_WITHIN_10, DENSE_WITHIN_20 = 82, 85

if __name__ == "__main__":
    unittest.main()
