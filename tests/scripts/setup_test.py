#!/usr/bin/env python3
"""Tests of scripts/setup: the packages that it wants on each distribution."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def setup_on(system, *options):
    """Runs scripts/setup --print as if this machine had the given ID and VERSION_ID in /etc/os-release."""
    with tempfile.NamedTemporaryFile("w", suffix="-os-release") as release:
        identity, _, version = system.partition(" ")
        release.write(f'ID={identity}\nVERSION_ID="{version}"\n')
        release.flush()
        return subprocess.run([ROOT / "scripts" / "setup", "--print", *options], capture_output=True, text=True, check=False,
                              env={**os.environ, "SETUP_OS_RELEASE": release.name})


def packages_on(system, *options):
    done = setup_on(system, *options)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


class Setup(unittest.TestCase):
    def test_only_debian_12_needs_a_boost_by_its_version(self):
        self.assertIn("libboost1.81-dev", packages_on("debian 12"))
        for system in ("debian 13", "ubuntu 24.04"):
            self.assertIn("libboost-dev", packages_on(system))
            self.assertEqual(packages_on(system) - {"libboost-dev"}, packages_on("debian 12") - {"libboost1.81-dev"})

    def test_every_library_of_debian_has_its_counterpart_on_fedora(self):
        fedora = packages_on("fedora 42")
        self.assertEqual(len(packages_on("debian 13")) - 1, len(fedora))  # Fedora has no package of Chart.js
        self.assertLess({"gcc-c++", "boost-devel", "json-devel", "google-benchmark-devel"}, fedora)

    def test_the_names_are_those_that_the_distributions_publish(self):
        published = json.loads((ROOT / "tests" / "scripts" / "published_packages.json").read_text())
        for system in ("ubuntu 24.04", "fedora 42"):
            names = published[system]
            looked_up, not_looked_up = set(names["versions"]), set(names["not_looked_up"])
            self.assertEqual(looked_up & not_looked_up, set())
            self.assertEqual(packages_on(system), looked_up | not_looked_up, f"look the difference up, and note it for {system}")

    def test_another_system_is_told_what_is_needed(self):
        done = setup_on("arch ")
        self.assertEqual(done.returncode, 3)
        for word in ("arch", "Boost 1.81", "simdjson", "Chart.js"):
            self.assertIn(word, done.stderr)

    def test_the_whole_suite_and_releases_are_for_debian_12(self):
        self.assertLess({"chromium", "mmdebstrap"}, packages_on("debian 12", "--test"))
        self.assertIn("mmdebstrap", packages_on("debian 12", "--dist"))
        self.assertLess({"slurmctld", "iproute2"}, packages_on("debian 12", "--cluster"))
        for option in ("--test", "--dist", "--cluster"):
            done = setup_on("debian 13", option)
            self.assertEqual(done.returncode, 3)
            self.assertIn("ctest", done.stderr)

    def test_an_unknown_option_is_named(self):
        done = setup_on("debian 12", "--tset")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--tset", done.stderr)


if __name__ == "__main__":
    unittest.main()
