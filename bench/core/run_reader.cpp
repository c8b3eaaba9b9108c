#include "linkgain/core/run_reader.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "foreign_runs.hpp"
#include "linkgain/core/errors.hpp"
#include "linkgain/core/journal.hpp"

namespace linkgain {
namespace {

constexpr const char* kWhatToGive =
    "give a record.json or the directory of a run, a JSON document of Google Benchmark, or a file "
    "of nccl-tests' -J";

/// Whose document it is; absent where it is nobody's that is known.
std::optional<RunSource> source_of(const nlohmann::json& document) {
  if (!document.is_object()) return std::nullopt;
  if (document.contains("schema")) return RunSource::record;
  if (document.contains("benchmarks") && document.contains("context")) {
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

RunFigures read_run(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    return figures_of(read_record(path), path.string());
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError(fmt::format("cannot read {}", path.string()), kWhatToGive);
  std::stringstream content;
  content << file.rdbuf();
  return parse_run(content.str(), path.string());
}

}  // namespace linkgain
