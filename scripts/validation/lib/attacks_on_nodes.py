"""Attacks by what a node is told: profiles, hostfiles, options of Google Benchmark, files for node_exporter."""

import json
import os
import re

from attack_place import SHORT, USAGE, require, require_status

MPI = ["run", "--backend", "mpi"]


def run_profile(place, text, words=()):
    (place.folder / "evil.toml").write_text(text, encoding="utf-8")
    return place.run([*MPI, *SHORT, "--out", "out", "--profile", "./evil.toml", *words])


def evil_program(place, name):
    """A program that leaves a mark where it is started."""
    file = place.folder / name
    file.write_text(f"#!/bin/sh\ntouch '{place.folder}/was-here'\n", encoding="utf-8")
    file.chmod(0o755)
    return file


PROFILES = {
    "a worker": 'variant = ["a:worker={evil}", "b:NCCL_ALGO=Ring"]\n',
    "an NCCL": 'variant = ["a:nccl={folder}", "b:NCCL_ALGO=Ring"]\n',
    "a library before all others": 'variant = ["a:LD_PRELOAD={folder}/evil.so", "tcp"]\n',
    "folders of libraries": 'variant = ["a:LD_LIBRARY_PATH={folder}", "tcp"]\n',
    "folders of programs": 'variant = ["a:PATH={folder}", "tcp"]\n',
    "a component of Open MPI": 'variant = ["a:OMPI_MCA_mca_base_component_path={folder}", "tcp"]\n',
    "an agent of mpirun": 'variant = ["a:OMPI_MCA_plm_rsh_agent={evil}", "tcp"]\n',
    "a plugin of NCCL": 'variant = ["a:NCCL_NET_PLUGIN={folder}/evil.so", "tcp"]\n',
    "a library of our own": 'variant = ["a:LINKGAIN_NVML_LIBRARY={folder}/evil.so", "tcp"]\n',
    "a launcher": 'launcher = "{folder}/mpirun"\n',
    "a folder to write into": 'out = "{folder}/elsewhere"\n',
    "a run to go on with": 'resume = "{folder}"\n',
}


def hostile_profile(text):
    def do(place):
        evil = evil_program(place, "linkgain-bench")
        evil_program(place, "mpirun")
        status, _, error = run_profile(place, text.format(evil=evil, folder=place.folder))
        require_status(status, USAGE, error)
        key = text.split(" = ")[0]
        named = re.search(r"a:(\w+)=", text)
        require("evil.toml" in error and (named[1] if named else key) in error, f"it says: {error[-150:]}")
        for name in ("was-here", "elsewhere", "out"):
            require(not (place.folder / name).exists(), f"there is {name}")
        return "status 2"
    return do


def profile_beside_options(place):
    """What the file may not say the command line may."""
    status, _, error = run_profile(place, 'variant = ["tcp"]\nlaunches = 1\n')
    require_status(status, 0, error)
    require(json.loads((place.out / "record.json").read_text(encoding="utf-8"))["exit_code"] == 0, "it failed")
    return "status 0"


def hostfile(text, slots):
    """Counted as mpirun does, or refused with the line."""
    def do(place):
        (place.folder / "hosts").write_text(text, encoding="utf-8")
        status, output, error = place.run([*MPI, "--only", "all_reduce", "--sizes", "64K", "--launches", "1", "--dry-run",
                                           "--hostfile", "hosts"])
        if slots is None:
            require_status(status, USAGE, error)
            require("line " in error, f"it says: {error[-150:]}")
            return "status 2, the line"
        require_status(status, 0, error)
        require(f"mpi, {slots} ranks" in output, f"it says: {output[:100]}")
        return f"{slots} ranks"
    return do


def benchmark_option(*words):
    """Status 2 before anything is started, and no file."""
    def do(place):
        bench = place.linkgain.with_name("linkgain-bench")
        status, _, error = place.run(["bench", "--backend", "mpi", "--only", "all_reduce", "--sizes", "1K,64K",
                                      "--benchmark_out=out.json", *words])
        require(bench.exists(), "there is no linkgain-bench")
        require_status(status, USAGE, error)
        require(words[-1].split("=")[0] in error, f"it says: {error[-150:]}")
        require(not (place.folder / "out.json").exists(), "there is a file")
        return "status 2"
    return do


def usage_before_machine(*words):
    """On a machine without GPUs: 2 and the option, not 3."""
    def do(place):
        status, _, error = place.run(["run", *words], CUDA_VISIBLE_DEVICES="")
        require_status(status, USAGE, error)
        require(words[0].strip("-s") in error, f"it says: {error[-150:]}")
        return "status 2"
    return do


def textfile(place):
    """Under umask 077 all may read it, and no other file of the folder gets its series a second time."""
    before = os.umask(0o077)
    try:
        status, _, error = place.run(["doctor", "--node", "--prometheus", "a.prom"])
        require(status in (0, 1, 3), error)
        mode = (place.folder / "a.prom").stat().st_mode & 0o777
        require(mode == 0o644, f"its mode is {mode:o}")
        for name in ("b.prom", "a.txt"):
            status, _, error = place.run(["doctor", "--node", "--prometheus", name])
            require_status(status, USAGE, error)
            require(not (place.folder / name).exists(), f"there is {name}")
    finally:
        os.umask(before)
    return "644; a second one and another name are refused"
