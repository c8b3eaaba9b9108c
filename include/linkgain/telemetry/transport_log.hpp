#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

/// Counts of NCCL's connection lines ("Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM") by transport.
struct TransportLines {
  int p2p = 0;
  int shm = 0;
  int net = 0;
  int other = 0;
  std::vector<std::string>
      kinds;  ///< distinct, as NCCL writes them: "P2P/CUMEM", in order of appearance
};

/// Reads NCCL's log text; incomplete and unrelated lines are skipped.
TransportLines parse_transport_lines(std::string_view log);

/// All NCCL log files of one job: every file in `directory` whose name starts with `prefix`.
TransportLines read_transport_logs(const std::filesystem::path& directory, std::string_view prefix);

/// The path that the lines speak of. P2P lines mean NVLink only where the driver says that all
/// pairs are connected by it (`nvlink`); without that knowledge P2P gives Path::unknown. NCCL
/// connects NVLink multicast before it knows whether a call will use it: where the call's
/// `algorithm` is known (TransferPlan's) and another, those connections do not count.
Path path_of(const TransportLines& lines, std::optional<bool> nvlink,
             std::string_view algorithm = {});

}  // namespace linkgain
