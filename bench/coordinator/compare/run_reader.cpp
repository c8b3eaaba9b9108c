#include "linkgain/compare/run_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foreign_runs.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/base/visible_text.hpp"
#include "linkgain/compare/machine_changes.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

void require_alike(const RunFigures& first, const RunFigures& other) {
  const std::vector<Change> changes = changes_between(first, other);
  if (changes.empty()) return;
  std::vector<std::string> texts;
  for (const Change& change : changes) {
    texts.push_back(fmt::format("{}: {} → {}", change.what, change.before, change.after));
  }
  throw UsageError(
      fmt::format("{} and {} are not launches of one program on one machine: {}", first.name,
                  other.name, fmt::join(texts, "; ")),
      "give runs that are to be compared as words of their own, and as one side what is alike");
}

std::optional<double> larger(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

/// `own` is of the file `name`, the launch of this number.
void add_launch(CaseFigures& merged, const CaseFigures& own, const std::string& name, int launch) {
  if (merged.no_time.empty() && !own.no_time.empty()) {
    merged.no_time = fmt::format("{} in {}", own.no_time, name);
  }
  if (!own.no_time.empty() || !own.time) return;
  merged.launches.push_back({launch, *own.time});
  merged.sample_error = larger(merged.sample_error, own.sample_error);
  if (merged.time) return;
  merged.time = own.time;
  merged.algbw = own.algbw;
  merged.busbw = own.busbw;
}

/// Until now the first launch's, at whose time its bandwidths are.
void set_mean_time(CaseFigures& merged) {
  if (!merged.no_time.empty() || merged.launches.empty()) {
    merged.time.reset();
    merged.launches.clear();
    return;
  }
  set_time_by_launches(merged);
}

CaseFigures& entry_of(std::vector<CaseFigures>& cases, const CaseFigures& own) {
  const auto known = std::find_if(cases.begin(), cases.end(), [&](const CaseFigures& each) {
    return each.name == own.name && each.variant == own.variant;
  });
  if (known != cases.end()) return *known;
  CaseFigures& added = cases.emplace_back();
  added.name = own.name;
  added.definition = own.definition;
  added.variant = own.variant;
  return added;
}

/// Files that one program wrote, as one run of as many launches, in their order: cases by name and
/// variant, machine and settings of the first. A case that failed in one of them has no time.
/// Throws UsageError where machine or settings of two differ, naming what.
RunFigures merge_launches(const std::vector<RunFigures>& files, const std::string& name) {
  RunFigures merged = files.at(0);
  merged.name = name;
  merged.cases.clear();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i > 0) require_alike(files.front(), files[i]);
    for (const CaseFigures& own : files[i].cases) {
      add_launch(entry_of(merged.cases, own), own, files[i].name, static_cast<int>(i));
    }
  }
  for (CaseFigures& figures : merged.cases) set_mean_time(figures);
  return merged;
}

namespace fs = std::filesystem;

constexpr const char* kWhatToGive =
    "give a record.json or the directory of a run, JSON of linkgain-bench or of "
    "nccl-tests' -J: a file, several with commas between them, or a directory of them";

/// Whose document it is; absent where it is nobody's that is known.
std::optional<RunSource> source_of(const nlohmann::json& document) {
  if (!document.is_object()) return std::nullopt;
  if (document.contains("schema")) return RunSource::record;
  if (document.contains("benchmarks") && document.contains("context") &&
      document["context"].contains("linkgain")) {
    return RunSource::google_benchmark;
  }
  if (document.contains("results") && document.contains("config") && document.contains("args")) {
    return RunSource::nccl_tests;
  }
  return std::nullopt;
}

nlohmann::json parse_document(std::string_view text, const std::string& name) {
  try {
    return json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw UsageError(fmt::format("{}: not JSON, from byte {} on", name, error.byte), kWhatToGive);
  } catch (const nlohmann::json::exception& error) {  // as of a number that is out of range
    throw UsageError(fmt::format("{}: {}", name, error.what()), kWhatToGive);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", name, error.what()), kWhatToGive);
  }
}

RunFigures read_foreign(const nlohmann::json& document, RunSource source, const std::string& name) {
  try {
    return source == RunSource::google_benchmark ? read_google_benchmark(document, name)
                                                 : read_nccl_tests(document, name);
  } catch (const nlohmann::json::exception& error) {
    throw UsageError(fmt::format("{}: not a document of {} as known here: {}", name,
                                 name_of(source), error.what()),
                     kWhatToGive);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", name, error.what()), error.advice());
  }
}

}  // namespace

namespace {

/// What its samples give is taken from these.
RunFigures figures_of_record(Record record, const std::string& name) {
  summarise(record);
  return figures_of(record, name);
}

}  // namespace

RunFigures parse_run(std::string_view text, const std::string& name) {
  if (text.starts_with("{\"head\"")) return figures_of_record(parse_journal(text, name), name);
  const nlohmann::json document = parse_document(text, name);
  const std::optional<RunSource> source = source_of(document);
  if (!source) {
    throw UsageError(fmt::format("{}: neither a record nor a document of another program that is "
                                 "known here",
                                 name),
                     kWhatToGive);
  }
  if (*source == RunSource::record) return figures_of_record(parse_record(text, name), name);
  return read_foreign(document, *source, name);
}

namespace {

RunFigures read_file(const fs::path& path) {
  const Reading<std::string> text = read_regular_file(path);
  if (!text.measured()) {
    throw UsageError(fmt::format("cannot read {}: {}", path.string(), text.reason()), kWhatToGive);
  }
  return parse_run(text.value(), path.string());
}

/// By name.
std::vector<fs::path> documents_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (entry->is_regular_file(gone) && entry->path().extension() == ".json") {
      files.push_back(entry->path());
    }
  }
  if (error) {
    throw UsageError(fmt::format("cannot read {}: {}", folder.string(), error.message()),
                     kWhatToGive);
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Each file a launch. What a run of linkgain's says of health and paths is its own: records are
/// not merged.
RunFigures read_launches(const std::vector<fs::path>& files, const std::string& name) {
  std::vector<RunFigures> runs;
  std::set<fs::path> known;
  for (const fs::path& file : files) {
    runs.push_back(read_file(file));
    if (runs.back().source == RunSource::record) {
      throw UsageError(fmt::format("{}: a record is a side of its own", runs.back().name),
                       "several files make one side where another program wrote them; several "
                       "launches of linkgain's are one record: linkgain run --launches 8");
    }
    std::error_code gone;
    const fs::path same = fs::canonical(file, gone);
    if (!known.insert(gone ? file : same).second) {
      throw UsageError(fmt::format("{} is given twice as a launch", runs.back().name),
                       "each launch counts once");
    }
  }
  return runs.size() == 1 ? std::move(runs.front()) : merge_launches(runs, name);
}

}  // namespace

RunFigures read_run(const std::filesystem::path& path) {
  const std::string name = visible(path.string());
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) {
    const bool own =
        fs::exists(path / "record.json", unknown) || fs::exists(path / "journal.jsonl", unknown);
    const std::vector<fs::path> files = own ? std::vector<fs::path>{} : documents_in(path);
    return files.empty() ? figures_of_record(read_record(path), name) : read_launches(files, name);
  }
  if (path.string().find(',') == std::string::npos || fs::exists(path, unknown)) {
    return read_file(path);
  }
  std::vector<fs::path> files;
  for (const std::string& each : split(path.string(), ',')) files.emplace_back(each);
  return read_launches(files,
                       fmt::format("{} and {} more", files.front().string(), files.size() - 1));
}

}  // namespace linkgain
