#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Numbers for names of cases with a variant, shared by all records of a fleet. May be used by
/// several threads.
class FleetNames {
 public:
  struct Name {
    std::string case_name;
    std::string variant;
  };
  /// Throws UsageError for a case that this version does not know.
  std::uint32_t number_of(std::string_view case_name, std::string_view variant);
  /// Returns the names by number. Not while others still add names.
  const std::vector<Name>& all() const { return names_; }

 private:
  std::shared_mutex mutex_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<Name> names_;
};

/// What the fleet looks at of one case and variant.
struct FleetValue {
  std::uint32_t name = 0;  ///< in FleetNames
  float seconds = 0.0F;    ///< median; 0: no time
  Path path = Path::unknown;
  bool wrong_data = false;
  std::int32_t samples = 0;  ///< whose health is known
  std::int32_t unhealthy_samples = 0;
  std::int32_t launches = 0;  ///< of its case that a ratio is of, else of its own; 0: none is known
  std::int32_t disturbed_samples = 0;   ///< taken while others worked
  bool level_changed = false;           ///< within a launch
  float deviation = 0.0F;               ///< between launches, by pooled_deviations(); 0: not known
  std::int32_t degrees_of_freedom = 0;  ///< of the deviation
  bool operator==(const FleetValue&) const = default;
};

/// What the fleet looks at of one record. Of the machine there are host, processor, software, GPUs
/// and links.
struct FleetRecord {
  std::filesystem::path path;
  std::string problem;             ///< why it cannot be read; the rest is then empty
  bool is_other_document = false;  ///< the problem is that it is no record at all
  std::string started;
  RunStatus status = RunStatus::incomplete;
  bool wrong_path = false;
  bool is_out_of_time = false;   ///< its budget ended before anything was measured
  std::string cause{};           ///< why it is not complete; empty where it does not say that
  int launches = 1;              ///< that were asked for
  bool has_chosen_gpus = false;  ///< it was to run on some of the machine's
  /// Variables that the run's processes had, by name: "Tree"; where variants differ "1 with host".
  std::map<std::string, std::string> variables{};
  std::string program{};  ///< what `linkgain exec` ran; empty of other runs
  /// Times that others were newly seen on its GPUs; absent where nobody looked.
  std::optional<int> neighbours{};
  std::vector<Warning> disturbing{};    ///< the run's warnings that do
  std::vector<CountedErrors> errors{};  ///< of links and GPUs, that were counted during the run
  /// Clock-event reasons of the samples in which a rank's GPU was throttled, by rank.
  std::map<int, std::uint64_t> throttled{};
  Machine machine;
  std::vector<FleetValue> values;
};

/// Returns the host that the record says; where it does not, as of a run whose jobs never started
/// or a file that cannot be read, by its path.
std::string host_of(const FleetRecord& record);

/// Tells whether a run began more than a day after now: some host's clock was wrong. Beside runs
/// that did not it is not the newest.
bool is_in_future(const std::string& started);

FleetRecord fleet_record_of(const Record& record, FleetNames& names);

/// Reads a record or a journal. Never throws for what is in the file: `problem` says what is wrong
/// with it.
FleetRecord read_fleet_record(const std::filesystem::path& path, FleetNames& names);

/// Finds files that may be records, sorted: those named, and of each directory all below it that
/// end in .json, and journals beside which there is no record yet. Links to directories are not
/// followed. A directory below that cannot be read is given itself, so that reading it says why.
/// Throws UsageError where something named is not there.
std::vector<std::filesystem::path> find_fleet_files(
    const std::vector<std::filesystem::path>& named);

/// Reads every file by `threads` threads (0: as many as there are CPUs, 16 at most). A file that
/// cannot be read costs only itself.
std::vector<FleetRecord> read_fleet(const std::vector<std::filesystem::path>& files,
                                    FleetNames& names, int threads = 0);

}  // namespace linkgain
