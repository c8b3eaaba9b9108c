"""Tests of scripts/validation/measure-tuning, by a program that prints what a run is to have found."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import stand_in

SCRIPT = stand_in.ROOT / "scripts" / "validation" / "measure-tuning"


class MeasureTuning(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = stand_in.write_printer(self.folder / "linkgain", "$2/record.json")

    def judge(self, confirmed, status="complete"):
        """The script's end on runs that confirmed so many sizes each."""
        for number, count in enumerate(confirmed, 1):
            run = self.folder / f"run-{number}"
            run.mkdir()
            answer = {"sentence": "so", "spoken": [{}] * count}
            (run / "record.json").write_text(json.dumps({"status": status, "answer": answer}))
        command = [sys.executable, SCRIPT, "--linkgain", self.program, "--out", self.folder, "--runs",
                   str(len(confirmed))]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_one_run_of_twenty_may_claim_something(self):
        done = self.judge([0] * 19 + [3])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| 20 | complete | 3 | so |", done.stdout)
        self.assertIn("| 1 of 20 | met |", done.stdout)

    def test_two_may_not(self):
        done = self.judge([1] + [0] * 18 + [1])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("| 2 of 20 | **missed** |", done.stdout)

    def test_few_runs_tell_nothing(self):
        self.assertEqual(self.judge([0] * 5).returncode, 7)

    def test_a_run_that_broke_off_is_no_proof(self):
        self.assertEqual(self.judge([0] * 20, "interrupted").returncode, 6)


if __name__ == "__main__":
    unittest.main()
