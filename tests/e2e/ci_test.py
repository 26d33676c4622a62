"""The action for GitHub and the job for GitLab: their `run` steps, in order, with the shells and the environment files that the
runners give. The steps that use other actions (cache, artifacts) are played by copies of directories."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest
import zipfile

from harness import BINARY, ROOT, Case, environment

try:
    import yaml
except ImportError:  # comes with clang-tidy
    yaml = None

SERVER = "sim:llama3-8b-h100-bf16"
SLOWER = SERVER + "?weight_bytes_per_s=2.03e12"
LOAD = "--virtual --isl 2048 --osl 32 --concurrency 4 --num-prompts 40"


def value_of(reference, values):
    return values.get(reference.strip(), "")


def filled_in(text, values):
    return re.sub(r"\$\{\{([^}]*)\}\}", lambda found: value_of(found[1], values), str(text))


def holds(condition, values):
    """Evaluates the comparisons that the action's conditions consist of."""
    words = re.sub(r"[a-z]+\.[\w.-]+", lambda found: repr(value_of(found[0], values)), condition)
    words = words.replace("&&", " and ").replace("||", " or ")
    if not re.fullmatch(r"(?:'[^']*'|==|!=|and|or|[()\s])*", words):
        raise ValueError(condition)
    return eval(words)  # noqa: S307 - only comparisons of quoted texts


class Runner:
    """A runner of GitHub that starts one job in the directory `work`. Caches are kept between jobs in `caches`."""

    def __init__(self, work, caches, number):
        self.work, self.caches, self.number = work, caches, number
        self.temporary = work / "temporary"
        self.temporary.mkdir(parents=True)
        self.artifacts = work / "artifacts"
        self.summary = work / "summary.md"
        self.path = [str(BINARY.parent)]

    def use(self, name, given):
        where = self.caches / given["key"].rsplit("-", 1)[0] if "key" in given else None
        if name.startswith("actions/cache/restore@") and where.exists():
            shutil.copytree(where, self.work / given["path"], dirs_exist_ok=True)
        elif name.startswith("actions/cache/save@"):
            shutil.copytree(self.work / given["path"], where, dirs_exist_ok=True)
        elif name.startswith("actions/upload-artifact@") and (self.work / given["path"]).exists():
            shutil.copytree(self.work / given["path"], self.artifacts / given["name"])

    def run(self, step, values):
        files = {name: self.temporary / name for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_ENV")}
        for file in files.values():
            file.write_text("")
        script = self.temporary / "step.sh"
        script.write_text(step["run"])
        given = {name: filled_in(text, values) for name, text in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script], capture_output=True, text=True, check=False,
            cwd=self.work, env=environment({
                **given, **{name: str(file) for name, file in files.items()}, "RUNNER_TEMP": str(self.temporary),
                "GITHUB_STEP_SUMMARY": str(self.summary), "PATH": os.pathsep.join([*self.path, os.environ["PATH"]])}))
        self.path = files["GITHUB_PATH"].read_text().split() + self.path
        for line in files["GITHUB_OUTPUT"].read_text().splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step.get('id')}.outputs.{name}"] = value
        return done

    def job(self, **inputs):
        """Runs the action's steps; returns the exit status of the job, its outputs and what was printed."""
        action = yaml.safe_load((ROOT / "scripts" / "ci" / "action.yml").read_text())
        values = {f"inputs.{name}": row.get("default", "") for name, row in action["inputs"].items()}
        for name, text in inputs.items():
            key = f"inputs.{name.replace('_', '-')}"
            assert key in values, key
            values[key] = text
        values |= {"github.action_path": str(ROOT / "scripts" / "ci"), "github.ref_name": "main",
                   "github.run_id": str(self.number)}
        printed = ""
        for step in action["runs"]["steps"]:
            if "if" in step and not holds(step["if"], values):
                continue
            if "uses" in step:
                self.use(step["uses"], {name: filled_in(text, values) for name, text in step["with"].items()})
                continue
            done = self.run(step, values)
            printed += done.stdout + done.stderr
            if done.returncode != 0:
                break
        outputs = {name: filled_in(row["value"], values) for name, row in action["outputs"].items()}
        return done.returncode, outputs, printed


@unittest.skipIf(yaml is None, "Python's yaml is not installed (python3-yaml)")
class GitHub(Case):
    def job(self, number, **inputs):
        self.runner = Runner(self.directory / f"job{number}", self.directory / "caches", number)
        return self.runner.job(load=LOAD, **inputs)

    def test_two_servers_pass_and_fail_the_job_with_summary_annotations_and_result(self):
        for number, (candidate, code, verdict) in enumerate(((SERVER, 0, "pass"), (SLOWER, 1, "fail"))):
            status, outputs, printed = self.job(number, baseline_url=SERVER, candidate_url=candidate)
            self.assertEqual((status, outputs), (code, {"verdict": verdict, "exit-code": str(code)}), printed)
            self.assertIn("::notice title=paretoken gate::", printed)
            self.assertEqual("::error title=paretoken gate::" in printed, code == 1)
            self.assertTrue(self.runner.summary.read_text().startswith(f"# {verdict.upper()}: "))
            result = self.runner.artifacts / "paretoken-gate"
            for name in ("gate.html", "gate.json", "gate.md", "junit.xml", "pairs/01/candidate/run.json"):
                self.assertTrue((result / name).exists(), name)

    def test_a_baseline_in_the_cache_is_created_compared_with_and_grows(self):
        status, outputs, printed = self.job(1, baseline_name="main", candidate_url=SERVER)
        self.assertEqual((status, outputs["verdict"]), (0, "created"), printed)
        status, outputs, printed = self.job(2, baseline_name="main", candidate_url=SERVER, update_baseline="true")
        self.assertEqual((status, outputs["verdict"]), (0, "pass"), printed)
        runs = len(list((self.runner.work / ".paretoken" / "baselines" / "main").iterdir()))
        self.assertGreater(runs, 5)
        kept = list((self.directory / "caches").glob("*/main/*"))
        self.assertEqual(len(kept), runs, "the cache has the runs that were added")
        status, outputs, printed = self.job(3, baseline_name="main", candidate_url=SLOWER)
        self.assertEqual((status, outputs["verdict"]), (1, "fail"), printed)

    def test_an_inconclusive_gate_fails_the_job_only_if_it_shall(self):
        noisy = SERVER + "?jitter=.8"
        policy = self.directory / "policy.json"
        policy.write_text(json.dumps({"metrics": [{"metric": "itl_p50", "tolerance": 0.02}], "max_pairs": 3}))
        for number, (fails, code) in enumerate((("true", 5), ("false", 0))):
            status, outputs, printed = self.job(number, baseline_url=SERVER, candidate_url=noisy, policy=str(policy),
                                                fail_on_inconclusive=fails)
            self.assertEqual((status, outputs["verdict"], outputs["exit-code"]), (code, "inconclusive", "5"), printed)

    def test_quoted_options_arrive_and_nothing_in_them_is_executed(self):
        runner = Runner(self.directory / "job", self.directory / "caches", 1)
        status, _, printed = runner.job(load=LOAD + " --goodput 'ttft:500 tpot:50' --metadata 'note=$(touch bad) `touch bad`'",
                                        baseline_url=SERVER, candidate_url=SERVER)
        self.assertEqual(status, 0, printed)
        plan = json.loads((runner.work / "paretoken-gate/pairs/01/baseline/run.json").read_text())["plan"]
        self.assertEqual(plan["goodput"], "ttft:500, tpot:50")
        self.assertIn("$(touch bad) `touch bad`", plan["metadata"])
        self.assertFalse((runner.work / "bad").exists())

    def test_wrong_options_end_the_job_as_an_error(self):
        status, outputs, printed = self.job(1, candidate_url=SERVER)
        self.assertEqual((status, outputs["verdict"]), (2, "error"), printed)

    def test_a_wheel_is_installed_and_its_program_runs(self):
        wheel = self.directory / "paretoken-9.9-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as file:
            script = zipfile.ZipInfo("paretoken-9.9.data/scripts/paretoken")
            script.external_attr = 0o100755 << 16
            file.writestr(script, "#!/bin/sh\necho from the wheel: \"$@\"\nexit 3\n")
            file.writestr("paretoken-9.9.dist-info/METADATA", "Metadata-Version: 2.1\nName: paretoken\nVersion: 9.9\n")
            file.writestr("paretoken-9.9.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            file.writestr("paretoken-9.9.dist-info/RECORD", "")
        if subprocess.run(["python3", "-m", "venv", self.directory / "try"], capture_output=True, check=False).returncode:
            self.skipTest("python3 -m venv does not work (python3-venv)")
        status, outputs, printed = self.job(1, baseline_url=SERVER, candidate_url=SERVER, paretoken=str(wheel))
        self.assertEqual((status, outputs["verdict"]), (3, "error"), printed)
        self.assertIn("from the wheel: gate", printed)


@unittest.skipIf(yaml is None, "Python's yaml is not installed (python3-yaml)")
class GitLab(Case):
    def job(self, **variables):
        """Runs the scripts of the job in one shell, as GitLab's runner does, and returns what it did."""
        job = yaml.safe_load((ROOT / "scripts" / "ci" / "gitlab.yml").read_text())["paretoken-gate"]
        given = {**job["variables"], "PARETOKEN_LOAD": LOAD, **variables}
        self.assertEqual(given.keys(), job["variables"].keys())
        script = "\n".join(["set -eo pipefail", *job["before_script"], *job["script"]])
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=self.directory,
                              env=environment({**given, "CI_PROJECT_DIR": str(self.directory),
                                               "PATH": f"{BINARY.parent}{os.pathsep}{os.environ['PATH']}"}))
        self.job_file = job
        return done

    def test_a_baseline_is_created_an_equal_build_passes_and_a_slower_one_fails(self):
        for candidate, code in ((SERVER, 0), (SERVER, 0), (SLOWER, 1)):
            shutil.rmtree(self.directory / "paretoken-gate", ignore_errors=True)
            done = self.job(PARETOKEN_BASELINE_NAME="main", PARETOKEN_CANDIDATE_URL=candidate, PARETOKEN_UPDATE_BASELINE="true")
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        store = self.directory / self.job_file["cache"]["paths"][0] / "main"
        self.assertGreater(len(list(store.iterdir())), 5)
        self.assertTrue((self.directory / self.job_file["artifacts"]["reports"]["junit"]).exists())

    def test_an_inconclusive_gate_marks_or_fails_the_job_and_quoted_options_arrive(self):
        load = f"{LOAD} --max-pairs 3 --goodput 'ttft:500 tpot:50'"
        servers = {"PARETOKEN_BASELINE_URL": SERVER, "PARETOKEN_CANDIDATE_URL": SERVER + "?jitter=.8", "PARETOKEN_LOAD": load}
        marked = self.job(**servers)
        self.assertEqual(marked.returncode, self.job_file["allow_failure"]["exit_codes"], marked.stdout + marked.stderr)
        plan = json.loads((self.directory / "paretoken-gate/pairs/01/baseline/run.json").read_text())["plan"]
        self.assertEqual(plan["goodput"], "ttft:500, tpot:50")
        self.assertEqual(self.job(**servers, PARETOKEN_FAIL_ON_INCONCLUSIVE="true").returncode, 1)


if __name__ == "__main__":
    unittest.main()
