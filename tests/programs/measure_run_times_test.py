"""Tests of scripts/validation/measure-run-times, by records as linkgain writes them and by a program in its place."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import stand_in
from stand_in import case, record

SCRIPT = stand_in.ROOT / "scripts" / "validation" / "measure-run-times"
ONE_CASE = "def behave(run, words): return {'record': record([case('x/1MiB/np2', 2.0, 0.005)])}"


def of_widths(large, small):
    """Cases with intervals of such half widths: three from 1 MiB on, three by graph below it, and others."""
    cases = [case(f"all_reduce/float32/sum/{1 << i}MiB/np2", 2.0, each) for i, each in enumerate(large)]
    cases += [case(f"all_reduce/float32/sum/{1 << i}KiB/np2/graph", 2.0, each) for i, each in enumerate(small)]
    return record([*cases, case("all_reduce/float32/sum/8B/np2", 2.0, 0.5), case("gpt2_step/fp32/gpt2/np2", 2.0, 0.5)])


class MeasureRunTimes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def measure(self, *options, behave=ONE_CASE):
        program = stand_in.write_program(self.folder / "linkgain", behave)
        return subprocess.run([sys.executable, SCRIPT, "--linkgain", program, "--out", self.folder, *options],
                              capture_output=True, text=True, check=False)

    def judge(self, name, walls, large=(0.005, 0.009, 0.5), small=(0.01, 0.029, 0.5)):
        """The verdicts on time and on both half widths."""
        stand_in.write_runs(self.folder, name, [of_widths(large, small)] * len(walls), wall_s=walls)
        self.status = self.measure("--runs", "0").returncode
        return [line.split("|")[3].strip() for line in (self.folder / "run-times.md").read_text().splitlines()
                if line.startswith(f"| {name}:")]

    def test_all_targets_are_met(self):
        self.assertEqual(self.judge("sizes", [25.0]), ["met"] * 3)
        self.assertEqual(self.judge("quick", [18.0]), ["met"] * 3)
        self.assertEqual(self.status, 7, "the default run is missing")
        self.assertEqual(self.judge("default", [95.0]), ["met"] * 3)
        self.assertEqual(self.status, 0)

    def test_the_slowest_run_counts(self):
        self.assertEqual(self.judge("sizes", [20.0, 25.1, 20.0])[0], "**missed**")
        self.assertEqual(self.status, 1)
        self.assertEqual(self.judge("quick", [18.1])[0], "**missed**")
        self.assertEqual(self.judge("default", [95.1])[0], "**missed**")

    def test_wide_intervals_are_found_by_their_median(self):
        self.assertEqual(self.judge("sizes", [1.0], large=(0.005, 0.011, 0.011)), ["met", "**missed**", "met"])
        self.assertEqual(self.judge("quick", [1.0], small=(0.005, 0.031, 0.031)), ["met", "met", "**missed**"])

    def test_no_row_is_not_met(self):
        self.assertEqual(self.judge("sizes", [1.0], large=()), ["met", "not measured yet", "met"])

    def test_rows_without_an_interval_are_named(self):
        stand_in.write_runs(self.folder, "quick", [record([case("x/8B/np2", 2.0, None)])])
        self.assertIn("- x/8B/np2 (launches differ), in 1 of 1 runs", self.measure("--runs", "0").stdout)

    def test_each_run_is_made_once(self):
        self.measure()
        done = self.measure("--seconds", "0")
        kept = [json.loads(line) for line in (self.folder / "runs.jsonl").read_text().splitlines()]
        self.assertEqual([(run["set"], run["options"]) for run in kept],
                         [("sizes", ["--only", "all_reduce", "--sizes", "8:1G:x2"]), ("quick", ["--profile", "quick"]),
                          ("default", [])])
        self.assertIn("| 0.50 %, of 1 rows | met |", done.stdout)

    def test_the_time_is_that_of_the_whole_program(self):
        self.measure("--only", "quick", behave="def behave(run, words): time.sleep(0.5); return {}")
        wall = json.loads((self.folder / "runs.jsonl").read_text())["wall_s"]
        self.assertTrue(0.5 <= wall < 30, wall)


if __name__ == "__main__":
    unittest.main()
