"""Tests of scripts/validation/measure-prediction, by records that its folder has already and a program that predicts."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "validation" / "measure-prediction"
# Predicts the text of a file, and writes down what it was asked.
PROGRAM = """#!{python}
import json, pathlib, sys
place = pathlib.Path(__file__).parent
with (place / "asked").open("a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
print((place / "answer").read_text())
"""


def phase(less, longer_ms, half_width=0.0):
    return {"less_time": less, "less_time_low": less - half_width, "less_time_high": less + half_width,
            "communication_s": 1e-3, "communication_other_s": 1e-3 + 1e-3 * longer_ms}


def case(name, near, far, half_width):
    ratio = far / near
    return {"case": f"exec/{name}", "variants": [{"time_s": near}, {"time_s": far}],
            "ratios": [{"variant": "host", "ratio": ratio, "low": ratio * (1 - half_width), "high": ratio * (1 + half_width)}]}


class MeasurePrediction(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "linkgain"
        self.program.write_text(PROGRAM.format(python=sys.executable))
        self.program.chmod(0o755)
        self.keep("inference", {})

    def keep(self, place, document):
        (self.folder / place).mkdir()
        (self.folder / place / "record.json").write_text(json.dumps(document))

    def keep_exec(self, place, half_width=0.001):
        """Steps of 4 ms that take 5 on the host, 20 % less time; a prefill of 60 ms that takes 120."""
        cases = [case(f"decode_step_ms_batch_{batch}", 4.0, 5.0, half_width) for batch in (1, 8, 64)]
        self.keep(place, {"cases": [*cases, case("prefill_ms", 60.0, 120.0, half_width)]})

    def compare(self, decode, prefill, *options):
        (self.folder / "answer").write_text(json.dumps({"decode": decode, "prefill": prefill}))
        done = subprocess.run([sys.executable, SCRIPT, "--linkgain", self.program, "--python", sys.executable, "--out",
                               self.folder, *options], capture_output=True, text=True, check=False)
        rows = (self.folder / "prediction.md").read_text().splitlines()[6:]
        return done.returncode, [[each.strip() for each in row.strip("| ").split("|")] for row in rows], done.stderr

    def compare_8b(self, decode, prefill):
        status, rows, _ = self.compare(decode, prefill, "--model", "llama-3-8b")
        return status, [row[8] for row in rows], [row[11] for row in rows if row[1] != "prefill"]

    def test_what_agrees_is_met(self):
        self.keep_exec("llama-3-8b")
        self.assertEqual(self.compare_8b(phase(0.21, 1.1), phase(0.44, 50)), (0, ["met"] * 4, ["met"] * 3))

    def test_differences_are_judged_in_points_and_relative(self):
        self.keep_exec("llama-3-8b")
        missed = "**missed**"
        self.assertEqual(self.compare_8b(phase(0.24, 1.2), phase(0.42, 50)), (1, [missed] * 4, [missed] * 3))
        self.assertEqual(self.compare_8b(phase(0.171, 0.84), phase(0.57, 50)), (1, ["met"] * 4, [missed] * 3))

    def test_intervals_that_overlap_agree(self):
        self.keep_exec("llama-3-8b", half_width=0.05)
        self.assertEqual(self.compare_8b(phase(0.26, 1.0, 0.03), phase(0.5, 50)), (0, ["met"] * 4, ["met"] * 3))

    def test_the_table_has_both_and_predict_is_told_what_was_measured(self):
        self.keep_exec("llama-3-8b")
        _, rows, _ = self.compare(phase(0.19, 0.9, 0.01), phase(0.5, 50), "--model", "llama-3-8b")
        self.assertEqual(rows[1], ["llama-3-8b", "decode, batch 8", "4.000", "5.000", "20.0 % (19.9 to 20.1)",
                                   "19.0 % (18.0 to 20.0)", "-1.0", "-5 %", "met", "1.000", "0.900", "met"])
        asked = (self.folder / "asked").read_text().splitlines()
        self.assertEqual(asked[1], f"predict {self.folder}/inference --json --model llama-3-8b --batch 8 --context 1024 --prompt "
                                   "4096 --on p2p --tokens-per-second 2000 --prompt-tokens-per-second 68266.7")

    def test_fewer_layers_are_measured_predicted_and_named(self):
        self.keep_exec("llama-3-70b-20")
        status, rows, _ = self.compare(phase(0.2, 1.0), phase(0.5, 50), "--model", "llama-3-70b", "--layers", "20")
        self.assertEqual((status, len(rows)), (0, 4))
        self.assertIn("--model llama-3-70b --layers 20 ", (self.folder / "asked").read_text())
        self.assertIn("20 of 80 layers", (self.folder / "prediction.md").read_text())

    def test_a_model_that_cannot_be_measured_leaves_the_others(self):
        self.keep_exec("qwen3-32b")
        status, rows, said = self.compare(phase(0.2, 1.0), phase(0.5, 50))
        self.assertEqual((status, {row[0] for row in rows}), (6, {"qwen3-32b"}))
        self.assertIn("llama-3-8b", said)

    def test_what_predict_refuses_is_said(self):
        self.keep_exec("llama-3-8b")
        self.program.write_text("#!/bin/sh\necho 'linkgain: no such model' >&2\nexit 2\n")
        status, rows, said = self.compare({}, {}, "--model", "llama-3-8b")
        self.assertEqual((status, rows), (6, []))
        self.assertIn("no such model", said)


if __name__ == "__main__":
    unittest.main()
