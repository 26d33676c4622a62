"""The wheel, the Debian package and the tarball in fresh systems without a compiler."""

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import unittest
import zipfile

from systems import DEB, ENVIRONMENT, TARBALL, VERSION, SystemCase, wheel

VIRTUAL = ("sweep", "sim:llama3-8b-h100-fp8", "--concurrency", "1,4", "--num-prompts", "100", "--virtual")


class Installed(SystemCase):
    """What every package must do. Subclasses give the suite."""

    def install_wheel(self):
        self.inside("python3", "-m", "venv", "/venv", check=True)
        self.inside("/venv/bin/pip", "install", "--no-index", self.put(wheel()), check=True)
        return "/venv/bin/paretoken"

    def install_deb(self):
        self.inside("dpkg", "--install", self.put(DEB), check=True)
        return "/usr/bin/paretoken"

    def install_tarball(self):
        self.inside("tar", "-xf", self.put(TARBALL), "-C", "/opt", check=True)
        return f"/opt/{TARBALL.name.removesuffix('.tar.gz')}/bin/paretoken"

    def works(self, program):
        self.assertRegex(self.inside(program, "--version", check=True).stdout,
                         rf"^paretoken {re.escape(VERSION)} \([0-9a-f]{{12}}\)\nbuild type: Release\nCPU kernels: ")
        self.inside(program, *VIRTUAL, "--out", "sweep", check=True)
        self.inside(program, "report", "sweep", "--no-micro", "--out", "report.html", check=True)
        page = (self.root / "root" / "report.html").read_text()
        self.assertIn("<html", page)
        micro = self.inside(program, "micro", "--quick", "--filter", "^ceiling/read/backend|^weights/w:q4_0/layout:packed/batch:1/",
                            "--out", "micro.json")
        self.assertIn(micro.returncode, (0, 4), micro.stderr)  # 4: not steady, because the machine is busy
        rows = json.loads((self.root / "root" / "micro.json").read_text())["benchmarks"]
        self.assertTrue(any(row["name"].startswith("weights/") for row in rows))
        self.measures_over_tls(program)

    @contextlib.contextmanager
    def https_server(self, program):
        """Runs the simulated server over TLS in the system, with a certificate of an authority that only the system's store
        may know. Yields its address."""
        self.inside("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Test authority",
                    "-keyout", "ca.key", "-out", "/usr/local/share/ca-certificates/test.crt", check=True)
        self.inside("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "key.pem", "-out",
                    "request.pem", check=True)
        (self.root / "root" / "names.conf").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.inside("openssl", "x509", "-req", "-in", "request.pem", "-CA", "/usr/local/share/ca-certificates/test.crt", "-CAkey",
                    "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names.conf", "-out", "cert.pem", check=True)
        serve = subprocess.Popen(["chroot", str(self.root), program, "serve", "--port", "0", "--tls-cert", "/root/cert.pem",
                                  "--tls-key", "/root/key.pem"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                 env=ENVIRONMENT)
        try:
            yield re.search(r"https://127\.0\.0\.1:\d+", serve.stdout.readline()).group()
        finally:
            serve.terminate()
            serve.wait()
            serve.stdout.close()

    def measures_over_tls(self, program):
        bundle = self.root / "etc" / "ssl" / "certs" / "ca-certificates.crt"
        with self.https_server(program) as address:
            load = (program, "run", address, "--concurrency", "2", "--num-prompts", "20", "--isl", "16", "--osl", "4", "--out")
            refused = self.inside(*load, "refused")
            self.assertEqual(refused.returncode, 3, refused.stderr)
            self.assertIn("certificate was refused", refused.stderr)
            self.inside("update-ca-certificates", check=True)
            self.assertIn(self.inside(*load, "tls").returncode, (0, 4))  # 4: the machine is busy
            self.assertEqual(json.loads((self.root / "root/tls/run.json").read_text())["counts"]["ok"], 20)
            # The same system with its authorities where Fedora keeps them, and then nowhere. pip needs them afterwards.
            openssl = self.root / "usr" / "lib" / "ssl"
            openssl_elsewhere = openssl.rename(self.root / "root" / "ssl")
            fedora = self.root / "etc" / "pki" / "tls" / "certs"
            fedora.mkdir(parents=True)
            authorities = bundle.rename(fedora / "ca-bundle.crt")
            self.assertIn(self.inside(*load, "fedora").returncode, (0, 4))
            authorities = authorities.rename(self.root / "root" / "authorities")
            nowhere = self.inside(*load, "nowhere")
            authorities.rename(bundle)
            openssl_elsewhere.rename(openssl)
            self.assertEqual(nowhere.returncode, 3, nowhere.stderr)
            self.assertIn("no certificate store", nowhere.stderr)

    def check_wheel(self):
        self.inside("python3", "-m", "venv", "/venv", check=True)
        before = self.files()
        self.older_wheel()
        program = self.install_wheel()
        self.assertFalse(any("paretoken/old.py" in path or "0.0.1.dist-info" in path for path in self.files()))
        self.assertEqual(self.inside("/venv/bin/python", "-m", "paretoken", "--version", check=True).stdout,
                         self.inside(program, "--version", check=True).stdout)
        self.works(program)
        self.reads_runs()
        self.leaves_nothing(before, "/venv/bin/pip", "uninstall", "--yes", "paretoken")

    def older_wheel(self):
        """Installs the wheel as version 0.0.1 with a module that the new one lacks, which installing the new one must replace."""
        older = self.root / "root" / wheel().name.replace(VERSION, "0.0.1", 1)
        information = f"paretoken-{VERSION}.dist-info"
        with zipfile.ZipFile(wheel()) as new, zipfile.ZipFile(older, "w") as made:
            for entry in new.infolist():
                content = new.read(entry)
                if entry.filename == f"{information}/METADATA":
                    content = content.replace(f"\nVersion: {VERSION}\n".encode(), b"\nVersion: 0.0.1\n")
                if entry.filename == f"{information}/RECORD":  # an entry without a hash is valid, and pip removes its file
                    names = [name.replace(information, "paretoken-0.0.1.dist-info") for name in new.namelist()]
                    content = "".join(f"{name},,\n" for name in (*names, "paretoken/old.py")).encode()
                entry.filename = entry.filename.replace(information, "paretoken-0.0.1.dist-info")
                made.writestr(entry, content)
            made.writestr("paretoken/old.py", "")
        self.inside("/venv/bin/pip", "install", "--no-index", f"/root/{older.name}", check=True)
        self.assertIn("Version: 0.0.1", self.inside("/venv/bin/pip", "show", "paretoken", check=True).stdout)
        self.assertTrue(any("paretoken/old.py" in path for path in self.files()))

    def reads_runs(self):
        """The reader works without NumPy."""
        script = ("import paretoken, glob; run = paretoken.load(sorted(glob.glob('sweep/c*'))[0]); "
                  "print(run.verdict, len(run.requests['index']), len(run.events['time_s']) == sum(run.requests['chunks']))")
        said = self.inside("/venv/bin/python", "-c", script, check=True).stdout.split()
        self.assertEqual(said[1:], ["100", "True"])

    def check_deb(self):
        before = self.files()
        self.upgrades()
        self.works("/usr/bin/paretoken")
        self.leaves_nothing(before, "dpkg", "--purge", "paretoken")

    def upgrades(self):
        """Installs an older version with a file that the new one lacks, and then the new one."""
        older = pathlib.Path(self.root) / "older"
        subprocess.run(["dpkg-deb", "--raw-extract", DEB, older], check=True)
        control = older / "DEBIAN" / "control"
        control.write_text(control.read_text().replace(f"Version: {VERSION}", "Version: 0.0.1"))
        (older / "usr/share/paretoken/old").write_text("")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", older, self.root / "root/older.deb"], check=True,
                       capture_output=True)
        shutil.rmtree(older)
        self.inside("dpkg", "--install", "/root/older.deb", check=True)
        self.install_deb()
        self.assertFalse((self.root / "usr/share/paretoken/old").exists())

    def check_tarball(self):
        self.works(self.install_tarball())

    def leaves_nothing(self, before, *remove):
        """Removes the package; what is left are the results in the user's directory and what the test itself changed."""
        self.inside(*remove, check=True)
        left = {path for path in self.files() - before
                if not path.startswith(("root/", "etc/ssl/", "etc/pki/", "usr/local/share/ca-certificates/"))}
        self.assertEqual(left, set())


def on(suite, *packages):
    """Returns a class of tests of packages on a release of Debian."""
    checks = {"wheel": Installed.check_wheel, "deb": Installed.check_deb, "tarball": Installed.check_tarball}
    tests = {f"test_the_{package}_installs_works_and_goes": checks[package] for package in packages}
    return type(f"On{suite.title()}", (Installed,), {"suite": suite, "__module__": __name__, **tests})


OnBullseye = on("bullseye", "wheel", "tarball")
OnBookworm = on("bookworm", "wheel", "deb", "tarball")
OnTrixie = on("trixie", "wheel", "deb", "tarball")


class OlderSystem(SystemCase):
    def test_dpkg_refuses_the_package_where_glibc_is_older_and_names_it(self):
        status = self.root / "var/lib/dpkg/status"
        text = re.sub(r"(Package: libc6\n(?:.*\n)*?Version: ).*", r"\g<1>2.24-11", status.read_text())
        status.write_text(text)
        done = self.inside("dpkg", "--install", self.put(DEB))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("libc6 (>= 2.28)", done.stdout + done.stderr)

    def test_pip_refuses_the_wheel_where_glibc_is_older(self):
        self.inside("python3", "-m", "venv", "/venv", check=True)
        (self.root / "root" / "old.py").write_text(
            "import os, sys\nconfstr = os.confstr\nos.confstr = lambda name: 'glibc 2.24' if name == 'CS_GNU_LIBC_VERSION' else "
            "confstr(name)\nfrom pip._internal.cli.main import main\nsys.exit(main(sys.argv[1:]))\n")
        done = self.inside("/venv/bin/python", "old.py", "install", "--no-index", self.put(wheel()))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("is not a supported wheel on this platform", done.stderr)


if __name__ == "__main__":
    unittest.main()
