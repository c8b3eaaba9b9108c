"""Runs of linkgain and what is kept of each: a line of JSON in a file that grows, so that no run is lost with the
next one, and another call goes on where one ended."""

import collections
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
from typing import NamedTuple

from intervals import Interval


class Row(NamedTuple):
    """A ratio of one case that has an interval."""

    case: str
    variant: str
    interval: Interval


class JournalError(Exception):
    """A run failed, or the journal is of something else."""


def why_none(case):
    """Why a case has no ratio with an interval."""
    skipped = [f"{each['variant']} skipped: {each['skipped']}" for each in case["variants"] if each["skipped"]]
    return "; ".join(skipped) or case["stopped"] or "not measured"


def launch_times(samples):
    """(place of case, place of variant) -> times by launch, None of one without samples.

    A launch's time is the median of its samples; in each the slowest rank counts.
    """
    by_launch = collections.defaultdict(lambda: [[] for _ in range(1 + max(samples["launch"]))])
    for case, variant, launch, *ranks in zip(samples["case"], samples["variant"], samples["launch"],
                                             *samples["seconds_by_rank"]):
        by_launch[case, variant][launch].append(max(each for each in ranks if each is not None))
    return {key: [statistics.median(each) if each else None for each in launches]
            for key, launches in by_launch.items()}


def summary(record, report):
    """What is kept of a run's record and report."""
    rows, without = [], []
    launches = launch_times(record["samples"])
    for place, case in enumerate(record["cases"]):
        times = {each["variant"]: launches.get((place, number), []) for number, each in enumerate(case["variants"])}
        for each in case["ratios"]:
            if each["low"] is not None:
                rows.append({"case": case["case"], **each, "launch_times_s": times})
        if not case["ratios"] or any(each["low"] is None for each in case["ratios"]):
            without.append({"case": case["case"], "why": why_none(case)})
    gpus = collections.Counter((rank["gpu"] or {}).get("name", "no GPU") for rank in record["machine"]["ranks"])
    return {"started": record["started"], "linkgain": record["machine"]["software"]["linkgain"],
            "machine": ", ".join(f"{count} × {name}" for name, count in gpus.items()),
            "launches": record["settings"]["launches"], "rows": rows, "without": without,
            "time_spent": record.get("time_spent"), "neighbours": record.get("neighbours"), "warnings": [each["code"] for each in record["warnings"]],
            "reported": "\n".join(line for line in report.splitlines() if line.startswith("Neighbours:"))}


def interval_of(row):
    return Interval(row["ratio"], row["low"], row["high"])


def rows_of(run):
    return [Row(each["case"], each["variant"], interval_of(each)) for each in run["rows"]]


def named_without(runs):
    """Markdown that counts and names the rows that have no interval; empty where all have one."""
    found = collections.Counter(f"{each['case']} ({each['why']})" for run in runs for each in run["without"])
    if not found:
        return ""
    names = "".join(f"- {name}, in {count} of {len(runs)} runs\n" for name, count in sorted(found.items()))
    return f"\n{sum(found.values())} rows have no interval and are not counted:\n\n{names}"


def provenance(runs):
    """Where runs were made, with what and when."""
    kinds = collections.Counter(f"{run['machine']}, linkgain {run['linkgain']}" for run in runs)
    when = sorted(run["started"] for run in runs)
    return (", ".join(f"{name} ({count} runs)" for name, count in kinds.items())
            + (f"; {when[0]} to {when[-1]}" if when else "no run"))


def with_given(own, given):
    """Pairs of option and value, without those whose option is given anew, and then the given."""
    return [word for pair in own if pair[0] not in given for word in pair] + list(given)


class RunJournal:
    """The runs of a folder, by the name of the set that they belong to."""

    def __init__(self, path, program="linkgain", seconds=None):
        self.path, self.program = pathlib.Path(path), program
        self.runs_by_set = collections.defaultdict(list)
        self.end = None if seconds is None else time.monotonic() + seconds
        for line in self.whole_lines().splitlines():
            run = json.loads(line)
            self.runs_by_set[run["set"]].append(run)

    def whole_lines(self):
        """Without the last one where a killed call cut it short: that is no run."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return text[:text.rfind("\n") + 1]

    def append(self, run):
        line = json.dumps(run) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.truncate(len(self.whole_lines().encode()))
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.runs(run["set"]).append(run)

    def runs(self, name):
        return self.runs_by_set[name]

    def has_time_for(self, name, count=1, at_least=0.0):
        """Whether so many more runs of a set, each as long as the longest, end in time."""
        if self.end is None:
            return True
        longest = max([run["wall_s"] for run in self.runs(name)], default=at_least)
        return time.monotonic() + count * longest <= self.end

    def measure(self, name, options, meanwhile=lambda: {}, why_void=lambda: "", **more):
        """Makes one more run of a set and keeps it, with `more` and with what `meanwhile`, called beside it, returns;
        unless why_void(), called when it has ended, says why it does not count.
        """
        for run in self.runs(name):
            if run["options"] != options:
                raise JournalError(f"{self.path} holds runs of {name} with other options, {' '.join(run['options'])}: "
                                   "name another folder")
        with tempfile.TemporaryDirectory() as scratch:
            out, log = pathlib.Path(scratch) / "run", pathlib.Path(scratch) / "output"
            command = [self.program, "run", "--quiet", "--out", str(out), *options]
            begin = time.monotonic()
            with log.open("w") as output, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                                           stderr=subprocess.STDOUT) as process:
                more.update(meanwhile())
                status = process.wait()
            wall = time.monotonic() - begin
            if status != 0:
                raise JournalError(f"{' '.join(command)} ended with {status}:\n{log.read_text(errors='replace')}")
            if why_void():
                raise JournalError(why_void())
            record = json.loads((out / "record.json").read_text(encoding="utf-8"))
            kept = summary(record, (out / "report.md").read_text(encoding="utf-8"))
        run = {"set": name, "options": options, "wall_s": round(wall, 3), **more, **kept}
        self.append(run)
        print(f"{name} {len(self.runs(name))}: {wall:.1f} s", flush=True)
        return run
