"""Attacks by options and variables: values that cannot be, secrets, and what is for tests alone."""

import re

from attack_place import SHORT, USAGE, require, require_status

ABSURD = ("", "-1", "1e400", "nan", "99999999999999999999", "\n", "%s%n")
MEANT = (0, 2, 3)  # planned, refused, or not on this machine


def absurd_values(command, before=(), behind=()):
    """Every option of a command that takes a value, with each of these; nothing is started."""
    def do(place):
        _, output, _ = place.run([command, "--help"])
        names = re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+) [A-Z]", output, re.M)
        require(len(names) > 10, "the help names no options")
        there, refusals = set(place.folder.rglob("*")), 0
        for name in names:
            for value in ABSURD:
                words = [word for word in before if not word.startswith(name + "=")]
                status, _, error = place.run([command, *words, "--dry-run", f"{name}={value}", *behind])
                require(status in MEANT, f"{name}={value!r}: status {status}: {error[-150:]}")
                require("runtime error" not in error, f"{name}={value!r}: {error[-150:]}")
                refusals += status != 0
        require(set(place.folder.rglob("*")) == there, "files were written")
        return f"{len(names) * len(ABSURD)} values, {refusals} refused"
    return do


def value_left_out(place):
    """As a script's --out="$folder" where the variable is empty: the next option is none's value."""
    status, _, error = place.run(["run", "--backend", "mpi", *SHORT, "--out=", "--dry-run"])
    require_status(status, USAGE, error)
    left = [each.name for each in place.folder.iterdir() if each.name != "tmp"]
    require(not left, f"a run was begun in {' '.join(left)}")
    return "status 2"


def many_variants(number):
    def do(place):
        words = [word for each in range(number) for word in ("--variant", f"v{each}:A={each}")]
        status, _, error = place.measure([*SHORT, *words])
        require_status(status, USAGE, error)
        return "status 2"
    return do


def require_no_secret(place):
    files = [file for file in place.out.rglob("*") if file.is_file()]
    require(len(files) > 3, "there are no files")
    for file in files:
        require("s3cr3t" not in file.read_text(encoding="utf-8", errors="replace"), f"{file.name} holds it")
    return f"masked in all {len(files)} files"


def secret(place):
    """In capitals and not, with what a value may hold."""
    status, _, error = place.measure(
        [*SHORT, "--variant", "shared-memory", "--variant", "a:MY_TOKEN=s3cr3t,my_pass=s3cr3t 1,s3cr3t"],
        NCCL_API_KEY="s3cr3t", OMPI_MCA_my_secret="s3cr3t")
    require_status(status, 0, error)
    return require_no_secret(place)


def secret_in_exec(place):
    """In variables, in words of the command and of --args, in what is run before and after it."""
    status, output, error = place.run(
        ["exec", "--out", "out", "--rounds", "2", "--variant", "a:MY_TOKEN=s3cr3t",
         "--variant", "b:api_key=s3cr3t 1,s3cr3t", "--args", "a:--api-key=s3cr3t", "--args", "b:--hf-token s3cr3t",
         "--prepare", "A_PASSWORD=s3cr3t true", "--cleanup", "true --key s3cr3t", "--", "true", "--token", "s3cr3t",
         "wandb.api_key=s3cr3t", "--pass", "s3cr3t", "-H", "Authorization: Bearer s3cr3t", '{"token": "s3cr3t"}'],
        NCCL_API_KEY="s3cr3t", HF_TOKEN="s3cr3t")
    require_status(status, 0, error)
    require("s3cr3t" not in output + error, "it is printed")
    return require_no_secret(place)


def meant_for_tests(place):
    """A false NVML is told of, in the record and on the screen."""
    status, output, error = place.measure(SHORT, LINKGAIN_NVML_LIBRARY="/missing/libnvidia-ml.so.1")
    require_status(status, 0, error)
    record = place.record()
    require("test-variable" in [warning["code"] for warning in record["warnings"]], "there is no warning")
    require(all("LINKGAIN_NVML_LIBRARY" in each for each in record["settings"]["environment_in_force"]),
            "it is not in the record")
    require("LINKGAIN_NVML_LIBRARY is set" in output, "the screen says nothing")
    return "in the record, warned of"
