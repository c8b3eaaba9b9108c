"""Attacks on what a user has: folders and files that are not linkgain's."""

import os
import random
import stat

from attack_place import MACHINE, USAGE, require, require_status

COMMANDS = [
    ["run", "--backend", "mpi", "--only", "all_reduce", "--sizes", "64", "--launches", "1", "--out", "."],
    ["run", "--resume", "."],
    ["exec", "--rounds", "1", "--variant", "p2p", "--out", ".", "--", "true"],
    ["exec", "--rounds", "1", "--variant", "p2p", "--out", "sub/deeper", "--", "true"],
    ["exec", "--rounds", "1", "--variant", "p2p", "--out", "runs", "--", "true"],
    ["doctor", "--only", "cores", "--junit", "report.xml", "--prometheus", "node.prom"],
    ["baseline", "record.json", "-o", "good.json"],
    ["fleet", ".", "--prometheus", "node.prom"],
]
NAMES = [
    "record.json", "report.md", "report.html", "run.log", "journal.jsonl", "journal.jsonl.new", "jobs", "runs",
    "record.json.old", "report.md.old", "run.log.old", "jobs.old", "runs.old", ".lock", ".linkgain", "report.xml",
    "node.prom", "good.json", "sub", "man", "notes.md", "-rf", "a\nb", "\u202egnp.exe", "*", " ", "record.json.tmp",
]
OTHER_USER = 65534


def twice_in_a_project(place):
    """Runs and exec where a project has folders and files of the same names."""
    for words in (COMMANDS[0], COMMANDS[2]):
        project = place.folder / f"project-{words[0]}"
        for name in ("runs/train1/weights.pt", "jobs/nightly.sh"):
            (project / name).parent.mkdir(parents=True)
            (project / name).write_text("mine")
        (project / "report.md").write_text("mine")
        before = content(project)
        for _ in range(2):
            status, _, error = place.run(words, cwd=project)
            require_status(status, USAGE, error)
            require(content(project) == before, "something of the user's changed")
    return "status 2, nothing changed"


def content(folder):
    """Of everything below a folder: kind, permissions, owner, bytes."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            state = os.lstat(path)
            if stat.S_ISLNK(state.st_mode):
                data = os.readlink(path)
            elif stat.S_ISREG(state.st_mode):
                with open(path, "rb") as file:
                    data = file.read()
            else:
                data = None
            found[os.path.relpath(path, folder)] = (state.st_mode, state.st_uid, data)
    return found


def put_something(choose, path, depth=0):
    """A user's file, folder, link or pipe, some read-only, some another user's."""
    kind = choose.choice(["file", "file", "file", "folder", "link", "dangling", "pipe"])
    if kind == "file":
        path.write_bytes(choose.choice([b"", b"mine\n", b"{}", b"{\"schema\": \"linkgain.record/1\"}\n",
                                        choose.randbytes(99)]))
    elif kind == "folder" and depth < 2:
        path.mkdir()
        for name in choose.sample([*NAMES, "p2p-1.log"], choose.randrange(4)):
            put_something(choose, path / name, depth + 1)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("notes.md" if kind == "link" else "nowhere")
    if not path.is_symlink():
        if os.geteuid() == 0 and choose.random() < 0.2:
            os.chown(path, OTHER_USER, OTHER_USER)
        if choose.random() < 0.2:
            path.chmod(0o555 if path.is_dir() else 0o444)


def random_projects(count):
    """Random commands, each twice, in folders full of a user's things."""
    def do(place):
        refused = 0
        for seed in range(count):
            choose = random.Random(seed)
            project = place.folder / f"project-{seed}"
            project.mkdir()
            if choose.random() < 0.4:  # linkgain was there before
                place.run(COMMANDS[2], cwd=project)
            for name in choose.sample(NAMES, choose.randrange(1, 9)):
                if not os.path.lexists(project / name):
                    put_something(choose, project / name)
            own = set(content(project)) if (project / ".linkgain").is_file() else set()
            before = {name: state for name, state in content(project).items()
                      if not is_of_the_run_before(project, name, own)}
            words = choose.choice(COMMANDS)
            for _ in range(2):
                status, _, error = place.run(words, cwd=project)
                require(status in (0, 1, USAGE, MACHINE, 6, 7), f"seed {seed}: status {status}: {error}")
                refused += status == USAGE
                after = content(project)
                for name, state in before.items():
                    require(after.get(name) == state, f"seed {seed}: {words[0]} changed {name!r}")
        return f"nothing changed in {count} folders; {refused} of {2 * count} refused"
    return do


def is_of_the_run_before(project, name, present):
    """By the manifest that linkgain left, which the user's things came after."""
    if not present:
        return False
    with open(project / ".linkgain", encoding="utf-8", errors="replace") as file:
        named = {line.rstrip("\n").split(" ", 2)[-1] if line[0].isdigit() else line.rstrip("\n")[2:] for line in file}
    return name == ".linkgain" or name in named


def exchanged_folder(place):
    """Another folder takes the place of a run's while it measures."""
    process = place.start(["exec", "--rounds", "2", "--variant", "p2p", "--out", "out", "--", "sh", "-c",
                           "touch begun; sleep 1"])
    while not (place.folder / "begun").exists():
        require(process.poll() is None, "it ended before")
    place.out.rename(place.folder / "moved")
    victim = place.folder / "victim"
    (victim / "runs").mkdir(parents=True)
    for name in ("record.json", "report.md", "runs/p2p-2.log"):
        (victim / name).write_text("mine")
    before = content(victim)
    place.out.symlink_to("victim")
    process.communicate(timeout=60)
    require_status(process.returncode, 0)
    require(content(victim) == before, "the other folder was written into")
    require((place.folder / "moved" / "record.json").exists(), "the record is nowhere")
    return "status 0, the record is in the folder that was named"
