from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Linkgain(CMakePackage, CudaPackage):
    """Measures how much NVLink speeds up NCCL: each operation with GPU peer-to-peer access on and off."""

    # Of a source folder, for Spack 1.0 or later. In a repository of yours (spack repo create, spack repo add) this file is
    # packages/linkgain/package.py; then, in the source folder: spack dev-build linkgain@0.1.0 +cuda cuda_arch=90
    version("0.1.0")

    license("MIT")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("openmpi@4.1:5", type="run")
    depends_on("benchmark")
    depends_on("cli11")
    depends_on("nlohmann-json")
    depends_on("simdjson")
    depends_on("valijson")
    depends_on("fmt")
    depends_on("pcre2")
    # Its header to build; its library is opened at run time.
    depends_on("nccl@2.19:", when="+cuda")

    conflicts("%gcc@:11", msg="linkgain is C++20 and needs g++ 12 or later")

    generator("ninja")

    def cmake_args(self):
        arguments = [self.define("LINKGAIN_TESTS", False), self.define_from_variant("LINKGAIN_GPU", "cuda")]
        architectures = self.spec.variants["cuda_arch"].value if self.spec.satisfies("+cuda") else ("none",)
        if "none" not in architectures:
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(architectures)))
        return arguments

    def setup_run_environment(self, env):
        if self.spec.satisfies("+cuda"):
            env.set("NCCL_HOME", self.spec["nccl"].prefix)
