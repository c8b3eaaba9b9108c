#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace linkgain {

/// Which of several hypotheses are rejected so that the expected share of false ones among them is
/// at most `rate` (Benjamini and Hochberg, J. R. Statist. Soc. B 57, 1995). One answer for each
/// p value, in their order. Throws std::invalid_argument for a p value outside 0 … 1.
std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double rate);

/// Where those p values of one-sided tests against a bound stand that are at most 1/2: their
/// estimates lie beyond the bound.
std::vector<std::size_t> places_beyond(std::span<const double> p_values);

/// benjamini_hochberg() for such tests. Their p values are conservative wherever the truth lies
/// well within the bound, and each of them would cost power for nothing. So only those of
/// places_beyond() take part, doubled: given that they are below 1/2, twice their value is again at
/// most uniform (Zhao, Small and Su, J. Am. Statist. Assoc. 114, 2019, on uniformly conservative
/// p values, which those of Student's t are).
std::vector<bool> benjamini_hochberg_beyond(std::span<const double> p_values, double rate);

/// The largest p value at which that test would reject one more, where `beyond` take part and
/// `rejected` of them, fewer than all, are rejected: who is not has a larger one.
double next_beyond(std::size_t beyond, std::size_t rejected, double rate);

}  // namespace linkgain
