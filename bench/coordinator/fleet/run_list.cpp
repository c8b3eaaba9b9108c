#include "linkgain/fleet/run_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>
#include <tuple>
#include <utility>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/fleet/fleet_record.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record_json.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kLongestLabel = 64;

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= kLongestLabel && is_letter_or_digit(text.front()) &&
         std::ranges::all_of(text, [](char c) {
           return is_letter_or_digit(c) || std::string_view("._+=-").find(c) != std::string::npos;
         });
}

constexpr std::string_view kUnreadable = "unreadable";

/// Says why a run that has nothing to compare has not.
std::string reason_of(const Record& record) {
  if (record.status == RunStatus::interrupted) return "stopped";
  return record.status == RunStatus::complete ? "no ratio" : "failed";
}

/// Says "12.3x all_reduce 1 GiB" of NVLink or P2P, "new 1.68x as long, send_recv 64 KiB" of another
/// variant.
std::string result_text(const CaseSummary& each, const Comparison& comparison) {
  const std::string label = answer_label(each.definition());
  if (each.contrast != Contrast::variant) {
    return fmt::format("{} {}", readable_ratio(*comparison.ratio).estimate, label);
  }
  return fmt::format("{} {}, {}", comparison.other->variant,
                     spoken_ratio(inverse_of(*comparison.ratio)).words, label);
}

/// Says in a word what a comparison without a change shows. Variants are the same where the whole
/// interval lies within the precision that was asked for.
std::string no_change_text(const Record& record, const CaseSummary& each,
                           const Comparison& comparison) {
  using enum WarningCode;
  for (const auto& [code, words] :
       {std::pair(same_path, "not switched"), std::pair(exec_no_change, "not switched"),
        std::pair(exec_container, "variables lost")}) {
    if (std::ranges::count(record.warnings, name_of(code), &Warning::code) > 0) return words;
  }
  if (comparison.verdict != Verdict::same) return std::string(name_of(comparison.verdict));
  const double least = 1.0 / (1.0 + precision_of(record.settings, each.definition()));
  const auto& interval = comparison.ratio->interval;
  const bool is_within = interval && interval->low >= least && interval->high <= 1.0 / least;
  return std::string(name_of(is_within ? Verdict::same : Verdict::inconclusive));
}

/// Fills in result_text() of what changed most, or why nothing is shown to have changed.
void add_result(const Record& record, ListedRun& run) {
  const RunSummary summary(record);
  const Answer answer = answer_of(summary);
  const Comparison* const comparison = answer.comparison();
  if (std::ranges::any_of(summary.cases, &CaseSummary::has_wrong_data)) {
    run.no_result = "wrong data";
  } else if (has_warning(record, ExitCode::wrong_path)) {
    run.no_result = "wrong path";
  } else if (comparison == nullptr) {
    run.no_result = record.status == RunStatus::unfinished ? "no ratio yet" : reason_of(record);
  } else if (!is_change(comparison->verdict)) {
    run.no_result =
        summary.tuning ? "nothing to gain" : no_change_text(record, *answer.main(), *comparison);
  } else {
    run.result = result_text(*answer.main(), *comparison);
  }
}

/// Lists a record, a journal, or a folder that may not be read.
ListedRun listed(const std::filesystem::path& file) {
  ListedRun run;
  std::error_code error;
  run.path = std::filesystem::is_directory(file, error) ? file : file.parent_path();
  try {
    Record record = read_record(file);
    judge(record);
    run.started = record.started;
    run.label = record.settings.label;
    run.machine = fmt::format("{}, {}", record.machine.host, describe_ranks(record.machine));
    run.profile = record.settings.profile;
    run.cases.reset();
    if (record.status != RunStatus::unfinished) run.cases = static_cast<int>(record.cases.size());
    run.measured = static_cast<int>(std::ranges::count_if(
        record.cases, [](const CaseResult& result) { return !result.samples.empty(); }));
    run.status = ending_of(record);
    run.disturbed_by = disturbed_by(record.warnings);
    add_result(record, run);
  } catch (const json::OtherVersion&) {
    run.status = kUnreadable;
    run.no_result = "other version";
  } catch (const UsageError&) {
    run.status = kUnreadable;
    const bool is_file = !std::filesystem::is_directory(file, error);
    const bool may_read = ::eaccess(file.c_str(), R_OK) == 0;
    run.no_result = is_file && may_read ? "damaged" : "no access";
  }
  return run;
}

std::string when(const ListedRun& run) {
  std::string text = run.started.substr(0, std::string_view("2026-11-20T16:40").size());
  std::ranges::replace(text, 'T', ' ');
  return run.is_in_future ? text + " (future)" : text;
}

std::string count_of(const ListedRun& run) {
  if (!run.cases) return fmt::format("{} measured", run.measured);
  return run.measured == run.cases ? fmt::to_string(run.measured)
                                   : fmt::format("{} of {}", run.measured, *run.cases);
}

Tone tone_of(const ListedRun& run) {
  if (run.status == name_of(RunStatus::complete)) {
    return run.disturbed_by.empty() ? Tone::plain : Tone::doubtful;
  }
  const std::array doubtful{name_of(RunStatus::unfinished), kEndedByBudget,
                            name_of(RunStatus::interrupted)};
  const bool is_doubtful = std::ranges::find(doubtful, run.status) != doubtful.end();
  return is_doubtful ? Tone::doubtful : Tone::bad;
}

}  // namespace

std::vector<ListedRun> list_runs(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw UsageError(fmt::format("there is no folder {}", folder.string()),
                     "name the one with the runs: linkgain list FOLDER");
  }
  std::vector<ListedRun> runs;
  for (const std::filesystem::path& file : find_fleet_files({folder})) {
    const bool is_run = file.filename() == "record.json" || file.filename() == "journal.jsonl";
    if (is_run || std::filesystem::is_directory(file, error)) runs.push_back(listed(file));
  }
  const bool has_others = std::ranges::any_of(runs, [](const ListedRun& run) {
    return !run.started.empty() && !is_in_future(run.started);
  });
  for (ListedRun& run : runs) run.is_in_future = has_others && is_in_future(run.started);
  std::ranges::stable_sort(runs, std::greater<>(), [](const ListedRun& run) {
    return std::tuple(!run.started.empty(), !run.is_in_future, std::string_view(run.started));
  });
  return runs;
}

ExitCode exit_code_of(const std::vector<ListedRun>& runs) {
  const auto unreadable = std::ranges::count(runs, kUnreadable, &ListedRun::status);
  if (unreadable == 0) return ExitCode::success;
  return unreadable == std::ssize(runs) ? ExitCode::usage : ExitCode::problem_found;
}

std::filesystem::path latest_run(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) {
    const std::vector<ListedRun> runs = list_runs(folder);
    if (!runs.empty() && !runs.front().started.empty()) return runs.front().path;
  }
  throw UsageError(fmt::format("there is no run in {}/ of the current folder", folder.string()),
                   "name a record: linkgain report RECORD");
}

std::string parse_label(const std::string& text) {
  if (is_label(text)) return text;
  throw UsageError(
      fmt::format("--label '{}' is no label: take 1 to {} letters, digits and . _ + = -, a letter "
                  "or digit first",
                  text, kLongestLabel));
}

namespace {

/// Throws UsageError for a folder that has no run itself, but others below it.
void require_one_run(const std::filesystem::path& named) {
  std::error_code error;
  const auto has = [&](const char* file) { return std::filesystem::exists(named / file, error); };
  if (!std::filesystem::is_directory(named, error) || has("record.json") || has("journal.jsonl")) {
    return;
  }
  const std::vector<ListedRun> runs = list_runs(named);
  if (runs.empty() || runs.front().started.empty()) return;
  std::vector<std::string> names;
  for (const ListedRun& run : runs) {
    names.push_back(visible(run.path.lexically_relative(named).string()));
  }
  const std::string newest = runs.front().path.string();
  throw UsageError(fmt::format("{} is no run: it holds {}: {}", named.string(),
                               counted(std::ssize(runs), "run", "runs"), first_named(names)),
                   runs.size() == 1 ? fmt::format("name it: {}", newest)
                                    : fmt::format("name one, as {}; `linkgain list {}` shows all",
                                                  newest, named.string()));
}

}  // namespace

std::filesystem::path find_run(const std::filesystem::path& named,
                               const std::filesystem::path& folder) {
  const std::string label = named.string();
  std::error_code error;
  if (label.empty()) return named;
  const bool is_here = std::filesystem::exists(named, error);
  if (is_here || std::filesystem::is_directory(folder / named, error)) {
    const std::filesystem::path found = is_here ? named : folder / named;
    require_one_run(found);
    return found;
  }
  const bool may_be_one =
      is_label(label) && named.extension() != ".json" && named.extension() != ".jsonl";
  if (!may_be_one) return named;
  std::vector<std::string> paths;
  std::vector<std::string> labels;
  if (std::filesystem::is_directory(folder, error)) {
    for (const ListedRun& run : list_runs(folder)) {
      if (run.label == label) paths.push_back(run.path.string());
      if (!run.label.empty()) labels.push_back(run.label);
    }
  }
  if (paths.size() == 1) return paths.front();
  if (paths.size() > 1) {
    throw UsageError(
        fmt::format("{} runs have the label {}: {}", paths.size(), label, fmt::join(paths, ", ")),
        "name the directory of the one that is meant");
  }
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  throw UsageError(fmt::format("'{}' is neither a file nor the folder or label of a run in {}",
                               label, folder.string()),
                   labels.empty() ? "no run there has one: linkgain run --label NAME gives it"
                                  : fmt::format("labels there: {}", fmt::join(labels, ", ")));
}

Table run_list(const std::vector<ListedRun>& runs, const std::filesystem::path& folder) {
  Table table({{.title = "Run in " + folder.string(), .too_long = Table::TooLong::cut},
               {.title = "When (UTC)", .leave_out = 4},
               {.title = "Label", .needs_values = true, .leave_out = 5},
               {.title = "Machine", .leave_out = 3},
               {.title = "Profile", .leave_out = 2},
               {.title = "Cases", .alignment = kRight, .leave_out = 1},
               {.title = "Status", .leave_out = 6},
               {.title = "Result", .needs_values = true, .too_long = Table::TooLong::cut}});
  for (const ListedRun& run : runs) {
    table.add_row(
        {visible(run.path.lexically_relative(folder).string()), when(run), run.label, run.machine,
         run.profile, count_of(run),
         toned(run.status + (run.disturbed_by.empty() ? "" : ", disturbed"), tone_of(run)),
         run.result.empty() ? run.no_result : run.result});
  }
  return table;
}

std::string run_list_csv(const std::vector<ListedRun>& runs) {
  std::string text =
      "started,label,machine,profile,cases,measured,status,path,result,no_result,disturbed_by\n";
  for (const ListedRun& run : runs) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(run.started),
                        csv_field(run.label), csv_field(run.machine), csv_field(run.profile),
                        run.cases ? fmt::to_string(*run.cases) : "", run.measured, run.status,
                        csv_field(run.path.string()), csv_field(run.result), run.no_result,
                        run.disturbed_by);
  }
  return text;
}

std::string run_list_json(const std::vector<ListedRun>& runs) {
  const auto write = [](const ListedRun& run) {
    return json::Out{{"started", run.started},
                     {"label", run.label},
                     {"machine", run.machine},
                     {"profile", run.profile},
                     {"cases", json::nullable(run.cases)},
                     {"measured", run.measured},
                     {"status", run.status},
                     {"path", run.path.string()},
                     {"result", run.result},
                     {"no_result", run.no_result},
                     {"disturbed_by", run.disturbed_by}};
  };
  return json::document_text(
      {{"schema", "linkgain.runs/1"}, {"runs", json::array_of(runs, write)}});
}

}  // namespace linkgain
