#include "linkgain/base/own_outputs.hpp"

#include <fmt/format.h>

#include <string>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/reading.hpp"
#include "linkgain/base/regular_file.hpp"

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

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view why,
                         std::string_view advice) {
  throw UsageError(fmt::format("cannot write {}: {}", path.string(), why), std::string(advice));
}

}  // namespace

void require_own_file(const std::filesystem::path& path, const FileKind& kind) {
  constexpr std::string_view kOther = "name another file";
  using enum std::filesystem::file_type;
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::symlink_status(path, error);
  if (found.type() == not_found) return;
  if (found.type() == symlink) refuse(path, "it is a link", "name the file itself");
  if (found.type() == directory) refuse(path, "it is a folder", kOther);
  if (found.type() != regular) refuse(path, "it is no regular file", kOther);
  constexpr auto kWrite = std::filesystem::perms::owner_write |
                          std::filesystem::perms::group_write |
                          std::filesystem::perms::others_write;
  if ((found.permissions() & kWrite) == std::filesystem::perms::none) {
    refuse(path, "it is read-only", kOther);
  }
  const Reading<std::string> text = read_regular_file(path);
  if (!text.measured()) refuse(path, text.reason(), kOther);
  if (kind.is_written_by_us(text.value())) return;
  refuse(path, fmt::format("it is there and is not {} by linkgain", kind.name),
         "remove it, or name another file");
}

void write_own_file(const std::filesystem::path& path, const FileKind& kind,
                    std::string_view text) {
  require_own_file(path, kind);
  std::error_code unknown;
  const bool is_there = std::filesystem::exists(path, unknown);
  write_file_atomically(path, text, is_there ? Existing::replaced : Existing::kept);
}

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
  for (const NamedFile& output : outputs) {
    if (output.path && output.kind != nullptr) require_own_file(*output.path, *output.kind);
  }
}

}  // namespace linkgain
