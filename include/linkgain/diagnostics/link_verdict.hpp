#pragma once

#include <string>

#include "linkgain/base/names.hpp"
#include "linkgain/hardware/nccl_settings.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

enum class CheckVerdict { ok, warning, problem, not_checkable };

template <>
inline constexpr auto kNames<CheckVerdict> =
    names<CheckVerdict>("verdict", {{CheckVerdict::ok, "ok"},
                                    {CheckVerdict::warning, "warning"},
                                    {CheckVerdict::problem, "problem"},
                                    {CheckVerdict::not_checkable, "not checkable"}});

/// What `topo` and `doctor` say first.
struct LinkAnswer {
  /// "GPU0 and GPU1 are joined by NVLink: 4 of 4 links active, peer access works." More than two
  /// GPUs are grouped: all pairs, or which of them.
  std::string verdict;
  /// What to measure where two GPUs have a bridge that is in order, or could have one, with its
  /// command between backticks; else empty.
  std::string advice;
  /// The worst that `doctor` finds of links and peer access: a problem, a warning or ok. Pairs of
  /// which nothing is known are a warning.
  CheckVerdict judgement = CheckVerdict::ok;
  /// Whether doctor knows more of it than these say: not of GPUs without P2P that take no bridge.
  bool has_more = false;
  /// "NCCL takes host memory: they meet at the CPU (PHB), ..." between GPUs without NVLink; empty
  /// where NVLink joins all and is used.
  std::string nccl{};
};
/// Says what NCCL takes with the settings that a job from here would find.
LinkAnswer link_answer(const Topology& topology, const NcclSettings& nccl = {});

Document document_of(const LinkAnswer& answer);

}  // namespace linkgain
