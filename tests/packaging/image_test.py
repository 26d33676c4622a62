"""The OCI image: its configuration, and a run from its unpacked root file system as the image's user."""

import json
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from systems import IMAGE, VERSION, inside, prepared


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        prepared()
        if not IMAGE.exists():
            raise unittest.SkipTest("dist/ has no image (scripts/release --no-image made it)")
        if shutil.which("umoci") is None:
            raise unittest.SkipTest("umoci is not installed (scripts/setup --test)")
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="paretoken-image-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        with tarfile.open(IMAGE) as packed:
            packed.extractall(cls.directory / "layout")
        subprocess.run(["umoci", "unpack", "--image", f"{cls.directory}/layout:paretoken", cls.directory / "bundle"], check=True,
                       capture_output=True)
        cls.root = cls.directory / "bundle" / "rootfs"
        cls.process = json.loads((cls.directory / "bundle" / "config.json").read_text())["process"]

    def test_it_starts_paretoken_as_an_unprivileged_user(self):
        self.assertEqual(self.process["args"][0], "paretoken")
        self.assertNotEqual(self.process["user"]["uid"], 0)
        self.assertEqual(self.process["cwd"], "/data")

    def test_the_user_sweeps_reports_and_measures(self):
        user = "{uid}:{gid}".format(**self.process["user"])

        def run(*arguments, accepted=(0,)):
            done = inside(self.root, *self.process["args"], *arguments, user=user, directory=self.process["cwd"])
            self.assertIn(done.returncode, accepted, f"{done.args}\n{done.stdout}\n{done.stderr}")
            return done

        self.assertIn(f"paretoken {VERSION} ", run("--version").stdout)
        run("sweep", "sim:llama3-8b-h100-fp8", "--concurrency", "1,4", "--num-prompts", "100", "--virtual", "--out", "sweep")
        run("report", "sweep", "--no-micro", "--out", "report.html")
        run("micro", "--quick", "--filter", "^ceiling/read/backend", "--out", "micro.json", accepted=(0, 4))
        self.assertEqual((self.root / "data" / "report.html").stat().st_uid, self.process["user"]["uid"])


if __name__ == "__main__":
    unittest.main()
