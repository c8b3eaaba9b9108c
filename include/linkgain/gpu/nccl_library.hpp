#pragma once

#include <nccl.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"

namespace linkgain::gpu {

/// NCCL's own functions for what is otherwise sends and receives in one group, from 2.28 on.
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

/// NCCL, opened at run time, so that one program serves every version from 2.19 on. Its functions
/// have the library's own names and, where the header compiled against declares them, its types:
/// ncclAllReduce() is all_reduce(). What older libraries lack is null, which the adapter over it
/// (nccl/api.hpp) turns into a reason. It is closed when this object ends. Move-only.
class NcclLibrary {
  struct Closer {
    void operator()(void* object) const noexcept;
  };

  /// A function's address, as whatever pointer it is to be.
  struct Symbol {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };

  // Before the functions, which are resolved in it.
  std::unique_ptr<void, Closer> object_;
  std::string path_;
  std::string found_by_;
  int version_ = 0;

  Symbol required(const char* name) const;
  Symbol optional(const char* name) const noexcept;

 public:
  /// Opens NCCL: `name` is a file's name or path, as dlopen() takes it; `found_by` what named it.
  /// Throws MachineError where it cannot be opened, lacks a function that every NCCL has, or is
  /// older than 2.19.
  NcclLibrary(const std::string& name, std::string found_by);

  const std::string& path() const noexcept { return path_; }
  const std::string& found_by() const noexcept { return found_by_; }
  int version() const noexcept { return version_; }  ///< NCCL's coding, 22803 for 2.28.3

  decltype(&ncclGetVersion) get_version = required("ncclGetVersion");
  decltype(&ncclGetErrorString) get_error_string = required("ncclGetErrorString");
  decltype(&ncclGetLastError) get_last_error = required("ncclGetLastError");
  decltype(&ncclGetUniqueId) get_unique_id = required("ncclGetUniqueId");
  decltype(&ncclCommInitRankConfig) comm_init_rank_config = required("ncclCommInitRankConfig");
  decltype(&ncclCommDestroy) comm_destroy = required("ncclCommDestroy");
  decltype(&ncclCommAbort) comm_abort = required("ncclCommAbort");
  decltype(&ncclCommUserRank) comm_user_rank = required("ncclCommUserRank");
  decltype(&ncclCommCount) comm_count = required("ncclCommCount");
  decltype(&ncclCommGetAsyncError) comm_get_async_error = required("ncclCommGetAsyncError");
  decltype(&ncclGroupStart) group_start = required("ncclGroupStart");
  decltype(&ncclGroupEnd) group_end = required("ncclGroupEnd");
  decltype(&ncclAllReduce) all_reduce = required("ncclAllReduce");
  decltype(&ncclAllGather) all_gather = required("ncclAllGather");
  decltype(&ncclReduceScatter) reduce_scatter = required("ncclReduceScatter");
  decltype(&ncclBroadcast) broadcast = required("ncclBroadcast");
  decltype(&ncclReduce) reduce = required("ncclReduce");
  decltype(&ncclSend) send = required("ncclSend");
  decltype(&ncclRecv) recv = required("ncclRecv");
  decltype(&ncclRedOpCreatePreMulSum) red_op_create_pre_mul_sum =
      required("ncclRedOpCreatePreMulSum");
  decltype(&ncclRedOpDestroy) red_op_destroy = required("ncclRedOpDestroy");

  decltype(&ncclMemAlloc) mem_alloc = optional("ncclMemAlloc");
  decltype(&ncclMemFree) mem_free = optional("ncclMemFree");
  decltype(&ncclCommRegister) comm_register = optional("ncclCommRegister");
  decltype(&ncclCommDeregister) comm_deregister = optional("ncclCommDeregister");

  // From 2.27 on. Windows are pointers whose type's name changed with the version.
  using WindowRegister = ncclResult_t (*)(ncclComm_t, void* memory, std::size_t bytes,
                                          void** window, int flags);
  using WindowDeregister = ncclResult_t (*)(ncclComm_t, void* window);
  WindowRegister comm_window_register = optional("ncclCommWindowRegister");
  WindowDeregister comm_window_deregister = optional("ncclCommWindowDeregister");

  NcclExchanges exchanges{optional("ncclAlltoAll"), optional("ncclGather"),
                          optional("ncclScatter")};

  // From 2.28 on, the device API's. Called by what was compiled with its structures, in
  // kernels/peer.
  void* dev_comm_create = optional("ncclDevCommCreate").address;
  void* dev_comm_destroy = optional("ncclDevCommDestroy").address;

  /// Has NCCL read its log's settings again. From 2.24 on; on its way out of the API.
  void (*reset_debug_init)() = optional("ncclResetDebugInit");
};

/// Returns the process's NCCL, opened by the first call and never closed, as its threads may still
/// be at work when the process ends: the first of nccl_files() that is one. Thread-safe. Throws
/// MachineError with what was tried where there is none; the next call tries again.
const NcclLibrary& nccl();

/// A file that dlopen() takes, by name or path, and what named it: "LINKGAIN_NCCL", "loader".
struct LibraryFile {
  std::string name;
  std::string found_by;
  bool operator==(const LibraryFile&) const = default;
};

/// Returns files of NCCL in the order in which they are to be tried: LINKGAIN_NCCL alone, a file or
/// a folder, where that is set; else what NCCL_HOME holds, the loader's own search, and Python's
/// wheels. `root` stands for "/" in the system's folders.
std::vector<LibraryFile> nccl_files(const Environment& environment,
                                    const std::filesystem::path& root = "/");

/// Returns files of that name that pip installed into `nvidia/PART/lib` of one of these parts, as
/// in {"nccl"}: those of an active environment, of the one that this program is in, of the python3
/// on PATH, the user's, the system's. The latest of several versions of Python comes first. Python
/// is not started.
std::vector<std::filesystem::path> wheel_files(const Environment& environment,
                                               const std::vector<std::string_view>& parts,
                                               std::string_view name,
                                               const std::filesystem::path& root = "/");

}  // namespace linkgain::gpu
