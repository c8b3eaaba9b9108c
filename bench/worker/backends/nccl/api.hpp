#pragma once

#include <nccl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"

/// All that depends on NCCL's version is here, that of its device API too: kernels that
/// reach other ranks' memory through the pointers of a window (LSA pointers).
namespace linkgain {

/// A call of NCCL failed.
class NcclError : public MachineError {
 public:
  NcclError(ncclResult_t code, const std::source_location& where);
};

/// Throws NcclError, which names the place of the call and NCCL's last message, unless it
/// succeeded.
void check(ncclResult_t status,
           const std::source_location& where = std::source_location::current());

/// Throws MachineError where the header compiled against has no such type (float8 before 2.24).
ncclDataType_t nccl_type(DataType type);

/// What ncclCommInitRankConfig() takes for such a communicator. nccl-tests asks for scheduling by
/// NVLink (from 2.28 on, of consequence from compute capability 10.0 on).
ncclConfig_t communicator_config(CommunicatorSettings settings);

/// NCCL's own functions for what is otherwise sends and receives in one group.
struct NcclExchanges {
  using Alltoall = ncclResult_t (*)(const void* input, void* output, std::size_t count,
                                    ncclDataType_t, ncclComm_t, cudaStream_t);
  using Rooted = ncclResult_t (*)(const void* input, void* output, std::size_t count,
                                  ncclDataType_t, int root, ncclComm_t, cudaStream_t);
  Alltoall alltoall = nullptr;
  Rooted gather = nullptr;
  Rooted scatter = nullptr;

  bool present() const { return alltoall != nullptr && gather != nullptr && scatter != nullptr; }
};

/// None of them where the header compiled against or the library loaded has not all (before 2.28).
NcclExchanges nccl_exchanges();

/// Throws MachineError where the header compiled against has no windows (before 2.27).
void require_windows();

/// Collective: registers memory of ncclMemAlloc, as much on every rank, as a symmetric window of
/// the communicator. Where the communicator supports none (P2P is off) NCCL may return null, or
/// register the memory as ordinary buffers and return something that only deregister_window()
/// understands.
void* register_window(ncclComm_t communicator, void* memory, Bytes size);
void deregister_window(ncclComm_t communicator, void* window) noexcept;

/// NCCL's function that has it read its log's settings again (from 2.24 on; declared in nccl.h, but
/// on its way out of the API), or null where this library has none.
LogSwitch nccl_log_switch();

/// NCCL's integer 22803 as "2.28.3".
std::string nccl_version_text(int version);

/// "2.28.3" of the library loaded, and of the header compiled against.
std::string nccl_library_version();
std::string nccl_header_version();
/// Of the library's file, without links; absent where NCCL is linked statically.
std::optional<std::string> nccl_library_path();

struct DestroyCommunicator {
  void operator()(ncclComm_t communicator) const noexcept { ncclCommDestroy(communicator); }
};

/// Owns a communicator of NCCL's.
using Communicator = std::unique_ptr<ncclComm, DestroyCommunicator>;

/// Collective: one of all ranks of the session, each on the device that is current to it. Throws
/// NcclError.
Communicator make_communicator(Session& session,
                               CommunicatorSettings settings = CommunicatorSettings::usual);

/// Why kernels compiled with NCCL `compiled` cannot use the device API of the library `loaded`,
/// both in NCCL's coding (22803 for 2.28.3); absent where they can. Structures of 2.28 changed with
/// every patch; a library from 2.29 on understands those of older ones.
std::optional<std::string> device_api_mismatch(int compiled, int loaded);

/// Why this process cannot use the device API; absent where it can.
std::optional<std::string> device_api_problem();

/// Collective over the communicator, and only without device_api_problem(): throws MachineError
/// where a kernel on this rank does not reach the memory of all `ranks` ranks, or where the LSA
/// team numbers them in another way; NcclError.
void require_lsa_team(ncclComm_t communicator, int ranks, int rank);

/// Where the current device finds the memory of a window of such a team on each rank, by rank; this
/// rank's is another address for what the window was made of. Valid as long as the window is
/// registered. Throws CudaError.
std::vector<void*> lsa_pointers(void* window, int ranks, const gpu::Stream& stream);

}  // namespace linkgain
