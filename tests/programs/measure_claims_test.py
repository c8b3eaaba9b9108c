"""Tests of scripts/validation/measure-claims, with runs that are there and programs in the place of those that it starts."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import stand_in
from stand_in import case, record

SCRIPT = stand_in.ROOT / "scripts" / "validation" / "measure-claims"
NEIGHBOURS = {"looks": 5, "idle_windows": 2, "cost_s": 0.1}
BUSY = {"gpu": 0, "after_s": None, "busy_percent": 97.0, "nvlink_gb_per_s": 0.0, "processes": []}
MPIRUN = """#!/usr/bin/env bash
echo x >>"$(dirname "$0")/jobs"
[[ $* != *-none* ]] || { echo 'none of 1000000 operations was wrong, 9.0 s, seed 1'; exit 0; }
[[ $* == *one-buffer-set* ]] || { echo 'WRONG after 1.5 s, operation 7'; exit 1; }
echo 'none of 500 operations was wrong, 60.0 s, seed 1'
"""


def quiet(cases):
    return record(cases, neighbours={**NEIGHBOURS, "seen": []})


class MeasureClaims(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        stand_in.write_program(self.folder / "bin" / "linkgain", "def behave(run, words): return {}")

    def measure(self, *options):
        return subprocess.run([sys.executable, SCRIPT, "--build", self.folder, "--out", self.folder, *options],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"})

    def write_all(self, wall_s=10.0):
        """Runs that meet every target; those of measure-run-times take so long."""
        usual = quiet([case("x/1MiB/np2", 2.0, 0.005), case("x/1KiB/np2/graph", 2.0, 0.005)])
        for name in ("sizes", "quick", "default"):
            stand_in.write_runs(self.folder / "run-times", name, [usual], wall_s=[wall_s])
        for name in ("graph", "stream"):
            stand_in.write_runs(self.folder / "coverage", name, [
                quiet(case(f"x/{1 << i}KiB/np2", (1.02 if run % 2 else 0.98) if i == run % 20 else 1.0) for i in range(20))
                for run in range(20)])
        stand_in.write_runs(self.folder / "coverage", "pairs", [quiet(case(f"x/{8 + i}B/np2", 1.0) for i in range(50))] * 8,
                            pair=[1, 1, 2, 2, 3, 3, 4, 4])
        for name, after in (("before", None), ("halfway", 7.5)):
            seen = record(neighbours={**NEIGHBOURS, "seen": [{**BUSY, "after_s": after}]}, warnings=[{"code": "busy-gpu"}])
            stand_in.write_runs(self.folder / "neighbours", name, [seen] * 10, "Neighbours: GPU 0", neighbour_pid=[1] * 10,
                                neighbour_after_s=[6.0] * 10)

    def table(self):
        return [line for line in (self.folder / "claims.md").read_text().splitlines() if line.endswith(" |")][2:]

    def test_all_targets_stand_in_one_table(self):
        self.write_all()
        done = self.measure()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(self.table()), 9 + 6 + 3)
        self.assertTrue(all(row.endswith("| met |") for row in self.table()), self.table())
        self.assertIn("| somebody in 0 of 51 | met |", done.stdout)

    def test_one_that_is_missed_decides(self):
        self.write_all(wall_s=20.0)
        self.assertEqual(self.measure().returncode, 1)
        self.assertEqual([row.split("|")[1].split(":")[0].strip() for row in self.table() if "missed" in row], ["quick"])

    def test_nothing_begins_that_has_no_time(self):
        done = self.measure("--seconds", "5", "--nccl-tests", self.folder, "--stress", self.folder)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(list(self.folder.glob("*/runs.jsonl")), [])
        self.assertFalse((self.folder / "bin" / "runs").exists())

    def test_a_part_that_fails_does_not_end_the_others(self):
        stand_in.write_program(self.folder / "bin" / "linkgain", "def behave(run, words): return {'status': 3}")
        done = self.measure("--only", "run-times", "--only", "coverage")
        self.assertEqual(done.returncode, 6)
        self.assertIn("-- coverage", done.stdout)

    def test_each_build_of_the_stress_program_is_run_once(self):
        for name, text in (("nvidia-smi", "#!/usr/bin/env bash\nprintf 'GPU 0: A\\nGPU 1: B\\n'\n"), ("mpirun", MPIRUN)):
            (self.folder / "bin" / name).write_text(text)
            (self.folder / "bin" / name).chmod(0o755)
        done = self.measure("--only", "stress", "--stress", self.folder / "programs")
        self.assertEqual(done.returncode, 1, "one-buffer-set is not found")
        self.assertIn("one-buffer-set     not caught: none of 500 wrong, 60.0 s", done.stdout)
        self.assertIn("no-release         caught: WRONG after 1.5 s", done.stdout)
        self.assertEqual(self.measure("--only", "stress", "--stress", self.folder / "programs").returncode, 1)
        self.assertEqual(len((self.folder / "bin" / "jobs").read_text().split()), 6)

    def test_wrong_options(self):
        self.assertEqual(self.measure("--only", "nothing").returncode, 2)


if __name__ == "__main__":
    unittest.main()
