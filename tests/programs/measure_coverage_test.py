"""Tests of scripts/validation/measure-coverage with a program in linkgain's place."""

import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "validation" / "measure-coverage"

# Writes a record of 20 cases, whose intervals reach 1 % to either side, and whose ratios miss 1 by 2 %: "fair" in one
# case of 20, "narrow" in all, on both sides. They miss it by 0.5 % where "biased"; "single" has no interval.
STAND_IN = """
    #!/usr/bin/env python3
    import json, pathlib, sys
    folder = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
    folder.mkdir(parents=True)
    name = sys.argv[-1]
    run = int(folder.name.split("-")[1])
    def ratio(case):
        if name == "biased":
            return 1.005
        if name == "narrow":
            return 1.02 if (case + run) % 2 else 0.98
        return (1.02 if run % 2 else 0.98) if case == run % 20 else 1.0
    low = None if name == "single" else 0.99
    cases = [{"case": f"c{i}", "ratios": [{"ratio": ratio(i), "low": low and ratio(i) * 0.99, "high": low and ratio(i) / 0.99}]}
             for i in range(20)]
    (folder / "record.json").write_text(json.dumps({"cases": cases}))
    sys.exit(3 if name == "failing" else 0)
"""


class MeasureCoverage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "linkgain"
        self.program.write_text(textwrap.dedent(STAND_IN).lstrip())
        self.program.chmod(0o755)

    def measure(self, behaviour, *options):
        return subprocess.run([sys.executable, SCRIPT, "--linkgain", self.program, *options, "--out", self.folder / "out",
                               "--", behaviour], capture_output=True, text=True, check=False)

    def test_one_interval_of_twenty_may_miss(self):
        done = self.measure("fair", "--runs", "20")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("5.0 % of 400 intervals exclude 1", done.stdout)
        self.assertEqual((self.folder / "out" / "coverage.md").read_text(), done.stdout)

    def test_intervals_that_are_too_narrow_are_found(self):
        done = self.measure("narrow", "--runs", "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("100.0 % of 40 intervals", done.stdout)

    def test_a_bias_within_all_intervals_is_found(self):
        done = self.measure("biased", "--runs", "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("0.50 % at most", done.stdout)

    def test_pairs_are_held_against_each_other(self):
        done = self.measure("narrow", "--runs", "0", "--pairs", "2")
        self.assertEqual(done.returncode, 0, "both runs of a pair have the same error")
        self.assertIn("100.0 % of 40 rows agree", done.stdout)

    def test_one_launch_has_nothing_to_count(self):
        self.assertEqual(self.measure("single", "--runs", "1").returncode, 6)

    def test_a_failed_run_ends_it(self):
        self.assertEqual(self.measure("failing", "--runs", "1").returncode, 6)

    def test_wrong_options(self):
        self.assertEqual(self.measure("fair", "--runs", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
