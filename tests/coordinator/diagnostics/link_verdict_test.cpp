#include "linkgain/diagnostics/link_verdict.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "linkgain/diagnostics/finding.hpp"
#include "linkgain/diagnostics/survey.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "sample_topologies.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

std::string answer(const Topology& topology, const NcclSettings& nccl = {}) {
  const LinkAnswer answer = link_answer(topology, nccl);
  return fmt::format("{}({}{})\n", to_terminal(document_of(answer)), name_of(answer.judgement),
                     answer.has_more ? ", doctor says more" : "");
}

/// Makes so many GPUs of a kind, with the pairs that NVLink joins.
Topology gpus_joined(const NvlinkInfo& links, int gpus,
                     const std::vector<std::pair<int, int>>& joined) {
  Topology topology;
  for (int i = 0; i < gpus; ++i) {
    topology.gpus.push_back(gpu(i, "NVIDIA GPU", "0000:0" + std::to_string(i), links, 4));
  }
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      bool over_nvlink = false;
      for (const auto& [a, b] : joined) {
        over_nvlink = over_nvlink || (a == from && b == to) || (a == to && b == from);
      }
      topology.pairs.push_back(
          pair(from, to, Ancestor::phb, over_nvlink ? 4 : 0, over_nvlink ? "" : "not supported"));
    }
  }
  return topology;
}

/// Describes GPUs without a link that is up.
NvlinkInfo dark(int possible) {
  NvlinkInfo links = nvlink(5, 0, possible, 0, false);
  links.switched = Missing{"no link is active"};
  return links;
}

const NvlinkInfo kBridged = nvlink(5, 4, 4, 14.0625, false);

TEST(LinkVerdict, OfTwoGpus) {
  Situations texts;
  texts.add("a switch", answer(h200_pair()));
  texts.add("a bridge", answer(ga102_pair()));
  Topology topology = ga102_pair();
  topology.gpus[1].nvlink.active = 3;
  texts.add("a link down on one side", answer(topology));
  topology = ga102_pair();
  topology.pairs[1].write = p2p("chipset not supported");
  texts.add("writes refused one way", answer(topology));
  topology.pairs[1].write = Missing{"Unknown Error"};
  texts.add("writes not known one way", answer(topology));
  topology = ga102_pair();
  for (TopologyPair& each : topology.pairs) each.nvlinks = Missing{"too old"};
  for (TopologyGpu& each : topology.gpus) each.nvlink.active = Missing{"too old"};
  texts.add("links not counted", answer(topology));
  for (TopologyPair& each : topology.pairs) {
    each.over_nvlink = Missing{"Unknown Error"};
  }
  texts.add("nothing known", answer(topology));
  texts.add("no bridge", answer(gpus_joined(dark(4), 2, {})));
  topology = gpus_joined(dark(4), 2, {});
  topology.gpus[1].name = "NVIDIA other GPU";
  texts.add("no bridge that fits both", answer(topology));
  topology = gpus_joined(dark(0), 2, {});
  texts.add("no NVLink, no P2P", answer(topology));
  topology.pairs = {pair(0, 1, Ancestor::phb, 0), pair(1, 0, Ancestor::phb, 0)};
  texts.add("no NVLink, P2P", answer(topology));
  topology.has_amd_cpu = true;
  texts.add("no NVLink, P2P, an AMD CPU", answer(topology));
  topology.pairs = {pair(0, 1, Ancestor::pix, 0), pair(1, 0, Ancestor::pix, 0)};
  texts.add("no NVLink, P2P through a switch", answer(topology));
  for (TopologyGpu& each : topology.gpus) each.name = "NVIDIA GeForce RTX 4090";
  texts.add("no NVLink, P2P, a patched driver", answer(topology));
  texts.expect_golden("link_verdict_two.txt");
}

/// Says in its first lines what doctor's check nccl-path says further down, whatever is set.
TEST(LinkVerdict, IsThatOfAJobFromHere) {
  Situations texts;
  Topology patched = gpus_joined(dark(0), 2, {});
  for (TopologyGpu& each : patched.gpus) each.name = "NVIDIA GeForce RTX 4090";
  patched.pairs = {pair(0, 1, Ancestor::phb, 0), pair(1, 0, Ancestor::phb, 0)};
  patched.has_amd_cpu = true;
  Topology mixed = gpus_joined(kBridged, 3, {{0, 2}});
  mixed.gpus[1].nvlink = dark(4);
  for (const auto& [name, topology] : {std::pair{"PCIe, a patched driver", patched},
                                       {"a bridge", ga102_pair()},
                                       {"a bridge, and a GPU alone", mixed}}) {
    texts.about(name);
    for (const NcclSetting& setting : {NcclSetting{"NCCL_DEBUG", "WARN"},
                                       {"NCCL_P2P_DISABLE", "1"},
                                       {"NCCL_P2P_LEVEL", "PXB"},
                                       {"NCCL_P2P_LEVEL", "LOC"},
                                       {"NCCL_P2P_LEVEL", "SYS"}}) {
      Survey survey;
      survey.topology = topology;
      survey.software.nccl.in_force = {setting};
      texts.add(setting.name + "=" + setting.value, answer(topology, survey.software.nccl));
      const std::string line = link_answer(topology, survey.software.nccl).nccl;
      for (const Finding& finding : check_machine(survey)) {
        if (finding.id != "nccl-path" || line.empty() || topology.gpus.size() > 2) continue;
        EXPECT_EQ(line, "NCCL takes " + finding.value.text() + ".");
      }
    }
  }
  texts.expect_golden("link_verdict_settings.txt");
}

TEST(LinkVerdict, OfOtherNumbers) {
  Situations texts;
  Topology none;
  none.no_gpus = "no driver";
  texts.add("no GPU", answer(none));
  texts.add("one GPU", answer(gpus_joined(kBridged, 1, {})));
  const NvlinkInfo switched = nvlink(6, 18, 18, 26.5625, true);
  Topology three = gpus_joined(switched, 3, {{0, 1}, {0, 2}, {1, 2}});
  texts.add("three on a switch", answer(three));
  three.pairs[0].read = p2p("GPU not supported");
  texts.add("three on a switch, a pair refused", answer(three));
  texts.add("two bridges", answer(gpus_joined(kBridged, 4, {{0, 1}, {2, 3}})));
  Topology one_bridge = gpus_joined(kBridged, 3, {{0, 2}});
  one_bridge.gpus[1].nvlink = dark(4);
  texts.add("a bridge, and a GPU alone", answer(one_bridge));
  texts.add("a ring", answer(gpus_joined(kBridged, 4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}})));
  texts.add("no bridge", answer(gpus_joined(dark(4), 4, {})));
  Topology switches = gpus_joined(dark(0), 4, {});
  for (TopologyPair& each : switches.pairs) {
    const bool near = each.from / 2 == each.to / 2;
    each = pair(each.from, each.to, near ? Ancestor::pix : Ancestor::sys, 0);
  }
  texts.add("two switches", answer(switches));
  switches.has_amd_cpu = true;
  texts.add("two switches, an AMD CPU", answer(switches));
  texts.add("a bridge with a link down, a GPU alone, one lost", answer(troubled_machine()));
  texts.expect_golden("link_verdict_more.txt");
}

TEST(LinkVerdict, IsBrokenWhereATerminalEnds) {
  for (const std::size_t width : {std::size_t{40}, std::size_t{60}, kAnyColumns}) {
    std::istringstream lines(
        to_terminal(document_of(link_answer(gpus_joined(dark(4), 4, {}))), {.columns = width}));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), std::min(width, kTerminalColumns)) << line;
    }
  }
}

}  // namespace
}  // namespace linkgain::test
