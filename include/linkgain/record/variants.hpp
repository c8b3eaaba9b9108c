#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/cases/backend.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// What a variant's variables depend on.
struct VariantContext {
  BackendKind backend = BackendKind::nccl;
  std::string nccl_version;    ///< from 2.28.7 on there is NCCL_WIN_ENABLE
  bool several_hosts = false;  ///< the ranks are on more than one
  std::string library_path{};  ///< the caller's LD_LIBRARY_PATH
};

/// The variants a backend knows by name. nccl: p2p (nothing forced), host, p2p-sys, net;
/// mpi: shared-memory, tcp. With several hosts MPI's ranks talk TCP from host to host in both, over
/// whatever interfaces Open MPI chooses; on one, tcp is over its loopback interface.
std::vector<Variant> built_in_variants(const VariantContext& context);

/// Whether this NCCL has symmetric windows that NCCL_WIN_ENABLE=0, and not NCCL_P2P_DISABLE=1,
/// keeps off NVLink: 2.28.7 and later.
bool has_window_switch(std::string_view nccl_version);

/// Whether this NCCL can be told within a process to log more or less (ncclResetDebugInit): 2.24
/// and later.
bool has_log_switch(std::string_view nccl_version);

/// The two that are compared when nothing is asked for: p2p and host, shared-memory and tcp.
std::vector<Variant> default_variants(const VariantContext& context);

/// A built-in name, or `name:VARIABLE=value,VARIABLE=value` (a part without `=` continues the value
/// before it, so values may hold commas). `nccl=PATH` and `worker=PATH` among them are no variables
/// but Variant::nccl and ::worker, as they stand: resolve_variant() looks for the files. A built-in
/// one may have these two as well; another takes its variables by its name in the first place
/// (`new-host:host,nccl=PATH`). Throws UsageError.
Variant parse_variant(std::string_view text, const VariantContext& context);

/// Whether one has an NCCL library or a worker of its own.
bool has_own_software(const std::vector<Variant>& variants);

/// Throws UsageError on fewer than one variant, or on two of one name.
void require_distinct(const std::vector<Variant>& variants);

}  // namespace linkgain
