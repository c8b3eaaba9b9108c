#include "linkgain/record/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "linkgain/base/json.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/record/record_members.hpp"

namespace linkgain {
namespace {

constexpr json::Source kRecordSource{"record",
                                     "give a record.json that `linkgain run` wrote, unchanged"};
constexpr double kLongestTime = 1e100;
constexpr std::string_view kBetweenMembers = ",\n";

/// Writes a line for each case and each of the samples' columns; machine and settings over several.
std::string pretty(const json::Out& document) {
  return json::laid_out(document, [](const std::string& key, const json::Out& value) {
    if ((key == "cases" || key == "samples" || key == "runs") && !value.empty())
      return json::Layout::rows;
    return key == "machine" || key == "settings" ? json::Layout::indented : json::Layout::line;
  });
}

constexpr const char* kTakeACopy = "take an unchanged copy; a record is not made to be edited";

[[noreturn]] void refuse(const CaseResult& result, const std::string& what) {
  throw UsageError(fmt::format("{}: {}", case_name(result.definition), what), kTakeACopy);
}

void require_variants(const CaseResult& result, const std::vector<Variant>& variants) {
  const bool alike =
      std::ranges::equal(result.variants, variants, {}, &VariantResult::variant, &Variant::name);
  if (!alike) refuse(result, "its variants are not those of the settings, in their order");
}

/// Requires ranks in their order: readers find a rank by its number and by its place.
void require_ranks(const std::vector<RankInfo>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank == static_cast<int>(i)) continue;
    throw UsageError(
        fmt::format("its machine has rank {} in the place of rank {}", ranks[i].rank, i),
        kTakeACopy);
  }
}

void require_links(const Machine& machine) {
  const std::int64_t ranks = std::ssize(machine.ranks);
  const auto is_rank = [&](int rank) { return rank >= 0 && rank < ranks; };
  for (const PairLink& link : machine.links) {
    if (is_rank(link.from) && is_rank(link.to) && link.from != link.to) continue;
    throw UsageError(fmt::format("its machine has a link from rank {} to rank {}, of {}", link.from,
                                 link.to, counted(ranks, "rank", "ranks")),
                     kTakeACopy);
  }
}

/// Requires cases of one kind: what prints programs' runs looks for nothing else among them.
void require_kind(const CaseResult& result, bool of_program) {
  if (is_program(result.definition.operation) == of_program) return;
  refuse(result, of_program ? "it is no case of a program" : "no program was run");
}

/// Tells whether a run may have such a launch: as many as planned may be added.
bool is_possible_launch(int launch, int planned) { return launch >= 0 && launch < 2 * planned; }

/// What tells a case's samples apart.
struct SampleKey {
  int variant;
  int launch;
  int round;
  auto operator<=>(const SampleKey&) const = default;
};

std::vector<SampleKey> keys_of(const CaseResult& result) {
  std::vector<SampleKey> keys;
  for (const Sample& each : result.samples) keys.push_back({each.variant, each.launch, each.round});
  return keys;
}

/// Refuses launches that cannot be, and a sample that is there twice: its launch would look more
/// certain than it is.
void require_keys(const CaseResult& result, std::vector<SampleKey> keys, int planned) {
  for (const SampleKey& key : keys) {
    if (is_possible_launch(key.launch, planned)) continue;
    refuse(result, fmt::format("a sample is of launch {}, of {} planned", key.launch, planned));
  }
  if (!std::ranges::is_sorted(keys)) std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  if (twice == keys.end()) return;
  const VariantResult& variant = result.variants[static_cast<std::size_t>(twice->variant)];
  refuse(result, fmt::format("the sample of {} in launch {}, round {} is there twice",
                             variant.variant, twice->launch, twice->round));
}

/// Requires columns of the case's ranks; a program's number is of no rank. Health that was not
/// recorded, or not read, has no columns.
void require_ranks(const SampleTable& samples, const CaseResult& result) {
  const Case& definition = result.definition;
  const int ranks = is_program(definition.operation) ? 1 : definition.ranks;
  const auto require = [&](const char* what, std::size_t columns) {
    if (columns == static_cast<std::size_t>(ranks)) return;
    refuse(result,
           fmt::format("a sample has {} of {}, not of {}", what,
                       counted(static_cast<std::int64_t>(columns), "rank", "ranks"), ranks));
  };
  require("times", samples.seconds_by_rank.size());
  for (const std::size_t columns :
       {samples.temperature_c_by_rank.size(), samples.power_w_by_rank.size(),
        samples.sm_clock_mhz_by_rank.size(), samples.clock_event_reasons_by_rank.size()}) {
    if (columns > 0) require("the health", columns);
  }
}

/// Refuses more wrong elements than were checked, which are none that a check found.
void require_verifications(const CaseResult& result) {
  for (const VariantResult& variant : result.variants) {
    const auto& verification = variant.verification;
    if (!verification || verification->wrong <= verification->checked) continue;
    refuse(result, fmt::format("{} of {} verified elements of {} are wrong", verification->wrong,
                               verification->checked, variant.variant));
  }
}

/// Refuses a case that is there twice: whoever counts it so has twice as many launches, which look
/// more alike than they are.
void require_each_once(const Record& record) {
  std::set<std::string> names;
  for (const Variant& variant : record.settings.variants) {
    if (names.insert(variant.name).second) continue;
    throw UsageError(fmt::format("variant {} is there twice", variant.name), kTakeACopy);
  }
  names.clear();
  for (const CaseResult& result : record.cases) {
    if (!names.insert(case_name(result.definition)).second) refuse(result, "it is there twice");
  }
}

constexpr std::string_view kMember = "\"digest\": ";

[[noreturn]] void refuse() {
  throw UsageError("it is not as linkgain wrote it: its digest is of other bytes",
                   "take an unchanged copy; a record is not made to be edited");
}

/// Returns the document up to its closing bracket, or the line break before that.
std::string_view body_of(std::string_view document) {
  std::string_view body = document.substr(0, document.rfind('}'));
  if (body.ends_with('\n')) body.remove_suffix(1);
  return body;
}

std::string about(const std::string& origin, std::string_view what) {
  return origin.empty() ? std::string(what) : fmt::format("{}: {}", origin, what);
}

Record read_document(std::string_view text) {
  const json::Document document(text);
  json::require_known_schema(document.root());
  Digest so_far;
  const std::string digest = require_digest(text, document.root(), kBetweenMembers, so_far);
  auto [record, samples] = json::read<RecordDocument>(document.root(), kRecordSource);
  add_samples(samples, record.cases);
  derive_results(record);
  record.digest = digest;
  return std::move(record);
}

/// Reads a column that stands on a line of its own, or one of its ranks.
template <typename T>
void read_column(const json::Node& column, std::vector<T>& values) {
  if (column.kind() == json::Node::Kind::array) column.append_numbers_to(values);
}

void read_column(const json::Node& column, std::vector<bool>& values) {
  json::Items items(column);
  while (const auto item = items.next()) {
    if (item->kind() == json::Node::Kind::boolean) values.push_back(item->boolean());
  }
}

template <typename T>
void read_column(const json::Node& column, std::vector<std::vector<T>>& by_rank) {
  json::Items ranks(column);
  while (const auto rank = ranks.next()) read_column(*rank, by_rank.emplace_back());
}

void read_line(std::string_view key, std::string_view column, SampleTable& samples) {
  const auto read_into = [&](auto& values) {
    const json::Document document(column);
    read_column(document.root(), values);
  };
  if (key == "case") read_into(samples.place);
  if (key == "variant") read_into(samples.variant);
  if (key == "launch") read_into(samples.launch);
  if (key == "round") read_into(samples.round);
  if (key == "seconds_by_rank") read_into(samples.seconds_by_rank);
  if (key == "clock_event_reasons_by_rank") read_into(samples.clock_event_reasons_by_rank);
  if (key == "disturbed") read_into(samples.disturbed);
  if (key == "unverified") read_into(samples.unverified);
}

/// Reads the lines of columns, ` "launch": [0,0,1],`.
void read_lines(std::string_view lines, SampleTable& samples) {
  constexpr std::string_view kBeforeKey = " \"";
  constexpr std::string_view kBehindKey = "\": ";
  while (lines.starts_with(kBeforeKey)) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.ends_with(',')) line.remove_suffix(1);
    const std::size_t end = line.find(kBehindKey);
    if (end == std::string_view::npos) return;
    read_line(line.substr(kBeforeKey.size(), end - kBeforeKey.size()),
              line.substr(end + kBehindKey.size()), samples);
  }
}

bool are_possible(const std::vector<std::optional<double>>& times) {
  return std::ranges::all_of(times, [](const std::optional<double>& time) {
    return !time || (*time > 0.0 && *time <= kLongestTime);
  });
}

/// Returns whether all columns have a value of each row. Throws UsageError as add_samples() and
/// require_structure() do of the rows.
bool fit(const SampleTable& samples, const Record& record) {
  const std::size_t rows = samples.place.size();
  const auto has_rows = [rows](const auto& column) { return column.size() == rows; };
  if (!has_rows(samples.variant) || !has_rows(samples.launch) || !has_rows(samples.round)) {
    return false;
  }
  for (const std::vector<bool>* flags : {&samples.disturbed, &samples.unverified}) {
    if (!flags->empty() && !has_rows(*flags)) return false;
  }
  if (!std::ranges::all_of(samples.seconds_by_rank, has_rows) ||
      !std::ranges::all_of(samples.seconds_by_rank, are_possible) ||
      !std::ranges::all_of(samples.clock_event_reasons_by_rank, has_rows)) {
    return false;
  }
  require_rows(samples, record.cases);
  std::vector<std::vector<SampleKey>> keys(record.cases.size());
  for (std::size_t row = 0; row < rows; ++row) {
    keys[static_cast<std::size_t>(samples.place[row])].push_back(
        {samples.variant[row], samples.launch[row], samples.round[row]});
  }
  for (std::size_t place = 0; place < keys.size(); ++place) {
    require_keys(record.cases[place], std::move(keys[place]), record.settings.launches);
  }
  return true;
}

/// Finds the unit of a program's metric; empty where none was given.
std::string unit_of(const ProgramPlan& program, const std::string& metric) {
  const auto found = program.units.find(metric);
  return found == program.units.end() ? std::string() : found->second;
}

json::Out written(const Record& record) {
  json::Out document = json::write(record);
  document["status"] = ending_of(record);
  return document;
}

}  // namespace

void json::require_known_schema(const Node& document) {
  constexpr std::string_view kFamily = "linkgain.record/";
  const std::optional<Node> schema = document.is_object() ? document.find("schema") : std::nullopt;
  const bool is_text = schema && schema->kind() == Node::Kind::text;
  const std::string_view found = is_text ? schema->text() : std::string_view();
  if (found == kRecordSchema || found == kOlderSchema) return;
  if (!found.starts_with(kFamily)) {
    throw NotARecord(fmt::format("not a record: it has no member 'schema' of {}<number>", kFamily),
                     "give a record.json that `linkgain run` wrote");
  }
  throw OtherVersion(fmt::format("its schema is {}, this linkgain reads {} and {}", visible(found),
                                 kOlderSchema, kRecordSchema),
                     "read it with the linkgain that wrote it, or a newer one");
}

std::string to_json_without_samples(const Record& record) { return pretty(written(record)); }

std::string to_json(const Record& record) {
  json::Out document = written(record);
  document["samples"] = json::write(table_of(record.cases));
  Digest digest;
  return with_digest(pretty(document), kBetweenMembers, digest);
}

Record parse_record(std::string_view text, const std::string& origin) {
  try {
    return read_document(text);
  } catch (const json::NotARecord& error) {
    throw json::NotARecord(about(origin, error.what()), error.advice());
  } catch (const json::OtherVersion& error) {
    throw json::OtherVersion(about(origin, error.what()), error.advice());
  } catch (const UsageError& error) {
    throw UsageError(about(origin, error.what()), error.advice());
  }
}

std::optional<RecordDocument> read_as_written(std::string_view text) {
  constexpr std::string_view kSamples = "\n\"samples\": {\n";
  const std::size_t samples = text.find(kSamples);
  const std::string mark = fmt::format("{}{}", kBetweenMembers, kMember);
  const std::size_t end = text.rfind(mark);
  if (samples == std::string_view::npos || samples == 0 || end == std::string_view::npos ||
      end < samples) {
    return std::nullopt;
  }
  Digest digest;
  digest.add(text.substr(0, end));
  if (text.substr(end) != fmt::format("{}\"{}\"\n}}\n", mark, digest.text())) {
    return std::nullopt;
  }
  try {
    const json::Document head(std::string(text.substr(0, samples - 1)) + "}");
    const auto schema = head.root().find("schema");
    if (!schema || schema->kind() != json::Node::Kind::text || schema->text() != kRecordSchema) {
      return std::nullopt;
    }
    RecordDocument document{json::read<Record>(head.root(), kRecordSource), {}};
    require_structure(document.record);
    document.record.digest = digest.text();
    const std::string_view lines = text.substr(0, end).substr(samples + kSamples.size());
    read_lines(lines, document.samples);
    if (!fit(document.samples, document.record)) return std::nullopt;
    return document;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

void require_structure(const Record& record) {
  require_each_once(record);
  require_ranks(record.machine.ranks);
  require_links(record.machine);
  for (const CaseResult& result : record.cases) {
    require_kind(result, record.settings.program.has_value());
    require_variants(result, record.settings.variants);
    require_keys(result, keys_of(result), record.settings.launches);
    require_verifications(result);
  }
}

void require_rows(const SampleTable& samples, const std::vector<CaseResult>& cases) {
  for (std::size_t row = 0; row < samples.place.size(); ++row) {
    const auto place = static_cast<std::size_t>(samples.place[row]);
    const auto variant = static_cast<std::size_t>(samples.variant[row]);
    if (place >= cases.size() || variant >= cases[place].variants.size()) {
      throw UsageError(
          fmt::format("a sample is of case {} and variant {}, which the record does not have",
                      samples.place[row], samples.variant[row]),
          kTakeACopy);
    }
    require_ranks(samples, cases[place]);
    const auto has_none = [row](const auto& rank) { return !rank[row]; };
    if (std::ranges::all_of(samples.seconds_by_rank, has_none)) {
      refuse(cases[place], fmt::format("a sample of {} has no time of any rank",
                                       cases[place].variants[variant].variant));
    }
  }
}

void add_samples(const SampleTable& table, std::vector<CaseResult>& cases, int first_sequence) {
  require_columns(table);
  require_rows(table, cases);
  for (std::size_t row = 0; row < table.place.size(); ++row) {
    Sample sample = sample_at(table, row);
    sample.sequence = first_sequence + static_cast<int>(row);
    cases[static_cast<std::size_t>(table.place[row])].samples.push_back(std::move(sample));
  }
}

void derive_results(Record& record) {
  require_structure(record);
  for (CaseResult& result : record.cases) {
    std::optional<ProgramMetric>& metric = result.definition.metric;
    if (metric) metric->unit = unit_of(*record.settings.program, metric->name);
    summarise(result);
  }
}

std::string with_digest(std::string_view document, std::string_view before, Digest& so_far) {
  const std::string_view body = body_of(document);
  so_far.add(body);
  const std::string end =
      fmt::format("{}{}\"{}\"{}", before, kMember, so_far.text(), document.substr(body.size()));
  so_far.add(end);
  return std::string(body) + end;
}

std::string require_digest(std::string_view text, const json::Node& document,
                           std::string_view before, Digest& so_far) {
  if (!document.is_object() || !document.find("digest")) return {};
  const std::string name = fmt::format("{}{}", before, kMember);
  const std::size_t body = text.rfind(name);
  if (body == std::string_view::npos) refuse();
  so_far.add(text.substr(0, body));
  std::string digest = so_far.text();
  if (!text.substr(body + name.size()).starts_with('"' + digest + '"')) refuse();
  so_far.add(text.substr(body));
  return digest;
}

}  // namespace linkgain
