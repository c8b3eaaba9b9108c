"""What the scripts that measure linkgain's own claims have in common: options, records, and how they end."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import targets
from command_line import Parser
from run_journal import JournalError, RunJournal


def options_parser(description, epilog, document):
    """--linkgain, --out, --seconds, --markdown and what goes on to `linkgain run`."""
    parser = Parser(
        description=f"{description} Every run is kept in a file of --out when it ends; another call with the same "
        "folder goes on from there, and judges all.",
        epilog=f"{targets.STATUSES}. {epilog}")
    parser.add_argument("--linkgain", default="linkgain", help="the program (from PATH)")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="runs.jsonl is kept there")
    parser.add_argument("--markdown", type=pathlib.Path, help=f"the tables (OUT/{document})")
    parser.add_argument("--seconds", type=float, help="start no run that would end later (no limit)")
    parser.add_argument("options", nargs="*", metavar="OPTIONS",
                        help="of `linkgain run`, behind --, added to those of every run or in place of them")
    parser.set_defaults(document=document)
    return parser


def count_option(parser, name, text):
    def count(word):
        if not 0 <= int(word) <= 1000:
            raise argparse.ArgumentTypeError(f"0 to 1000, not {word}")
        return int(word)
    parser.add_argument(name, type=count, metavar="N", help=text)


def record_of(folder, command, environment=None):
    """Of a run that the folder has, or that the command makes there."""
    file = folder / "record.json"
    if not file.exists():
        print("$", " ".join(map(str, command)), flush=True)
        subprocess.run([str(word) for word in command], env=environment, check=False)
    return json.loads(file.read_text(encoding="utf-8"))


def measure_and_judge(options, measure, judge):
    """Ends the script: measure(journal) makes the runs, judge(journal) gives Markdown and targets."""
    if not shutil.which(options.linkgain):
        print(f"there is no program {options.linkgain}", file=sys.stderr)
        sys.exit(targets.EXIT_MACHINE)
    status = 0
    try:
        journal = RunJournal(options.out / "runs.jsonl", options.linkgain, options.seconds)
        try:
            measure(journal)
        except JournalError as error:
            print(error, file=sys.stderr)
            status = targets.EXIT_INCOMPLETE
        text, every = judge(journal)
    except (OSError, ValueError, KeyError) as error:
        print(f"{options.out}: {error!r}", file=sys.stderr)
        sys.exit(targets.EXIT_USAGE)
    print(f"\n{text}", end="")
    file = options.markdown or options.out / options.document
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    sys.exit(status or targets.exit_status(every))
