#include "linkgain/runtime/fault.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

std::int64_t parse_number(std::string_view text, std::string_view whole) {
  constexpr std::int64_t kMost = 1'000'000;  // more than there are ranks or batches
  const auto number = whole_number<std::int64_t>(text);
  if (number && *number >= 0 && *number <= kMost) return *number;
  throw UsageError(fmt::format("LINKGAIN_TEST_FAULT '{}' is not kind@rank[:batch][/place]", whole));
}

constexpr std::array kKinds{std::pair{"corrupt", Fault::Kind::corrupt},
                            std::pair{"element", Fault::Kind::element},
                            std::pair{"last", Fault::Kind::last},
                            std::pair{"stale", Fault::Kind::stale},
                            std::pair{"wrong-rank", Fault::Kind::wrong_rank},
                            std::pair{"swapped", Fault::Kind::swapped},
                            std::pair{"die", Fault::Kind::die},
                            std::pair{"hang", Fault::Kind::hang},
                            std::pair{"late", Fault::Kind::late},
                            std::pair{"stop", Fault::Kind::stop},
                            std::pair{"garbage", Fault::Kind::garbage},
                            std::pair{"drop", Fault::Kind::drop},
                            std::pair{"own-window", Fault::Kind::own_window},
                            std::pair{"unmapped", Fault::Kind::unmapped}};

constexpr std::array kPlaces{std::pair{"launch", Fault::Place::launch},
                             std::pair{"start", Fault::Place::start},
                             std::pair{"connect", Fault::Place::connect},
                             std::pair{"open", Fault::Place::open},
                             std::pair{"warm-up", Fault::Place::warm_up},
                             std::pair{"batch", Fault::Place::batch},
                             std::pair{"operation", Fault::Place::operation},
                             std::pair{"reply", Fault::Place::reply},
                             std::pair{"verify", Fault::Place::verify},
                             std::pair{"close", Fault::Place::close},
                             std::pair{"end", Fault::Place::end}};

/// Reads a name; `known` says what else there could have been.
template <typename Names>
auto parse_name(const Names& names, std::string_view name,
                std::vector<std::string_view> known = {}) {
  for (const auto& [own, value] : names) {
    if (own == name) return value;
    known.push_back(own);
  }
  throw UsageError(
      fmt::format("LINKGAIN_TEST_FAULT knows {}, not '{}'", fmt::join(known, ", "), name));
}

}  // namespace

std::optional<Fault> parse_fault(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Fault fault;
  std::string_view rest = text;
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view place = rest.substr(slash + 1);
    std::vector<std::string_view> rungs;
    for (const ProofRung rung : kValues<ProofRung>) {
      rungs.push_back(name_of(rung));
      if (place == rungs.back()) fault.rung = rung;
    }
    if (!fault.rung) fault.place = parse_name(kPlaces, place, rungs);
    rest = rest.substr(0, slash);
  }
  const std::size_t at = rest.find('@');
  fault.kind = parse_name(kKinds, rest.substr(0, at));
  if (at == std::string_view::npos) throw UsageError("LINKGAIN_TEST_FAULT names no rank");
  rest = rest.substr(at + 1);
  const std::size_t colon = rest.find(':');
  fault.rank = static_cast<int>(parse_number(rest.substr(0, colon), text));
  if (colon != std::string_view::npos) fault.batch = parse_number(rest.substr(colon + 1), text);
  return fault;
}

void obey(const std::optional<Fault>& fault, int rank, Fault::Place place, std::int64_t batch) {
  constexpr std::chrono::seconds kLate{2};
  if (!fault || fault->rung || fault->rank != rank) return;
  if (fault->place != place || fault->batch != batch) return;
  if (fault->kind == Fault::Kind::die) ::raise(SIGKILL);
  if (fault->kind == Fault::Kind::stop) ::raise(SIGSTOP);
  if (fault->kind == Fault::Kind::late) {
    print_message(stderr, fmt::format("LINKGAIN_TEST_FAULT: rank {} is late\n", rank));
    std::this_thread::sleep_for(kLate);
  }
  while (fault->kind == Fault::Kind::hang) ::pause();
}

Spoil spoil_of(const std::optional<Fault>& fault, int rank) {
  if (!fault || fault->rung || fault->rank != rank) return Spoil::nothing;
  constexpr std::array kSpoils{std::pair{Fault::Kind::corrupt, Spoil::bit},
                               std::pair{Fault::Kind::element, Spoil::element},
                               std::pair{Fault::Kind::last, Spoil::last},
                               std::pair{Fault::Kind::stale, Spoil::stale},
                               std::pair{Fault::Kind::wrong_rank, Spoil::wrong_rank},
                               std::pair{Fault::Kind::swapped, Spoil::swapped}};
  const auto found =
      std::ranges::find(kSpoils, fault->kind, [](const auto& each) { return each.first; });
  return found == kSpoils.end() ? Spoil::nothing : found->second;
}

void spoil_part(std::span<std::byte> part, Bytes element, Spoil spoil) {
  const auto size = static_cast<std::size_t>(element.value);
  const std::size_t middle = part.size() / size / 2;
  switch (spoil) {
    case Spoil::bit:
      part[middle * size] ^= std::byte{1};
      break;
    case Spoil::element:
      for (std::byte& each : part.subspan(middle * size, size)) each = ~each;
      break;
    case Spoil::last:
      part[part.size() - size] ^= std::byte{1};
      break;
    case Spoil::swapped:
      std::ranges::swap_ranges(part.first(middle * size), part.last(middle * size));
      break;
    case Spoil::nothing:
    case Spoil::stale:
    case Spoil::wrong_rank:
      break;
  }
}

std::optional<Fault> fault_from_environment() {
  const char* text = std::getenv("LINKGAIN_TEST_FAULT");
  return parse_fault(text ? text : "");
}

}  // namespace linkgain
