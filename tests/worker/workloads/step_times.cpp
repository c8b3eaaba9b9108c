#include "step_times.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain::test {
namespace {

/// `combine` of every time of several steps, which have as many operations.
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

/// The same step of all ranks.
std::vector<StepTimes> step_of(std::span<const RankSteps> ranks, std::size_t step) {
  std::vector<StepTimes> result;
  for (const RankSteps& each : ranks) result.push_back(each.at(step));
  return result;
}

/// By the clock of the first.
std::vector<StepTimes> aligned(std::span<const StepTimes> ranks) {
  std::vector<StepTimes> result;
  for (const StepTimes& each : ranks) {
    result.push_back(shifted(each, clock_offset(ranks.front(), each)));
  }
  return result;
}

/// For each operation the median over steps of what `time_of` makes of it on all ranks.
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

}  // namespace linkgain::test
