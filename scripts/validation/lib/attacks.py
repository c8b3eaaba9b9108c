"""The attacks of scripts/validation/attack: each does something to linkgain and says what came of it."""

import csv
import fcntl
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree

from attack_place import (INCOMPLETE, MACHINE, PATIENCE, USAGE, Attack, Place, Row, Surprise, require,
                          require_nothing_left, require_status)

LONG = ["--only", "all_reduce", "--sizes", "64K:6M:+64K", "--launches", "1", "--budget", "20"]
SHORT = ["--only", "all_reduce", "--sizes", "64,64K", "--launches", "2"]
F_SETPIPE_SZ = 1031


def full_pipe():
    """The writing end of a pipe that is full; its reading end never reads."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    return reading, writing


def killed(number, whom):
    """A process of a run gets a signal while a case is measured."""
    def do(place):
        process = place.start_measuring(LONG)
        place.wait_for_case()
        segments = place.segments()
        target = process.pid if whom == "coordinator" else place.own_processes(whom)[0]
        os.kill(target, number)
        _, error = process.communicate(timeout=PATIENCE)
        if whom == "coordinator" and number == signal.SIGKILL:
            require_nothing_left(place, segments)
            status, output, error = place.run(["report", "out"])
            require_status(status, 0, error)
            require("incomplete" in output, "the journal does not read as incomplete")
            return "the journal is kept and readable"
        require_status(process.returncode, 128 + number if whom == "coordinator" else INCOMPLETE, error)
        require_nothing_left(place, segments)
        status = place.record()["status"]
        require(status == ("interrupted" if whom == "coordinator" else "job lost"), f"the record says {status}")
        return f"status {process.returncode}, the record is kept"
    return do


def unread(stream, words, then):
    """Output goes into a pipe that is full."""
    def do(place):
        reading, writing = full_pipe()
        process = place.start_measuring(words, **{stream: writing})
        os.close(writing)
        if then is None:
            process.wait(PATIENCE)
            require_status(process.returncode, 0)
            place.record()
        else:
            if stream == "stderr":
                place.wait_for_case()
            else:
                end = time.monotonic() + PATIENCE
                while not (place.out / "report.md").exists() and time.monotonic() < end:
                    time.sleep(0.1)
                time.sleep(0.5)
            process.send_signal(then)
            process.communicate(timeout=15.0)
            require(process.returncode in (128 + then, -then), f"status {process.returncode}")
            place.record()
        os.close(reading)
        require_nothing_left(place, [])
        ended = "ended by the signal" if process.returncode < 0 else f"status {process.returncode}"
        return f"{ended}, the record is kept"
    return do


def closed_error(target):
    def do(place):
        with open(target, "w", encoding="utf-8") as file:
            status, _, _ = place.measure(SHORT, stderr=file)
        require_status(status, 0)
        place.record()
        return "status 0, the record is kept"
    return do


def closed_streams(place):
    words = " ".join(["run", "--backend", "mpi", "--out", "out", *SHORT])
    status = subprocess.run(["sh", "-c", f"exec {place.linkgain} {words} <&- >&- 2>&-"], cwd=place.folder,
                            env=place.environment({}), timeout=PATIENCE, check=False).returncode
    require_status(status, USAGE)  # what was to be printed was not
    require_status(place.run(["report", "out"])[0], 0)
    return "status 2, the record is kept and readable"


def planted_libraries(place):
    bench = place.linkgain.parent / "linkgain-bench"
    for program in (place.linkgain, bench):
        needed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
        for name in re.findall(r"^\s*(\S+\.so[.\d]*) =>", needed, re.M):
            (place.folder / name).write_text("no library", encoding="utf-8")
    status, _, error = place.measure(SHORT)
    require_status(status, 0, error)
    return "status 0"


def two_runs(place):
    first = place.start_measuring(LONG)
    place.wait_for_case()
    status, _, error = place.measure(SHORT)
    require_status(status, USAGE, error)
    require(f"process {first.pid} on " in error, "the holder is not named")
    first.communicate(timeout=PATIENCE)
    require_status(first.returncode, 0)
    return "status 2 names the first, which ends with 0"


def stale_record(place):
    status, _, error = place.measure(SHORT)
    require_status(status, 0, error)
    process = place.start_measuring(LONG)
    place.wait_for_case()
    process.kill()
    process.communicate()
    require(not (place.out / "record.json").exists(), "the old record is still there")
    status, output, _ = place.run(["report", "out"])
    require("incomplete" in output and status == 0, "the journal does not read as incomplete")
    return "record.json.old; the folder reads as incomplete"


def full_disk(place):
    process = place.start_measuring(LONG)
    place.wait_for_case()
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, 4096))  # linkgain's own, no job's
    output, error = process.communicate(timeout=PATIENCE)
    require_status(process.returncode, INCOMPLETE, error)
    require("all_reduce" in output, "no table")
    return "status 6, the tables are printed"


def removed_folder(place):
    process = place.start_measuring(LONG)
    place.wait_for_case()
    for file in place.out.iterdir():
        file.unlink()
    place.out.rmdir()
    output, error = process.communicate(timeout=PATIENCE)
    require_status(process.returncode, INCOMPLETE, error)
    found = re.search(r"the record is in (\S+)", error)
    require("all_reduce" in output and found, "no table or no record")
    require_status(place.run(["report", found[1]])[0], 0)
    return "status 6, the tables are printed, the record is in TMPDIR"


def refused(*words, prepare=None):
    def do(place):
        if prepare:
            prepare(place)
        start = time.monotonic()
        status, _, error = place.run(words)
        require_status(status, USAGE, error)
        require(time.monotonic() - start < 10.0, "it waited")
        return "status 2"
    return do


def make_endless_folder(place):
    (place.folder / "runs").mkdir()
    os.mkfifo(place.folder / "runs" / "record.json")
    (place.folder / "runs" / "other.json").symlink_to("/dev/zero")


def make_endless_number(place):
    (place.folder / "record.json").write_text('{"schema": "linkgain.record/1", "wall_s": 1e400}', encoding="utf-8")


def make_pipe(place):
    os.mkfifo(place.folder / "pipe")


def harmed_record(change):
    """A record of the mpi backend with one thing changed, its digest left out."""
    def do(place):
        status, _, error = place.measure(SHORT)
        require_status(status, 0, error)
        record = place.record()
        del record["digest"], record["results_digest"]
        change(record)
        (place.folder / "harmed.json").write_text(json.dumps(record), encoding="utf-8")
        status, _, error = place.run(["report", "harmed.json"])
        require_status(status, USAGE, error)
        return "status 2"
    return do


def set_ratio(record):
    record["cases"][0]["ratios"][0]["ratio"] *= 10


def set_launch(record):
    record["samples"]["launch"][0] = 99


def set_time(record):
    record["cases"][0]["variants"][0]["time_s"] = -1


def flipped(place):
    status, _, error = place.measure(SHORT)
    require_status(status, 0, error)
    text = (place.out / "record.json").read_bytes()
    tries = 100
    for number in range(tries):
        at = (number * 7919 + 13) % (len(text) - 1)
        changed = text[:at] + bytes([text[at] ^ (1 << number % 8)]) + text[at + 1:]
        (place.folder / "flipped.json").write_bytes(changed)
        status, _, error = place.run(["report", "flipped.json"])
        require_status(status, USAGE, f"byte {at}: {error}")
    return f"{tries} of {tries} found"


def hostile_text(place):
    status, _, error = place.measure(SHORT)
    require_status(status, 0, error)
    record = place.record()
    del record["digest"], record["results_digest"]
    record["machine"]["host"] = "h\x1b]0;t\x07\u202e<img src=x>[c](https://example.com)\x9b31m"
    (place.folder / "hostile.json").write_text(json.dumps(record), encoding="utf-8")
    for words in (["report", "hostile.json"], ["fleet", "hostile.json"], ["report", "hostile.json", "--format", "md"]):
        _, output, error = place.run(words)
        for acts in ("\x1b", "\x07", "\u202e", "\x9b"):
            require(acts not in output + error, f"{words[0]} writes {acts!r}")
    require("](" not in output and "\\<img" in output, "Markdown carries it out")
    return "shown as text"


def record_with(place, text):
    """A measured record whose second variant was skipped for this reason, on a host of this name."""
    status, _, error = place.measure(SHORT)
    require_status(status, 0, error)
    record = place.record()
    del record["digest"], record["results_digest"]
    record["machine"]["host"] = text
    for case in record["cases"]:
        case["variants"][1].update(skipped=text, time_s=None, algbw_gb_per_s=None, busbw_gb_per_s=None)
        case["ratios"] = []
    (place.folder / "told.json").write_text(json.dumps(record), encoding="utf-8")


def formula(place):
    record_with(place, "=HYPERLINK(1)")
    status, output, error = place.run(["report", "told.json", "--format", "csv"])
    require_status(status, 0, error)
    require("HYPERLINK" in output, "the reason is missing")
    fields = [field for row in csv.reader(io.StringIO(output)) for field in row]
    require(not any(field.startswith(("=", "@")) for field in fields), "a spreadsheet would compute it")
    return "a text"


def broken_xml(place):
    record_with(place, "a\ufffe]]>\x01<&")
    status, _, error = place.run(["baseline", "out/record.json", "-o", "b.json"])
    require_status(status, 0, error)
    status, _, error = place.run(["check", "told.json", "--baseline", "b.json", "--junit", "c.xml"])
    require(status in (1, 7), f"status {status}: {error[-200:]}")
    names = [case.get("name") for case in xml.etree.ElementTree.parse(place.folder / "c.xml").iter("testcase")]
    require(names, "there is no testcase")
    return "XML that parsers read"


def faulty(fault, said, status=INCOMPLETE):
    """One of two variants has the fault at its second batch or before. `said`: in the warning, beside the variant."""
    timeout = 3.0

    def attack(place):
        variants = ["--variant", "shared-memory", "--variant",
                    f"faulty:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,tcp,LINKGAIN_TEST_FAULT={fault}"]
        start = time.monotonic()
        process = place.start_measuring(["--only", "all_reduce", "--sizes", "1K", "--launches", "1", "--timeout",
                                         f"{timeout:g}", *variants])
        segments = set()
        while process.poll() is None:
            segments |= place.segments()
            time.sleep(0.1)
        _, error = process.communicate()
        took = time.monotonic() - start
        require_status(process.returncode, status, error)
        require_nothing_left(place, segments)
        require(took < timeout + 5.0 + 5.0, f"it took {took:.0f} s")
        record = place.record()
        require(record["samples"]["variant"].count(0) >= 4, "the other variant has no samples")
        warnings = " ".join(each["text"] for each in record["warnings"] if each["code"] == "job-lost")
        require(bool(warnings) == (status != 0), f"warnings: {warnings}")
        require(status == 0 or ("'faulty'" in warnings and said in warnings), f"it says: {warnings}")
        return f"status {status} after {took:.0f} s" + (", variant and cause are named" if status else "")
    return attack


def faults():
    """Point by point through a job's life."""
    came, stopped = "rank 1 has not come", "a signal has stopped it"
    planted = [
        ("die@1/start", "signal 9"), ("hang@1/start", came), ("stop@1/start", stopped),
        ("die@0/connect", "signal 9"), ("hang@1/connect", came), ("stop@1/connect", stopped),
        ("die@1:2", "'run'"), ("hang@1:2", came), ("stop@1:2", stopped),
        ("die@1:2/operation", "'run'"), ("hang@1:2/operation", "batch 2 of"), ("stop@1:2/operation", stopped),
        ("die@0:2/reply", "'run'"), ("hang@0:2/reply", "'run'"), ("garbage@0:2/reply", "is not understood"),
    ]
    for fault, said in planted:
        yield Attack("4", f"a rank has the fault {fault}", "status 6 in time, variant and cause named", faulty(fault, said))
    for place in ("start", "connect", "batch", "operation", "reply"):
        yield Attack("4", f"a rank is 2 s late at {place}", "status 0", faulty(f"late@0:1/{place}", "", 0))


def hangs_alone(place):
    """linkgain-bench without linkgain."""
    mpirun = ["mpirun", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-np", "2"]
    bench = place.linkgain.with_name("linkgain-bench")
    start = time.monotonic()
    done = subprocess.run(
        [*mpirun, bench, "--backend", "mpi", "--only", "all_reduce", "--sizes", "1K", "--timeout", "2"],
        cwd=place.folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
        env=place.environment({"LINKGAIN_TEST_FAULT": "hang@1:1"}))
    took = time.monotonic() - start
    require_status(done.returncode, INCOMPLETE, done.stderr)
    require("rank 1 has not come" in done.stderr, done.stderr[-200:])
    require(took < 12.0, f"it took {took:.0f} s")
    require_nothing_left(place, set())
    return f"status 6 after {took:.0f} s, the rank is named"


def tagged(place):
    status, _, error = place.measure(SHORT, OMPI_MCA_orte_tag_output="1", OMPI_MCA_orte_timestamp_output="1")
    require_status(status, 0, error)
    return "status 0"


def launched_after(place, command):
    """A short run by an mpirun that does something else first."""
    wrapper = place.folder / "mpirun"
    wrapper.write_text(f"#!/bin/sh\n{command}\nexec {shutil.which('mpirun')} \"$@\"\n", encoding="utf-8")
    wrapper.chmod(0o755)
    return place.measure([*SHORT, "--launcher", str(wrapper)])


def with_banner(place):
    status, _, error = launched_after(place, "echo Welcome to the cluster")
    require_status(status, 0, error)
    return "status 0"


def with_endless_line(place):
    status, _, error = launched_after(place, "head -c 80000000 /dev/zero")
    require_status(status, MACHINE, error)
    require("a line without end" in error, "the line is not named")
    return "status 3, the line is named"


def dying_job(place):
    fault = "b:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,tcp,LINKGAIN_TEST_FAULT=die@1:2"
    status, _, error = place.measure(["--only", "all_reduce", "--sizes", "64,1K,64K", "--launches", "1", "--variant",
                                      "shared-memory", "--variant", fault])
    require_status(status, INCOMPLETE, error)
    record = place.record()
    for case in record["cases"]:
        require(case["variants"][0]["time_s"] and case["variants"][1]["time_s"], "a case has no time")
    require("test-variable" in [warning["code"] for warning in record["warnings"]], "the planted fault is not named")
    return "status 6; every case was begun, the fault is named"


def secret(place):
    status, _, error = place.measure([*SHORT, "--variant", "shared-memory", "--variant", "a:MY_TOKEN=s3cr3t"],
                                     NCCL_API_KEY="s3cr3t", OMPI_MCA_my_secret="s3cr3t")
    require_status(status, 0, error)
    for file in place.out.iterdir():
        require("s3cr3t" not in file.read_text(errors="replace"), f"{file.name} holds it")
    return "masked in every file"


def planted_links(place):
    place.out.mkdir()
    target = place.folder / "precious"
    target.write_text("precious", encoding="utf-8")
    for name in ("run.log", "journal.jsonl", "record.json.tmp", "report.md.tmp"):
        (place.out / name).symlink_to(target)
    (place.out / ".lock").symlink_to(target)
    status, _, error = place.measure(SHORT)
    require_status(status, 0, error)
    require(target.read_text(encoding="utf-8") == "precious", "a link was followed")
    return "not followed"


def many_variants(place):
    words = [word for number in range(17) for word in ("--variant", f"v{number}:A={number}")]
    status, _, error = place.measure([*SHORT, *words])
    require_status(status, USAGE, error)
    return "status 2"


def left_folder(place):
    left = place.folder / "tmp" / "linkgain-job.aaaaaa"
    (left / "0").mkdir(parents=True)
    left.chmod(0o700)
    then = time.time() - 3600
    os.utime(left, (then, then))
    status, _, error = place.measure(SHORT)
    require_status(status, 0, error)
    require(not left.exists(), "it is still there")
    return "removed"


def signals():
    for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM", "XCPU"):
        yield Attack("F17", f"SIG{name} to a run", f"status {128 + getattr(signal, 'SIG' + name)}, record kept",
                     killed(getattr(signal, "SIG" + name), "coordinator"))


ATTACKS = [
    Attack("F2", "files named as our libraries in the working folder", "status 0", planted_libraries),
    Attack("F3", "a run is killed in a folder with an older record", "the older one is no record any more", stale_record),
    Attack("F4", "progress goes into a pipe that nobody reads", "status 0, record kept", unread("stderr", SHORT, None)),
    Attack("F4", "SIGINT while progress is not read", "status 130, record kept",
           unread("stderr", LONG, signal.SIGINT)),
    Attack("F4", "SIGINT while results are not read", "the program ends, record kept",
           unread("stdout", [*SHORT, "--json"], signal.SIGINT)),
    Attack("F5", "standard error is /dev/full", "status 0, record kept", closed_error("/dev/full")),
    Attack("F5", "standard streams are closed", "status 2, record kept", closed_streams),
    Attack("F6", "two runs in one folder", "the second: status 2, names the first", two_runs),
    Attack("F7", "no file may grow any more, from a case on", "tables, status 6", full_disk),
    Attack("F7", "the folder is removed", "tables, status 6", removed_folder),
    Attack("F8", "report of a link to itself", "status 2",
           refused("report", "loop", prepare=lambda place: (place.folder / "loop").symlink_to("loop"))),
    Attack("F8", "report of a number out of range", "status 2",
           refused("report", "record.json", prepare=make_endless_number)),
    Attack("F9", "report of /dev/zero", "status 2", refused("report", "/dev/zero")),
    Attack("F9", "report of a pipe that nobody writes", "status 2", refused("report", "pipe", prepare=make_pipe)),
    Attack("F9", "fleet of a folder with a pipe and a link to /dev/zero", "status 2",
           refused("fleet", "runs", prepare=make_endless_folder)),
    Attack("F9", "hostfile that is a pipe", "status 2", refused("run", "--hostfile", "pipe", prepare=make_pipe)),
    Attack("F10", "a rank dies in every case", "each case begun, status 6", dying_job),
    Attack("F10", "SIGKILL to a rank", "status 6, record kept, nothing left", killed(signal.SIGKILL, "linkgain-bench")),
    Attack("F11", "a ratio ten times what samples say", "status 2", harmed_record(set_ratio)),
    Attack("F11", "a time of -1 s", "status 2", harmed_record(set_time)),
    Attack("F11", "a sample of launch 99", "status 2", harmed_record(set_launch)),
    Attack("F11", "100 flipped bits", "all found", flipped),
    Attack("F12", "a host's name with escapes, HTML and a link", "shown as text", hostile_text),
    Attack("F12", "a reason that is a formula, in CSV", "a text", formula),
    Attack("F12", "a reason that is no XML, in JUnit", "XML that parsers read", broken_xml),
    Attack("F13", "mpirun is told to tag output", "status 0", tagged),
    Attack("F13", "mpirun prints a banner", "status 0", with_banner),
    Attack("F13", "mpirun prints a line without end", "status 3, names the line", with_endless_line),
    Attack("F14", "SIGKILL to mpirun", "status 6, /dev/shm clean", killed(signal.SIGKILL, "mpirun")),
    Attack("F14", "SIGKILL to linkgain", "journal kept, /dev/shm clean", killed(signal.SIGKILL, "coordinator")),
    Attack("F15", "secrets in variables", "masked", secret),
    Attack("F15", "links where files are to be written", "not followed", planted_links),
    Attack("F16", "a rank of linkgain-bench alone hangs", "status 6 in time, the rank named", hangs_alone),
    *signals(),
    Attack("F17", "a folder that a killed run left", "removed", left_folder),
    Attack("F18", "17 variants", "status 2", many_variants),
    Attack("F18", "an option given twice", "status 2", refused("run", "--budget", "5", "--budget", "6")),
    Attack("F18", "a variable that no shell takes", "status 2",
           refused("run", "--backend", "mpi", "--variant", "a:1A=1")),
    *faults(),
]


def version(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]


def carry_out(attack, linkgain):
    with tempfile.TemporaryDirectory(prefix="linkgain-attack-") as name:
        place = Place(linkgain, pathlib.Path(name))
        (place.folder / "tmp").mkdir()
        try:
            outcome, held = attack.do(place), True
        except (Surprise, OSError, KeyError, IndexError, ValueError, subprocess.TimeoutExpired) as error:
            outcome, held = " ".join(str(error).split())[:200].replace("|", "/"), False
        for process in place.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
        return Row(attack.finding, attack.name, attack.expected, outcome, held)
