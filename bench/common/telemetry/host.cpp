#include "linkgain/telemetry/host.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <system_error>

#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

/// The value of the first line "key<blanks>: value" of a /proc file.
std::optional<std::string> field_of(const char* file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return std::nullopt;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

Machine describe_host() {
  Machine machine;
  machine.host = host_name();
  utsname kernel{};
  if (::uname(&kernel) == 0) machine.kernel = std::string(kernel.sysname) + " " + kernel.release;
  machine.processor = field_of("/proc/cpuinfo", "model name").value_or("unknown");
  machine.processors = usable_processors();
  return machine;
}

bool is_executable(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::filesystem::path> find_program(std::string_view name,
                                                  const Environment& environment) {
  const auto path = environment.find("PATH");
  const std::string folders = path != environment.end() ? path->second : "/bin:/usr/bin";
  for (const std::string& folder : split(folders, ':')) {
    const auto candidate = std::filesystem::path(folder.empty() ? "." : folder) / name;
    if (is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::optional<std::int64_t> available_memory() {
  const auto text = field_of("/proc/meminfo", "MemAvailable");
  if (!text) return std::nullopt;
  return std::stoll(*text) * 1024;
}

std::optional<std::int64_t> last_level_cache() {
  std::optional<std::int64_t> largest;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::string text;
    if (!(file >> text)) break;
    largest = std::max(largest.value_or(0), parse_bytes(text).value);
  }
  return largest;
}

std::string utc_now(bool compact) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), compact ? "%Y%m%dT%H%M%SZ" : "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace linkgain
