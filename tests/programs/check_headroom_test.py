"""Tests of scripts/validation/check-headroom, by a program that prints what a run is to have found."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import stand_in

SCRIPT = stand_in.ROOT / "scripts" / "validation" / "check-headroom"


def row(size, whole, half_width=0.01, last="floor"):
    step = {"station": last, "whole": whole, "whole_low": whole * (1 - half_width), "whole_high": whole * (1 + half_width)}
    return {"case": f"all_reduce/{size}", "steps": [{"station": "nccl"}, step]}


class CheckHeadroom(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = stand_in.write_printer(self.folder / "linkgain", "$2")

    def check(self, first, second):
        for name, rows in (("first", first), ("second", second)):
            (self.folder / name).write_text(json.dumps({"answer": {"headroom_steps": rows}}))
        command = [sys.executable, SCRIPT, "--linkgain", self.program, self.folder / "first", self.folder / "second"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_a_repeated_run_is_in_the_interval(self):
        done = self.check([row("1MiB", 2.0)], [row("1MiB", 2.015)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| all_reduce/1MiB | floor | 2.000x | 1.980 to 2.020 | 2.015x | yes |", done.stdout)

    def test_the_second_run_may_be_as_uncertain(self):
        done = self.check([row("1MiB", 2.0)], [row("1MiB", 2.025)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| no, within both |", done.stdout)
        self.assertIn("1 of 1; 0 in the first one's interval", done.stdout)

    def test_another_whole_is_no_repetition(self):
        done = self.check([row("1MiB", 2.0)], [row("1MiB", 2.05)])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("| **no** |", done.stdout)

    def test_one_of_ten_may_be_outside(self):
        same = [row(str(size), 2.0) for size in range(9)]
        self.assertEqual(self.check(same + [row("9", 2.0)], same + [row("9", 3.0)]).returncode, 0)

    def test_other_steps_and_single_launches_are_not_compared(self):
        single = row("2MiB", 2.0)
        single["steps"][-1]["whole_low"] = None
        done = self.check([row("1MiB", 2.0), single], [row("1MiB", 2.0, last="kernel"), single])
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("0 of 0", done.stdout)

    def test_a_record_that_cannot_be_read_ends_it(self):
        command = [sys.executable, SCRIPT, "--linkgain", self.program, self.folder / "none", self.folder / "none"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 6)
        self.assertIn("check-headroom: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
