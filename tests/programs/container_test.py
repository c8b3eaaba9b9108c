"""Holds the container file to hadolint's rules.

Environment: LINKGAIN_BUILD is the build folder, where scripts/test --cluster puts hadolint.
"""

import os
import pathlib
import subprocess
import sys
import unittest

HADOLINT = pathlib.Path(os.environ["LINKGAIN_BUILD"]) / "validators" / "bin" / "hadolint"
FILE = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "packages" / "Containerfile"


def findings(text):
    done = subprocess.run([HADOLINT, "-"], input=text, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


class ContainerFile(unittest.TestCase):
    def test_has_nothing_to_find(self):
        self.assertEqual(findings(FILE.read_text()), "")

    def test_a_fault_is_found(self):
        self.assertIn("DL3006", findings(FILE.read_text().replace("ARG RUN=debian:12-slim", "").replace("${RUN}", "debian")))


if __name__ == "__main__":
    if not HADOLINT.exists():
        print("no hadolint (scripts/test --cluster gets it)")
        sys.exit(77)
    unittest.main()
