#include "linkgain/formats/textfile.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/tables/prometheus.hpp"

namespace linkgain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".prom";

bool has_metrics(const fs::path& file, std::string_view metrics) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  const std::string text = "\n" + read_regular_file(file, kMostBytes).value_or("");
  return text.find(fmt::format("\n{}", metrics)) != std::string::npos;
}

}  // namespace

void require_textfile(const std::optional<fs::path>& file, std::string_view metrics) {
  if (!file) return;
  if (file->extension() != kEnding) {
    throw UsageError(fmt::format("--prometheus {}: node_exporter reads files that end in {} alone",
                                 file->string(), kEnding),
                     fmt::format("name it {}{}", file->string(), kEnding));
  }
  const fs::path folder = file->has_parent_path() ? file->parent_path() : fs::path(".");
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& other = entry->path();
    if (other.filename() == file->filename() || other.extension() != kEnding) continue;
    if (!has_metrics(other, metrics)) continue;
    throw UsageError(fmt::format("--prometheus {}: {} has the same series, and node_exporter takes "
                                 "none that comes twice",
                                 file->string(), other.string()),
                     "write over that file, remove it, or take another folder");
  }
}

void write_textfile(const fs::path& file, std::string_view text) {
  struct OpenMask {
    mode_t before = ::umask(022);
    ~OpenMask() { ::umask(before); }
  } mask;
  write_own_file(file, kPrometheusFile, text);
}

}  // namespace linkgain
