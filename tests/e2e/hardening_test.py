"""The built program is linked with the usual protections against attacks that exploit memory errors."""

import subprocess
import unittest

from harness import BINARY, Case


class Hardening(Case):
    def test_the_program_is_position_independent_and_its_tables_are_read_only(self):
        readelf = lambda option: subprocess.run(["readelf", "-W", option, BINARY], capture_output=True, text=True,  # noqa: E731
                                                check=True).stdout
        self.assertIn("DYN (Position-Independent Executable file)", readelf("-h"))
        self.assertIn("BIND_NOW", readelf("-d"))
        self.assertIn("GNU_RELRO", readelf("-l"))
        self.assertIn("__stack_chk_fail", readelf("--dyn-syms"))
        self.assertRegex(readelf("--dyn-syms"), r"__\w+_chk@")


if __name__ == "__main__":
    unittest.main()
