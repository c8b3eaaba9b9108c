#include "linkgain/fleet/fleet_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostThreads = 16;

/// A journal that a finished run left nothing of, or whose run goes on.
bool is_lone_journal(const fs::path& path) {
  std::error_code error;
  return path.extension() == ".jsonl" && !fs::exists(path.parent_path() / "record.json", error);
}

void add_below(const fs::path& folder, std::vector<fs::path>& files) {
  const auto options = fs::directory_options::skip_permission_denied;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, options)) {
    std::error_code error;
    if (!entry.is_regular_file(error)) continue;
    if (entry.path().extension() == ".json" || is_lone_journal(entry.path())) {
      files.push_back(entry.path());
    }
  }
}

}  // namespace

std::vector<fs::path> find_fleet_files(const std::vector<fs::path>& named) {
  std::vector<fs::path> files;
  for (const fs::path& path : named) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      add_below(path, files);
    } else if (fs::exists(path, error)) {
      files.push_back(path);
    } else {
      throw UsageError(fmt::format("{} is not there", path.string()),
                       "give records, or directories with records below them");
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::vector<FleetRecord> read_fleet(const std::vector<fs::path>& files, FleetNames& names,
                                    int threads) {
  std::vector<FleetRecord> records(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      records[i] = read_fleet_record(files[i], names);
    }
  };
  const unsigned wanted = threads > 0
                              ? static_cast<unsigned>(threads)
                              : std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < wanted && i < files.size(); ++i) others.emplace_back(work);
  work();
  others.clear();
  return records;
}

}  // namespace linkgain
