#include "linkgain/base/own_outputs.hpp"

#include <fmt/format.h>

#include <system_error>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

bool are_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code error;
  if (std::filesystem::equivalent(one, other, error)) return true;
  const auto resolved = [](const std::filesystem::path& path) {
    std::error_code unknown;
    const std::filesystem::path whole = std::filesystem::absolute(path, unknown);
    const std::filesystem::path found = std::filesystem::weakly_canonical(whole, unknown);
    return unknown ? whole.lexically_normal() : found;
  };
  return resolved(one) == resolved(other);
}

}  // namespace

void require_own_outputs(const std::vector<NamedFile>& inputs,
                         const std::vector<NamedFile>& outputs) {
  std::vector<NamedFile> others = inputs;
  for (const NamedFile& output : outputs) {
    if (!output.path) continue;
    for (const NamedFile& other : others) {
      if (!other.path || !are_same_file(*output.path, *other.path)) continue;
      throw UsageError(fmt::format("{} {} and {} {} are the same file", other.name,
                                   other.path->string(), output.name, output.path->string()));
    }
    others.push_back(output);
  }
}

}  // namespace linkgain
