#include "overlap_parts.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain::test {
namespace {

/// Applies `combine` to every time of several steps, which have as many operations.
template <typename Combine>
StepTimes combined(std::span<const StepTimes> steps, const Combine& combine) {
  const auto over = [&](const auto& time_of) {
    std::vector<double> times;
    for (const StepTimes& step : steps) times.push_back(time_of(step));
    return combine(times);
  };
  StepTimes result{.begin = over([](const StepTimes& step) { return step.begin; }),
                   .operations = {},
                   .resumed = over([](const StepTimes& step) { return step.resumed; }),
                   .finish = over([](const StepTimes& step) { return step.finish; })};
  for (std::size_t i = 0; i < steps.front().operations.size(); ++i) {
    result.operations.push_back(
        {over([&](const StepTimes& step) { return step.operations.at(i).ready; }),
         over([&](const StepTimes& step) { return step.operations.at(i).start; }),
         over([&](const StepTimes& step) { return step.operations.at(i).end; })});
  }
  return result;
}

StepTimes shifted(StepTimes step, double by) {
  step.begin += by;
  for (OperationTimes& each : step.operations) {
    each.ready += by;
    each.start += by;
    each.end += by;
  }
  step.resumed += by;
  step.finish += by;
  return step;
}

double largest(const std::vector<double>& values) { return *std::ranges::max_element(values); }
double middle(const std::vector<double>& values) { return median(values); }

/// Collects the same step of all ranks.
std::vector<StepTimes> step_of(std::span<const RankSteps> ranks, std::size_t step) {
  std::vector<StepTimes> result;
  for (const RankSteps& each : ranks) result.push_back(each.at(step));
  return result;
}

/// Shifts all ranks to the clock of the first.
std::vector<StepTimes> aligned(std::span<const StepTimes> ranks) {
  std::vector<StepTimes> result;
  for (const StepTimes& each : ranks) {
    result.push_back(shifted(each, clock_offset(ranks.front(), each)));
  }
  return result;
}

/// Returns for each operation the median over steps of what `time_of` makes of it on all ranks.
template <typename TimeOf>
std::vector<double> medians_of(std::span<const RankSteps> ranks, const TimeOf& time_of) {
  std::vector<std::vector<double>> times(ranks.front().at(0).operations.size());
  for (std::size_t step = 0; step < ranks.front().size(); ++step) {
    const std::vector<StepTimes> all = aligned(step_of(ranks, step));
    for (std::size_t i = 0; i < times.size(); ++i) times[i].push_back(time_of(all, i));
  }
  std::vector<double> result;
  for (const std::vector<double>& each : times) result.push_back(median(each));
  return result;
}

}  // namespace

std::vector<double> numbers_of(std::span<const StepTimes> steps) {
  std::vector<double> numbers;
  for (const StepTimes& step : steps) {
    numbers.insert(numbers.end(), {step.begin, step.resumed, step.finish});
    for (const OperationTimes& each : step.operations) {
      numbers.insert(numbers.end(), {each.ready, each.start, each.end});
    }
  }
  return numbers;
}

RankSteps steps_of(std::span<const double> numbers, std::size_t operations) {
  const std::size_t length = 3 + 3 * operations;
  if (numbers.size() % length != 0) throw std::invalid_argument("numbers of no whole steps");
  RankSteps steps;
  for (; !numbers.empty(); numbers = numbers.subspan(length)) {
    StepTimes step{
        .begin = numbers[0], .operations = {}, .resumed = numbers[1], .finish = numbers[2]};
    for (std::size_t i = 3; i < length; i += 3) {
      step.operations.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

StepTimes median_step(std::span<const StepTimes> steps) {
  std::vector<StepTimes> since_begin;
  for (const StepTimes& step : steps) since_begin.push_back(shifted(step, -step.begin));
  return combined(since_begin, middle);
}

StepTimes latest(std::span<const StepTimes> ranks) { return combined(ranks, largest); }

double clock_offset(const StepTimes& first, const StepTimes& other) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.operations.size(); ++i) {
    differences.push_back(first.operations[i].end - other.operations.at(i).end);
  }
  return median(differences);
}

StepTimes joint_step(std::span<const StepTimes> ranks) {
  const StepTimes last = latest(aligned(ranks));
  return shifted(last, -last.begin);
}

StepTimes joint_median(std::span<const RankSteps> ranks) {
  std::vector<StepTimes> steps;
  for (std::size_t i = 0; i < ranks.front().size(); ++i) {
    steps.push_back(joint_step(step_of(ranks, i)));
  }
  return combined(steps, middle);
}

std::vector<double> waits(std::span<const RankSteps> ranks) {
  return medians_of(ranks, [](const std::vector<StepTimes>& all, std::size_t i) {
    const auto start = [&](const StepTimes& step) { return step.operations.at(i).start; };
    const auto [first, last] = std::ranges::minmax(all, {}, start);
    return start(last) - start(first);
  });
}

std::vector<double> joint_durations(std::span<const RankSteps> ranks) {
  return medians_of(ranks, [](const std::vector<StepTimes>& all, std::size_t i) {
    const OperationTimes last = latest(all).operations.at(i);
    return last.end - last.start;
  });
}

BucketSchedule schedule_of(const StepTimes& step, std::span<const double> durations) {
  BucketSchedule schedule{{}, Seconds{0.0}};
  double link_free = 0.0;
  double backward_end = 0.0;
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const double ready = step.operations.at(i).ready;
    link_free = std::max(ready, link_free) + durations[i];
    backward_end = std::max(backward_end, ready);
    schedule.finish.push_back(Seconds{link_free});
  }
  schedule.exposed = Seconds{std::max(0.0, link_free - backward_end)};
  return schedule;
}

namespace {

constexpr double kShare = 0.15;
constexpr double kLeast = 0.5e-3;

/// Takes each rank's own medians, and of these the latest.
StepTimes slowest(const std::vector<RankSteps>& ranks) {
  std::vector<StepTimes> medians;
  for (const RankSteps& each : ranks) medians.push_back(median_step(each));
  return latest(medians);
}

}  // namespace

double OverlapSplit::tolerance() const { return std::max(kShare * predicted, kLeast); }

OverlapSplit split_overlap(const OverlapFindings& findings) {
  const StepTimes without = slowest(findings.without);
  const StepTimes with = joint_median(findings.with);
  const std::vector<double> alone = joint_durations(findings.alone);
  const double with_shift = schedule_of(with, alone).exposed.value;
  const double within = schedule_of(with, joint_durations(findings.with)).exposed.value;
  const double own_end = slowest(findings.with).backward_end();
  const double link_end = with.operations.back().end;

  OverlapSplit split;
  split.predicted = schedule_of(without, alone).exposed.value;
  split.measured = findings.step - findings.step_without;
  split.compute = own_end - without.backward_end();
  split.skew = with.backward_end() - own_end;
  split.shift = with_shift - split.predicted;
  split.reduction = within - with_shift;
  split.link_gaps = link_end - with.backward_end() - within;
  split.resuming = with.resumed - link_end;
  split.update = (with.finish - with.resumed) - (without.finish - without.backward_end());
  split.unseen = split.measured - (with.finish - without.finish);
  return split;
}

std::vector<BucketFinding> bucket_findings(const OverlapFindings& findings) {
  const StepTimes without = slowest(findings.without);
  const StepTimes with = joint_median(findings.with);
  const std::vector<double> alone = joint_durations(findings.alone);
  const std::vector<double> within = joint_durations(findings.with);
  const std::vector<double> waiting = waits(findings.with);
  const BucketSchedule model = schedule_of(without, alone);
  std::vector<BucketFinding> buckets;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const OperationTimes& times = with.operations[i];
    buckets.push_back({.ready_without = without.operations[i].ready,
                       .ready = times.ready,
                       .start = times.start,
                       .end = times.end,
                       .alone = alone[i],
                       .within = within[i],
                       .model_end = model.finish[i].value,
                       .wait = waiting[i]});
  }
  return buckets;
}

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

/// Lists the steps in which only some operations are performed; nothing is watched in these.
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

/// Lists each rank's own medians of the steps without communication.
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
