"""Builds from source: with pip from the source distribution, and on Debian 13 with its own Boost, fmt and simdjson."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from systems import ROOT, SDIST, VERSION, base, inside, prepared

# Debug builds in large groups take a third of the time of release builds, and the tests judge the same code.
CONFIGURE = ("cmake", "-S", ".", "-B", "build/unit", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g0",
             "-DPARETOKEN_UNITY=ALL", "-DPARETOKEN_CUDA=OFF")


class SourceDistribution(unittest.TestCase):
    def test_pip_alone_builds_and_installs_it(self):
        with tempfile.TemporaryDirectory(prefix="paretoken-sdist-") as name:
            environment = pathlib.Path(name) / "environment"
            subprocess.run([sys.executable, "-m", "venv", environment], check=True)
            compiler_cache = {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {}
            done = subprocess.run([environment / "bin" / "pip", "install", SDIST], capture_output=True, text=True, cwd=name,
                                  env={**os.environ, **compiler_cache}, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-4000:])
            said = subprocess.run([environment / "bin" / "python", "-m", "paretoken", "--version"], capture_output=True, text=True,
                                  check=True).stdout
            self.assertRegex(said, rf"^paretoken {re.escape(VERSION)} \([0-9a-f]{{12}}\)")


class Debian13(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        prepared()
        cls.root = base("trixie", "ca-certificates", "python3", "openssl", "procps")
        archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], capture_output=True, check=True).stdout
        (cls.root / "src").mkdir()
        subprocess.run(["tar", "-x", "-C", cls.root / "src"], input=archive, check=True)
        shutil.copy("/etc/resolv.conf", cls.root / "etc" / "resolv.conf")

    def run_there(self, *command, timeout):
        done = inside(self.root, *command, directory="/src", timeout=timeout)
        self.assertEqual(done.returncode, 0, done.stdout[-8000:] + done.stderr[-4000:])
        return done

    def test_setup_installs_the_packages_and_the_unit_tests_pass(self):
        self.run_there("apt-get", "-q", "update", timeout=300)
        self.run_there("scripts/setup", timeout=900)
        self.run_there(*CONFIGURE, timeout=300)
        self.run_there("cmake", "--build", "build/unit", "-j", str(os.cpu_count()), timeout=5400)
        self.run_there("build/unit/paretoken", "--version", timeout=60)
        tests = self.run_there("ctest", "--test-dir", "build/unit", "-j", str(os.cpu_count()), "-E", r"_NOT_BUILT$|^gpu_kernels/",
                               "--no-tests=error", "--output-on-failure", timeout=1800)
        self.assertIn("100% tests passed", tests.stdout)


if __name__ == "__main__":
    unittest.main()
