"""Tests of scripts/validation/measure-neighbours, by records and by programs in linkgain's and in the neighbour's place."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import stand_in
from stand_in import record

SCRIPT = stand_in.ROOT / "scripts" / "validation" / "measure-neighbours"
BUSY = {"gpu": 0, "after_s": None, "busy_percent": 97.0, "nvlink_gb_per_s": 0.0,
        "processes": [{"pid": 4711, "name": "busy_gpu", "memory_bytes": 1}]}
HELD = {**BUSY, "busy_percent": 0.0}
LATER = {**BUSY, "after_s": 7.5}
REPORT = "Neighbours: GPU 0 was 97 % busy (pid 4711 busy_gpu)\n"


def run(*seen, **more):
    neighbours = {"looks": 5, "idle_windows": 2, "cost_s": 0.1, "not_looked": "", "seen": list(seen)}
    return record(neighbours=neighbours, warnings=[{"code": "busy-gpu"}] if seen else [], **more)


class Judge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, runs, report=REPORT, **more):
        stand_in.write_runs(self.folder, name, runs, report=report, neighbour_pid=[4711] * len(runs),
                            neighbour_after_s=[6.0] * len(runs), **more)

    def judge(self, *options):
        program = stand_in.write_program(self.folder / "linkgain", "def behave(run, words): return {}")
        return subprocess.run([sys.executable, SCRIPT, "--linkgain", program, "--out", self.folder, "--quiet", "0",
                               "--before", "0", "--halfway", "0", *options], capture_output=True, text=True, check=False)

    def test_all_targets_are_met(self):
        self.write("before", [run(BUSY)] * 10)
        self.write("halfway", [run(LATER)] * 10)
        self.write("quiet", [run()] * 20, report="")
        done = self.judge()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("| 10 of 10, 10 of them with its process id |", done.stdout)
        self.assertIn("; 1.5 s after its start, 1.5 s at most |", done.stdout)
        self.assertEqual((self.folder / "neighbours.md").read_text(), done.stdout.lstrip("\n"))

    def missed_of_ten(self, name, other, **more):
        self.write(name, [run(BUSY if name == "before" else LATER)] * 9)
        self.write(name, [other], **more)
        done = self.judge()
        self.assertIn("| 9 of 10, ", done.stdout)
        self.assertIn("**missed**", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_one_run_that_says_nothing_is_a_miss(self):
        self.missed_of_ten("before", run())

    def test_one_that_is_named_only_after_the_start_was_not_seen_before(self):
        self.missed_of_ten("before", run(LATER))

    def test_one_that_is_named_before_it_started_is_another(self):
        self.missed_of_ten("halfway", run(BUSY))

    def test_memory_alone_is_not_work(self):
        self.missed_of_ten("before", run(HELD))

    def test_another_gpu_is_not_the_one(self):
        self.missed_of_ten("before", run({**BUSY, "gpu": 1}))

    def test_the_report_must_say_it(self):
        self.missed_of_ten("before", run(BUSY), report="Neighbours: none\n")

    def test_the_warning_must_be_there(self):
        self.missed_of_ten("before", {**run(BUSY), "warnings": []})

    def test_traffic_alone_is_work(self):
        self.write("before", [run({**HELD, "nvlink_gb_per_s": 3.0})])
        self.assertIn("| 1 of 1, ", self.judge().stdout)

    def test_hidden_process_ids_are_counted_apart(self):
        self.write("before", [run({**BUSY, "processes": []})] * 10)
        self.assertIn("| 10 of 10, 0 of them with its process id | met |", self.judge().stdout)

    def test_nine_runs_are_too_few(self):
        self.write("before", [run(BUSY)] * 9)
        self.assertEqual(self.judge().returncode, 7)

    def test_a_false_alarm_is_found_and_shown(self):
        self.write("quiet", [run()] * 19, report="")
        self.write("quiet", [run(HELD)])
        done = self.judge()
        self.assertIn("| somebody in 1 of 20 | **missed** |", done.stdout)
        self.assertIn("- Neighbours: GPU 0 was 97 % busy", done.stdout)

    def test_runs_that_did_not_look_prove_nothing(self):
        self.write("quiet", [record()] * 20, report="")
        self.assertIn("| somebody in 0 of 0, 20 more did not look | not measured yet |", self.judge().stdout)

    def test_other_scripts_runs_are_quiet_ones(self):
        other = self.folder / "coverage"
        stand_in.write_runs(other, "graph", [run()] * 20)
        self.assertIn("| somebody in 0 of 20 | met |", self.judge("--quiet-runs", other / "runs.jsonl").stdout)


# Names the neighbour where it works: "with" is written while it does.
LINKGAIN = """
    import os
    def behave(run, words):
        here = pathlib.Path(__file__).parent
        at_start = (here / "with").exists()
        time.sleep(0.6)
        seen = [{"gpu": 0, "after_s": None if at_start else 0.5, "busy_percent": 99.0, "nvlink_gb_per_s": None,
                 "processes": [{"pid": int((here / "with").read_text())}]}] if (here / "with").exists() else []
        neighbours = {"looks": 2, "idle_windows": 1, "cost_s": 0.0, "seen": seen}
        return {"record": record(neighbours=neighbours, warnings=[{"code": "busy-gpu"}] if seen else []),
                "report": "Neighbours: GPU 0 was busy" if seen else ""}
"""
NEIGHBOUR = """#!/usr/bin/env bash
echo $$ >"$(dirname "$0")/with"
echo busy
exec sleep 60
"""


class Measure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = stand_in.write_program(self.folder / "linkgain", LINKGAIN)

    def measure(self, text, *options):
        neighbour = self.folder / "neighbour"
        neighbour.write_text(text)
        neighbour.chmod(0o755)
        return subprocess.run([sys.executable, SCRIPT, "--linkgain", self.program, "--out", self.folder / "out",
                               "--neighbour", neighbour, *options], capture_output=True, text=True, check=False)

    def kept(self):
        return [json.loads(line) for line in (self.folder / "out" / "runs.jsonl").read_text().splitlines()]

    def assert_ended(self):
        self.assertFalse(os.path.exists(f"/proc/{(self.folder / 'with').read_text().strip()}"), "left behind")

    def test_it_works_from_before_the_start(self):
        done = self.measure(NEIGHBOUR, "--quiet", "1", "--before", "1", "--halfway", "0")
        self.assertIn("| 1 of 1, 1 of them with its process id |", done.stdout, done.stderr)
        self.assertEqual([each["set"] for each in self.kept()], ["quiet", "before"])
        self.assert_ended()

    def test_it_comes_halfway(self):
        done = self.measure(NEIGHBOUR, "--quiet", "1", "--before", "0", "--halfway", "1")
        self.assertIn("| 1 of 1, 1 of them with its process id; ", done.stdout, done.stderr)
        quiet, halfway = self.kept()
        self.assertEqual(halfway["neighbour_after_s"], quiet["wall_s"] / 2)
        self.assert_ended()

    def test_one_that_ends_early_is_none(self):
        done = self.measure("#!/usr/bin/env bash\necho busy\n", "--quiet", "0", "--before", "1", "--halfway", "0")
        self.assertEqual(done.returncode, 6, done.stdout)
        self.assertFalse((self.folder / "out" / "runs.jsonl").exists())

    def test_one_that_does_not_work_is_none(self):
        done = self.measure("#!/usr/bin/env bash\necho no\n", "--quiet", "0", "--before", "1", "--halfway", "0")
        self.assertEqual(done.returncode, 3, done.stdout)


if __name__ == "__main__":
    unittest.main()
