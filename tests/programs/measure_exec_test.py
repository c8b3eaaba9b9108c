"""Tests of scripts/validation/measure-exec, by records that its folder has already."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import stand_in

SCRIPT = stand_in.ROOT / "scripts" / "validation" / "measure-exec"


def record(name, ratio, half_width, status="complete"):
    low, high = ratio * (1 - half_width), ratio * (1 + half_width)
    return {"status": status,
            "cases": [{"case": "exec/time", "ratios": []},
                      {"case": name, "ratios": [{"variant": "host", "ratio": ratio, "low": low, "high": high}]}]}


class MeasureExec(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def keep(self, place, document):
        (self.folder / place).mkdir(parents=True)
        (self.folder / place / "record.json").write_text(json.dumps(document))

    def verdicts(self, *options):
        done = subprocess.run([sys.executable, SCRIPT, "--build", "/nowhere", "--out", self.folder, *options],
                              capture_output=True, text=True, check=False)
        rows = (self.folder / "exec.md").read_text().splitlines()[4:]
        return done.returncode, [row.split("|")[3].strip() for row in rows]

    def keep_loop(self, exec_ratio):
        for folder, name in (("all_reduce-of-64-MiB", "all_reduce"), ("gpt2_step-in-tf32", "gpt2_step")):
            self.keep(f"{folder}/run", record(f"{name}/float32", 2.0, 0.01))
            self.keep(f"{folder}/exec", record(f"exec/{name}", exec_ratio, 0.01))

    def test_ratios_that_agree_are_met(self):
        self.keep_loop(2.02)
        self.assertEqual(self.verdicts("--only", "loop"), (0, ["met", "met"]))

    def test_ratios_that_differ_are_missed(self):
        self.keep_loop(2.1)
        self.assertEqual(self.verdicts("--only", "loop"), (1, ["**missed**", "**missed**"]))

    def test_a_training_with_failed_runs_is_missed(self):
        for precision, status in (("fp32", "complete"), ("tf32", "incomplete"), ("bf16", "complete")):
            self.keep(f"ddp-{precision}", record("exec/train_runtime", 1.3, 0.02, status))
        self.assertEqual(self.verdicts("--only", "training"), (1, ["met", "**missed**", "met"]))

    def test_one_control_of_six_may_differ_and_two_may_not(self):
        for number, ratio in enumerate((1.0, 1.001, 0.999, 1.002, 1.0, 1.1)):
            self.keep(f"control-{number + 1}", record("exec/train_runtime", ratio, 0.02))
        self.assertEqual(self.verdicts("--only", "control"), (0, ["met"]))
        self.keep("control-7", record("exec/train_runtime", 0.9, 0.02))
        self.assertEqual(self.verdicts("--only", "control", "--controls", "7"), (1, ["**missed**"]))

    def test_programs_that_took_twice_as_long_are_missed(self):
        for name in ("computing", "waiting"):
            for pair in range(6):
                case = {"case": "exec/took", "ratios": [], "variants": [{"time_s": 5.0}]}
                self.keep(f"overhead-{name}/{pair}", {"status": "complete", "cases": [case]})
        self.assertEqual(self.verdicts("--only", "overhead", "--pairs", "6"), (1, ["**missed**", "**missed**"]))

    def test_a_run_that_is_missing_and_cannot_be_made(self):
        self.assertEqual(self.verdicts("--only", "loop"), (6, []))


if __name__ == "__main__":
    unittest.main()
