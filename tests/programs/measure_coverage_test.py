"""Tests of scripts/validation/measure-coverage, by records as linkgain writes them and by a program in its place."""

import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import unittest

import stand_in
from stand_in import case, record
from case_names import class_of
import run_journal

SCRIPT = stand_in.ROOT / "scripts" / "validation" / "measure-coverage"
ONE_CASE = "def behave(run, words): return {'record': record([case('x/8B/np2', 1.0)])}"

SIZES = [f"{1 << i}B" for i in range(20)] + [f"{1 << i}MiB" for i in range(10)]
# Whose intervals reach 1 % to either side.
TWENTY = [f"all_reduce/float32/sum/{each}/np2" for each in SIZES[:20]]
FIFTY = [f"all_reduce/float32/sum/{each}/np2" for each in SIZES] + [f"send_recv/float32/{each}/np2" for each in SIZES[10:]]


DEVIATION = 0.0078  # of launches: a ratio of six and six of them is known to 1 %


def fifty_cases(run, shift, together, seed):
    """In the second run of a pair rows are higher by shift(place); launches scatter, all rows of a class `together`."""
    cases = []
    for place, name in enumerate(FIFTY):
        generator = random.Random(f"{seed} {run} {class_of(name) if together else name}")
        first, own = ([generator.gauss(0.0, DEVIATION) for _ in range(6)] for _ in range(2))
        own = [log + shift(place) * (run % 2) for log in own]
        cases.append(case(name, math.exp(statistics.fmean(own) - statistics.fmean(first)),
                          launches=[[1e-6 * math.exp(log) for log in logs] for logs in (first, own)]))
    return cases


def one_of_twenty(place, run):
    return (1.02 if run % 2 else 0.98) if place == run % 20 else 1.0


class MeasureCoverage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def measure(self, behave, *options):
        program = stand_in.write_program(self.folder / "linkgain", behave)
        return subprocess.run([sys.executable, SCRIPT, "--linkgain", program, "--out", self.out, *options],
                              capture_output=True, text=True, check=False)

    def judge_same(self, ratio, runs=20, name="graph"):
        stand_in.write_runs(self.out, name, [record(case(each, ratio(place, run)) for place, each in enumerate(TWENTY))
                                             for run in range(runs)])
        return self.measure(ONE_CASE, "--runs", "0", "--pairs", "0")

    def judge_pairs(self, shift=lambda place: 0.0, pairs=4, together=False, seed=0):
        stand_in.write_runs(self.out, "pairs", [record(fifty_cases(run, shift, together, seed)) for run in range(2 * pairs)],
                            pair=[run // 2 for run in range(2 * pairs)])
        return self.measure(ONE_CASE, "--runs", "0", "--pairs", "0")

    def kept(self):
        return [json.loads(line) for line in (self.out / "runs.jsonl").read_text().splitlines()]

    def verdicts(self, about):
        """The verdicts of the targets that begin so, of the tables kept."""
        return [line.split("|")[3].strip() for line in (self.out / "coverage.md").read_text().splitlines()
                if line.startswith(f"| {about}")]

    def test_one_interval_of_twenty_may_miss(self):
        done = self.judge_same(one_of_twenty)
        self.assertEqual(self.verdicts("A/A by graph"), ["met", "met"], done.stderr)
        self.assertIn("| 5.0 % of 400, in 20 runs |", done.stdout)
        self.assertEqual(self.verdicts("A/A by stream"), ["not measured yet"] * 2)
        self.assertEqual(done.returncode, 7, "two sets are not measured yet")

    def test_all_targets_are_met(self):
        self.judge_same(one_of_twenty)
        self.judge_same(one_of_twenty, name="stream")
        self.assertEqual(self.judge_pairs().returncode, 0)

    def test_intervals_that_are_too_narrow_are_found(self):
        self.assertEqual(self.judge_same(lambda place, run: 1.02 if (place + run) % 2 else 0.98).returncode, 1)
        self.assertEqual(self.verdicts("A/A by graph"), ["**missed**", "met"])

    def test_intervals_that_are_too_wide_are_found(self):
        self.assertEqual(self.judge_same(lambda place, run: 1.0, name="stream").returncode, 1)
        self.assertEqual(self.verdicts("A/A by stream"), ["**missed**", "met"])

    def test_a_bias_within_all_intervals_is_found(self):
        done = self.judge_same(lambda place, run: 1.005 if place == 3 else one_of_twenty(place, run))
        self.assertEqual(self.verdicts("A/A by graph"), ["met", "**missed**"])
        self.assertIn("+0.50 % ± 0.00 % at most, all_reduce/float32/sum/8B/np2", done.stdout)

    def test_few_runs_are_not_judged(self):
        self.assertEqual(self.judge_same(lambda place, run: 1.02, runs=19).returncode, 7)
        self.assertEqual(self.verdicts("A/A by graph"), ["not measured yet"] * 2)

    def test_runs_are_added_to_those_there(self):
        self.measure(ONE_CASE, "--only", "graph", "--runs", "2")
        self.measure(ONE_CASE, "--only", "graph", "--runs", "1")
        self.assertEqual([run["set"] for run in self.kept()], ["graph"] * 3)

    def test_no_run_begins_that_would_end_too_late(self):
        slow = "def behave(run, words): time.sleep(1); return {}"
        self.measure(slow, "--only", "graph", "--seconds", "10")
        self.assertFalse(self.out.joinpath("runs.jsonl").exists(), "nobody knows how long one takes")
        self.measure(slow, "--only", "graph", "--runs", "1")
        self.measure(slow, "--only", "graph", "--seconds", "2.9")
        self.assertIn(len(self.kept()), (2, 3), "one or two runs of a second or more fit into less than three")

    def test_runs_before_a_failure_are_kept(self):
        failing = "def behave(run, words): return {'status': 3 if run == 3 else 0}"
        self.assertEqual(self.measure(failing, "--only", "graph").returncode, 6)
        self.assertEqual(len(self.kept()), 2)
        with (self.out / "runs.jsonl").open("a") as file:
            file.write('{"set": "gra')  # a call that was killed
        self.measure(failing, "--only", "graph", "--runs", "1")
        self.assertEqual(len(self.kept()), 3)

    def test_runs_of_other_options_are_not_mixed(self):
        self.measure(ONE_CASE, "--only", "graph", "--runs", "1")
        self.assertEqual(self.measure(ONE_CASE, "--only", "graph", "--runs", "1", "--", "--sizes", "8").returncode, 6)
        self.assertEqual(len(self.kept()), 1)

    def test_options_take_the_place_of_a_sets_own(self):
        self.measure(ONE_CASE, "--only", "graph", "--runs", "1", "--", "--sizes", "8", "--backend", "mpi")
        self.assertEqual(self.kept()[0]["options"],
                         ["--variant", "a:LG_A=1", "--variant", "b:LG_B=1", "--only", "all_reduce,send_recv",
                          "--launch-mode", "graph", "--sizes", "8", "--backend", "mpi"])

    def test_rows_without_an_interval_are_counted_and_named(self):
        stand_in.write_runs(self.out, "graph", [record([
            case("all_reduce/float32/sum/8B/np2", 1.0), case("x/8B/np2", 1.0, None),
            case("y/8B/np2", why="is not here")])] * 2)
        done = self.measure(ONE_CASE, "--runs", "0", "--pairs", "0")
        self.assertIn("4 rows have no interval and are not counted:", done.stdout)
        self.assertIn("- x/8B/np2 (launches differ), in 2 of 2 runs", done.stdout)
        self.assertIn("- y/8B/np2 (b skipped: is not here), in 2 of 2 runs", done.stdout)
        self.assertIn("0.0 % of 2, in 2 runs", done.stdout)

    def test_one_launch_has_nothing_to_count(self):
        stand_in.write_runs(self.out, "graph", [record([case("x/8B/np2", 1.0, None)])] * 20)
        done = self.measure(ONE_CASE, "--runs", "0", "--pairs", "0")
        self.assertIn("no interval in 20 runs", done.stdout)
        self.assertEqual(done.returncode, 7)

    def test_pairs_are_to_check_each_other(self):
        done = self.judge_pairs()
        self.assertEqual(self.verdicts("A/B"), ["met", "met"], done.stderr)
        self.assertIn("| 98.5 % of 200 rows, in 4 pairs |", done.stdout)

    def test_rows_may_disagree_together_as_their_launches_do(self):
        done = self.judge_pairs(together=True, seed=21)
        self.assertIn("| all_reduce, stream, below 1 MiB | 80 | 20 | 0, 0, 20, 0 |", done.stdout)
        self.assertEqual(self.verdicts("A/B"), ["met", "met"], done.stderr)

    def test_the_error_that_both_runs_of_a_pair_have_is_none(self):
        stand_in.write_runs(self.out, "pairs", [record(case(each, 1.5) for each in FIFTY)] * 8,
                            pair=[1, 1, 2, 2, 3, 3, 4, 4])
        self.measure(ONE_CASE, "--runs", "0", "--pairs", "0")
        self.assertEqual(self.verdicts("A/B"), ["met", "met"])

    def test_rows_of_one_class_that_disagree_are_found(self):
        done = self.judge_pairs(lambda place: 0.02 if place in (5, 6, 7) else 0.0)
        self.assertEqual(self.verdicts("A/B"), ["met", "**missed**"])
        self.assertIn("too many to be chance in: all_reduce, stream, below 1 MiB |", done.stdout)

    def test_too_many_rows_that_disagree_are_found(self):
        self.assertEqual(self.judge_pairs(lambda place: 0.02 if place % 5 == 0 else 0.0).returncode, 1)
        self.assertEqual(self.verdicts("A/B")[0], "**missed**")

    def test_three_pairs_are_too_few(self):
        self.assertEqual(self.judge_pairs(lambda place: 0.02, pairs=3).returncode, 7)

    def test_launches_have_the_times_of_the_record(self):
        """Of a real run: the geometric means of what is kept are the times in its table."""
        kept = json.loads((stand_in.ROOT / "results" / "2xH100-default" / "record.json").read_text())
        launches = run_journal.launch_times(kept["samples"])
        for place, each in enumerate(kept["cases"]):
            for number, variant in enumerate(each["variants"]):
                if (place, number) in launches:
                    logs = [math.log(time) for time in launches[place, number] if time is not None]
                    self.assertAlmostEqual(math.exp(statistics.fmean(logs)) / variant["time_s"], 1.0, places=12)

    def test_half_a_pair_is_no_pair(self):
        failing = ONE_CASE.replace("{'record'", "{'status': 3 if run == 2 else 0, 'record'")
        self.assertEqual(self.measure(failing, "--only", "pairs").returncode, 6)
        self.measure(failing, "--only", "pairs", "--pairs", "1")
        self.assertEqual([run["pair"] for run in self.kept()], [1, 2, 2])
        self.assertIn("100.0 % of 1 rows, in 1 pairs", (self.out / "coverage.md").read_text())

    def test_a_row_of_one_run_only_is_named(self):
        stand_in.write_runs(self.out, "pairs", [record([case("x/8B/np2", 1.0)]), record()], pair=[1, 1])
        self.assertIn("In one run of a pair only, and not counted: x/8B/np2.",
                      self.measure(ONE_CASE, "--runs", "0", "--pairs", "0").stdout)

    def test_what_is_kept_is_judged_again(self):
        before = self.judge_same(one_of_twenty).stdout
        self.measure(ONE_CASE, "--runs", "0", "--pairs", "0", "--markdown", self.folder / "other.md")
        self.assertEqual((self.folder / "other.md").read_text(), before.lstrip("\n"))

    def test_wrong_options(self):
        for options in (["--runs", "-1"], ["--only", "nothing"], ["--runs", "many"]):
            self.assertEqual(self.measure(ONE_CASE, *options).returncode, 2, options)
        self.assertEqual(self.measure(ONE_CASE, "--linkgain", "/nowhere").returncode, 3)


if __name__ == "__main__":
    unittest.main()
