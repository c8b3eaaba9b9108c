from spack.package import *


class Linkgain(CMakePackage, CudaPackage):
    """Measures how much NVLink speeds up NCCL: each operation with GPU peer-to-peer access on and off."""

    homepage = "https://github.com/linkgain/linkgain"
    git = "https://github.com/linkgain/linkgain.git"

    license("MIT")

    version("main", branch="main")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("openmpi@4.1:")
    depends_on("benchmark")
    depends_on("cli11")
    depends_on("nlohmann-json")
    depends_on("valijson")
    depends_on("fmt")
    depends_on("hwloc")
    depends_on("pcre2")
    # Its header to build; its library is opened at run time.
    depends_on("nccl@2.19:", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        arguments = [self.define("LINKGAIN_TESTS", False), self.define_from_variant("LINKGAIN_GPU", "cuda")]
        if self.spec.satisfies("+cuda"):
            architectures = self.spec.variants["cuda_arch"].value
            if "none" not in architectures:
                arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", ";".join(architectures)))
        return arguments

    def setup_run_environment(self, env):
        if self.spec.satisfies("+cuda"):
            env.set("NCCL_HOME", self.spec["nccl"].prefix)
