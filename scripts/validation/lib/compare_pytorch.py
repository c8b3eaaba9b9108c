"""Bounds and tables of scripts/validation/compare-pytorch: plain numbers, without PyTorch."""

import json
import math
import re
from pathlib import Path
from typing import NamedTuple, Optional

PRECISIONS = ("fp32", "tf32", "bf16", "fp64")
ELEMENT_BYTES = {"float32": 4, "float64": 8}
# How much larger than PyTorch's own error linkgain's may be. Largest differences are of single
# elements, and vary more by chance than root mean squares.
RMS_FACTOR, LARGEST_FACTOR = 2.0, 3.0
# Beside that, for errors of PyTorch that are small by chance; relative to the truth. A loss is a mean of
# thousands, whose errors mostly cancel: its floor is about a fortieth of the precision's last place.
FLOORS = {"fp32": 1e-6, "tf32": 1e-6, "bf16": 1e-6, "fp64": 1e-9}
LOSS_FLOORS = {"fp32": 1e-6, "tf32": 1e-5, "bf16": 1e-4, "fp64": 1e-9}


class InputError(Exception):
    """What a program wrote is not what this script reads."""


class Difference(NamedTuple):
    """Of an implementation to the truth, relative to the truth's root mean square."""

    largest: float
    rms: float


def relative(largest, rms, scale):
    """A difference that is no number is infinite; any to a truth that is zero everywhere is, too."""
    if scale == 0.0 and largest == 0.0 and rms == 0.0:
        return Difference(0.0, 0.0)
    values = [each / scale if scale > 0.0 else math.inf for each in (largest, rms)]
    return Difference(*(math.inf if math.isnan(each) else each for each in values))


def loss_difference(losses, truth):
    """Of the losses of all steps, each relative to its own truth."""
    errors = [abs(loss / true - 1.0) for loss, true in zip(losses, truth)]
    return relative(math.nan if any(map(math.isnan, errors)) else max(errors),
                    math.sqrt(sum(error * error for error in errors) / len(errors)), 1.0)


class Place(NamedTuple):
    """Where linkgain differs most from the truth."""

    index: list
    own: float
    truth: float


class Row(NamedTuple):
    """What is compared, with the differences of linkgain and of PyTorch to the truth."""

    name: str
    own: Difference
    peer: Difference
    floor: float
    place: Optional[Place] = None  # of a single tensor

    @property
    def share(self):
        """How much of its bound linkgain's difference takes: above 1 the bound is exceeded. A peer whose own
        error is infinite bounds nothing."""
        if not all(map(math.isfinite, self.peer)):
            return math.inf
        shares = (self.own.rms / (RMS_FACTOR * self.peer.rms + self.floor),
                  self.own.largest / (LARGEST_FACTOR * self.peer.largest + self.floor))
        return math.inf if any(map(math.isnan, shares)) else max(shares)

    @property
    def kept(self):
        return self.share <= 1.0


def finite(number):
    """For JSON, which has no infinity."""
    return number if math.isfinite(number) else None


def as_json(difference):
    return {name: finite(each) for name, each in difference._asdict().items()}


def fold(rows):
    """Of tensors that every block has, only the row nearest to its bound, with the number of rows that it
    stands for; in the order of the first of each."""
    groups = {}
    for row in rows:
        groups.setdefault(re.sub(r"\.h\.\d+\.", ".h.*.", row.name), []).append(row)
    return [(max(group, key=lambda row: row.share), len(group)) for group in groups.values()]


def row_line(row, count):
    name = row.name if count == 1 else f"{row.name} (worst of {count})"
    verdict = "" if row.kept else " **exceeded**"
    return (f"| {name} | {row.own.rms:.2e} | {row.own.largest:.2e} | {row.peer.rms:.2e} "
            f"| {row.peer.largest:.2e} | {row.share:.2f}{verdict} |")


def place_line(row):
    index, own, truth = row.place
    return f"{row.name} differs most at {index}: {own:.9e} instead of {truth:.9e}\n"


class Comparison(NamedTuple):
    precision: str
    rows: list  # a Row each: gradients by tensor, losses, the parameters' change
    losses: tuple  # of linkgain, PyTorch and the truth, step by step

    @property
    def kept(self):
        return all(row.kept for row in self.rows)

    def markdown(self, every_tensor=False):
        shown = [(row, 1) for row in self.rows] if every_tensor else fold(self.rows)
        worst = max(self.rows, key=lambda row: row.share)
        return "\n".join([
            f"## {self.precision}: {'kept' if self.kept else 'EXCEEDED'}, {sum(r.kept for r in self.rows)} of "
            f"{len(self.rows)} bounds, at most {worst.share:.2f} of one ({worst.name})",
            "",
            "| gradient of | linkgain rms | largest | PyTorch rms | largest | of its bound |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
            *(row_line(row, count) for row, count in shown),
            "",
            *(place_line(row) for row in self.rows if row.place and not row.kept),
            "| loss of step | linkgain | PyTorch | float64 |",
            "| ---: | ---: | ---: | ---: |",
            *(f"| {step} | {own:.7f} | {peer:.7f} | {truth:.7f} |"
              for step, (own, peer, truth) in enumerate(zip(*self.losses), 1)),
            "",
        ])

    @staticmethod
    def place_as_json(place):
        return place and {"index": place.index, "own": finite(place.own), "truth": finite(place.truth)}

    def as_json(self):
        return {
            "kept": self.kept,
            "rows": [{"name": row.name, "linkgain": as_json(row.own), "pytorch": as_json(row.peer),
                      "share_of_bound": finite(row.share), "largest_at": self.place_as_json(row.place)}
                     for row in self.rows],
            "losses": {name: list(map(finite, losses))
                       for name, losses in zip(("linkgain", "pytorch", "float64"), self.losses)},
        }


def read_index(folder):
    """index.json of training_dump, with the files beside it of the sizes that it says."""
    folder = Path(folder)
    try:
        index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        if index["format"] != 1:
            raise InputError(f"{folder}/index.json has format {index['format']}, not 1: build training_dump anew")
        count = 0
        if not isinstance(index["model"], dict) or index["precision"] not in PRECISIONS:
            raise InputError(f"{folder}/index.json names no model and precision that are known here")
        if len(index["losses"]) != index["steps"]:
            raise InputError(f"{folder}/index.json has {len(index['losses'])} losses of {index['steps']} steps")
        index["losses"] = [math.nan if loss is None else float(loss) for loss in index["losses"]]  # JSON has no NaN
        for tensor in index["tensors"]:
            if tensor["offset"] != count:
                raise InputError(f"{folder}/index.json: {tensor['name']} begins at {tensor['offset']}, not {count}")
            count += math.prod(tensor["shape"])
        elements = ELEMENT_BYTES[index["element_type"]] * count
        sizes = dict.fromkeys(("parameters.bin", "gradients.bin", "updated.bin"), elements)
        sizes["tokens.bin"] = 4 * index["steps"] * index["samples"] * (index["length"] + 1)
        for name, size in sizes.items():
            if (folder / name).stat().st_size != size:
                raise InputError(f"{folder}/{name} has {(folder / name).stat().st_size} bytes, not {size}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: {type(error).__name__}: {error}") from error
    return index


def parse_step_timing(text):
    """Milliseconds of a step in what gpu_step_timing printed."""
    match = re.search(r"^ *step ([0-9.]+) ms", text, re.MULTILINE)
    if not match:
        raise InputError("gpu_step_timing printed no step's time")
    return float(match.group(1))


class Speed(NamedTuple):
    """Milliseconds of a training step."""

    precision: str
    own: float
    peer: float
    transformers: Optional[float]


def ratio(speed, milliseconds):
    return f"{milliseconds:.2f} | {milliseconds / speed.own:.2f}"


def speed_markdown(speeds, ranks):
    """`ranks` is how many PyTorch ran on with DDP, 0 for one GPU without."""
    how = f"DDP on {ranks} GPUs" if ranks else "one GPU, no DDP"
    has_transformers = speeds[0].transformers is not None
    head, line = "| precision | linkgain ms | PyTorch ms | PyTorch / linkgain |", "| --- | ---: | ---: | ---: |"
    if has_transformers:
        head, line = head + " transformers ms | transformers / linkgain |", line + " ---: | ---: |"
    rows = [f"| {speed.precision} | {speed.own:.2f} | {ratio(speed, speed.peer)} |"
            + (f" {ratio(speed, speed.transformers)} |" if has_transformers else "") for speed in speeds]
    note = (" linkgain's steps have no communication, PyTorch's have: `linkgain run --only gpt2_step` measures it."
            if ranks else "")
    return "\n".join([f"## A training step: linkgain on one GPU, PyTorch on {how}", "",
                      f"Medians, AdamW and clipping included.{note}", "", head, line, *rows, ""])
