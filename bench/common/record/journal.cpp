#include "linkgain/record/journal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/record/record_json.hpp"
#include "linkgain/record/record_members.hpp"
#include "linkgain/record/warning.hpp"

namespace linkgain {
namespace {

/// In a line of the journal.
constexpr std::string_view kBetweenLineMembers = ",";

constexpr json::Source kLine{"line", "give a journal that `linkgain run` left, unchanged"};

/// Replaces case `index` and its samples by those of one journal line. `sequence` counts samples.
/// Cases may come in any order: those before it have no variants until their own line.
void apply_case(JournalLine line, Record& record, int& sequence) {
  if (!line.index || !line.samples) throw UsageError("its case has no index, or no samples");
  const auto index = static_cast<std::size_t>(*line.index);
  record.cases.resize(std::max(record.cases.size(), index + 1));
  std::vector<Sample> kept = std::move(record.cases[index].samples);
  const auto before = static_cast<std::size_t>(line.samples_before.value_or(0));
  if (before > kept.size()) throw UsageError("it adds to samples that are not there");
  kept.resize(before);
  record.cases[index] = std::move(*line.result);
  const auto variants = static_cast<int>(record.cases[index].variants.size());
  if (std::ranges::any_of(kept, [&](const Sample& each) { return each.variant >= variants; })) {
    throw UsageError("it has fewer variants than its samples");
  }
  record.cases[index].samples = std::move(kept);
  add_samples(*line.samples, record.cases, sequence);
  sequence += static_cast<int>(record.cases[index].samples.size() - before);
}

void apply_head(JournalHead head, Record& record) {
  record.started = std::move(head.started);
  record.machine = std::move(head.machine);
  record.settings = std::move(head.settings);
  record.link_errors = std::move(head.link_errors);
  record.launch_begins_s = std::move(head.launch_begins_s);
  if (head.neighbours) record.neighbours = std::move(head.neighbours);
}

void apply_line(JournalLine line, Record& record, int& sequence) {
  if (line.wall_s) record.wall_seconds = line.wall_s;
  if (line.time_spent) record.time_spent = line.time_spent;
  if (line.evidence_cost) record.evidence_cost = line.evidence_cost;
  if (line.neighbours) record.neighbours = line.neighbours;
  if (line.head) {
    apply_head(std::move(*line.head), record);
  } else if (line.result) {
    apply_case(std::move(line), record, sequence);
  } else if (line.run) {
    record.runs.push_back(std::move(*line.run));
  } else if (line.warning) {
    record.warnings.push_back(std::move(*line.warning));
  } else {
    throw UsageError("it is neither head nor case, run or warning");
  }
}

/// Adds what the run took and saw so far, as the record has it.
void add_course(json::Out& line, const Record& record) {
  if (record.wall_seconds) line["wall_s"] = *record.wall_seconds;
  if (record.time_spent) line["time_spent"] = json::write(*record.time_spent);
  if (record.evidence_cost) line["evidence_cost"] = json::write(*record.evidence_cost);
  if (record.neighbours) line["neighbours"] = json::write(*record.neighbours);
}

json::Out case_line(int index, const CaseResult& result, std::size_t samples_before) {
  const auto place = static_cast<std::size_t>(index);
  json::Out line{{"index", index}, {"case", json::write(result)}};
  if (samples_before > 0) line["samples_before"] = samples_before;
  line["samples"] = json::write(table_of(place, std::span(result.samples).subspan(samples_before)));
  return line;
}

std::optional<json::Node> head_of(const json::Document& line) {
  const json::Node root = line.root();
  return root.is_object() ? root.find("head") : std::nullopt;
}

/// Drops the numbers of a command's run whose own line, the last of it, was cut off.
void drop_cut_run(Record& record) {
  const auto is_of = [](const Sample& sample, const CaseResult& result, const ProgramRun& run) {
    const std::string& variant = result.variants[static_cast<std::size_t>(sample.variant)].variant;
    return run.variant == variant && run.round == sample.launch + 1 && !run.warm_up &&
           result.definition.metric && run.at == result.definition.metric->at;
  };
  for (CaseResult& result : record.cases) {
    std::erase_if(result.samples, [&](const Sample& sample) {
      const auto place = static_cast<std::size_t>(sample.variant);
      return place < result.variants.size() &&
             std::ranges::none_of(
                 record.runs, [&](const ProgramRun& run) { return is_of(sample, result, run); });
    });
  }
}

}  // namespace

JournalWriter::JournalWriter(const std::filesystem::path& path)
    : descriptor_(must_open_to_write(path, WriteMode::anew)), digest_(std::make_unique<Digest>()) {}

JournalWriter::JournalWriter(const std::filesystem::path& path, const Record& earlier)
    : JournalWriter(path.string() + ".new") {
  place_ = path;
  write_head(earlier);
  for (std::size_t i = 0; i < earlier.cases.size(); ++i) {
    write_case(static_cast<int>(i), earlier.cases[i]);
  }
  for (const Warning& warning : earlier.warnings) write_warning(warning);
  if (!failure_) {
    if (earlier.cases.empty()) take_place();
    return;
  }
  leave_place();
  const bool was_measured = std::ranges::any_of(
      earlier.cases, [](const CaseResult& result) { return !result.samples.empty(); });
  if (was_measured) throw UsageError(failure_->text, failure_->advice);
}

JournalWriter::~JournalWriter() {
  leave_place();
  ::close(descriptor_);
}

void JournalWriter::take_place() {
  if (place_.empty()) return;
  std::error_code problem;
  std::filesystem::rename(place_.string() + ".new", place_, problem);
  place_.clear();
  if (!problem || failure_) return;
  lose(fmt::format("cannot rename the journal: {}", problem.message()), {});
}

void JournalWriter::leave_place() {
  if (place_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(place_.string() + ".new", ignored);
  place_.clear();
}

/// Appends a line. One that is cut ends the journal for its readers, so nothing is written after
/// it.
void JournalWriter::append(const std::string& line) {
  if (failure_) return;
  try {
    write_fully(descriptor_, with_digest(line + "\n", kBetweenLineMembers, *digest_),
                "the journal");
  } catch (const UsageError& error) {
    lose(error.what(), error.advice());
  }
}

void JournalWriter::lose(const std::string& why, const std::string& advice) {
  failure_ =
      Warning{name_of(WarningCode::journal_lost),
              fmt::format("{}: a crash would lose what is measured from here on", why), advice};
}

void JournalWriter::write_head(const Record& record) {
  const JournalHead head{record.started, record.machine, record.settings, record.link_errors,
                         record.launch_begins_s};
  json::Out line{{"head", json::write(head)}};
  add_course(line, record);
  append(json::dump(line));
}

void JournalWriter::write_case(int index, const CaseResult& result) {
  append(json::dump(case_line(index, result, 0)));
  samples_[index] = result.samples.size();
}

void JournalWriter::extend_case(const Record& record, int index) {
  const CaseResult& result = record.cases[static_cast<std::size_t>(index)];
  std::size_t& written = samples_[index];
  json::Out line = case_line(index, result, std::min(written, result.samples.size()));
  add_course(line, record);
  append(json::dump(line));
  written = result.samples.size();
}

void JournalWriter::write_program_run(const ProgramRun& run) {
  append(json::dump(json::Out{{"run", json::write(run)}}));
}

void JournalWriter::write_warning(const Warning& warning) {
  append(json::dump(json::Out{{"warning", json::write(warning)}}));
}

Record parse_journal(std::string_view text, const std::string& origin) {
  Record record;
  record.status = RunStatus::unfinished;
  bool head = false;
  bool digested = false;
  Digest digest;
  int number = 1;
  int sequence = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    try {
      const std::string_view whole = text.substr(0, end + 1);
      const json::Document document(whole);
      if (const auto begin = head_of(document)) json::require_known_schema(*begin);
      const bool has_digest =
          !require_digest(whole, document.root(), kBetweenLineMembers, digest).empty();
      if (number > 1 && has_digest != digested)
        throw UsageError("it has no digest, as others have");
      digested = has_digest;
      auto line = json::read<JournalLine>(document.root(), kLine);
      head = head || line.head.has_value();
      apply_line(std::move(line), record, sequence);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: line {} of the journal: {}", origin, number, error.what()),
                       error.advice());
    }
    text.remove_prefix(end + 1);
    ++number;
  }
  if (!head) throw UsageError(fmt::format("{}: the journal ends before its first line", origin));
  std::erase_if(record.cases, [](const CaseResult& each) { return each.variants.empty(); });
  if (record.settings.program) drop_cut_run(record);
  try {
    derive_results(record);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", origin, error.what()), error.advice());
  }
  return record;
}

Record read_record(const std::filesystem::path& named) {
  std::filesystem::path path = named;
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    path /= "journal.jsonl";
    if (!std::filesystem::exists(path, unknown)) path.replace_filename("record.json");
  }
  const Reading<std::string> text = read_regular_file(path);
  if (!text.measured()) {
    throw UsageError(fmt::format("cannot read {}: {}", path.string(), text.reason()),
                     "give a record.json that `linkgain run` wrote");
  }
  const bool is_journal =
      text.value().starts_with("{\"head\"") || path.filename() == "journal.jsonl";
  return is_journal ? parse_journal(text.value(), path.string())
                    : parse_record(text.value(), path.string());
}

}  // namespace linkgain
