#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace linkgain {

/// Says what is wrong with the gradients that a rank got while only rank `from` had some to give,
/// and all others zeros: "gradients of rank 1 alone came out of communication with hash 2a instead
/// of 2b". Empty where they are those that `from` gave.
std::string problem_of_gradients(int from, std::uint64_t found, std::uint64_t expected);

/// Says what is wrong with the parameters of `rank`, given a hash of every rank's after a step:
/// they should be alike. Those that most ranks have count as right, of several equally frequent
/// those of the lowest rank. Empty where nothing is wrong.
std::string problem_of_parameters(std::span<const std::uint64_t> hashes, int rank);

}  // namespace linkgain
