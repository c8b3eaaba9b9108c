#pragma once

#include <string>
#include <string_view>

namespace linkgain {

/// Facts fixed when this was built.
struct BuildInfo {
  std::string version;  ///< "0.1.0+04a4051", with "-dirty" where the sources differ from the commit
  std::string text;     ///< "nccl+mpi, CUDA 13.0, NCCL 2.28.9, sm_90, RelWithDebInfo"
  std::string cuda;     ///< "13.0", of the nccl backend; empty where it was not built
  bool has_nccl = false;     ///< the nccl backend was built
  std::string nccl_missing;  ///< why it was not built; empty when it was
};
const BuildInfo& build_info();

/// Returns "+04a4051" of the sources this was built from, "-dirty" where they differ from the
/// commit; empty where it is not known. scripts/cmake/WriteCommit.cmake writes its source at every
/// build.
std::string_view commit_suffix();

}  // namespace linkgain
