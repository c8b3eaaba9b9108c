"""What was to be reached and what was found, as a table and as an exit status, the same for every script."""

from typing import NamedTuple, Optional

EXIT_MISSED, EXIT_USAGE, EXIT_MACHINE, EXIT_INCOMPLETE, EXIT_TOO_FEW = 1, 2, 3, 6, 7
STATUSES = ("Exit status: 0 every target is met, 1 one is missed, 2 a wrong option, 3 this machine lacks something, "
            "6 a run failed (those before it are kept), 7 too little is measured yet to judge")


class Target(NamedTuple):
    asked: str
    found: str
    met: Optional[bool]  # None: not measured yet, or too little to judge

    def verdict(self):
        return {True: "met", False: "**missed**", None: "not measured yet"}[self.met]


def table(every):
    lines = ["| target | found | verdict |", "| --- | --- | --- |"]
    return "\n".join(lines + [f"| {each.asked} | {each.found} | {each.verdict()} |" for each in every]) + "\n"


def exit_status(every):
    verdicts = [each.met for each in every]
    return EXIT_MISSED if False in verdicts else EXIT_TOO_FEW if None in verdicts or not verdicts else 0
