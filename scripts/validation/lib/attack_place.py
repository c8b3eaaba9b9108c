"""Where an attack of scripts/validation/attack takes place, and what it requires there."""

import dataclasses
import json
import os
import pathlib
import subprocess
import time

USAGE, MACHINE, WRONG_DATA, INCOMPLETE, OPEN = 2, 3, 4, 6, 7
PATIENCE = 90.0


LONG = ["--only", "all_reduce", "--sizes", "64K:6M:+64K", "--launches", "1", "--budget", "20"]
SHORT = ["--only", "all_reduce", "--sizes", "64,64K", "--launches", "2"]


class Surprise(Exception):
    """Something came that must not."""


class NotTried(Exception):
    """Nothing can be said: what the attack needs is not here."""


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
    tried: bool = True


class Place:
    """A folder of an attack's own, and linkgain in it."""

    def __init__(self, linkgain, folder, worker=None):
        self.linkgain = linkgain
        self.worker = worker  # whose ranks linkgain-bench starts; none: mpirun those of the mpi backend
        self.folder = folder
        self.out = folder / "out"
        self.processes = []

    def environment(self, more):
        return {**os.environ, "TMPDIR": str(self.folder / "tmp"), "OMPI_MCA_mpi_yield_when_idle": "1",
                "LINKGAIN_ATTACK": str(self.folder), **more}

    def start(self, words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, user=None, cwd=None, **environment):
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [str(self.linkgain), *words], cwd=cwd or self.folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
            env=self.environment(environment), text=True, errors="replace", user=user, start_new_session=True)
        self.processes.append(process)
        return process

    def run(self, words, **more):
        process = self.start(words, **more)
        output, error = process.communicate(timeout=PATIENCE)
        return process.returncode, output or "", error or ""

    def shell(self, script, **environment):
        """A script of sh in which "$0" is linkgain."""
        done = subprocess.run(["sh", "-c", script, str(self.linkgain)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False,
                              env=self.environment(environment))
        return done.returncode, done.stdout, done.stderr

    def variant(self, by_mpirun, fault=""):
        """Words for the variant, which has the worker and the same name where no mpirun starts it."""
        text = f"{by_mpirun.partition(':')[0]}:worker={self.worker}" if self.worker else by_mpirun
        return ["--variant", text + (f",LINKGAIN_TEST_FAULT={fault}" if fault else "")]

    def measuring(self, words):
        words = ["--out", self.out.name, *words]
        if not self.worker:
            return ["run", "--backend", "mpi", *words]
        usual = [] if "--variant" in words else [*self.variant("first"), *self.variant("second")]
        return ["run", "--launcher", "local", *usual, *words]

    def measure(self, words, **more):
        return self.run(self.measuring(words), **more)

    def start_measuring(self, words, **more):
        return self.start(self.measuring(words), **more)

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
            try:
                words = pathlib.Path(f"/proc/{each}/environ").read_bytes().split(b"\0")
            except OSError:
                continue  # it has just ended
            for word in words:
                if word.startswith(b"OMPI_MCA_btl_vader_backing_directory="):
                    folders.add(word.partition(b"=")[2].decode())
        return folders

    def record(self):
        return json.loads((self.out / "record.json").read_text(encoding="utf-8"))


_MEASURED = {}


def nccl_tests_text():
    """A file that nccl-tests' -J wrote."""
    root = pathlib.Path(__file__).resolve().parents[3]
    return (root / "tests/coordinator/compare/data/nccl_tests.json").read_text(encoding="utf-8")


def measured_text(place):
    """A record of the mpi backend as it was written, measured once for all attacks that change it."""
    if place.linkgain not in _MEASURED:
        status, _, error = place.measure(SHORT)
        require_status(status, 0, error)
        _MEASURED[place.linkgain] = (place.out / "record.json").read_text(encoding="utf-8")
    return _MEASURED[place.linkgain]


def measured_record(place):
    """The same without its digest, to be changed."""
    record = json.loads(measured_text(place))
    del record["digest"]
    return record


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
