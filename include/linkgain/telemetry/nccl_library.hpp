#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "linkgain/record/variants.hpp"

namespace linkgain {

/// "2.28.9+cuda13.0", as a library's file holds it; empty where it does not in its first 64 MiB.
std::string nccl_version_of(const std::filesystem::path& file);

/// The library that a path names, without symbolic links: of a file it is that one, of a folder the
/// libnccl.so.2 in it, in its lib, or where the folder of a wheel has it (nvidia/nccl/lib). Throws
/// UsageError where there is none that a program would find: one that asks for NCCL looks for a
/// file called libnccl.so.2.
std::filesystem::path find_nccl_library(const std::filesystem::path& path);

/// parse_variant() with the files looked for that the variant names: Variant::nccl and ::worker are
/// absolute then. A library's folder is the first of LD_LIBRARY_PATH, and a built-in variant's
/// variables are those for the library's version. Throws UsageError for what is not there, or not
/// meant: a library for MPI.
Variant resolve_variant(std::string_view text, const VariantContext& context);

/// What to do where another library was loaded than a variant's own.
inline constexpr const char* kNotReplacedAdvice =
    "an RPATH, LD_PRELOAD or an import by its full path comes before LD_LIBRARY_PATH; with "
    "LD_PRELOAD=PATH the variant's library comes first";

}  // namespace linkgain
