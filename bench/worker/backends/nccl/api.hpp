#pragma once

#include <nccl.h>

#include <atomic>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/gpu/nccl_library.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"

/// All that depends on NCCL's version is here, that of its device API too: kernels that
/// reach other ranks' memory through the pointers of a window (LSA pointers). What a function needs
/// that the library loaded lacks is a MachineError with the reason.
namespace linkgain {

using gpu::nccl;
using gpu::NcclExchanges;

/// A call of NCCL failed.
class NcclError : public MachineError {
 public:
  NcclError(ncclResult_t code, const std::source_location& where);
};

/// Throws NcclError, which names the place of the call and NCCL's last message, unless it
/// succeeded.
void check(ncclResult_t status,
           const std::source_location& where = std::source_location::current());

/// Throws MachineError where the library loaded has no such type (float8 before 2.24).
ncclDataType_t nccl_type(DataType type);

/// Returns what ncclCommInitRankConfig() takes for such a communicator. nccl-tests asks for
/// scheduling by NVLink (from 2.28 on, of consequence from compute capability 10.0 on).
ncclConfig_t communicator_config(CommunicatorSettings settings);

/// A communicator as the thread sees it that watches those which work with it. That thread alone
/// asks for failures, and does not once it has had the communicator aborted, which another thread
/// may do for it. Nothing fails, and nothing is aborted, before watch().
class WatchedCommunicator {
 public:
  void watch(ncclComm_t communicator) { communicator_ = communicator; }
  /// Returns what NCCL has come across in work under way; absent where nothing has failed.
  std::optional<std::string> failure() const;
  /// Ends work under way; once.
  void abort() noexcept;

 private:
  std::atomic<ncclComm_t> communicator_ = nullptr;
};

/// Finds the functions of exchanges: none of them if the library loaded has not all (before 2.28).
NcclExchanges nccl_exchanges();

/// Throws MachineError where the library has no such memory: windows before 2.27, the others before
/// 2.19.
void require_buffers(const gpu::NcclLibrary& library, Buffers kind);

/// Registers memory of ncclMemAlloc, as much on every rank, as a symmetric window of the
/// communicator; every rank must call it. Where the communicator supports none (P2P is off) NCCL
/// may return null, or register the memory as ordinary buffers and return something that only
/// deregister_window() understands.
void* register_window(ncclComm_t communicator, void* memory, Bytes size);
void deregister_window(ncclComm_t communicator, void* window) noexcept;

/// Returns NCCL's integer 22803 as "2.28.3".
std::string nccl_version_text(int version);

/// Returns the version of the library loaded ("2.28.3"), and of the header compiled against.
std::string nccl_library_version();
std::string nccl_header_version();

/// Fills in the versions of header and library, the library's file and what named it; if there is
/// none, why.
void describe_nccl_library(Software& software);

struct DestroyCommunicator {
  void operator()(ncclComm_t communicator) const noexcept { nccl().comm_destroy(communicator); }
};

/// Owns a communicator of NCCL's.
using Communicator = std::unique_ptr<ncclComm, DestroyCommunicator>;

/// Joins all ranks of the session, each on the device that is current to it; every rank must call
/// it. Throws NcclError.
Communicator make_communicator(Session& session,
                               CommunicatorSettings settings = CommunicatorSettings::usual);

/// Returns why kernels compiled with NCCL `compiled` cannot use the device API of the library
/// `loaded`, both in NCCL's coding (22803 for 2.28.3); absent where they can. Structures of 2.28
/// changed with every patch; a library from 2.29 on understands those of older ones.
std::optional<std::string> device_api_mismatch(int compiled, int loaded);

/// Returns why this process cannot use the device API; absent where it can.
std::optional<std::string> device_api_problem();

/// Throws MachineError if a kernel on this rank does not reach the memory of all `ranks` ranks, or
/// if the LSA team numbers them in another way; NcclError. Every rank must call it, and only
/// without device_api_problem().
void require_lsa_team(ncclComm_t communicator, int ranks, int rank);

/// Returns where the current device finds the memory of a window of such a team on each rank, by
/// rank; this rank's is another address for what the window was made of. Valid as long as the
/// window is registered. Throws CudaError.
std::vector<void*> lsa_pointers(void* window, int ranks, const gpu::Stream& stream);

}  // namespace linkgain
