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

std::vector<std::size_t> places_beyond(std::span<const double> p_values) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (!(p_values[i] > 0.5)) places.push_back(i);  // one that is no number is refused later
  }
  return places;
}

std::vector<bool> benjamini_hochberg_beyond(std::span<const double> p_values, double rate) {
  const std::vector<std::size_t> places = places_beyond(p_values);
  std::vector<double> doubled;
  for (const std::size_t place : places) doubled.push_back(2.0 * p_values[place]);
  const std::vector<bool> among_them = benjamini_hochberg(doubled, rate);
  std::vector<bool> rejected(p_values.size(), false);
  for (std::size_t i = 0; i < places.size(); ++i) rejected[places[i]] = among_them[i];
  return rejected;
}

double next_beyond(std::size_t beyond, std::size_t rejected, double rate) {
  return 0.5 * rate * static_cast<double>(rejected + 1) / static_cast<double>(beyond);
}

}  // namespace linkgain
