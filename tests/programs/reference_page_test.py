"""Holds docs/reference.md, and the marks in docs/method.md, to what the code defines.

Environment: LINKGAIN is the program.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINKGAIN = os.environ["LINKGAIN"]
PAGE = (ROOT / "docs" / "reference.md").read_text()
RECORD = "results/2xH200-node-1"


def section(text, heading):
    """What stands below a heading, up to the next one of its level or above."""
    level = heading.index(" ")
    body = text.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"^#{{1,{level}}} ", body, maxsplit=1, flags=re.M)[0]


def first_cells(text):
    """The first cells of all rows of tables."""
    rows = re.findall(r"^\| ([^|]*?) \|", text, re.M)
    return [row for row in rows if not re.fullmatch(r"-+:?", row)]


def names(text):
    """Those in code in the first cells of tables, in their order."""
    return [name for cell in first_cells(text) for name in re.findall(r"`([^`]+)`", cell)]


def sources(*patterns):
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            yield path.read_text()


def header(*arguments):
    done = subprocess.run([LINKGAIN, *arguments, "--format", "csv"], cwd=ROOT, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode in (0, 1, 7), done.stderr
    return done.stdout.splitlines()[0].split(",")


def document(*arguments):
    done = subprocess.run([LINKGAIN, *arguments, "--json"], cwd=ROOT, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode in (0, 1, 7), done.stderr
    return json.loads(done.stdout)


def keys_of_parts(value, part, parts):
    """Collects the keys of an object and of those in it, by part: "fleet nodes[]"."""
    if isinstance(value, list):
        for each in value:
            keys_of_parts(each, f"{part}[]", parts)
    elif isinstance(value, dict):
        parts.setdefault(part, list(value))
        for key, inner in value.items():
            keys_of_parts(inner, f"{part}{'.' if ' ' in part else ' '}{key}", parts)
    return parts


def help_of(*arguments):
    return subprocess.run([LINKGAIN, *arguments], capture_output=True, text=True, timeout=60, check=True).stdout


class Reference(unittest.TestCase):
    def test_exit_statuses_are_those_of_the_code(self):
        code = (ROOT / "include" / "linkgain" / "base" / "errors.hpp").read_text()
        enum = re.search(r"enum class ExitCode[^{]*\{(.*?)\}", code, re.S)[1]
        statuses = re.findall(r"= (\d+),", enum)
        self.assertGreater(len(statuses), 5)
        self.assertEqual(first_cells(section(PAGE, "## Exit status")), ["Status", *statuses, "128+n"])

    def test_exit_statuses_of_each_command_are_those_of_its_help(self):
        rows = re.findall(r"^\| (\d[\d+n]*) \| .* \| (.*) \|$", section(PAGE, "## Exit status"), re.M)
        commands = re.findall(r"^  ([a-z]+) ", help_of("--help").split("Options:")[0], re.M)
        self.assertGreater(len(commands), 9)
        for command in set(commands) - {"help"}:
            name = "linkgain-bench" if command == "bench" else command
            with self.subTest(command):
                statuses = help_of(command, "--help").split("\nExit status:\n")[1].split("\n\n")[0]
                self.assertEqual(re.findall(r"^  (\d\S*) ", statuses, re.M),
                                 [status for status, users in rows if users == "all" or f"`{name}`" in users])

    def test_columns_are_those_of_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            baseline = os.path.join(folder, "baseline.json")
            subprocess.run([LINKGAIN, "baseline", RECORD, "-o", baseline], cwd=ROOT, stdout=subprocess.DEVNULL,
                           timeout=60, check=True)
            headers = {
                "report": header("report", f"{RECORD}/record.json"), "compare": header("compare", RECORD, RECORD),
                "check": header("check", RECORD, "--baseline", baseline), "fleet": header("fleet", RECORD),
                "list": header("list", "results")}
        for command, columns in headers.items():
            with self.subTest(command):
                self.assertEqual(names(section(PAGE, f"### linkgain {command}")), columns)

    def test_keys_are_those_of_the_programs(self):
        rows = re.findall(r"^\| `([^`]+)`.*? \| (.*) \|$", section(PAGE, "## JSON of comparisons, checks, fleets and runs"),
                          re.M)
        listed = {part: re.findall(r"`(\w+)`", keys) for part, keys in rows}
        with tempfile.TemporaryDirectory() as folder:
            baseline = os.path.join(folder, "baseline.json")
            subprocess.run([LINKGAIN, "baseline", RECORD, "-o", baseline], cwd=ROOT, stdout=subprocess.DEVNULL,
                           timeout=60, check=True)
            documents = {"comparison": document("compare", RECORD, "results/2xH200-default"),
                         "check": document("check", RECORD, "--baseline", baseline),
                         "fleet": document("fleet", RECORD), "runs": document("list", "results")}
        written = {}
        for name, value in documents.items():
            keys_of_parts(value, name, written)
        self.assertEqual({part: written.get(part) for part in listed}, listed)
        named_elsewhere = {"headline", "after", "links", "counts"}
        unlisted = {re.sub(r"\[\]", "", part).split()[-1] for part in written.keys() - listed.keys()}
        self.assertEqual({part for part in unlisted if not named_elsewhere & set(part.split("."))}, set())

    def test_keys_of_a_prediction_are_those_of_the_program(self):
        text = subprocess.run([LINKGAIN, "predict", RECORD, "--model", "qwen3-8b", "--json"], cwd=ROOT, timeout=60,
                              capture_output=True, text=True, check=True).stdout
        rows = re.findall(r"^\| (`.*?`) \|", section((ROOT / "docs/predict.md").read_text(), "## JSON"), re.M)
        self.assertEqual([key for row in rows for key in re.findall(r"`(\w+)`", row)], list(json.loads(text)["decode"]))

    def test_metrics_and_labels_are_those_written(self):
        text = "".join(sources("tests/coordinator/*/golden/*.prom"))
        written = {}
        for name, braces in re.findall(r"^(linkgain_\w+)(?:\{(.*)\})? ", text, re.M):
            written.setdefault(name, set()).update(re.findall(r'(\w+)="', braces))
        rows = re.findall(r"^\| `(linkgain_\w+)` \| (.*?) ?\|", section(PAGE, "## Prometheus"), re.M)
        self.assertEqual({name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}, written)

    def test_the_outline_of_the_record_is_the_schemas(self):
        schema = json.loads((ROOT / "bench/common/record/record.schema.json").read_text())
        outline = section(PAGE, "## JSON").split("| Key |")[1]
        self.assertEqual(names(outline), list(schema["properties"]))

    def test_json_documents_are_those_of_the_code(self):
        code = "".join(sources("bench/**/*.cpp", "include/**/*.hpp"))
        known = set(re.findall(r'"(linkgain\.[a-z]+/\d+)"', code))
        self.assertEqual(set(re.findall(r"`(linkgain\.[a-z]+/\d+)`", section(PAGE, "## JSON"))), known)

    def test_every_variable_that_is_read_is_named(self):
        code = "".join(sources("bench/**/*.cpp", "bench/**/*.hpp", "include/**/*.hpp", "kernels/**/*.cu"))
        read = set(re.findall(r'getenv\("(\w+)"\)', code))
        read |= set(re.findall(r'"((?:LINKGAIN|NCCL_TESTS|OMPI_ALLOW)_[A-Z_]*[A-Z])"', code))
        read |= set(re.findall(r'(?:contains|find|count_of|value_of)\((?:[\w.]+, )?"([A-Z][A-Z_]{4,})"\)', code))
        read |= set(re.findall(r"\$\{(LINKGAIN\w*)", "".join(sources("scripts/slurm/*"))))
        read |= set(re.findall(r'environ\.get\("(\w+)"', "".join(sources("scripts/reframe/*.py"))))
        self.assertGreater(len(read), 12)
        named = set(names(section(PAGE, "## Environment variables")))
        self.assertEqual(read - named, set())

    def test_recorded_variables_are_those_of_the_code(self):
        code = (ROOT / "bench" / "common" / "record" / "recorded_variables.cpp").read_text()
        families = re.search(r"family : \{(.*?)\}", code, re.S)[1]
        others = re.search(r"kOthers\{(.*?)\}", code, re.S)[1]
        allowed = [f"{name}*" for name in re.findall(r'"(\w+)"', families)] + re.findall(r'"(\w+)"', others)
        text = re.search(r"by an allow-list.*?\n\n|by an allow-list.*", PAGE, re.S)[0]
        self.assertEqual(re.findall(r"`([^`]+)`", text), allowed)


class Method(unittest.TestCase):
    def test_marks_are_those_of_the_reports(self):
        code = "".join(sources("bench/coordinator/report/*.cpp"))
        marks = set(re.findall(r'(?:\bmark\(\s*|constexpr const char\* k\w+ = |^    \{)"(.)"', code, re.M))
        self.assertGreater(len(marks), 5)
        page = section((ROOT / "docs" / "method.md").read_text(), "## Marks in tables")
        self.assertEqual({name for name in names(page) if len(name) == 1}, marks)


if __name__ == "__main__":
    unittest.main()
