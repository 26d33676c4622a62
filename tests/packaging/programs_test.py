"""The programs in the packages: their size, what they load, and what the wheel's tag promises."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from systems import DIST, SDIST, TARBALL, VERSION, ROOT, wheel

MOST_BYTES = 12 << 20
# Every system with glibc has these.
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="paretoken-programs-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        with tarfile.open(TARBALL) as packed:
            packed.extractall(cls.directory)
        top = cls.directory / TARBALL.name.removesuffix(".tar.gz")
        cls.programs = [top / "bin" / "paretoken", top / "libexec" / "paretoken" / "paretoken-microbench"]

    def test_each_has_at_most_12_mb_and_no_symbols_for_debuggers(self):
        for program in self.programs:
            self.assertLessEqual(program.stat().st_size, MOST_BYTES, program.name)
            sections = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
            self.assertNotRegex(sections, r"\.(symtab|debug_info)\b")

    def test_they_load_only_what_every_system_has(self):
        for program in self.programs:
            dynamic = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True, check=True).stdout
            needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
            self.assertEqual(needed - SYSTEM_LIBRARIES, set(), program.name)
            self.assertNotRegex(dynamic, r"RPATH|RUNPATH")

    def test_the_highest_symbol_of_glibc_is_not_newer_than_the_tag_says(self):
        tag = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)_x86_64", wheel().name).groups()))
        self.assertEqual(tag, (2, 28))
        for program in self.programs:
            symbols = subprocess.run(["objdump", "-T", program], capture_output=True, text=True, check=True).stdout
            versions = [tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", symbols)]
            self.assertLessEqual(max(versions), tag, program.name)

    def test_no_path_of_the_machine_that_built_them_is_in_them(self):
        for program in self.programs:
            self.assertNotIn(str(ROOT).encode(), program.read_bytes(), program.name)

    def test_the_checksums_are_those_of_the_files(self):
        done = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=DIST, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        named = {line.split()[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(named, {path.name for path in DIST.iterdir()} - {"SHA256SUMS"})


class Wheel(unittest.TestCase):
    def test_auditwheel_gives_it_the_tag_of_its_name(self):
        python = ROOT / "build" / "release-python" / "bin" / "python"
        if not python.exists():
            self.skipTest("auditwheel is not installed (scripts/release installs it)")
        done = subprocess.run([python, "-m", "auditwheel", "show", wheel()], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        tags = {tuple(map(int, found)) for found in re.findall(r"manylinux_(\d+)_(\d+)_x86_64", done.stdout)}
        self.assertLessEqual(min(tags), (2, 28), done.stdout)

    def test_it_has_both_programs_the_reader_and_the_licences(self):
        with zipfile.ZipFile(wheel()) as packed:
            names = packed.namelist()
            scripts = {pathlib.PurePath(name).name for name in names
                       if ".data/scripts/" in name and not name.endswith("/")}
            self.assertEqual(scripts, {"paretoken", "paretoken-microbench"})
            for name in ("paretoken/__init__.py", "paretoken/__main__.py", "paretoken/py.typed"):
                self.assertIn(name, names)
            self.assertTrue(any(name.endswith("THIRD_PARTY_NOTICES") for name in names))
            metadata = packed.read(f"paretoken-{VERSION}.dist-info/METADATA").decode()
        self.assertIn(f"\nVersion: {VERSION}\n", metadata)
        self.assertNotIn("\nRequires-Dist: numpy\n", metadata)


class Reader(unittest.TestCase):
    def test_it_reads_runs_into_arrays_of_numpy(self):
        with tempfile.TemporaryDirectory(prefix="paretoken-reader-") as name:
            environment = pathlib.Path(name) / "environment"
            subprocess.run([sys.executable, "-m", "venv", environment], check=True)
            subprocess.run([environment / "bin" / "pip", "-q", "install", "numpy"], check=True)
            done = subprocess.run([environment / "bin" / "python", ROOT / "tests" / "e2e", "Reader"], capture_output=True, text=True,
                                  env={**os.environ, "PARETOKEN": str(ROOT / "build" / "dist" / "paretoken")}, check=False)
            self.assertRegex(done.stdout, r"\n\d+ passed, 0 failed, 0 skipped\n$")


class SourceDistribution(unittest.TestCase):
    def test_it_names_its_commit_and_has_what_the_build_needs(self):
        with tarfile.open(SDIST) as packed:
            names = set(packed.getnames())
            commit = packed.extractfile(f"paretoken-{VERSION}/COMMIT").read().decode().strip()
        self.assertRegex(commit, r"^[0-9a-f]{12}$")
        for name in ("pyproject.toml", "CMakeLists.txt", "cmake/Install.cmake", "cli/main.cpp", "scripts/setup", "LICENSE"):
            self.assertIn(f"paretoken-{VERSION}/{name}", names)


if __name__ == "__main__":
    sys.exit(unittest.main())
