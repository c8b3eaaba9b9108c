#include "overlap_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace linkgain::test {
namespace {

constexpr double kMilli = 1e3;
constexpr double kMicro = 1e6;

/// A name for CSV, what it says, and seconds.
struct Figure {
  const char* name;
  std::string text;
  double value;
};

std::vector<Figure> parts_of(const OverlapSplit& split) {
  return {
      {"compute", "(1) compute: backward ends later beside communication", split.compute},
      {"shift", "(1) what that hides more, by the model", split.shift},
      {"reduction", "(2) all-reduces take longer within the step than alone", split.reduction},
      {"link_gaps", "(3) gaps: between all-reduces that are ready", split.link_gaps},
      {"resuming", "(3) gaps: until the model goes on", split.resuming},
      {"update", "(3) norm and update after that, less those without", split.update},
      {"skew", "(4) skew: the last rank's backward, less the usual one", split.skew},
      {"unseen", "not seen by marks: watched steps differ from unwatched", split.unseen},
  };
}

/// Of steps in which only some operations are performed; nothing is watched in these.
std::vector<Figure> left_out_of(const OverlapFindings& findings) {
  return {
      {"step_without", "no all-reduce", findings.step_without},
      {"step_without_tail", "all but the last", findings.step_without_tail},
      {"step_of_tail", "the last alone", findings.step_of_tail},
      {"step", "all", findings.step},
  };
}

std::string bucket_table(const OverlapFindings& findings, std::span<const Bytes> sizes) {
  std::string text =
      fmt::format("{:>6} {:>7} {:>13} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "bucket", "MiB",
                  "ready without", "with", "started", "ended", "took", "alone", "c_k", "wait us");
  const std::vector<BucketFinding> buckets = bucket_findings(findings);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const BucketFinding& each = buckets[i];
    fmt::format_to(
        std::back_inserter(text),
        "{:>6} {:>7.2f} {:>13.3f} {:>8.3f} {:>8.3f} {:>8.3f} {:>8.3f} {:>8.3f} {:>8.3f} {:>8.1f}\n",
        i, static_cast<double>(sizes[i].value) / (1 << 20), kMilli * each.ready_without,
        kMilli * each.ready, kMilli * each.start, kMilli * each.end, kMilli * each.within,
        kMilli * each.alone, kMilli * each.model_end, kMicro * each.wait);
  }
  return text;
}

/// Each rank's own medians of the steps without communication.
std::string rank_lines(const OverlapFindings& findings) {
  std::string text;
  for (std::size_t rank = 0; rank < findings.without.size(); ++rank) {
    const StepTimes without = median_step(findings.without[rank]);
    const StepTimes with = median_step(findings.with[rank]);
    fmt::format_to(std::back_inserter(text),
                   "rank {}: backward ends at {:.3f} without, {:.3f} with; step {:.3f} without\n",
                   rank, kMilli * without.backward_end(), kMilli * with.backward_end(),
                   kMilli * without.finish);
  }
  return text;
}

std::string verdict(const OverlapSplit& split) {
  return fmt::format("verdict: exposed {:.3f} ms, predicted {:.3f} ms: {} 15 % or 0.5 ms\n",
                     kMilli * split.measured, kMilli * split.predicted,
                     split.is_within() ? "within" : "NOT within");
}

}  // namespace

std::string overlap_text(std::string_view precision, const OverlapFindings& findings,
                         std::span<const Bytes> sizes) {
  const OverlapSplit split = split_overlap(findings);
  std::string text = fmt::format(
      "{}, {} ranks: times in ms since the begin of the step, medians of {} watched steps\n",
      precision, findings.with.size(), findings.with.front().size());
  text += bucket_table(findings, sizes);
  text += rank_lines(findings);
  const auto line = [&](std::string_view what, double value) {
    fmt::format_to(std::back_inserter(text), "{:<56} {:>8.3f}\n", what, kMilli * value);
  };
  line("exposed, predicted by the bucket model", split.predicted);
  line("exposed, measured", split.measured);
  line("difference", split.difference());
  for (const Figure& part : parts_of(split)) line("  " + part.text, part.value);
  text += "steps with some all-reduces left out, and what each takes more than one without any\n";
  for (const Figure& step : left_out_of(findings)) {
    fmt::format_to(std::back_inserter(text), "  {:<54} {:>8.3f} {:>+8.3f}\n", step.text,
                   kMilli * step.value, kMilli * (step.value - findings.step_without));
  }
  return text + verdict(split);
}

std::string overlap_csv_header() { return "precision,bucket,what,seconds\n"; }

std::string overlap_csv(std::string_view precision, const OverlapFindings& findings) {
  std::string text;
  const auto line = [&](std::string_view bucket, std::string_view what, double value) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{:.9f}\n", precision, bucket, what, value);
  };
  const std::vector<BucketFinding> buckets = bucket_findings(findings);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const BucketFinding& each = buckets[i];
    const std::vector<std::pair<const char*, double>> values{{"ready_without", each.ready_without},
                                                             {"ready", each.ready},
                                                             {"start", each.start},
                                                             {"end", each.end},
                                                             {"within", each.within},
                                                             {"alone", each.alone},
                                                             {"model_end", each.model_end},
                                                             {"wait", each.wait}};
    for (const auto& [what, value] : values) line(fmt::format("{}", i), what, value);
  }
  const OverlapSplit split = split_overlap(findings);
  line("", "predicted", split.predicted);
  line("", "measured", split.measured);
  for (const Figure& part : parts_of(split)) line("", part.name, part.value);
  for (const Figure& step : left_out_of(findings)) line("", step.name, step.value);
  return text;
}

}  // namespace linkgain::test
