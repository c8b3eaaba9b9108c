#pragma once

#include <string>
#include <string_view>

#include "linkgain/base/reading.hpp"

namespace linkgain {

/// The one whose mpirun and library linkgain takes.
inline constexpr std::string_view kOpenMpi = "Open MPI";

/// Which MPI a launcher or library belongs to.
struct MpiVersion {
  std::string implementation;  ///< "Open MPI", "MPICH", "Intel MPI", "MVAPICH"
  int major_part = 0;
  std::string number;  ///< "4.1.4"
  bool operator==(const MpiVersion&) const = default;
};

/// Says "Open MPI 4.1.4".
std::string version_text(const MpiVersion& version);

/// Reads what `mpirun --version` prints, or MPI_Get_library_version() says. Hydra, the launcher of
/// MPICH and of those derived from it, counts as MPICH. Missing where the text names none of them.
Reading<MpiVersion> mpi_version_in(const Reading<std::string>& text);

/// Says why ranks of linkgain cannot be started on `host` by an mpirun of this version, as "is of
/// MPICH 4.0.2, not of Open MPI"; empty where nothing is known against it.
std::string why_mpirun_is_unfit(const MpiVersion& version, std::string_view host);

}  // namespace linkgain
