#include "linkgain/diagnostics/link_verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "checks.hpp"
#include "faults.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

using Pairs = std::vector<TopologyPair>;
using Places = std::vector<int>;  ///< of GPUs in the topology, ascending

const TopologyGpu& gpu_at(const Topology& topology, int place) {
  return topology.gpus[static_cast<std::size_t>(place)];
}

/// Says "GPU0 and GPU1", "GPU0 to GPU7", "GPU0, GPU2 and GPU5"
std::string names_of(const Topology& topology, const Places& places) {
  const int first = gpu_at(topology, places.front()).index;
  const int last = gpu_at(topology, places.back()).index;
  const auto count = static_cast<int>(places.size());
  if (count > 2 && last - first == count - 1) return fmt::format("GPU{} to GPU{}", first, last);
  std::string text;
  for (int i = 0; i < count; ++i) {
    const char* before = i == 0 ? "" : i + 1 == count ? " and " : ", ";
    text += before + device_label(topology, places[static_cast<std::size_t>(i)]);
  }
  return text;
}

Places all_gpus(const Topology& topology) {
  Places places(topology.gpus.size());
  std::iota(places.begin(), places.end(), 0);
  return places;
}

Places gpus_of(const Pairs& pairs) {
  std::set<int> places;
  for (const TopologyPair& pair : pairs) places.insert({pair.from, pair.to});
  return {places.begin(), places.end()};
}

/// The pairs by whether NVLink joins them.
struct Joined {
  Pairs yes;
  Pairs no;
  Pairs unknown;
};

Joined sorted_pairs(const Topology& topology) {
  Joined sorted;
  for (const TopologyPair& pair : gpu_pairs(topology)) {
    const std::optional<bool> joined = joined_by_nvlink(pair);
    (!joined ? sorted.unknown : *joined ? sorted.yes : sorted.no).push_back(pair);
  }
  return sorted;
}

/// Says "4", "2 to 4".
std::string range_of(const std::set<int>& numbers) {
  if (numbers.size() == 1) return fmt::to_string(*numbers.begin());
  return fmt::format("{} to {}", *numbers.begin(), *numbers.rbegin());
}

/// Says "4 of 4 links active" of each GPU, "12 links active (all that three bridges carry)", "links
/// not counted (reason)".
std::string links_text(const Topology& topology, const Places& places) {
  std::set<int> active;
  std::set<int> possible;
  for (const int place : places) {
    const NvlinkInfo& nvlink = gpu_at(topology, place).nvlink;
    if (!nvlink.active.measured()) {
      return fmt::format("links not counted ({})", nvlink.active.reason());
    }
    active.insert(nvlink.active.value());
    if (nvlink.possible.measured()) possible.insert(nvlink.possible.value());
  }
  const bool are_all = std::ranges::all_of(
      places, [&](int place) { return has_all_of_bridges(gpu_at(topology, place)); });
  const std::string most = possible.empty() || are_all ? "" : " of " + range_of(possible);
  return fmt::format("{}{} links active{}{}", range_of(active), most,
                     places.size() > 2 ? " on each GPU" : "",
                     are_all ? " (all that three bridges carry)" : "");
}

/// The answer for all pairs together.
struct PeerAccess {
  bool works = false;
  std::string text;  ///< "peer access works", or the first reason why it does not
};

PeerAccess peer_access(const Topology& topology, const Pairs& pairs) {
  std::size_t refused = 0;
  bool only_writes = true;
  std::string first;
  std::string unknown;
  for (const TopologyPair& pair : pairs) {
    const P2pRefusal refusal = p2p_refusal(topology, pair);
    if (!refusal.unknown.empty()) unknown = refusal.unknown;
    if (refusal.why_not.empty()) continue;
    only_writes = only_writes && refusal.use == P2pUse::writes;
    if (refused++ == 0) first = refusal.why_not;
  }
  if (refused > 0) {
    const std::string where =
        refused < pairs.size()
            ? " in " + counted(static_cast<std::int64_t>(refused), "pair", "pairs")
            : "";
    return {false, fmt::format("{}{} ({})",
                               only_writes ? "peer writes are refused" : "peer access is refused",
                               where, first)};
  }
  if (!unknown.empty()) return {false, fmt::format("peer access is not known ({})", unknown)};
  return {true, "peer access works"};
}

bool is_switched(const Topology& topology, const Places& places) {
  return std::ranges::all_of(
      places, [&](int place) { return gpu_at(topology, place).nvlink.switched.value_or(false); });
}

std::string through(const Topology& topology, const Places& places) {
  return is_switched(topology, places) ? "NVLink through a switch" : "NVLink";
}

std::string all_joined(const Topology& topology, const Pairs& pairs) {
  const Places places = all_gpus(topology);
  const std::string names = names_of(topology, places);
  return fmt::format(
      "{} are joined by {}: {}, {}.",
      pairs.size() == 1 ? names : fmt::format("All {} pairs of {}", pairs.size(), names),
      through(topology, places), links_text(topology, places), peer_access(topology, pairs).text);
}

bool all_lack_nvlink(const Topology& topology) {
  return std::ranges::all_of(topology.gpus,
                             [](const TopologyGpu& gpu) { return !may_have_nvlink(gpu.nvlink); });
}

/// Tells whether a patched driver grants P2P between some of them.
bool has_patched(const Topology& topology, const Pairs& pairs) {
  return std::ranges::any_of(pairs,
                             [&](const TopologyPair& pair) { return is_patched(topology, pair); });
}

std::string none_joined(const Topology& topology, const Pairs& pairs) {
  const Places places = all_gpus(topology);
  const bool lack = all_lack_nvlink(topology);
  const PeerAccess peer = peer_access(topology, pairs);
  const std::string names = names_of(topology, places);
  return fmt::format(
      "{} connected by NVLink: {}, {}.",
      pairs.size() == 1 ? names + " are not" : fmt::format("No pair of {} is", names),
      lack ? "they have none" : links_text(topology, places),
      !peer.works ? peer.text
      : has_patched(topology, pairs)
          ? "peer access is granted over PCIe, by a driver that was patched for it"
          : peer.text + " over PCIe");
}

/// Sorts GPUs that NVLink joins each with each into groups; absent where some are joined through
/// others alone.
std::optional<std::vector<Places>> groups_of(const Pairs& joined) {
  std::vector<Places> groups;
  for (const TopologyPair& pair : joined) {
    const auto group = std::ranges::find_if(groups, [&](const Places& each) {
      return std::ranges::find(each, pair.from) != each.end() ||
             std::ranges::find(each, pair.to) != each.end();
    });
    Places& places = group == groups.end() ? groups.emplace_back() : *group;
    for (const int place : {pair.from, pair.to}) {
      if (std::ranges::find(places, place) == places.end()) places.push_back(place);
    }
    std::ranges::sort(places);
  }
  std::size_t pairs = 0;
  for (const Places& places : groups) pairs += places.size() * (places.size() - 1) / 2;
  if (pairs != joined.size()) return std::nullopt;
  return groups;
}

std::string pairs_text(const Topology& topology, const Pairs& pairs) {
  constexpr std::size_t kNamed = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(pairs.size(), kNamed); ++i) {
    text += (i > 0 ? ", " : "") + device_labels(topology, pairs[i]);
  }
  if (pairs.size() <= kNamed) return text;
  return fmt::format("{} and {} more", text, pairs.size() - kNamed);
}

/// Says "GPU0 and GPU1, GPU2 and GPU3, but not GPU4", "16 of 28 pairs, but not GPU0-GPU5, …"
std::string what_is_joined(const Topology& topology, const Joined& joined) {
  const auto groups = groups_of(joined.yes);
  if (!groups) {
    const std::size_t all = joined.yes.size() + joined.no.size() + joined.unknown.size();
    const std::string others =
        joined.no.empty() ? "" : ", but not " + pairs_text(topology, joined.no);
    return fmt::format("{} of {} pairs{}", joined.yes.size(), all, others);
  }
  std::vector<std::string> names;
  for (const Places& places : *groups) names.push_back(names_of(topology, places));
  Places alone;
  std::ranges::set_difference(gpus_of(joined.no), gpus_of(joined.yes), std::back_inserter(alone));
  return fmt::format("{}, {}", fmt::join(names, ", "),
                     alone.empty() ? "and no other pair" : "but not " + names_of(topology, alone));
}

std::string some_joined(const Topology& topology, const Joined& joined) {
  const Places places = gpus_of(joined.yes);
  const auto unknown = static_cast<std::int64_t>(joined.unknown.size());
  return fmt::format(
      "{} joins {}: {}, {}.{}", through(topology, places), what_is_joined(topology, joined),
      links_text(topology, places), peer_access(topology, joined.yes).text,
      unknown > 0 ? fmt::format(" Not known of {}: {}.", counted(unknown, "pair", "pairs"),
                                joined.unknown.front().nvlinks.reason())
                  : "");
}

/// Says whether NVLink joins the GPUs, how many links are active and whether peer access works.
std::string verdict_of(const Topology& topology, const Joined& joined) {
  if (topology.gpus.empty()) return fmt::format("There is no GPU: {}.", topology.no_gpus);
  if (topology.gpus.size() == 1) {
    return fmt::format("{} is the only GPU: there is none to join it to.",
                       device_label(topology, 0));
  }
  if (!joined.yes.empty() && joined.no.empty() && joined.unknown.empty()) {
    return all_joined(topology, joined.yes);
  }
  if (!joined.yes.empty()) return some_joined(topology, joined);
  if (!joined.unknown.empty()) {
    return fmt::format("Whether NVLink joins {} is not known: {}.",
                       joined.no.empty() ? names_of(topology, all_gpus(topology))
                                         : pairs_text(topology, joined.unknown),
                       joined.unknown.front().nvlinks.reason());
  }
  return none_joined(topology, joined.no);
}

bool could_be_bridged(const Topology& topology, const TopologyPair& pair) {
  return linkgain::could_be_bridged(gpu_at(topology, pair.from), gpu_at(topology, pair.to));
}

/// Tells whether NVLink joins GPUs and yet links are down or peer access is refused.
bool is_bad(const Topology& topology, const Pairs& joined) {
  const auto lacks_links = [&](int place) { return has_links_down(gpu_at(topology, place)); };
  const auto is_refused = [&](const TopologyPair& pair) {
    return !p2p_refusal(topology, pair).why_not.empty();
  };
  return std::ranges::any_of(gpus_of(joined), lacks_links) ||
         std::ranges::any_of(joined, is_refused);
}

/// Says what to measure where two GPUs have a bridge that is in order, or could have one, and where
/// none fits; else empty.
std::string bridge_advice(const Topology& topology, const Joined& joined) {
  const auto is_bridge = [&](const TopologyPair& pair) {
    return !gpu_at(topology, pair.from).nvlink.switched.value_or(true);
  };
  const auto can_be = [&](const TopologyPair& pair) { return could_be_bridged(topology, pair); };
  if (is_bad(topology, joined.yes)) return {};
  if (std::ranges::any_of(joined.yes, is_bridge)) {
    return "What the bridge is worth: `linkgain run` (2 to 3 minutes, with training)";
  }
  const auto pair = std::ranges::find_if(joined.no, can_be);
  if (pair == joined.no.end()) {
    const bool none_fits = joined.yes.empty() && !joined.no.empty() && all_lack_nvlink(topology);
    return none_fits ? "No bridge fits these GPUs." : "";
  }
  const std::string& model = gpu_at(topology, pair->from).name;
  const std::optional<double> rate = bridge_rate(model);
  return fmt::format(
      "{}What a bridge could save, and what it does once fitted: `linkgain run` before and after "
      "(2 to 3 minutes, with training)",
      rate ? fmt::format("A bridge for {} carries {:.4g} GB/s each way. ", model, *rate) : "");
}

using Choices = std::vector<std::pair<NcclChoice, Pairs>>;

/// Returns what NCCL takes between GPUs that NVLink does not join, and where a variable keeps it
/// from NVLink.
Choices choices_of(const Topology& topology, const P2pVariables& variables) {
  Choices choices;
  for (const TopologyPair& pair : gpu_pairs(topology)) {
    const NcclChoice choice = nccl_choice(topology, pair, variables);
    if (joined_by_nvlink(pair).value_or(true) && !choice.leaves_p2p) continue;
    const auto same = std::ranges::find(choices, choice, &std::pair<NcclChoice, Pairs>::first);
    (same == choices.end() ? choices.emplace_back(choice, Pairs{}) : *same).second.push_back(pair);
  }
  return choices;
}

/// Says how P2P is allowed where a variable forbids it; else adds what shows whether P2P is worth
/// more than NCCL's choice, where it leaves P2P unused, or whether a patched driver's works.
std::string advice_for(const Topology& topology, const Joined& joined, const Choices& choices,
                       const NcclSettings& nccl) {
  const bool leaves_p2p =
      std::ranges::any_of(choices, [](const auto& each) { return each.first.leaves_p2p; });
  const NcclSetting* forbidding = leaves_p2p ? forbidding_p2p(nccl) : nullptr;
  std::vector<std::string> advice{bridge_advice(topology, joined)};
  if (forbidding != nullptr) {
    advice.insert(advice.begin(), fmt::format("To allow P2P, {}.", removal_of(*forbidding)));
  }
  if (leaves_p2p && forbidding == nullptr) {
    advice.emplace_back(
        "Whether P2P works and what it could save: `linkgain doctor --prove`, then `linkgain run "
        "--variant host --variant p2p-sys`");
  } else if (has_patched(topology, joined.no)) {
    advice.emplace_back("Whether data arrive: `linkgain doctor --prove`");
  }
  std::erase(advice, "");
  return fmt::format("{}", fmt::join(advice, " "));
}

/// Says what NCCL takes, and why; empty where NVLink joins all and is used, or some through others,
/// or nothing is known of it.
std::string nccl_text(const Topology& topology, const Joined& joined, const Choices& choices) {
  if (!groups_of(joined.yes)) return {};
  std::string text;
  for (const auto& [choice, pairs] : choices) {
    if (choice.path == NcclChoice::Path::unknown) return {};
    const bool is_all = pairs.size() == joined.yes.size() + joined.no.size();
    text += fmt::format("{}NCCL takes {}.", text.empty() ? "" : " ",
                        text_of(choice, is_all ? "" : " between " + pairs_text(topology, pairs)));
  }
  return text;
}

/// Does doctor's checks of links and peer access.
Findings findings_of(const Topology& topology, const NcclSettings& nccl) {
  Survey survey;
  survey.topology = topology;
  survey.software.nccl = nccl;
  for (const TopologyGpu& gpu : topology.gpus) {
    GpuSurvey& own = survey.gpus.emplace_back();
    own.index = gpu.index;
    own.lost = gpu.no_answer;
  }
  Findings findings;
  check_nvlink(survey, findings);
  check_p2p(survey, findings);
  return findings;
}

}  // namespace

LinkAnswer link_answer(const Topology& topology, const NcclSettings& nccl) {
  const Joined joined = sorted_pairs(topology);
  const Choices choices = choices_of(topology, p2p_variables(nccl));
  const std::string takes = nccl_text(topology, joined, choices);
  const Findings findings = findings_of(topology, nccl);
  const auto count = [&](CheckVerdict verdict) {
    return std::ranges::count(findings, verdict, &Finding::verdict);
  };
  const auto is_told = [&](const Finding& finding) {
    const bool warns = finding.verdict == CheckVerdict::warning;
    if (finding.id == "nccl-path") return warns && !takes.empty();
    return finding.advice == fault::p2p_refused_bridgeless.advice ||
           (finding.advice == fault::p2p_patched.advice && joined.yes.empty());
  };
  const auto problems = count(CheckVerdict::problem);
  const auto warnings = count(CheckVerdict::warning);
  const auto told = std::ranges::count_if(findings, is_told);
  const bool is_doubtful = warnings > 0 || !joined.unknown.empty();
  return {verdict_of(topology, joined), advice_for(topology, joined, choices, nccl),
          problems > 0  ? CheckVerdict::problem
          : is_doubtful ? CheckVerdict::warning
                        : CheckVerdict::ok,
          problems + warnings > told || !joined.unknown.empty(), takes};
}

Document document_of(const LinkAnswer& answer) {
  Document document;
  document.paragraph(answer.verdict);
  if (!answer.nccl.empty()) document.paragraph(answer.nccl);
  if (!answer.advice.empty()) document.paragraph(with_code(answer.advice));
  return document;
}

}  // namespace linkgain
