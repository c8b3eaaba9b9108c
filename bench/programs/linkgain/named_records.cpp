#include "named_records.hpp"

namespace linkgain {

std::vector<NamedRecord> read_named_records(const std::vector<std::filesystem::path>& paths) {
  std::vector<NamedRecord> records;
  for (const std::filesystem::path& path : paths) {
    records.push_back({path.string(), read_record(path)});
  }
  return records;
}

}  // namespace linkgain
