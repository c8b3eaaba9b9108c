#include "linkgain/compare/run_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "foreign_runs.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/whole_file.hpp"
#include "linkgain/record/journal.hpp"

namespace linkgain {
namespace {

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
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw UsageError(fmt::format("{}: not JSON, from byte {} on", name, error.byte), kWhatToGive);
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

RunFigures parse_run(std::string_view text, const std::string& name) {
  if (text.starts_with("{\"head\"")) return figures_of(parse_journal(text, name), name);
  const nlohmann::json document = parse_document(text, name);
  const std::optional<RunSource> source = source_of(document);
  if (!source) {
    throw UsageError(fmt::format("{}: neither a record nor a document of another program that is "
                                 "known here",
                                 name),
                     kWhatToGive);
  }
  if (*source == RunSource::record) return figures_of(parse_record(text, name), name);
  return read_foreign(document, *source, name);
}

namespace {

RunFigures read_file(const fs::path& path) {
  const std::optional<std::string> text = whole_file(path);
  if (!text) throw UsageError(fmt::format("cannot read {}", path.string()), kWhatToGive);
  return parse_run(*text, path.string());
}

/// By name.
std::vector<fs::path> documents_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") {
      files.push_back(entry.path());
    }
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
    if (!known.insert(fs::canonical(file)).second) {
      throw UsageError(fmt::format("{} is given twice as a launch", runs.back().name),
                       "each launch counts once");
    }
  }
  return runs.size() == 1 ? std::move(runs.front()) : merge_launches(runs, name);
}

}  // namespace

RunFigures read_run(const std::filesystem::path& path) {
  const std::string name = path.string();
  if (fs::is_directory(path)) {
    const bool own = fs::exists(path / "record.json") || fs::exists(path / "journal.jsonl");
    const std::vector<fs::path> files = own ? std::vector<fs::path>{} : documents_in(path);
    return files.empty() ? figures_of(read_record(path), name) : read_launches(files, name);
  }
  if (name.find(',') == std::string::npos || fs::exists(path)) return read_file(path);
  std::vector<fs::path> files;
  for (const std::string& each : split(name, ',')) files.emplace_back(each);
  return read_launches(files,
                       fmt::format("{} and {} more", files.front().string(), files.size() - 1));
}

}  // namespace linkgain
