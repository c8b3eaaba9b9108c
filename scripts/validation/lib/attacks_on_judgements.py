"""Attacks on what check, compare and fleet claim: runs that differ, files with a tail, names that are no hosts."""

import csv
import io
import json

from attack_place import OPEN, USAGE, WRONG_DATA, Attack, measured_record, measured_text, nccl_tests_text, require, require_status

FAILED = 1
NO_HOSTS = ("ALL", "all", "DEFAULT", "localhost", "node[001-999]", "node1,node2", "node1 node2", "-v", "$(id)", "*")


def fleet_says(place, host, *more):
    """What `fleet` prints of a run that was cut short on this host, the record's words for it."""
    record = measured_record(place)
    record["machine"]["host"] = host
    for rank in record["machine"]["ranks"]:
        rank["host"] = host
    record["status"], record["exit_code"] = "incomplete", 6
    (place.folder / "fleet").mkdir(exist_ok=True)
    (place.folder / "fleet" / "record.json").write_text(json.dumps(record), encoding="utf-8")
    status, output, error = place.run(["fleet", "fleet", *more])
    require_status(status, FAILED, error)
    require("Suggested to drain" in output, "it suggests nothing")
    return output


def no_host(place):
    for host in NO_HOSTS:
        require("scontrol" not in fleet_says(place, host), f"a command for '{host}'")
    require("nodename=node004 " in fleet_says(place, "node004"), "no command for a host")
    return "no command"


def short_name(place):
    output = fleet_says(place, "node004.cluster.example", "--expect", "node[001-005]")
    require("nodename=node004 " in output, "another name in the command")
    return "nodename=node004"


def tails(place):
    """Each file is read as it is, and refused with any bytes behind it."""
    (place.folder / "record.json").write_text(measured_text(place), encoding="utf-8")
    (place.folder / "hosts").write_text("localhost slots=2\n", encoding="utf-8")
    (place.folder / "own.toml").write_text('only = "all_reduce"\n', encoding="utf-8")
    (place.folder / "tail").mkdir()
    (place.folder / "fleet").mkdir()
    journal = place.out / "journal.jsonl"
    (place.folder / journal.name).write_bytes(journal.read_bytes() if journal.exists() else b"")
    (place.folder / "tests.json").write_text(nccl_tests_text(), encoding="utf-8")
    status, _, error = place.run(["baseline", "record.json", "-o", "baseline.json"])
    require_status(status, 0, error)
    dry = ["run", "--backend", "mpi", "--dry-run", "--sizes", "64K"]
    uses = [("record.json", ["report", "FILE"]), ("record.json", ["check", "FILE", "--baseline", "baseline.json"]),
            ("record.json", ["baseline", "FILE", "--json"]), ("record.json", ["compare", "FILE", "record.json"]),
            ("record.json", ["fleet", "FILE"]), ("baseline.json", ["check", "record.json", "--baseline", "FILE"]),
            ("tests.json", ["compare", "FILE", "tests.json"]), ("hosts", [*dry, "--hostfile", "FILE"]),
            ("own.toml", [*dry, "--profile", "./FILE"])]
    for name, words in uses:
        whole = (place.folder / name).read_bytes()
        for tail in (b"", b"\0junk", b"\0", b"\0{}"):
            (place.folder / "tail" / name).write_bytes(whole + tail)
            status, _, error = place.run([word.replace("FILE", f"tail/{name}") for word in words])
            wanted = status in (0, WRONG_DATA, OPEN) if not tail else status == USAGE
            require(wanted, f"{' '.join(words)} with {tail[:6]!r}: status {status}, {' '.join(error.split())[-100:]}")
    return "status 2"


def formulas(place):
    """Signs in full width, which some spreadsheets take for ASCII's, in a text of the record."""
    fields = []
    (place.folder / "told").mkdir()
    for sign in ("=", "+", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", " =", "\u3000\uff1d", '"=', "\t=", "\r="):
        record = measured_record(place)
        record["machine"]["host"] = sign + "1+1"
        for rank in record["machine"]["ranks"]:
            rank["host"] = record["machine"]["host"]
        (place.folder / "told" / "record.json").write_text(json.dumps(record), encoding="utf-8")
        status, output, error = place.run(["fleet", "told", "--format", "csv"])
        require_status(status, OPEN, error)  # one node has no peers
        fields += [field for row in csv.reader(io.StringIO(output)) for field in row]
    require(any("1+1" in field for field in fields), "the text is in no field")
    acting = [field for field in fields if field.strip(" \u3000\"'\t\r").startswith(("=", "@", "\uff1d", "\uff0b", "\uff20"))
              and not field.startswith("'")]
    require(not acting, f"a spreadsheet would compute {acting[:1]}")
    return "a text"


def runs_of(place, **levels):
    """Records of one program each, whose starts differ by 0.2 % within a run, and runs by their level."""
    for name, level in levels.items():
        (place.folder / "level").write_text(str(level), encoding="utf-8")
        status, _, error = place.run(
            ["exec", "--quiet", "--out", name, "--rounds", "4", "--variant", "a:X=1", "--metric", "took ([0-9.]+) ms", "--",
             "awk", 'BEGIN { getline level < "level"; srand(); printf "took %.4f ms\\n", level * (1 + 0.004 * rand()) }'])
        require_status(status, 0, error)


def unchanged_program(place):
    """Runs that lie 4 % apart, of which the next one is 9 % above the mean of three."""
    runs_of(place, first=100, second=104, third=96, next=109, slow=200)
    status, output, error = place.run(["baseline", "first", "-o", "one.json"])
    require_status(status, 0, error)
    require("not known" in output, "baseline says nothing of runs")
    status, _, error = place.run(["baseline", "first", "second", "third", "-o", "three.json"])
    require_status(status, 0, error)
    _, output, _ = place.run(["check", "next", "--baseline", "one.json"])
    require("judged by launches, not runs" in output, "the verdict claims more than launches say")
    status, output, error = place.run(["check", "next", "--baseline", "three.json"])
    require_status(status, OPEN, error)
    require("judged by runs" in output, "the verdict does not say that runs count")
    status, _, error = place.run(["check", "slow", "--baseline", "three.json"])
    require_status(status, FAILED, error)
    return "status 7; twice as slow: 1"


def all_rows():
    return [
        Attack("T9", "records whose host is a word or an expression of Slurm's", "no command with it", no_host),
        Attack("T9", "a host with its domain, expected without", "the command has the expected name", short_name),
        Attack("T13", "bytes behind a NUL in files of every kind", "status 2", tails),
        Attack("T14", "an unchanged program whose runs differ by 4 %", "never 1 with a baseline of three runs",
               unchanged_program),
        Attack("T18", "texts that begin with signs of formulas in any width, in CSV", "a text", formulas)]
