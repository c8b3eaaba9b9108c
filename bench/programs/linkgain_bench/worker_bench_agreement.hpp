#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// Thrown by all ranks alike: each can leave by itself and one can speak for all.
class AgreedError : public MachineError {
 public:
  using MachineError::MachineError;
};

/// Collective: what `make` returns on this rank. Throws AgreedError on every rank where `make`
/// threw an Error on one of them.
template <typename Make>
auto make_agreed(Session& session, Make make) {
  decltype(make()) made{};
  std::optional<std::string> problem;  // text and advice on a line each
  try {
    made = make();
  } catch (const Error& error) {
    problem = fmt::format("{}\n{}", error.what(), error.advice());
  }
  if (const auto first = session.first_text(problem)) {
    const std::size_t line_end = first->find('\n');
    throw AgreedError(first->substr(0, line_end), first->substr(line_end + 1));
  }
  return made;
}

}  // namespace linkgain
