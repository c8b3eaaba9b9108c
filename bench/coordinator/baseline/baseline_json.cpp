#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "baseline_members.hpp"
#include "linkgain/base/digest.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/baseline/regression.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/record/record_json.hpp"
#include "linkgain/summary/judgement_text.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kDigest = ",\n\"digest\": \"";

constexpr const char* kAdvice = "give a baseline that `linkgain baseline` wrote";

/// Tells who changed one of the two by hand that he forgot the other.
void require_agreement(const BaselineCase& reference) {
  constexpr double kRounding = 0.01;
  const std::optional<double>& busbw = reference.stated_busbw;
  const double from_time = bus_bandwidth(reference.definition, reference.time);
  if (!busbw || std::abs(*busbw - from_time) <= kRounding * from_time) return;
  throw UsageError(
      fmt::format("{} with {}: time_s says {}, busbw_gb_per_s {}", case_name(reference.definition),
                  reference.variant, readable_bandwidth(from_time), readable_bandwidth(*busbw)),
      "time_s is the reference; change busbw_gb_per_s with it, or take it out");
}

/// Refuses a deviation of 0, with which every difference would be certain.
void require_deviation(const BaselineCase& reference) {
  if (!reference.between_launches || reference.between_launches->deviation > 0.0) return;
  throw UsageError(
      fmt::format("{} with {}: a between-launch deviation of 0 would make every difference certain",
                  case_name(reference.definition), reference.variant),
      "give how much launches differ (0.005 is 0.5 %), or null where it is not known");
}

/// Refuses a case that is there twice, as after a line was copied and not changed.
void require_each_once(const std::vector<BaselineCase>& cases) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const BaselineCase& reference : cases) {
    const std::string name = case_name(reference.definition);
    if (seen.emplace(name, reference.variant).second) continue;
    throw UsageError(fmt::format("{} with {} is there twice", name, reference.variant),
                     "take one of the two out");
  }
}

void require_known_version(const json::Node& document) {
  constexpr std::string_view kFamily = "linkgain.baseline/";
  const auto schema = document.is_object() ? document.find("schema") : std::nullopt;
  const bool is_text = schema && schema->kind() == json::Node::Kind::text;
  const std::string found = is_text ? visible(schema->text()) : std::string();
  if (found == kBaselineSchema) return;
  if (!found.starts_with(kFamily)) {
    throw UsageError(
        fmt::format("not a baseline: it has no member 'schema' of {}<number>", kFamily), kAdvice);
  }
  throw UsageError(fmt::format("its schema is {}, this linkgain reads {}", found, kBaselineSchema),
                   "read it with the linkgain that wrote it, or a newer one");
}

Baseline read_document(std::string_view text) {
  constexpr json::Source kSource{
      "baseline",
      "fix that place: bench/coordinator/baseline/baseline.schema.json says what may stand there"};
  const json::Document document(text);
  require_known_version(document.root());
  Baseline baseline = json::read<Baseline>(document.root(), kSource);
  for (const BaselineCase& reference : baseline.cases) {
    require_deviation(reference);
    require_agreement(reference);
  }
  require_each_once(baseline.cases);
  return baseline;
}

/// Lists with a line for each of their objects, the machine's key over several.
std::string pretty(const json::Out& document) {
  return json::laid_out(document, [](const std::string& key, const json::Out& value) {
    if (value.is_array() && !value.empty()) return json::Layout::rows;
    return key == "key" ? json::Layout::indented : json::Layout::line;
  });
}

}  // namespace

namespace {

/// Returns the document with its last member, by which linkgain knows one that nobody has edited.
std::string signed_by_digest(std::string_view document) {
  Digest digest;
  return with_digest(document, ",\n", digest);
}

}  // namespace

const FileKind kBaselineFile{
    "a baseline that nobody edited", [](std::string_view text) {
      const std::size_t end = text.rfind(kDigest);
      return end != std::string_view::npos &&
             signed_by_digest(std::string(text.substr(0, end)) + "\n}\n") == text;
    }};

std::string to_json(const Baseline& baseline) {
  return signed_by_digest(pretty(json::write(baseline)));
}

Baseline parse_baseline(std::string_view text, const std::string& origin) {
  try {
    return read_document(text);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", origin, error.what()),
                     error.advice().empty() ? kAdvice : error.advice());
  }
}

Baseline read_baseline(const std::filesystem::path& path) {
  const Reading<std::string> text = read_regular_file(path);
  if (!text.measured()) {
    throw UsageError(fmt::format("cannot read {}: {}", path.string(), text.reason()), kAdvice);
  }
  return parse_baseline(text.value(), path.string());
}

namespace {

constexpr const char* kCheckSchema = "linkgain.check/1";

json::Out write_settling(const CaseCheck& check) {
  const std::optional<Settling>& settling = check.settling;
  if (!settling) return nullptr;
  const char* counted = check.replicate == Replicate::run ? "runs" : "launches";
  return {{counted, settling->launches}, {"baseline_too", settling->baseline_too}};
}

json::Out write_check(const CaseCheck& check) {
  return {{"case", case_name(check.definition)},
          {"unit", unit_of(check.definition)},
          {"variant", check.variant},
          {"verdict", name_of(check.verdict)},
          {"fails", fails(check)},
          {"headline", check.headline},
          {"reason", reason_text(check)},
          {"reference_s", json::nullable(seconds_of(check.reference))},
          {"time_s", json::nullable(seconds_of(check.time))},
          {"reference_launches", check.reference_launches},
          {"launches", check.launches},
          {"shift", json::nullable(share_of(check.shift))},
          {"shift_low", json::nullable(share_of(low_of(check.interval)))},
          {"shift_high", json::nullable(share_of(high_of(check.interval)))},
          {"chance_slower", json::nullable(check.chance_slower)},
          {"chance_faster", json::nullable(check.chance_faster)},
          {"lower", json::nullable(check.tolerance.lower)},
          {"upper", json::nullable(check.tolerance.upper)},
          {"settled_by", write_settling(check)},
          {"judged_by", check.interval ? json::Out(name_of(check.replicate)) : json::Out(nullptr)},
          {"disturbed_samples", json::nullable(check.disturbance.samples)},
          {"level_change", json::nullable(check.disturbance.level_change)}};
}

}  // namespace

std::string to_json(const CheckResult& result) {
  json::Out counts = json::Out::object();
  for (const Verdict verdict : kVerdictsOfChecks) {
    counts[std::string(name_of(verdict))] = count_of(result, verdict);
  }
  return json::document_text({{"schema", kCheckSchema},
                              {"exit_code", static_cast<int>(exit_code_of(result))},
                              {"baseline_made", result.made},
                              {"key", json::write(result.key)},
                              {"sources", json::write(result.sources)},
                              {"counts", counts},
                              {"warnings", json::write(result.warnings)},
                              {"cases", json::array_of(result.cases, write_check)}});
}

}  // namespace linkgain
