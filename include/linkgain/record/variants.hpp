#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/cases/backend.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// What a variant's variables depend on.
struct VariantContext {
  BackendKind backend = BackendKind::nccl;
  bool several_hosts = false;  ///< the ranks are on more than one
};

/// Lists the variants that a backend knows by name. nccl: p2p (nothing forced), host, p2p-sys, net;
/// exec: these and no-p2p, which has programs load a library that refuses peer access;
/// mpi: shared-memory, tcp. With several hosts MPI's ranks talk TCP from host to host in both, over
/// whatever interfaces Open MPI chooses; on one, tcp is over its loopback interface.
std::vector<Variant> built_in_variants(const VariantContext& context);

/// Reads "2.28.7" and "2.28.7+cuda13.0" as 22807, NCCL's own encoding; absent where the text is no
/// version.
std::optional<int> nccl_version_code(std::string_view version);

/// Returns whether this NCCL has symmetric windows that NCCL_WIN_ENABLE=0, and not
/// NCCL_P2P_DISABLE=1, keeps off NVLink: 2.28.7 and later.
bool has_window_switch(std::string_view nccl_version);

/// Returns whether this NCCL can be told within a process to log more or less (ncclResetDebugInit):
/// 2.24 and later.
bool has_log_switch(std::string_view nccl_version);

/// Returns the two that are compared when nothing is asked for: p2p and host, shared-memory and
/// tcp.
std::vector<Variant> default_variants(const VariantContext& context);

/// Parses a built-in name, or `name:VARIABLE=value,VARIABLE=value` (a part without `=` continues
/// the value before it, so values may hold commas), or `name:` for one that sets nothing. A part
/// `-VARIABLE`, in capitals, takes the caller's variable away, or that of the built-in variant.
/// `nccl=PATH` and `worker=PATH` among them are no variables but Variant::nccl and ::worker, as
/// they stand. A built-in variant may have these two as well; one of the user's takes the variables
/// of a built-in one that it names in the first place (`mine:host,nccl=PATH`). Throws UsageError.
Variant parse_variant(std::string_view text, const VariantContext& context);

/// Returns the variant with its files looked for. `nccl`, a file, its folder or that of a wheel,
/// becomes the file without links: workers open it by LINKGAIN_NCCL, programs (BackendKind::exec)
/// by its folder in LD_LIBRARY_PATH. With several hosts it may be missing here. Programs get the
/// library of no-p2p by its path, before what LD_PRELOAD names already. `worker` becomes
/// the program. Throws UsageError for what is not there, or goes with another backend.
Variant with_files(Variant variant, const VariantContext& context);

/// Returns "2.28.9+cuda13.0 (built with 2.28.3), /opt/nccl/libnccl.so.2 (LINKGAIN_NCCL)": what
/// there is of it, the header's version where it is another one.
std::string nccl_text(const Software& software);

/// Returns whether variants used other libraries, so that the machine's does not stand for all.
bool nccl_differs(const Settings& settings);

/// Returns whether a variant has a linkgain-bench of its own.
bool worker_differs(const Settings& settings);

/// Throws UsageError on fewer than one variant, more than 16, or two of one name.
void require_distinct(const std::vector<Variant>& variants);

}  // namespace linkgain
