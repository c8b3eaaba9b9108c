"""Holds the alert rules and the Grafana dashboard to what linkgain writes for Prometheus.

What it writes is in the goldens of the tests that write it. Environment: LINKGAIN_BUILD is the build folder, where
scripts/test --cluster puts promtool and Grafana's own models of a dashboard.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["LINKGAIN_BUILD"])
GOLDENS = ["baseline/golden/check.prom", "baseline/golden/check_program.prom", "formats/golden/doctor.prom",
           "fleet/golden/fleet.prom"]
# What neither a panel nor a rule shows: others show its sum or its cause.
NOT_SHOWN = {
    "linkgain_check_case_inconclusive", "linkgain_check_disturbed", "linkgain_check_exit_status",
    "linkgain_doctor_bytes", "linkgain_doctor_bytes_per_second", "linkgain_doctor_exit_status",
    "linkgain_doctor_number", "linkgain_doctor_ratio", "linkgain_doctor_seconds",
    "linkgain_fleet_exit_status", "linkgain_fleet_node_disturbed", "linkgain_fleet_node_disturbed_samples", "linkgain_fleet_node_judged_cases",
    "linkgain_fleet_node_slow_cases"}
RULES = ROOT / "scripts" / "prometheus" / "linkgain-alerts.yml"
DASHBOARD = ROOT / "scripts" / "grafana" / "linkgain.json"
PYTHON_WITH_MODELS = BUILD / "validators" / "bin" / "python"
PROMTOOL = shutil.which("promtool", path=f"{BUILD / 'promtool'}:{os.environ['PATH']}")

# Read into Grafana's own classes and written again: what it does not know is lost on the way.
READ_AND_WRITE = """
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
register_default_plugins()
print(json.dumps(Dashboard.from_json(json.load(sys.stdin)), cls=JSONEncoder))
"""


def written():
    """Labels of every metric that linkgain writes."""
    labels = {}
    for golden in GOLDENS:
        text = (ROOT / "tests" / "coordinator" / golden).read_text()
        for name, braces in re.findall(r"^(linkgain_\w+)(?:\{(.*)\})? ", text, re.M):
            labels.setdefault(name, set()).update(re.findall(r'(\w+)="', braces))
    return labels


def expressions():
    """Every PromQL expression of rules and dashboard with a name for it."""
    for name, text in re.findall(r"alert: (\w+)\n\s+expr: (.*)", RULES.read_text()):
        yield name, text
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def lost(before, after, place=""):
    """Places of what `after` lacks or what differs there."""
    if isinstance(before, dict):
        for key, value in before.items():
            if not isinstance(after, dict) or key not in after:
                yield f"{place}/{key}"
            else:
                yield from lost(value, after[key], f"{place}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (own, other) in enumerate(zip(before, after)):
            yield from lost(own, other, f"{place}[{i}]")
    elif before != after:
        yield place


class Monitoring(unittest.TestCase):
    def test_every_metric_used_is_written(self):
        known = written()
        self.assertGreater(len(known), 15)
        used = set()
        for name, text in expressions():
            with self.subTest(name):
                metrics = set(re.findall(r"\blinkgain_\w+", text))
                self.assertLessEqual(metrics, set(known))
                self.assertTrue(metrics)
                used |= metrics
                for metric, selector in re.findall(r"(linkgain_\w+)\{(.*?)\}", text):
                    labels = set(re.findall(r"(\w+)[=!]", selector)) - {"instance"}
                    self.assertLessEqual(labels, known[metric], metric)
        self.assertIn("linkgain_fleet_node_drain", used)

    def test_every_metric_written_is_shown(self):
        used = set(re.findall(r"\blinkgain_\w+", " ".join(text for _, text in expressions())))
        self.assertEqual(set(written()) - used, NOT_SHOWN)

    def test_annotations_name_labels_that_there_are(self):
        known = set().union(*written().values()) | {"instance"}
        self.assertLessEqual(set(re.findall(r"\$labels\.(\w+)", RULES.read_text())), known)

    def test_states_that_are_asked_for_are_those_of_fleet(self):
        states = set(re.findall(r'nodes\{state="([^"]*)"\}', (ROOT / "tests/coordinator" / GOLDENS[3]).read_text()))
        for name, text in expressions():
            for names in re.findall(r'state[=!]~?"([^"]*)"', text):
                with self.subTest(name):
                    self.assertLessEqual(set(names.split("|")), states)

    def test_panels_lie_side_by_side_and_have_titles(self):
        taken = set()
        dashboard = json.loads(DASHBOARD.read_text())
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in dashboard["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells
            self.assertTrue(panel["title"] and panel["description"])
            self.assertEqual(panel["datasource"]["uid"], "${datasource}")

    @unittest.skipUnless(PYTHON_WITH_MODELS.exists(), "no models of Grafana (scripts/test --cluster gets them)")
    def test_grafana_knows_every_member_of_the_dashboard(self):
        text = DASHBOARD.read_text()
        done = subprocess.run([PYTHON_WITH_MODELS, "-c", READ_AND_WRITE], input=text, capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(lost(json.loads(text), json.loads(done.stdout))), [])

    @unittest.skipUnless(PROMTOOL, "no promtool on PATH (scripts/test --cluster gets it)")
    def test_promtool_takes_rules_and_expressions(self):
        self.promtool("check", "rules", str(RULES))
        self.promtool("test", "rules", str(ROOT / "tests" / "programs" / "alerts_test.yml"))
        with tempfile.TemporaryDirectory() as folder:
            rules = [{"record": f"e{i}", "expr": text.replace("$instance", ".*").replace("$case", ".*")}
                     for i, (_, text) in enumerate(expressions())]
            path = os.path.join(folder, "expressions.yml")
            pathlib.Path(path).write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
            self.promtool("check", "rules", path)

    def promtool(self, *arguments):
        done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
