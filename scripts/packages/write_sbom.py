#!/usr/bin/env python3
"""Writes what a program is made of as SPDX 2.3 in JSON: the libraries that it loads, as its file names them, the archives
that were linked into it, as the linker names what it read, and libraries that are headers alone. Beside it the file copyright:
the project's licence, and the notices of all that is in the package. A library without a row below is an error: somebody
has to look at its licence first."""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
sys.dont_write_bytecode = True
from command_line import Parser  # noqa: E402

# By the start of a file's name, or the name of what is headers alone: the project and its licence.
GLIBC = ("glibc", "LGPL-2.1-or-later")
GCC = ("GCC", "GPL-3.0-or-later WITH GCC-exception-3.1")
SANITIZERS = ("GCC's sanitizers", "Apache-2.0 WITH LLVM-exception")
CUDA = ("CUDA runtime", "LicenseRef-CUDA-EULA")
PROJECTS = {
    "libc": GLIBC, "libc_nonshared": GLIBC, "libm": GLIBC, "libdl": GLIBC, "librt": GLIBC, "libpthread": GLIBC,
    "ld-linux-x86-64": GLIBC, "ld-linux-aarch64": GLIBC,
    "libstdc++": GCC, "libgcc": GCC, "libgcc_eh": GCC, "libgcc_s": GCC, "libasan": SANITIZERS, "libubsan": SANITIZERS,
    "libbenchmark": ("Google Benchmark", "Apache-2.0"),
    "libfmt": ("fmt", "MIT"), "fmt": ("fmt", "MIT"),
    "libpcre2-8": ("PCRE2", "BSD-3-Clause"),
    "nlohmann_json": ("JSON for Modern C++", "MIT"),
    "CLI11": ("CLI11", "BSD-3-Clause"),
    "libsimdjson": ("simdjson", "Apache-2.0"),
    "nccl": ("NCCL's device functions", "BSD-3-Clause"),
    "libcudart_static": CUDA, "libcudadevrt": CUDA,
}
CUDA_LICENCE = {"licenseId": CUDA[1], "name": "CUDA Toolkit End User License Agreement",
                "extractedText": "https://docs.nvidia.com/cuda/eula"}


def output_of(*command):
    """What a command prints; nothing where it fails or is not there."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C")).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def loaded_libraries(program):
    """Names of the libraries that the loader opens for it."""
    text = output_of("readelf", "-d", program)
    if not text:
        sys.exit(f"write_sbom: readelf cannot read {program}")
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def linked_archives(inputs):
    """Paths of the archives of others that the linker read."""
    archives = re.findall(r"(\S+\.a)(?=\s)", inputs.read_text())
    return sorted({os.path.realpath(path) for path in archives if not os.path.basename(path).startswith("liblinkgain_")})


def project_of(name):
    start = re.split(r"\.(?:so|a)\b", name)[0]
    if start not in PROJECTS:
        sys.exit(f"write_sbom: {name} has no licence in PROJECTS of {pathlib.Path(__file__).name}")
    return PROJECTS[start]


class Part:
    """Something that a program is made of. PATH, a file of it, leads to its Debian package, where there is one."""

    def __init__(self, name, how, relation, path="", version=""):
        self.project, self.licence = project_of(name)
        self.how, self.relation, self.version = how, relation, version
        self.debian = output_of("dpkg-query", "-S", path).partition(": ")[0].split(",")[0] if path else ""
        if self.debian and not version:
            self.version = output_of("dpkg-query", "-W", "-f", "${Version}", self.debian)

    def notice(self):
        """The licence's text as the part's package has it."""
        if self.licence == CUDA_LICENCE["licenseId"]:
            return f"{CUDA_LICENCE['name']}: {CUDA_LICENCE['extractedText']}\n"
        name = self.debian.partition(":")[0]
        file = pathlib.Path("/usr/share/doc", name, "copyright")
        return file.read_text(errors="replace") if name and file.exists() else f"Licence: {self.licence}\n"

    def package(self):
        identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{self.project}-{self.how}")
        return {"SPDXID": identifier, "name": self.project, "versionInfo": self.version or "NOASSERTION",
                "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": self.licence,
                "licenseDeclared": self.licence, "copyrightText": "NOASSERTION", "comment": self.how}


def parts_of(options):
    parts = []
    for library in loaded_libraries(options.program):
        beside = [path for path in options.beside if os.path.basename(path) == library]
        how = f"library of the package: {library}" if beside else f"library of the machine: {library}"
        parts.append(Part(library, how, "DYNAMIC_LINK", os.path.realpath(beside[0]) if beside else ""))
    for path in linked_archives(options.inputs):
        name = os.path.basename(path)
        parts.append(Part(name, f"linked statically: {name}", "STATIC_LINK", path))
    for header in options.headers:
        name, version, path = header.split("=", 2)
        parts.append(Part(name, "headers", "STATIC_LINK", path, version))
    return parts


def document_of(options, parts):
    name = options.program.name
    digest = hashlib.sha256(options.program.read_bytes()).hexdigest()
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", options.program.stat().st_mtime)),
                                           datetime.timezone.utc)
    own = {"SPDXID": "SPDXRef-program", "name": name, "versionInfo": options.version, "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "licenseConcluded": "MIT", "licenseDeclared": "MIT", "copyrightText": "NOASSERTION",
           "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}
    packages = [part.package() for part in parts]
    relationships = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-program")]
    relationships += [("SPDXRef-program", part.relation, package["SPDXID"]) for part, package in zip(parts, packages)]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{options.version}-{digest[:16]}",
            "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: write_sbom.py"]},
            "packages": [own] + packages,
            "hasExtractedLicensingInfos": [CUDA_LICENCE] if any(part.licence == CUDA[1] for part in parts) else [],
            "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                              for one, kind, other in relationships]}


def copyright_of(options, parts):
    """The project's licence, and those of what is in the package; GCC's and glibc's ask for no notice in programs."""
    texts = {part.project: part.notice() for part in parts
             if not part.how.startswith("library of the machine") and (part.project, part.licence) not in (GCC, GLIBC)}
    own = options.licence.read_text()
    return own + "".join(f"\n{'=' * 80}\nThis package contains {project}.\n\n{text}" for project, text in sorted(texts.items()))


def main():
    parser = Parser(
        description=__doc__,
        epilog="Exit status: 0 written, 1 a library has no licence here, or the program cannot be read, 2 a wrong option. "
        "example: scripts/packages/write_sbom.py build/cpu/bin/linkgain /tmp/sbom --version 0.1.0 --licence LICENSE "
        "--inputs build/cpu/linkgain.inputs")
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, help="where PROGRAM.spdx.json and copyright go")
    parser.add_argument("--version", required=True)
    parser.add_argument("--licence", required=True, type=pathlib.Path, help="the project's own")
    parser.add_argument("--inputs", required=True, type=pathlib.Path, help="the linker's --dependency-file")
    parser.add_argument("--beside", nargs="*", default=[], metavar="LIBRARY", help="libraries that the package brings")
    parser.add_argument("--headers", nargs="*", default=[], metavar="NAME=VERSION=HEADER")
    options = parser.parse_args()
    parts = parts_of(options)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / f"{options.program.name}.spdx.json").write_text(json.dumps(document_of(options, parts), indent=1) + "\n")
    (options.folder / "copyright").write_text(copyright_of(options, parts))


if __name__ == "__main__":
    main()
