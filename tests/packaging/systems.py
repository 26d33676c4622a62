"""Fresh systems of Debian, and commands that run in them. Only the standard library is needed, root, and mmdebstrap."""

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
VERSION = next(line.split()[2] for line in (ROOT / "CMakeLists.txt").read_text().splitlines() if line.startswith("project("))
DEB = DIST / f"paretoken_{VERSION}_amd64.deb"
TARBALL = DIST / f"paretoken-{VERSION}-linux-x86_64.tar.gz"
IMAGE = DIST / f"paretoken-{VERSION}-oci.tar"
SDIST = DIST / f"paretoken-{VERSION}.tar.gz"

# Nothing of this machine's environment reaches the systems, such as variables that name a certificate store.
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}


def wheel():
    """Returns the path of the wheel, whose name has the tag of the platform."""
    wheels = list(DIST.glob(f"paretoken-{VERSION}-py3-none-*.whl"))
    if len(wheels) != 1:
        raise AssertionError(f"expected one wheel of version {VERSION} in {DIST}, found {wheels}; run scripts/release")
    return wheels[0]


def inside(root, *command, timeout=300, user=None, directory="/root", check=False):
    """Runs a command in the system below `root`, with its own /proc, and returns what it printed and how it ended."""
    shell = ["sh", "-c", 'cd "$0" && exec "$@"', directory]
    as_user = [f"--userspec={user}"] if user else []
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root}/proc", "chroot",
                           *as_user, str(root), *shell, *map(str, command)], capture_output=True, text=True,
                          env=ENVIRONMENT, stdin=subprocess.DEVNULL, timeout=timeout, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


@functools.lru_cache(maxsize=None)
def base(suite, *packages):
    """Makes a minimal system of a release of Debian once for all tests, and returns its directory, which nobody changes."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix=f"paretoken-{suite}-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}", suite, str(directory)],
                   check=True, timeout=900)
    return directory


def prepared():
    """Skips the tests of a class where they cannot run."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("making a system needs root")
    if shutil.which("mmdebstrap") is None:
        raise unittest.SkipTest("mmdebstrap is not installed (scripts/setup --test)")


class SystemCase(unittest.TestCase):
    """A test with a system of its own, a copy of the given release of Debian."""

    suite = "bookworm"
    packages = ("ca-certificates", "python3", "python3-venv", "openssl")

    @classmethod
    def setUpClass(cls):
        prepared()
        cls.made = base(cls.suite, *cls.packages)

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="paretoken-root-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        subprocess.run(["cp", "-a", f"{self.made}/.", str(self.root)], check=True)
        self.assertFalse((self.root / "usr" / "bin" / "c++").exists(), "the system has a compiler")

    def put(self, path, into="/root"):
        """Copies a file of this machine into the system, and returns its path there."""
        shutil.copy(path, f"{self.root}{into}")
        return f"{into}/{pathlib.Path(path).name}"

    def inside(self, *command, **options):
        return inside(self.root, *command, **options)

    def files(self):
        """Returns the paths of all files that a package may leave behind: not the lists and logs of the packagers, nor caches."""
        kept = ("var/log", "var/lib/dpkg", "var/lib/apt", "var/cache", "root/.cache", "etc/ld.so.cache", "proc", "dev", "sys", "run")
        paths = set()
        for folder, _, names in os.walk(self.root):
            where = pathlib.Path(folder).relative_to(self.root).as_posix()
            if any(where == name or where.startswith(name + "/") for name in kept) or "__pycache__" in where:
                continue
            paths |= {f"{where}/{name}" for name in names if f"{where}/{name}" not in kept}
        return paths
