"""The attacks of scripts/validation/attack: each does something to linkgain and says what came of it."""

import dataclasses
import fcntl
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

LONG = ["--only", "all_reduce", "--sizes", "64K:6M:+64K", "--launches", "1", "--budget", "20"]
SHORT = ["--only", "all_reduce", "--sizes", "64,64K", "--launches", "2"]
F_SETPIPE_SZ = 1031
USAGE, MACHINE, INCOMPLETE = 2, 3, 6
PATIENCE = 90.0


class Surprise(Exception):
    """Something came that must not."""


@dataclasses.dataclass
class Attack:
    finding: str
    name: str
    expected: str
    do: object


@dataclasses.dataclass
class Row:
    finding: str
    name: str
    expected: str
    outcome: str
    held: bool


class Place:
    """A folder of an attack's own, and linkgain in it."""

    def __init__(self, linkgain, folder):
        self.linkgain = linkgain
        self.folder = folder
        self.out = folder / "out"
        self.processes = []

    def environment(self, more):
        return {**os.environ, "TMPDIR": str(self.folder / "tmp"), "OMPI_MCA_mpi_yield_when_idle": "1",
                "LINKGAIN_ATTACK": str(self.folder), **more}

    def start(self, words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **environment):
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [str(self.linkgain), *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
            env=self.environment(environment), text=True, errors="replace")
        self.processes.append(process)
        return process

    def run(self, words, **more):
        process = self.start(words, **more)
        output, error = process.communicate(timeout=PATIENCE)
        return process.returncode, output or "", error or ""

    def measure(self, words, **more):
        return self.run(["run", "--backend", "mpi", "--out", self.out.name, *words], **more)

    def start_measuring(self, words, **more):
        return self.start(["run", "--backend", "mpi", "--out", self.out.name, *words], **more)

    def wait_for_case(self, cases=1):
        """Until so many cases stand in the journal."""
        journal = self.out / "journal.jsonl"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if journal.exists() and journal.read_bytes().count(b'{"index"') >= cases:
                return
            time.sleep(0.05)
        raise Surprise("no case was measured")

    def own_processes(self, name=""):
        """Ids of all that was started here and lives, by a variable in their environment."""
        mark, found = f"LINKGAIN_ATTACK={self.folder}".encode(), []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if mark in (entry / "environ").read_bytes().split(b"\0") and state != "Z":
                    if name in ("", (entry / "comm").read_text().strip()):
                        found.append(int(entry.name))
            except (OSError, IndexError):
                continue
        return sorted(found)

    def segments(self):
        """The folders of shared memory that the ranks have."""
        folders = set()
        for each in self.own_processes("linkgain-bench"):
            for word in pathlib.Path(f"/proc/{each}/environ").read_bytes().split(b"\0"):
                if word.startswith(b"OMPI_MCA_btl_vader_backing_directory="):
                    folders.add(word.partition(b"=")[2].decode())
        return folders

    def record(self):
        return json.loads((self.out / "record.json").read_text(encoding="utf-8"))


def require(condition, what):
    if not condition:
        raise Surprise(what)


def require_status(status, wanted, error=""):
    require(status == wanted, f"status {status}, not {wanted}: {' '.join(error.split())[-200:]}")


def require_nothing_left(place, segments):
    end = time.monotonic() + 15.0
    while place.own_processes() and time.monotonic() < end:
        time.sleep(0.1)
    require(not place.own_processes(), "processes are left")
    for folder in segments:
        require(not os.path.exists(folder), f"{folder} is left")


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
    Attack("F13", "mpirun is told to tag output", "status 0", tagged),
    Attack("F13", "mpirun prints a banner", "status 0", with_banner),
    Attack("F13", "mpirun prints a line without end", "status 3, names the line", with_endless_line),
    Attack("F14", "SIGKILL to mpirun", "status 6, /dev/shm clean", killed(signal.SIGKILL, "mpirun")),
    Attack("F14", "SIGKILL to linkgain", "journal kept, /dev/shm clean", killed(signal.SIGKILL, "coordinator")),
    Attack("F15", "secrets in variables", "masked", secret),
    Attack("F15", "links where files are to be written", "not followed", planted_links),
    *signals(),
    Attack("F17", "a folder that a killed run left", "removed", left_folder),
    Attack("F18", "17 variants", "status 2", many_variants),
    Attack("F18", "an option given twice", "status 2", refused("run", "--budget", "5", "--budget", "6")),
    Attack("F18", "a variable that no shell takes", "status 2",
           refused("run", "--backend", "mpi", "--variant", "a:1A=1")),
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
