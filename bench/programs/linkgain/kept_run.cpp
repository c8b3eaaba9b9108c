#include "kept_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/protocol.hpp"
#include "linkgain/run/temporary_folder.hpp"
#include "run_result.hpp"

namespace linkgain {
namespace {

bool contains(const Environment& environment, const std::vector<Variant>& variants,
              std::string_view name) {
  const std::string variable(name);
  return environment.contains(variable) ||
         std::ranges::any_of(variants, [&](const Variant& variant) {
           return variant.environment.contains(variable);
         });
}

/// Where it was written instead; empty where it could not be either.
std::string keep_elsewhere(const Record& record) {
  try {
    const std::filesystem::path file =
        folder_for_temporary_files() /
        fmt::format("linkgain-record-{:08x}.json", std::random_device{}());
    write_file_atomically(file, to_json(record));
    return file.string();
  } catch (const UsageError&) {
    return {};
  }
}

void warn(Record& record, const Warning& warning) {
  record.warnings.push_back(warning);
  print_message(stderr, fmt::format("linkgain: warning: {}\n", warning.text), Seconds{1.0});
  if (record.exit_code < kSignalExitBase) {
    record.exit_code = static_cast<int>(ExitCode::incomplete);
  }
}

}  // namespace

std::vector<Warning> warnings_of_test_variables(const Environment& environment,
                                                const std::vector<Variant>& variants) {
  std::vector<Warning> warnings;
  for (const std::string_view name : protocol::kTestVariables) {
    if (!contains(environment, variants, name)) continue;
    warnings.push_back({"test-variable",
                        fmt::format("{} is set, which is for tests: what was measured need not be "
                                    "what this machine does",
                                    name),
                        fmt::format("unset {} and run again", name)});
  }
  return warnings;
}

void keep(Record& record, const RunDirectory& directory) {
  try {
    write_file_atomically(directory.record(), to_json(record));
  } catch (const UsageError& error) {
    warn(record, {"record-lost", error.what(), error.advice()});
    const std::string file = keep_elsewhere(record);
    if (!file.empty()) warn(record, {"record-elsewhere", "the record is in " + file, {}});
    return;
  }
  std::error_code none;
  std::filesystem::remove(directory.journal(), none);  // readers would take the run for unfinished
  try {
    write_file_atomically(directory.report(), markdown_of(record));
  } catch (const UsageError& error) {
    warn(record, {"report-lost", error.what(), error.advice()});
  }
}

int print_kept(const Record& record, std::optional<SignalWatch>& watch,
               const std::function<void()>& print) {
  watch.reset();
  std::signal(SIGPIPE, SIG_IGN);  // what was not printed is told
  return with_output_in_full([&] {
    print();
    return record.exit_code;
  });
}

}  // namespace linkgain
