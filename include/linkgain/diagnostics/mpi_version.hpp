#pragma once

#include <string>

#include "linkgain/base/reading.hpp"

namespace linkgain {

/// Which MPI a launcher or library belongs to.
struct MpiVersion {
  std::string implementation;  ///< "Open MPI", "MPICH", "Intel MPI", "MVAPICH"
  int major_part = 0;
  std::string number;  ///< "4.1.4"
  bool operator==(const MpiVersion&) const = default;
};

/// "Open MPI 4.1.4"
std::string describe(const MpiVersion& version);

/// From what `mpirun --version` prints, or MPI_Get_library_version() says. Hydra, the launcher of
/// MPICH and of those derived from it, counts as MPICH. Missing where the text names none of them.
Reading<MpiVersion> mpi_version_in(const Reading<std::string>& text);

}  // namespace linkgain
