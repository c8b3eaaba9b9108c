"""Records as linkgain writes them, as far as scripts read them, and a program in its place that writes them."""

import json
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "scripts" / "validation" / "lib"
sys.path.insert(0, str(LIBRARY))
sys.dont_write_bytecode = True

PROGRAM = """#!{python}
import json, pathlib, sys, time
sys.path.insert(0, "{tests}")
from stand_in import case, record

{behave}

words = sys.argv[1:]
counter = pathlib.Path(__file__).with_name("runs")
run = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(run))
said = behave(run, words)
folder = pathlib.Path(words[words.index("--out") + 1])
folder.mkdir(parents=True)
(folder / "record.json").write_text(json.dumps(said.get("record", record())))
(folder / "report.md").write_text(said.get("report", ""))
sys.exit(said.get("status", 0))
"""


def case(name, ratio=None, half_width=0.01, why=None, launches=None):
    """Without a ratio the case has none; without a half width the ratio has no interval.

    `launches` are the times of both variants' launches, six of each that say the ratio by default.
    """
    ends = [None, None] if half_width is None or ratio is None else [ratio * (1 - half_width), ratio / (1 - half_width)]
    ratios = [] if ratio is None else [{"variant": "b", "ratio": ratio, "low": ends[0], "high": ends[1], "launches": 6}]
    variants = [{"variant": "a", "skipped": None, "time_s": 1e-6}, {"variant": "b", "skipped": why, "time_s": 1e-6}]
    return {"case": name, "stopped": "launches differ", "variants": variants, "ratios": ratios,
            "launches": launches or [[1e-6] * 6, [1e-6 * (ratio or 1.0)] * 6]}


def samples_of(cases):
    """Three of each launch, by two ranks of which the second is slower."""
    rows = [(place, variant, launch, time) for place, each in enumerate(cases)
            for variant, times in enumerate(each["launches"])
            for launch, time in enumerate(times) for _ in range(3)]
    columns = [list(each) for each in zip(*rows)] or [[], [], [], []]
    return {"case": columns[0], "variant": columns[1], "launch": columns[2],
            "seconds_by_rank": [[0.9 * time for time in columns[3]], columns[3]]}


def record(cases=(), **more):
    cases = list(cases)
    return {"samples": samples_of(cases), "started": "2026-11-23T12:00:00Z",
            "machine": {"software": {"linkgain": "0.1.0"}, "ranks": [{"gpu": None}, {"gpu": None}]},
            "settings": {"launches": 6}, "cases": cases, "neighbours": None, "warnings": [], **more}


def write_program(path, behave):
    """`behave` is the text of a function behave(run, words); it gives record, report and status, or what it has of them."""
    path.write_text(PROGRAM.format(python=sys.executable, tests=pathlib.Path(__file__).parent,
                                   behave=textwrap.dedent(behave)))
    path.chmod(0o755)
    return path


def write_printer(path, file):
    """Writes a program that prints a file that its second word leads to, as "$2/record.json"."""
    path.write_text(f'#!/bin/sh\nexec cat "{file}"\n')
    path.chmod(0o755)
    return path


def write_runs(folder, name, records, report="", **more):
    """Adds runs of a set to the journal of a folder; `more` are lists with a value for each."""
    import run_journal  # pylint: disable=import-outside-toplevel
    folder.mkdir(exist_ok=True)
    with (folder / "runs.jsonl").open("a") as file:
        for number, each in enumerate(records):
            own = {key: values[number] for key, values in more.items()}
            file.write(json.dumps({"set": name, "options": [], "wall_s": 1.0, **run_journal.summary(each, report), **own}) + "\n")
