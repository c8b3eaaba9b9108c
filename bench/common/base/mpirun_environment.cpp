#include "linkgain/base/mpirun_environment.hpp"

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

constexpr const char* kSharedMemory = "/dev/shm";

}  // namespace

void prepare_for_mpirun(Environment& environment) {
  environment.emplace("HWLOC_COMPONENTS", "-gl,-opencl");
  const auto temporary = environment.find("TMPDIR");
  if (temporary != environment.end() && temporary->second.empty()) environment.erase(temporary);
}

std::unique_ptr<TemporaryFolder> folder_for_segments() {
  try {
    return std::make_unique<TemporaryFolder>(kSharedMemory);
  } catch (const UsageError&) {
    return nullptr;
  }
}

void remove_left_segments() { remove_left_folders(kSharedMemory); }

void name_segments_folder(const std::filesystem::path& folder, Environment& environment) {
  // By its names of Open MPI 4 and 5.
  for (const char* name :
       {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}) {
    environment.emplace(name, folder.string());
  }
}

}  // namespace linkgain
