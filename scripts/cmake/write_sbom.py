#!/usr/bin/env python3
"""Writes what a program is made of as SPDX 2.3 in JSON: the libraries that it loads, as its file names them, and those
that are compiled in. A library without a row in LICENCES is an error: somebody has to look at its licence first."""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# By the start of a file's name, or the name of what is compiled in: the project and its licence.
LICENCES = {
    "libc": ("glibc", "LGPL-2.1-or-later"),
    "libm": ("glibc", "LGPL-2.1-or-later"),
    "ld-linux-x86-64": ("glibc", "LGPL-2.1-or-later"),
    "ld-linux-aarch64": ("glibc", "LGPL-2.1-or-later"),
    "libstdc++": ("GCC", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libgcc_s": ("GCC", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libasan": ("GCC", "Apache-2.0 WITH LLVM-exception"),
    "libubsan": ("GCC", "Apache-2.0 WITH LLVM-exception"),
    "libmpi": ("Open MPI", "BSD-3-Clause-Open-MPI"),
    "libbenchmark": ("Google Benchmark", "Apache-2.0"),
    "libfmt": ("fmt", "MIT"),
    "libhwloc": ("hwloc", "BSD-3-Clause"),
    "libpcre2-8": ("PCRE2", "BSD-3-Clause"),
    "fmt": ("fmt", "MIT"),
    "nlohmann_json": ("JSON for Modern C++", "MIT"),
    "CLI11": ("CLI11", "BSD-3-Clause"),
    "valijson": ("valijson", "BSD-2-Clause"),
    "cudart": ("CUDA runtime", "LicenseRef-CUDA-EULA"),
}
# Whose bytes are in a program that CMake linked archives into; looked for by texts that they carry.
ARCHIVES = {"hwloc": ("BSD-3-Clause", b"hwloc_bitmap"), "PCRE2": ("BSD-3-Clause", b"pcre2_match_8")}
OF_NVIDIA = {"licenseId": "LicenseRef-CUDA-EULA", "name": "CUDA Toolkit End User License Agreement",
             "extractedText": "https://docs.nvidia.com/cuda/eula"}


def needed(program):
    """Names of the libraries that the loader opens for it."""
    text = subprocess.run(["readelf", "-d", program], check=True, capture_output=True, text=True,
                          env=dict(os.environ, LC_ALL="C")).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def licence_of(name):
    if name in LICENCES:
        return LICENCES[name]
    start = re.split(r"\.so", name)[0]
    if start in LICENCES:
        return LICENCES[start]
    sys.exit(f"write_sbom: {name} has no licence in LICENCES of {pathlib.Path(__file__).name}")


def package(name, version, licence, comment):
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{name}-{comment}"), "name": name,
            "versionInfo": version or "NOASSERTION", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", "comment": comment}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--built-in", nargs="*", default=[], metavar="NAME=VERSION")
    options = parser.parse_args()
    bytes_of_program = options.program.read_bytes()
    parts = []
    for library in needed(options.program):
        project, licence = licence_of(library)
        parts.append((package(project, "", licence, f"loaded: {library}"), "DYNAMIC_LINK"))
    for each in options.built_in:
        name, _, version = each.partition("=")
        if name == "cudart" and b"cudaMalloc" not in bytes_of_program:
            continue
        project, licence = licence_of(name)
        parts.append((package(project, version, licence, "compiled in"), "STATIC_LINK"))
    loaded = {part["name"] for part, _ in parts}
    for name, (licence, mark) in ARCHIVES.items():
        if name not in loaded and mark in bytes_of_program:
            parts.append((package(name, "", licence, "compiled in"), "STATIC_LINK"))
    digest = hashlib.sha256(bytes_of_program).hexdigest()
    name = options.program.name
    own = package(name, options.version, "MIT", "this program")
    own["SPDXID"] = "SPDXRef-program"
    own["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", options.program.stat().st_mtime)),
                                           datetime.timezone.utc)
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
                "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{options.version}-{digest[:16]}",
                "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: write_sbom.py"]},
                "packages": [own] + [part for part, _ in parts],
                "hasExtractedLicensingInfos": [OF_NVIDIA],
                "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                                   "relatedSpdxElement": "SPDXRef-program"}] +
                                 [{"spdxElementId": "SPDXRef-program", "relationshipType": kind,
                                   "relatedSpdxElement": part["SPDXID"]} for part, kind in parts]}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
