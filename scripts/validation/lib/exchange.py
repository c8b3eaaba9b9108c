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
    """A case and a variant that both runs of a pair have; the logarithms of the launches' times, by place."""

    kind: str  # the class that it is counted in
    half_width: float  # of the logarithm of the quotient of both ratios
    own: dict
    first: dict  # of the variant by whose time the ratio divides


class Pair:
    """Two like runs: all launches of both, and the rows."""

    def __init__(self, planned):
        self.planned = planned  # launches that every case has
        self.launches = []
        self.rows = []
        self.places = {}

    def place_of(self, launch):
        if launch not in self.places:
            self.places[launch] = len(self.launches)
            self.launches.append(launch)
        return self.places[launch]

    def add(self, kind, half_width, both):
        """`both` are the rows of the journals."""
        def logs(variant):
            return {self.place_of(Launch(variant, number >= self.planned, run, number)): math.log(time)
                    for run, row in enumerate(both)
                    for number, time in enumerate(row["launch_times_s"][variant]) if time is not None}
        first = next(iter(both[0]["launch_times_s"]))
        self.rows.append(Row(kind, half_width, logs(both[0]["variant"]), logs(first)))

    def as_measured(self):
        """The run of each launch, by place."""
        return [launch.run for launch in self.launches]

    def exchanged(self, generator):
        """A variant's launches, planned or added, are dealt anew to both runs, as many to each as it has."""
        alike = collections.defaultdict(list)
        for place, launch in enumerate(self.launches):
            alike[launch.variant, launch.added].append(place)
        runs = self.as_measured()
        for places in alike.values():
            dealt = [runs[place] for place in places]
            generator.shuffle(dealt)
            for place, run in zip(places, dealt):
                runs[place] = run
        return runs

    def differing(self, runs):
        """Class -> how many of its rows have a quotient whose interval excludes 1, were these the launches' runs."""
        return collections.Counter(
            row.kind for row in self.rows
            if abs(change(row.own, runs) - change(row.first, runs)) > row.half_width)


def change(logs, runs):
    """Of the mean from run 0 to run 1."""
    after = [log for place, log in logs.items() if runs[place]]
    total = sum(after)
    return total / len(after) - (sum(logs.values()) - total) / (len(logs) - len(after))


def chances(pairs, generator):
    """Class -> the chance of as many differing rows in it, in all pairs, as were measured or more."""
    found = sum((pair.differing(pair.as_measured()) for pair in pairs), collections.Counter())
    as_many = collections.Counter()
    for _ in range(EXCHANGES):
        drawn = sum((pair.differing(pair.exchanged(generator)) for pair in pairs), collections.Counter())
        as_many.update(kind for kind, many in found.items() if drawn[kind] >= many)
    return {row.kind: (1 + as_many[row.kind]) / (1 + EXCHANGES) if found[row.kind] else 1.0
            for pair in pairs for row in pair.rows}
