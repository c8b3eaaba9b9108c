#include "linkgain/statistics/false_discovery.hpp"

#include <algorithm>
#include <stdexcept>

namespace linkgain {

std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double rate) {
  std::vector<double> ordered(p_values.begin(), p_values.end());
  std::sort(ordered.begin(), ordered.end());
  if (!ordered.empty() && !(ordered.front() >= 0.0 && ordered.back() <= 1.0)) {
    throw std::invalid_argument("a p value lies between 0 and 1");
  }
  double threshold = -1.0;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const double line = rate * static_cast<double>(i + 1) / static_cast<double>(ordered.size());
    if (ordered[i] <= line) threshold = ordered[i];
  }
  std::vector<bool> rejected;
  for (const double p : p_values) rejected.push_back(p <= threshold);
  return rejected;
}

TestsOfABound benjamini_hochberg_beyond(std::span<const double> p_values, double rate) {
  const double most = p_values.size() > 1 ? kPlainlyWithin : 1.0;
  TestsOfABound tests;
  std::vector<double> quotients;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (p_values[i] > most) continue;  // one that is no number is refused below
    tests.in_question.push_back(i);
    quotients.push_back(p_values[i] / most);
  }
  const std::vector<bool> among_these = benjamini_hochberg(quotients, rate);
  tests.rejected.resize(p_values.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < quotients.size(); ++i) {
    tests.rejected[tests.in_question[i]] = among_these[i];
    count += among_these[i] ? 1 : 0;
  }
  const auto all = static_cast<double>(std::max<std::size_t>(1, quotients.size()));
  tests.next = most * rate * static_cast<double>(std::min(count + 1, quotients.size())) / all;
  return tests;
}

}  // namespace linkgain
