"""In how many rows two like runs would differ by chance, found by exchanging their launches.

All cases of a run are measured in the same launches, so rows differ together. A launch is exchanged whole, with all
its cases: where the runs do not differ, every exchange is as likely as what was measured (Fisher, "The Design of
Experiments", 1935, section 21).
"""

import collections
import math
from typing import NamedTuple


EXCHANGES = 1000


class Launch(NamedTuple):
    variant: str
    added: bool  # for cases that needed more of them
    run: int  # 0 or 1
    number: int


class Row(NamedTuple):
    """A case and a variant that both runs of a pair have."""

    kind: str  # the class that it is counted in
    half_width: float  # of the logarithm of the quotient of both ratios
    variant: str  # whose time the ratio divides by the first one's
    logs: dict  # launch -> the logarithm of its time


def row_of(kind, half_width, both, planned):
    """`both` are the rows of the journal, `planned` how many launches every case had."""
    own = both[0]["variant"]
    first = next(iter(both[0]["launch_times_s"]))
    logs = {Launch(variant, number >= planned, run, number): math.log(time)
            for run, row in enumerate(both)
            for variant in (first, own)
            for number, time in enumerate(row["launch_times_s"][variant]) if time is not None}
    return Row(kind, half_width, own, logs)


def log_quotient(row, runs):
    """Of the ratio of run 1 by that of run 0, where `runs` tells each launch's run."""
    sums, counts = collections.Counter(), collections.Counter()
    for launch, log in row.logs.items():
        side = launch.variant == row.variant, runs[launch]
        sums[side] += log
        counts[side] += 1
    mean = {side: sums[side] / counts[side] for side in counts}
    return mean[True, 1] - mean[True, 0] - mean[False, 1] + mean[False, 0]


def differing(rows, runs):
    """Class -> how many of its rows have a quotient whose interval excludes 1."""
    return collections.Counter(row.kind for row in rows if abs(log_quotient(row, runs)) > row.half_width)


def as_measured(rows):
    return {launch: launch.run for row in rows for launch in row.logs}


def exchanged(rows, generator):
    """A variant's launches, planned or added, are dealt anew to both runs, as many to each as it has."""
    alike = collections.defaultdict(list)
    for launch in sorted(as_measured(rows)):
        alike[launch.variant, launch.added].append(launch)
    runs = {}
    for launches in alike.values():
        dealt = [launch.run for launch in launches]
        generator.shuffle(dealt)
        runs.update(zip(launches, dealt))
    return runs


def chances(pairs, generator):
    """Class -> the chance of as many differing rows in it, in all pairs, as were measured or more."""
    found = sum((differing(rows, as_measured(rows)) for rows in pairs), collections.Counter())
    as_many = collections.Counter()
    for _ in range(EXCHANGES):
        drawn = sum((differing(rows, exchanged(rows, generator)) for rows in pairs), collections.Counter())
        as_many.update(kind for kind, many in found.items() if drawn[kind] >= many)
    return {row.kind: (1 + as_many[row.kind]) / (1 + EXCHANGES) if found[row.kind] else 1.0
            for rows in pairs for row in rows}
