#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "linkgain/base/digest.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/baseline/baseline.hpp"
#include "linkgain/baseline/regression.hpp"
#include "linkgain/record/digest.hpp"
#include "linkgain/record/record_members.hpp"
#include "linkgain/report/judgement_text.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kDigest = ",\n\"digest\": \"";

constexpr const char* kAdvice = "give a baseline that `linkgain baseline` wrote";

json::Out write_source(const BaselineSource& source) {
  json::Out out{{"host", source.host}, {"started", source.started}, {"launches", source.launches}};
  if (!source.digest.empty()) out["digest"] = source.digest;
  if (!source.program.empty()) out["program"] = source.program;
  return out;
}

BaselineSource read_source(const json::In& in) {
  return {in.at("host"), in.at("started"), in.at("launches"), in.value("digest", ""),
          in.value("program", "")};
}

json::Out write_variants(const Baseline& baseline) {
  json::Out out = json::Out::array();
  for (const Variant& variant : baseline.variants) {
    json::Out& each =
        out.emplace_back(json::Out{{"name", variant.name}, {"environment", variant.environment}});
    const auto known = baseline.environment_in_force.find(variant.name);
    if (known == baseline.environment_in_force.end()) continue;
    each["environment_in_force"] = known->second;
  }
  return out;
}

json::Out write_override(const ToleranceOverride& change) {
  json::Out out{{"cases", change.cases}, {"variant", change.variant}};
  if (change.lower) out["lower"] = json::nullable(*change.lower);
  if (change.upper) out["upper"] = json::nullable(*change.upper);
  return out;
}

json::Out write_runs(const RunDeviation& between_runs) {
  return {{"runs", between_runs.runs},
          {"spread", between_runs.deviation.deviation},
          {"degrees_of_freedom", between_runs.deviation.degrees_of_freedom.value()},
          {"own_spread", between_runs.deviation.alone}};
}

json::Out write_reference(const BaselineCase& reference) {
  json::Out times = json::Out::array();
  for (const Seconds time : reference.launch_times) times.push_back(time.value);
  const std::optional<LaunchDeviation>& between_launches = reference.between_launches;
  json::Out out{
      {"case", case_name(reference.definition)},
      {"variant", reference.variant},
      {"path", name_of(reference.path)},
      {"time_s", reference.time.value},
      {"busbw_gb_per_s", bus_bandwidth(reference.definition, reference.time)},
      {"lower", json::nullable(reference.tolerance.lower)},
      {"upper", json::nullable(reference.tolerance.upper)},
      {"launches", reference.launches},
      {"spread", between_launches ? json::Out(between_launches->deviation) : json::Out(nullptr)},
      {"degrees_of_freedom", between_launches ? between_launches->degrees_of_freedom.value() : 0},
      {"own_spread", between_launches && between_launches->alone},
      {"pool", deviation_pool(reference.definition, reference.variant)},
      {"launch_times_s", times}};
  if (reference.resolution > 0.0) out["resolution"] = reference.resolution;
  if (reference.between_runs) out["between_runs"] = write_runs(*reference.between_runs);
  return out;
}

Variant read_variant(const json::In& in) {
  return {in.at("name"), in.at("environment").get<Environment>()};
}

std::map<std::string, Environment> read_environments(const json::In& variants) {
  std::map<std::string, Environment> environments;
  for (const json::In& each : variants) {
    if (!each.contains("environment_in_force")) continue;
    environments.emplace(each.at("name").get<std::string>(),
                         each.at("environment_in_force").get<Environment>());
  }
  return environments;
}

/// A bound that is there, be it null.
std::optional<std::optional<double>> read_bound(const json::In& in, const char* key) {
  if (!in.contains(key)) return std::nullopt;
  return json::optional_at<double>(in, key);
}

ToleranceOverride read_override(const json::In& in) {
  return {in.at("cases"), in.value("variant", "*"), read_bound(in, "lower"),
          read_bound(in, "upper")};
}

/// Who changes one of the two by hand and forgets the other learns it here.
void require_agreement(const BaselineCase& reference, std::optional<double> busbw) {
  constexpr double kRounding = 0.01;
  const double from_time = bus_bandwidth(reference.definition, reference.time);
  if (!busbw || std::abs(*busbw - from_time) <= kRounding * from_time) return;
  throw UsageError(
      fmt::format("{} with {}: time_s says {}, busbw_gb_per_s {}", case_name(reference.definition),
                  reference.variant, readable_bandwidth(from_time), readable_bandwidth(*busbw)),
      "time_s is the reference; change busbw_gb_per_s with it, or take it out");
}

/// With none at all every difference would be certain.
void require_deviation(const BaselineCase& reference) {
  if (!reference.between_launches || reference.between_launches->deviation > 0.0) return;
  throw UsageError(
      fmt::format("{} with {}: a between-launch deviation of 0 would make every difference certain",
                  case_name(reference.definition), reference.variant),
      "give how much launches differ (0.005 is 0.5 %), or null where it is not known");
}

RunDeviation read_runs(const json::In& in) {
  return {in.at("runs"),
          {in.at("spread"), in.at("degrees_of_freedom").get<int>(), in.value("own_spread", false)}};
}

BaselineCase read_reference(const json::In& in) {
  BaselineCase reference;
  reference.definition = parse_case_name(in.at("case").get<std::string>());
  reference.variant = in.at("variant");
  reference.path = parse_path(in.at("path").get<std::string>());
  reference.time = Seconds{in.at("time_s")};
  reference.tolerance = {json::optional_at<double>(in, "lower"),
                         json::optional_at<double>(in, "upper")};
  reference.launches = in.at("launches");
  const auto deviation = json::optional_at<double>(in, "spread");
  const int degrees = in.at("degrees_of_freedom");
  if (deviation && degrees > 0) {
    reference.between_launches =
        LaunchDeviation{*deviation, degrees, in.value("own_spread", false)};
  }
  if (in.contains("between_runs")) reference.between_runs = read_runs(in.at("between_runs"));
  for (const json::In& time : in.value("launch_times_s", json::In::array())) {
    reference.launch_times.push_back(Seconds{time.get<double>()});
  }
  reference.resolution = in.value("resolution", 0.0);
  require_deviation(reference);
  require_agreement(reference, json::optional_at<double>(in, "busbw_gb_per_s"));
  return reference;
}

/// Copying a line and forgetting to change it is easily done.
void require_each_once(const std::vector<BaselineCase>& cases) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const BaselineCase& reference : cases) {
    const std::string name = case_name(reference.definition);
    if (seen.emplace(name, reference.variant).second) continue;
    throw UsageError(fmt::format("{} with {} is there twice", name, reference.variant),
                     "take one of the two out");
  }
}

Warning read_warning(const json::In& in) { return {in.at("code"), in.at("text"), in.at("advice")}; }

Baseline read_document(const json::In& in) {
  Baseline baseline;
  baseline.made = in.at("made");
  baseline.key = json::read_key(in.at("key"));
  baseline.variants = json::vector_of<Variant>(in.at("variants"), read_variant);
  baseline.environment_in_force = read_environments(in.at("variants"));
  baseline.sources = json::vector_of<BaselineSource>(in.at("sources"), read_source);
  baseline.overrides = json::vector_of<ToleranceOverride>(in.at("overrides"), read_override);
  baseline.warnings = json::vector_of<Warning>(in.at("warnings"), read_warning);
  baseline.cases = json::vector_of<BaselineCase>(in.at("cases"), read_reference);
  require_each_once(baseline.cases);
  return baseline;
}

void require_known_version(const json::In& document) {
  constexpr std::string_view kFamily = "linkgain.baseline/";
  const std::string found =
      document.is_object() && document.contains("schema") && document.at("schema").is_string()
          ? document.at("schema").get<std::string>()
          : "";
  if (found == kBaselineSchema) return;
  if (!found.starts_with(kFamily)) {
    throw UsageError(
        fmt::format("not a baseline: it has no member 'schema' of {}<number>", kFamily), kAdvice);
  }
  throw UsageError(fmt::format("its schema is {}, this linkgain reads {}", found, kBaselineSchema),
                   "read it with the linkgain that wrote it, or a newer one");
}

void require_schema(const json::In& document) {
  static const JsonSchema schema(baseline_schema());
  schema.require(
      document, "baseline",
      "fix that place: bench/coordinator/baseline/baseline.schema.json says what may stand there");
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

/// The document with its last member, by which linkgain knows one that nobody has edited.
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
  return signed_by_digest(pretty({{"schema", kBaselineSchema},
                                  {"made", baseline.made},
                                  {"key", json::write_key(baseline.key)},
                                  {"variants", write_variants(baseline)},
                                  {"sources", json::array_of(baseline.sources, write_source)},
                                  {"overrides", json::array_of(baseline.overrides, write_override)},
                                  {"warnings", json::write(baseline.warnings)},
                                  {"cases", json::array_of(baseline.cases, write_reference)}}));
}

Baseline parse_baseline(std::string_view text, const std::string& origin) {
  try {
    const json::In document = json::parse(text);
    require_known_version(document);
    require_schema(document);
    return read_document(document);
  } catch (const json::In::parse_error& error) {
    throw UsageError(fmt::format("{}: not JSON, from byte {} on", origin, error.byte), kAdvice);
  } catch (const json::In::exception& error) {
    throw UsageError(fmt::format("{}: {}", origin, error.what()), kAdvice);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", origin, error.what()), error.advice());
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
          {"variant", check.variant},
          {"verdict", name_of(check.verdict)},
          {"fails", fails(check.verdict)},
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
                              {"key", json::write_key(result.key)},
                              {"sources", json::array_of(result.sources, write_source)},
                              {"counts", counts},
                              {"warnings", json::write(result.warnings)},
                              {"cases", json::array_of(result.cases, write_check)}});
}

}  // namespace linkgain
