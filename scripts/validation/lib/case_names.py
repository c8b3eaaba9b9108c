"""What a case's name says, as far as scripts ask: all_reduce/float32/sum/64KiB/np2/graph."""

import re
from typing import NamedTuple, Optional

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB)")


class CaseName(NamedTuple):
    operation: str
    size: Optional[int]  # bytes; None of what has none, as a training
    by_graph: bool


def parse_size(text):
    """Bytes of a case name's size: 64KiB, 1000B."""
    number, unit = SIZE.fullmatch(text).groups()
    return int(number) * {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}[unit]


def parse_case_name(name):
    operation, *fields = name.split("/")
    sizes = [parse_size(field) for field in fields if SIZE.fullmatch(field)]
    return CaseName(operation, sizes[0] if sizes else None, "graph" in fields)


def class_of(name):
    """Cases of one class are alike in what could make their intervals wrong together."""
    case = parse_case_name(name)
    if case.size is None:
        size = "no size"
    else:
        size = "below 1 MiB" if case.size < MIB else "1 to 16 MiB" if case.size < 16 * MIB else "from 16 MiB"
    return f"{case.operation}, {'graph' if case.by_graph else 'stream'}, {size}"
