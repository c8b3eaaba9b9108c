"""Tests of scripts/validation/lib/compare_nccl_tests.py."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "validation" / "lib"))
sys.dont_write_bytecode = True
import compare_nccl_tests as compare  # noqa: E402

RECORDED = ROOT / "tests" / "data" / "nccl-tests-all_reduce-p2p.txt"


def nccl_line(size, time_us, busbw):
    return f"{size} 2 float sum -1 {time_us} 0.0 {busbw} 0 99.9 9.9 9.9 0\n"


def linkgain_json(rows, kind="", **extra):
    benchmarks = [
        {
            "name": f"all_reduce/float32/sum/{size}/np2{kind}",
            "run_type": "iteration",
            "latency_us": time_us,
            "busbw": busbw,
            **extra,
        }
        for size, time_us, busbw in rows
    ]
    return json.dumps({"context": {}, "benchmarks": benchmarks})


class Parsers(unittest.TestCase):
    def test_recorded_text_of_nccl_tests(self):
        measurements = compare.parse_nccl_tests(RECORDED.read_text(encoding="utf-8"), "stream")
        self.assertEqual(len(measurements), 30)
        self.assertEqual(measurements[8], compare.Measurement(7.11, 0.0))
        self.assertEqual(measurements[1 << 30], compare.Measurement(3284.30, 326.93))
        self.assertEqual(measurements[4 << 30], compare.Measurement(12456.5, 344.80))

    def test_another_launch_mode_is_refused(self):
        text = RECORDED.read_text(encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "by stream, not by graph"):
            compare.parse_nccl_tests(text, "graph")
        with self.assertRaisesRegex(ValueError, "by graph, not by stream"):
            compare.parse_nccl_tests(text.replace("graph: 0", "graph: 10"), "stream")
        own = linkgain_json([("8B", 6.5, 0.001)], kind="/graph")
        self.assertEqual(sorted(compare.parse_linkgain(own, "graph")), [8])
        with self.assertRaisesRegex(ValueError, "by graph, not by stream"):
            compare.parse_linkgain(own, "stream")

    def test_send_recv_without_checks(self):
        text = "  64  16  float  none  -1  5.03  0.01  0.01  N/A  5.00  0.01  0.01  N/A\n"
        self.assertEqual(compare.parse_nccl_tests(text, "stream"), {64: compare.Measurement(5.03, 0.01)})

    def test_operations_without_reduction_or_with_parts(self):
        text = (
            "   0   0  float  none  -1  5.00  0.00  0.00  N/A  5.00  0.00  0.00  N/A\n"
            "  64   8  float  none  -1  5.03  0.01  0.01  N/A  5.00  0.01  0.01  N/A\n"
            "1048576 262144 float none 0 9.5 110.4 110.4 0 9.4 111.6 111.6 0\n"
        )
        measurements = compare.parse_nccl_tests(text, "stream")
        self.assertNotIn(0, measurements, "too small for a part of every rank")
        self.assertEqual(measurements[64], compare.Measurement(5.03, 0.01))
        self.assertEqual(measurements[1 << 20], compare.Measurement(9.5, 110.4))

    def test_linkgain_json(self):
        text = linkgain_json([("8B", 6.5, 0.001), ("64KiB", 7.5, 8.7), ("1GiB", 3280.0, 327.0)])
        measurements = compare.parse_linkgain(text, "stream")
        self.assertEqual(sorted(measurements), [8, 65536, 1 << 30])
        self.assertEqual(measurements[1 << 30], compare.Measurement(3280.0, 327.0))

    def test_range_is_slowest_less_fastest_over_the_median(self):
        launches = [compare.Measurement(time, 1.0) for time in (98.0, 100.0, 103.0)]
        self.assertAlmostEqual(compare.relative_range(launches), 0.05)

    def test_linkgain_aggregates_are_no_measurements(self):
        document = json.loads(linkgain_json([("8B", 6.5, 0.001)]))
        document["benchmarks"].append(
            {"name": "all_reduce/float32/sum/8B/np2_mean", "run_type": "aggregate"}
        )
        self.assertEqual(sorted(compare.parse_linkgain(json.dumps(document), "stream")), [8])

    def test_linkgain_errors_are_not_measurements(self):
        text = linkgain_json([("8B", 6.5, 0.001)], error_occurred=True, error_message="wrong data")
        with self.assertRaisesRegex(ValueError, "wrong data"):
            compare.parse_linkgain(text, "stream")


class Limits(unittest.TestCase):
    def row(self, size, peer, own):
        return compare.make_row(size, [compare.Measurement(*peer)], [compare.Measurement(*own)])

    def test_bandwidth_holds_both_ways_from_one_mib(self):
        for own, kept in ((99.1, True), (100.9, True), (98.9, False), (101.1, False)):
            row = self.row(1 << 20, (10, 100.0), (10, own))
            self.assertEqual((row.limit, row.kept), ("busbw", kept), own)

    def test_latency_holds_upwards_to_64_kib(self):
        for own, kept in ((5.0, True), (10.29, True), (10.31, False)):
            row = self.row(65536, (10.0, 1), (own, 1))
            self.assertEqual((row.limit, row.kept), ("latency", kept), own)

    def test_no_limit_between(self):
        self.assertEqual(self.row(131072, (10, 1), (99, 1)).limit, "")

    def test_median_over_launches(self):
        peer = [compare.Measurement(t, 1) for t in (10.0, 10.2, 90.0)]
        row = compare.make_row(8, peer, [compare.Measurement(10.2, 1)])
        self.assertEqual((row.peer.time_us, row.launches, row.ratio), (10.2, (3, 1), 1.0))


class SingleLaunches(unittest.TestCase):
    CURVE = compare.Curve("all_reduce", "p2p", "stream")

    def curves(self, *bandwidths):
        launches = [compare.Measurement(10.0, each) for each in bandwidths]
        return {self.CURVE: {1 << 20: launches, 1 << 18: launches}}

    def test_each_is_to_check_the_medians_of_the_others(self):
        peer = self.curves(100.0, 100.5, 102.0)
        # 100 for 101.25, 100.5 for 101, 102 for 100.25; no limit holds at 256 KiB
        self.assertEqual(compare.launches_that_keep(peer, peer), (1, 3))
        self.assertEqual(compare.launches_that_keep(peer, self.curves(101.0, 101.0, 101.0)), (3, 3))

    def test_two_launches_tell_nothing(self):
        peer = self.curves(100.0, 100.5)
        self.assertIsNone(compare.launches_that_keep(peer, peer))
        self.assertEqual(compare.launches_line(peer, peer), [])

    def test_the_line_names_all_three(self):
        line = compare.launches_line(self.curves(100.0, 100.5, 102.0), self.curves(101.0, 101.0, 101.0))[0]
        self.assertIn("nccl-tests against itself 1 of 3, of linkgain against itself 3 of 3", line)
        self.assertTrue(line.endswith("of linkgain against nccl-tests 3 of 3."))


class Equality(unittest.TestCase):
    PEER = (10.0, 10.2, 9.8, 10.1, 9.9, 10.0)
    NEAR, AWAY = 1.001, 1.05  # of the peer's times, whose interval reaches 1.8 % to either side

    def target(self, *factors, launches=6):
        curve = compare.Curve("all_reduce", "p2p", "graph")
        measurements = lambda factor: [compare.Measurement(factor * time, 1.0) for time in self.PEER[:launches]]
        rows = [compare.make_row(8 + place, measurements(1.0), measurements(factor)) for place, factor in enumerate(factors)]
        return compare.equality({curve: rows})

    def test_85_percent_of_intervals_contain_1(self):
        target = self.target(*[self.NEAR] * 17, *[self.AWAY] * 3)
        self.assertIs(target.met, True)
        self.assertEqual(target.found, "85.0 %, 17 of 20: by graph below 1 MiB 17 of 20")

    def test_fewer_are_too_few(self):
        self.assertIs(self.target(*[self.NEAR] * 16, *[self.AWAY] * 4).met, False)

    def test_five_launches_are_not_judged(self):
        self.assertIsNone(self.target(self.AWAY, launches=5).met)
        self.assertIsNone(self.target(self.AWAY, launches=1).met)

    def test_the_interval_is_welchs(self):
        # By hand: means of logs 2.3025 apart by ln 1.05; each side's deviation 1.4145 % of six; t of 10 degrees 2.228.
        row = compare.make_row(8, [compare.Measurement(t, 1.0) for t in self.PEER],
                               [compare.Measurement(1.05 * t, 1.0) for t in self.PEER])
        self.assertAlmostEqual(row.interval.ratio, 1.05)
        self.assertAlmostEqual(row.interval.half_width(), 2.228 * 0.014145 * (2 / 6) ** 0.5, places=4)
        self.assertIn("1.0500 (1.0311 to 1.0693) | **no (+5.0 %)** |", compare.table([row])[-1])

    def test_unequal_deviations_have_fewer_degrees_of_freedom(self):
        # One side that does not vary leaves the other's five degrees: t is 2.571.
        interval = compare.welch([10.0] * 6, self.PEER)
        self.assertAlmostEqual(interval.half_width(), 2.571 * 0.014145 / 6**0.5, places=4)


class Program(unittest.TestCase):
    def compare(self, own_rows, name=None, operation="all_reduce", kind=""):
        with tempfile.TemporaryDirectory() as folder:
            peer = Path(folder) / f"nccl-tests.{operation}.p2p.stream.all.1.txt"
            peer.write_text(nccl_line(8, 6.5, 0.0) + nccl_line(1 << 20, 15.0, 70.0))
            name = name or f"linkgain.{operation}.p2p.stream.busbw.1.json"
            (Path(folder) / name).write_text(linkgain_json(own_rows, kind))
            output = Path(folder) / "comparison.md"
            arguments = ["compare", folder, "--output", str(output)]
            with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(
                io.StringIO()
            ), contextlib.redirect_stderr(io.StringIO()):
                status = compare.main()
            return status, output.read_text() if output.exists() else ""

    def test_all_limits_kept(self):
        status, text = self.compare([("8B", 6.6, 0.001), ("1MiB", 15.0, 70.1)])
        self.assertEqual(status, 0)
        self.assertIn("Limits kept: 2 of 2.", text)
        self.assertIn("## all_reduce, p2p, stream", text)
        self.assertIn("| 1 MiB | 15.00 | 15.00 | 70.00 | 70.10 | 1.0014 | pass | – | 0.0 % | 0.0 % |", text)

    def test_every_operation_has_its_table(self):
        for operation in compare.OPERATIONS:
            status, text = self.compare([("1MiB", 15.0, 70.1)], operation=operation)
            self.assertEqual(status, 0)
            self.assertIn(f"## {operation}, p2p, stream", text)

    def test_buffers_are_named(self):
        self.assertIn("linkgain's plain (cudaMalloc).", self.compare([("8B", 6.6, 0.1)])[1])
        text = self.compare([("8B", 6.6, 0.1)], kind="/allocated")[1]
        self.assertIn("linkgain's allocated by NCCL.", text)

    def test_a_limit_broken(self):
        status, text = self.compare([("8B", 7.15, 0.001), ("1MiB", 15.0, 70.1)])
        self.assertEqual(status, 1)
        self.assertIn("Limits kept: 1 of 2.", text)
        self.assertIn("fail (+10.0 %)", text)

    def test_nothing_in_common(self):
        self.assertEqual(self.compare([("64B", 6.6, 0.1)])[0], 2)
        self.assertEqual(self.compare([("8B", 6.6, 0.1)], "other.json")[0], 2)


if __name__ == "__main__":
    unittest.main()
