#include "run_result.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/temporary_folder.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/html/run_page.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/recorded_variables.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/screen/screen.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "linkgain/tuning/tuning_report.hpp"
#include "subcommand.hpp"

namespace linkgain {
namespace {

/// Returns whether a variable is set to more than an empty text, which is as good as nothing.
bool is_set(std::string_view name, const Environment& environment) {
  const auto found = environment.find(std::string(name));
  return found != environment.end() && !found->second.empty();
}

/// Writes the record elsewhere; returns where, empty where it could not be either.
std::string keep_elsewhere(const Record& record) {
  try {
    const std::filesystem::path file =
        folder_for_temporary_files() /
        fmt::format("linkgain-record-{:08x}.json", std::random_device{}());
    write_file_atomically(file, to_json(record), Existing::kept);
    return file.string();
  } catch (const UsageError&) {
    return {};
  }
}

void warn(Record& record, const Warning& warning) {
  record.warnings.push_back(warning);
  print_message(stderr, fmt::format("linkgain: warning: {}\n", visible(warning.text)),
                Seconds{1.0});
  if (record.exit_code < kSignalExitBase) {
    record.exit_code = static_cast<int>(ExitCode::incomplete);
  }
}

/// Returns whether this program reads it again: what a job said that it cannot have measured must
/// not pass for a result.
bool is_readable(Record& record, const std::string& text, const std::string& origin) {
  try {
    parse_record(text, origin);
    return true;
  } catch (const UsageError& error) {
    warn(record, warning_of(WarningCode::record_refused, error.what()));
    return false;
  }
}

/// Keeps the record and returns where it can be read: in the run's folder, in a file elsewhere, or,
/// empty, nowhere.
std::filesystem::path keep_record(Record& record, RunDirectory& directory) {
  const std::string text = to_json(record);
  try {
    directory.write(RunDirectory::kRecord, text);
  } catch (const UsageError& error) {
    warn(record, {name_of(WarningCode::record_lost), error.what(), error.advice()});
    const std::string file = keep_elsewhere(record);
    if (!file.empty())
      warn(record, {name_of(WarningCode::record_elsewhere), "the record is in " + file, {}});
    return file;
  }
  const std::filesystem::path kept = directory.path();
  // Readers would take the run for unfinished, which is right where its record is none.
  if (is_readable(record, text, kept / RunDirectory::kRecord)) directory.remove_journal();
  return kept;
}

/// Returns whether the page was written, too.
bool keep_report(Record& record, const RunSummary& summary, RunDirectory& directory) {
  try {
    directory.write(RunDirectory::kReport, to_markdown(run_report(summary)));
    directory.write(RunDirectory::kPage, run_page(summary));
    if (const std::string tuner = tuner_file(summary); !tuner.empty()) {
      directory.write(RunDirectory::kTuner, tuner);
    }
    return true;
  } catch (const UsageError& error) {
    warn(record, {name_of(WarningCode::report_lost), error.what(), error.advice()});
    try {
      directory.write(RunDirectory::kRecord, to_json(record));
    } catch (const UsageError&) {
      // The one before stands.
    }
    return false;
  }
}

}  // namespace

LogFile open_log(RunDirectory& directory) {
  const int file = open_to_write(directory.log(), WriteMode::append);
  return LogFile(file < 0 ? nullptr : ::fdopen(file, "a"));
}

RunDirectory begin_in(const std::filesystem::path& folder, std::string_view logs) {
  RunDirectory directory = RunDirectory::begin(folder, logs);
  if (!directory.set_aside().empty()) {
    constexpr std::string_view kBegin = "linkgain: ";
    const std::size_t columns = std::max(terminal_columns(STDERR_FILENO), kBegin.size() + 40);
    std::string text;
    for (const std::string& line :
         wrapped(visible(directory.set_aside()), columns - kBegin.size())) {
      text += fmt::format("{}{}\n", text.empty() ? kBegin : "          ", line);
    }
    print_message(stderr, text, Seconds{1.0});
  }
  return directory;
}

std::vector<Warning> warnings_of_test_variables(const Environment& environment,
                                                const std::vector<Variant>& variants) {
  std::vector<Warning> warnings;
  for (const std::string_view name : kTestVariables) {
    const bool by_variant = std::ranges::any_of(
        variants, [&](const Variant& each) { return is_set(name, each.environment); });
    if (!by_variant && !is_set(name, environment)) continue;
    warnings.push_back({name_of(WarningCode::test_variable),
                        fmt::format("{} is set, which is for tests: what was measured need not be "
                                    "what this machine does",
                                    name),
                        fmt::format("unset {} and run again", name)});
  }
  return warnings;
}

int keep_and_print(Record& record, RunDirectory& directory, ResultStyle style,
                   std::optional<SignalWatch>& watch) {
  const RunSummary summary(record);
  record.answer = recorded_answer(summary);
  const std::filesystem::path kept = keep_record(record, directory);
  const bool has_page = kept == directory.path() && keep_report(record, summary, directory);
  watch.reset();
  std::signal(SIGPIPE, SIG_IGN);  // what was not printed is told
  return with_output_in_full([&] {
    if (style.json) {
      fmt::print("{}", to_json_without_samples(record));
    } else {
      std::string footer = fmt::format("Details: linkgain report {}",
                                       shown_path(kept.empty() ? directory.path() : kept));
      if (has_page) footer += "\nPage: " + shown_path(directory.path() / RunDirectory::kPage);
      fmt::print("\n{}", screen(summary, footer, screen_style(style.color), style.told));
    }
    return record.exit_code;
  });
}

}  // namespace linkgain
