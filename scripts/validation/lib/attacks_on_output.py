"""Attacks on what linkgain writes: readers that stop, closed streams, full disks, folders that others use."""

import fcntl
import os
import re
import resource
import shutil
import signal
import subprocess
import time

from attack_place import (INCOMPLETE, LONG, PATIENCE, SHORT, USAGE, NotTried, require, require_nothing_left,
                          require_status)

F_SETPIPE_SZ = 1031
NOBODY = 65534


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
    status, _, _ = place.shell('exec "$0" run --backend mpi --out out ' + " ".join(SHORT) + " <&- >&- 2>&-")
    require_status(status, USAGE)  # what was to be printed was not
    require_status(place.run(["report", "out"])[0], 0)
    return "status 2, the record is kept and readable"


def reader_ends(place):
    """Who reads progress and results ends after a line, as head -1 does."""
    reading, writing = os.pipe()
    process = place.start_measuring(SHORT, stdout=writing, stderr=writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as reader:
        require(reader.readline(), "there is no line")
    process.wait(PATIENCE)
    require(process.returncode in (USAGE, -signal.SIGPIPE), f"status {process.returncode}")  # results were not printed
    require(place.record()["status"] == "complete", "the record is not complete")
    return "the record is kept and complete"


def refusal_without_stream(place):
    status, output, _ = place.shell('exec "$0" report missing 2>&-')
    require_status(status, USAGE)
    require(output == "", "the refusal stands among the results")
    return "status 2"


def two_runs(place):
    first = place.start_measuring(LONG)
    place.wait_for_case()
    status, _, error = place.measure(SHORT)
    require_status(status, USAGE, error)
    require(f"process {first.pid} on " in error, "the holder is not named")
    first.communicate(timeout=PATIENCE)
    require_status(first.returncode, 0)
    return "status 2 names the first, which ends with 0"


def two_users(place):
    """The second may not write the first one's lock."""
    if os.geteuid() != 0:
        raise NotTried("only root can be two users")
    for folder in (place.folder, place.folder / "tmp"):
        folder.chmod(0o777)
    place.out.mkdir()
    place.out.chmod(0o777)
    first = place.start_measuring(LONG, user=NOBODY, HOME="/nonexistent")
    place.wait_for_case()
    second = place.start_measuring(SHORT, user=NOBODY - 1, HOME="/nonexistent", TMPDIR="/tmp")
    _, error = second.communicate(timeout=PATIENCE)
    require_status(second.returncode, USAGE, error)
    require(f"process {first.pid} on " in error, "the holder is not named")
    _, error = first.communicate(timeout=PATIENCE)
    require_status(first.returncode, 0, error)
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
    require("unfinished" in output and status == 0, "the journal does not read as unfinished")
    return "record.json.old; the folder reads as unfinished"


def killed_at_once(place):
    """Before the journal has a line, or soon after."""
    process = place.start_measuring(SHORT)
    end = time.monotonic() + PATIENCE
    while not (place.out / "journal.jsonl").exists() and time.monotonic() < end:
        time.sleep(0.001)
    process.kill()
    process.communicate()
    require_nothing_left(place, [])
    size = (place.out / "journal.jsonl").stat().st_size
    status, output, error = place.run(["report", "out"])
    if status == 0:
        require("unfinished" in output, "the journal does not read as unfinished")
    else:
        require_status(status, USAGE, error)
        require("before its first line" in error, f"it says: {error[-100:]}")
    return f"status {status} of a journal of {size} bytes"


def empty_journal(place):
    place.out.mkdir()
    (place.out / "journal.jsonl").touch()
    status, _, error = place.run(["report", "out"])
    require_status(status, USAGE, error)
    require("before its first line" in error, f"it says: {error[-100:]}")
    return "status 2, says so"


def full_disk(place):
    process = place.start_measuring(LONG)
    place.wait_for_case()
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, 4096))  # linkgain's own, no job's
    output, error = process.communicate(timeout=PATIENCE)
    require_status(process.returncode, INCOMPLETE, error)
    require("all_reduce" in output, "no table")
    return "status 6, the tables are printed"


def require_record_elsewhere(place, status, output, error):
    require_status(status, INCOMPLETE, error)
    found = re.search(r"the record is in (\S+)", error)
    require("all_reduce" in output and found, "no table or no record")
    require_status(place.run(["report", found[1]])[0], 0)
    return "status 6, the tables are printed, the record is in TMPDIR"


def removed_folder(place):
    process = place.start_measuring(LONG)
    place.wait_for_case()
    shutil.rmtree(place.out)
    output, error = process.communicate(timeout=PATIENCE)
    return require_record_elsewhere(place, process.returncode, output, error)


def full_file_system(place):
    """A small one, mounted where nobody else sees it."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        raise NotTried("no namespace for mounts may be made here (unshare -rm)")
    place.out.mkdir()
    words = " ".join(["run", "--backend", "mpi", "--out", "out", *SHORT])
    script = f'exec unshare -rm sh -c \'mount -t tmpfs -o size=16k none out && exec "$0" {words}\' "$0"'
    return require_record_elsewhere(place, *place.shell(script))


def planted_links(*names, wanted):
    def do(place):
        place.out.mkdir()
        target = place.folder / "precious"
        target.write_text("precious", encoding="utf-8")
        for name in names:
            (place.out / name).symlink_to(target)
        status, _, error = place.measure(SHORT)
        require_status(status, wanted, error)
        require(target.read_text(encoding="utf-8") == "precious", "a link was followed")
        return f"status {wanted}, not followed"
    return do


def pipe_for_lock(place):
    """Whoever may only read it must not wait for one who writes."""
    place.out.mkdir()
    os.mkfifo(place.out / ".linkgain", 0o444)
    users = [None]
    if os.geteuid() == 0:  # who may write it, too
        users.append(NOBODY)
        for folder in (place.folder, place.folder / "tmp", place.out):
            folder.chmod(0o777)
    for user in users:
        status, _, error = place.measure(SHORT, user=user, HOME="/nonexistent")
        require_status(status, USAGE, error)
        require("out/.linkgain cannot name" in error, f"it says: {' '.join(error.split())[-150:]}")
    require((place.out / ".linkgain").is_fifo(), "the pipe is gone")
    return "status 2"


def device_in_place_of_a_file(place):
    """What is to be written is a pipe, as /dev/stdout may be, or a link to a device: neither becomes a file."""
    os.mkfifo(place.folder / "pipe")
    (place.folder / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        status, _, error = place.run(["doctor", "--only", "cores", "--junit", name])
        require_status(status, USAGE, error)
        require(not (place.folder / name).is_file(), f"{name} is a file now")
    return "status 2, both are as they were"


def others_may_not_write(place):
    """Whatever the mask of modes is, others may change no file that a run leaves, nor look into its own folders."""
    mask = os.umask(0)
    try:
        process = place.start_measuring(LONG)
    finally:
        os.umask(mask)
    place.wait_for_case()
    own = [place.folder / segment for segment in place.segments()] + list((place.folder / "tmp").glob("linkgain-*"))
    require(own, "there are no folders of its own")
    open_ones = [each.name for each in own if each.stat().st_mode & 0o077]
    process.communicate(timeout=PATIENCE)
    require_status(process.returncode, 0)
    open_ones += [each.name for each in place.out.rglob("*") if each.is_file() and each.stat().st_mode & 0o022]
    require(not open_ones, f"others may change {' '.join(open_ones)}")
    return "files are written by their owner alone, folders in TMPDIR and /dev/shm are closed"
