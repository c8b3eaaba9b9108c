"""Builds scripts/validation/compare-nccl-tests' table from the raw outputs of both tools.

Reads nccl-tests.OPERATION.VARIANT.MODE.RANGE.LAUNCH.txt (nccl-tests' text) and
linkgain.OPERATION.VARIANT.MODE.RANGE.LAUNCH.json (Google Benchmark's JSON) in one folder and writes
Markdown: medians over launches, their ratio and its 95 % interval, and whether the limits are kept.
"""

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple, Optional

from case_names import GIB, KIB, MIB, parse_case_name
from intervals import Interval, welch
from targets import Target, table as target_table

# Bus bandwidth may differ by this share at 1 MiB and above, latency be higher by this up to 64 KiB.
BANDWIDTH_TOLERANCE = 0.01
LATENCY_TOLERANCE = 0.03
# Of the rows' intervals at least so many contain 1, and of so many launches of each tool.
FEWEST_EQUAL = 0.85
FEWEST_LAUNCHES = 6
OPERATIONS = (
    "all_reduce",
    "send_recv",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "reduce",
    "alltoall",
    "gather",
    "scatter",
)
VARIANTS = ("p2p", "host")
MODES = ("stream", "graph")

NCCL_TESTS_FILE = re.compile(r"nccl-tests\.(\w+)\.(\w+)\.(\w+)\.\w+\.(\d+)\.txt")
LINKGAIN_FILE = re.compile(r"linkgain\.(\w+)\.(\w+)\.(\w+)\.\w+\.(\d+)\.json")


class InputError(Exception):
    """A raw output that cannot be read, with its file's name."""


class Measurement(NamedTuple):
    time_us: float
    busbw: float  # 1e9 bytes per second


class Curve(NamedTuple):
    operation: str
    variant: str
    mode: str


def require_mode(by_graph, mode):
    if by_graph != (mode == "graph"):
        raise ValueError(f"was measured by {'graph' if by_graph else 'stream'}, not by {mode}")


def parse_nccl_tests(text, mode):
    """Size in bytes -> the out-of-place measurement of nccl-tests' text."""
    measurements = {}
    graphs = re.search(r"^# nThread .* graph: (\d+)", text, re.MULTILINE)
    if graphs:
        require_mode(int(graphs.group(1)) > 0, mode)
    for line in text.splitlines():
        fields = line.split()
        # size count type redop root time algbw busbw #wrong, then the same four in place
        if len(fields) < 9 or not fields[0].isdigit() or not fields[1].isdigit():
            continue
        if fields[0] == "0":  # too small for a part of every rank
            continue
        measurements[int(fields[0])] = Measurement(float(fields[5]), float(fields[7]))
    return measurements


def parse_linkgain(text, mode):
    """Size in bytes -> the measurement of linkgain-bench's Google Benchmark JSON."""
    measurements = {}
    for benchmark in json.loads(text)["benchmarks"]:
        if benchmark.get("run_type", "iteration") != "iteration":
            continue
        if benchmark.get("error_occurred"):
            raise ValueError(f"{benchmark['name']}: {benchmark.get('error_message')}")
        case = parse_case_name(benchmark["name"])
        if case.size is None:
            raise ValueError(f"no size in the name {benchmark['name']}")
        require_mode(case.by_graph, mode)
        measurements[case.size] = Measurement(benchmark["latency_us"], benchmark["busbw"])
    return measurements


def own_buffers(folder):
    """How linkgain-bench's buffers were allocated, from its cases' names."""
    kinds = set()
    for path in folder.iterdir():
        if not LINKGAIN_FILE.fullmatch(path.name):
            continue
        for benchmark in json.loads(path.read_text(encoding="utf-8"))["benchmarks"]:
            fields = benchmark["name"].split("/")
            kinds.add("allocated by NCCL" if "allocated" in fields else "plain (cudaMalloc)")
    return " or ".join(sorted(kinds))


def read_launches(folder, pattern, parse):
    """Curve -> size -> one measurement per launch."""
    curves = defaultdict(lambda: defaultdict(list))
    for path in sorted(folder.iterdir()):
        match = pattern.fullmatch(path.name)
        if not match:
            continue
        try:
            measurements = parse(path.read_text(encoding="utf-8"), match.group(3))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: {error}") from error
        if not measurements:
            raise InputError(f"{path}: holds no measurement")
        for size, measurement in measurements.items():
            curves[Curve(*match.groups()[:3])][size].append(measurement)
    return curves


def median(measurements):
    return Measurement(
        statistics.median(m.time_us for m in measurements),
        statistics.median(m.busbw for m in measurements),
    )


def relative_range(measurements):
    """How far the launches of one tool lie apart, as a share of their median time."""
    times = [m.time_us for m in measurements]
    return (max(times) - min(times)) / statistics.median(times)


class Row(NamedTuple):
    """One size of one curve: medians, and the ratio that the limit is about (linkgain / nccl-tests)."""

    size: int
    launches: tuple  # of nccl-tests and of linkgain
    ranges: tuple  # (slowest - fastest launch) / median of nccl-tests and of linkgain
    peer: Measurement
    own: Measurement
    limit: str  # "busbw", "latency", or "" where no limit holds
    ratio: float
    kept: bool
    interval: Optional[Interval]  # of the times' quotient; None of one launch


def make_row(size, peer_launches, own_launches):
    peer, own = median(peer_launches), median(own_launches)
    launches = (len(peer_launches), len(own_launches))
    ranges = (relative_range(peer_launches), relative_range(own_launches))
    interval = welch([m.time_us for m in own_launches], [m.time_us for m in peer_launches])
    if size >= MIB:
        ratio = own.busbw / peer.busbw
        kept = abs(ratio - 1) <= BANDWIDTH_TOLERANCE
        return Row(size, launches, ranges, peer, own, "busbw", ratio, kept, interval)
    ratio = own.time_us / peer.time_us
    if size <= 64 * KIB:
        kept = ratio <= 1 + LATENCY_TOLERANCE
        return Row(size, launches, ranges, peer, own, "latency", ratio, kept, interval)
    return Row(size, launches, ranges, peer, own, "", ratio, True, interval)


def make_rows(peer_curves, own_curves):
    """Curve -> rows by size, for what both tools measured."""
    rows = {}
    for curve in (Curve(o, v, m) for o in OPERATIONS for v in VARIANTS for m in MODES):
        sizes = sorted(peer_curves[curve].keys() & own_curves[curve].keys())
        if own_curves[curve] and not sizes:
            raise InputError(f"{curve}: the tools have no size in common")
        if sizes:
            rows[curve] = [make_row(s, peer_curves[curve][s], own_curves[curve][s]) for s in sizes]
    if not rows:
        raise InputError("nothing that both tools measured")
    return rows


def keeps_limit(size, peer, own):
    row = make_row(size, [peer], [own])
    return row.kept if row.limit else None


def launches_that_keep(peer_curves, own_curves):
    """Of single launches, how many keep their limit against the median of the peer's others: (kept, all).

    A peer that is compared with itself says what launches alone cost; None with fewer than three of them.
    """
    kept = []
    for curve, sizes in own_curves.items():
        for size, own_launches in sizes.items():
            peer_launches = peer_curves[curve].get(size, [])
            if len(peer_launches) < 3:
                continue
            for number, (own, _) in enumerate(zip(own_launches, peer_launches)):
                others = peer_launches[:number] + peer_launches[number + 1 :]
                kept.append(keeps_limit(size, median(others), own))
    judged = [each for each in kept if each is not None]
    return (sum(judged), len(judged)) if judged else None


def readable_size(size):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def verdict(row):
    if not row.limit:
        return "–"
    return "pass" if row.kept else f"fail ({(row.ratio - 1) * 100:+.1f} %)"


def interval_fields(row):
    if row.interval is None:
        return "– | –"
    ratio, low, high = row.interval
    away = f"**no ({(ratio - 1) * 100:+.1f} %)**"
    return f"{ratio:.4f} ({low:.4f} to {high:.4f}) | {away if row.interval.excludes_one() else 'yes'}"


def table(rows):
    lines = [
        "| size | nccl-tests µs | linkgain µs | nccl-tests GB/s | linkgain GB/s | ratio "
        "| busbw ±1 % | latency +3 % | range nccl-tests | range linkgain | time / time, 95 % CI | contains 1 |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        verdicts = [verdict(row) if row.limit == limit else "–" for limit in ("busbw", "latency")]
        lines.append(
            f"| {readable_size(row.size)} | {row.peer.time_us:.2f} | {row.own.time_us:.2f} "
            f"| {row.peer.busbw:.2f} | {row.own.busbw:.2f} | {row.ratio:.4f} "
            f"| {verdicts[0]} | {verdicts[1]} "
            f"| {row.ranges[0] * 100:.1f} % | {row.ranges[1] * 100:.1f} % | {interval_fields(row)} |"
        )
    return lines


def launches_line(peer, own):
    found = [launches_that_keep(*pair) for pair in ((peer, peer), (own, own), (peer, own))]
    if None in found:
        return []
    by_itself, own_by_itself, against = (f"{kept} of {judged}" for kept, judged in found)
    return [
        "Single launches that keep the limit against the median of the others: of nccl-tests against itself "
        f"{by_itself}, of linkgain against itself {own_by_itself}, of linkgain against nccl-tests {against}."
    ]


def judged_rows(rows_by_curve):
    """Rows with an interval, by how they are measured; by stream below 1 MiB the CPU decides, not the link."""
    groups = defaultdict(list)
    for curve, rows in rows_by_curve.items():
        for row in rows:
            if row.interval is not None:
                size = "from 1 MiB" if row.size >= MIB else "below 1 MiB"
                groups[f"by {curve.mode} {size}"].append(row)
    return groups


def equality(rows_by_curve):
    """Whether the two tools' times are the same, of rows of enough launches of each."""
    groups = judged_rows(rows_by_curve)
    rows = [row for group in groups.values() for row in group]
    asked = f"the 95 % interval of the ratio contains 1 in {FEWEST_EQUAL * 100:.0f} % of rows, of six launches of each"
    if not rows:
        return Target(asked, "one launch has no interval", None)

    def equal(group):
        return f"{sum(not row.interval.excludes_one() for row in group)} of {len(group)}"

    share = sum(not row.interval.excludes_one() for row in rows) / len(rows)
    enough = min(min(row.launches) for row in rows) >= FEWEST_LAUNCHES
    found = f"{100 * share:.1f} %, {equal(rows)}: " + ", ".join(f"{name} {equal(own)}" for name, own in groups.items())
    return Target(asked, found, share >= FEWEST_EQUAL if enough else None)


def markdown(rows_by_curve, buffers, launches_alone):
    every = [row for rows in rows_by_curve.values() for row in rows]
    fewest, most = min(min(r.launches) for r in every), max(max(r.launches) for r in every)
    launches = str(fewest) if fewest == most else f"{fewest} to {most}"
    judged = [row for row in every if row.limit]
    lines = [
        "# linkgain-bench beside nccl-tests",
        "",
        f"Medians of {launches} launches of each, two ranks. The ratio is linkgain / nccl-tests: of bus "
        "bandwidth at 1 MiB and above, of time below. The range is slowest less fastest launch over the "
        "median, of each tool alone.",
        f"Buffers: nccl-tests' allocated by NCCL, linkgain's {buffers}.",
        "The interval is of the ratio of the times' geometric means over launches, Welch's with each tool's own "
        "deviation between launches. A launch is a process set of its own: of nccl-tests for each range of sizes, of "
        "linkgain-bench for each limit and launch mode.",
        f"Limits kept: {sum(row.kept for row in judged)} of {len(judged)}.",
        *launches_alone,
        "",
        target_table([equality(rows_by_curve)]).rstrip("\n"),
    ]
    for curve, rows in rows_by_curve.items():
        lines += ["", f"## {curve.operation}, {curve.variant}, {curve.mode}", "", *table(rows)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the raw outputs")
    parser.add_argument("--output", type=Path, help="write the Markdown there too")
    arguments = parser.parse_args()
    try:
        peer = read_launches(arguments.folder, NCCL_TESTS_FILE, parse_nccl_tests)
        own = read_launches(arguments.folder, LINKGAIN_FILE, parse_linkgain)
        rows = make_rows(peer, own)
    except (InputError, OSError) as error:
        print(f"compare_nccl_tests: {error}", file=sys.stderr)
        return 2
    text = markdown(rows, own_buffers(arguments.folder), launches_line(peer, own))
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    kept = all(row.kept for curve in rows.values() for row in curve)
    equal = equality(rows)
    # Of fewer launches the limits alone decide.
    return 1 if not kept or equal.met is False else 0


if __name__ == "__main__":
    sys.exit(main())
