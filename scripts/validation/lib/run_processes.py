"""What processes a run has started, whoever is their parent by now."""

import dataclasses
import os
import pathlib


@dataclasses.dataclass
class Process:
    name: str
    environment: list


def processes_of(folder):
    """Of all that a run started which has `folder` for its temporary files: TMPDIR in their environment."""
    mark = f"TMPDIR={folder}".encode()
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            if mark in environment:
                found[int(entry.name)] = Process((entry / "comm").read_text(encoding="utf-8").strip(), environment)
        except OSError:
            pass  # it has ended, or is another user's
    return found
