#include "linkgain/record/machine_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "linkgain/base/json.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/hardware/hardware_members.hpp"

namespace linkgain {
namespace {

std::string minor_version(const std::string& version) {
  const std::vector<std::string> parts = split(version, '.');
  return parts.size() < 2 ? version : parts[0] + "." + parts[1];
}

/// Appends a line where both are known and differ.
void compare(std::vector<std::string>& lines, const std::string& what, std::string_view key,
             std::string_view other) {
  if (key.empty() || other.empty() || key == other) return;
  lines.push_back(fmt::format("{}: {} there, {} here", what, key, other));
}

std::string text_of(std::optional<bool> value) {
  if (!value) return {};
  return *value ? "yes" : "no";
}

std::string text_of(std::optional<Ancestor> ancestor) {
  return ancestor ? std::string(label_of(*ancestor)) : std::string();
}

std::string text_of(std::optional<int> value) {
  return value ? fmt::format("{}", *value) : std::string();
}

/// "2 x NVIDIA H200", or each in turn where they differ.
std::string describe_gpus(const std::vector<std::string>& gpus) {
  if (gpus.empty()) return "no GPUs";
  const bool alike = std::all_of(gpus.begin(), gpus.end(),
                                 [&](const std::string& gpu) { return gpu == gpus.front(); });
  if (alike) return fmt::format("{} x {}", gpus.size(), gpus.front());
  std::string text;
  for (const std::string& gpu : gpus) text += (text.empty() ? "" : " + ") + gpu;
  return text;
}

void compare_links(std::vector<std::string>& lines, const MachineKey& key,
                   const MachineKey& other) {
  for (const KeyLink& link : key.links) {
    const auto match = std::find_if(
        other.links.begin(), other.links.end(),
        [&](const KeyLink& each) { return each.from == link.from && each.to == link.to; });
    if (match == other.links.end()) continue;
    const std::string pair = fmt::format("ranks {} and {}", link.from, link.to);
    compare(lines, "NVLink between " + pair, text_of(link.nvlink), text_of(match->nvlink));
    if (link.nvlink.value_or(true) == match->nvlink.value_or(true)) {
      compare(lines, "NVLinks between " + pair, text_of(link.nvlinks), text_of(match->nvlinks));
    }
    compare(lines, "P2P between " + pair, text_of(link.p2p), text_of(match->p2p));
    compare(lines, "PCIe between " + pair, text_of(link.ancestor), text_of(match->ancestor));
  }
}

template <typename T>
void fill_in(std::optional<T>& value, const std::optional<T>& other) {
  if (!value) value = other;
}

void fill_in(std::string& value, const std::string& other) {
  if (value.empty()) value = other;
}

void fill_in(std::vector<KeyLink>& links, const std::vector<KeyLink>& others) {
  for (const KeyLink& other : others) {
    const auto same = std::find_if(links.begin(), links.end(), [&](const KeyLink& each) {
      return each.from == other.from && each.to == other.to;
    });
    if (same == links.end()) {
      links.push_back(other);
      continue;
    }
    fill_in(same->nvlink, other.nvlink);
    fill_in(same->p2p, other.p2p);
    fill_in(same->ancestor, other.ancestor);
    fill_in(same->nvlinks, other.nvlinks);
  }
}

void add_gpus(MachineKey& key, const Machine& machine) {
  for (const RankInfo& rank : machine.ranks) {
    if (!rank.gpu) continue;
    key.gpus.push_back(rank.gpu->name);
    key.nvlinks.push_back(rank.gpu->nvlink_links_active);
  }
  for (const PairLink& link : machine.links) {
    key.links.push_back({link.from, link.to, link.nvlink, link.p2p, link.ancestor, link.nvlinks});
  }
}

}  // namespace

MachineKey key_of(const Record& record) {
  const Machine& machine = record.machine;
  MachineKey key;
  key.backend = record.settings.backend;
  key.ranks = static_cast<int>(machine.ranks.size());
  std::set<std::string> hosts;
  for (const RankInfo& rank : machine.ranks) hosts.insert(rank.host);
  key.hosts = std::max(1, static_cast<int>(hosts.size()));
  if (key.backend == BackendKind::mpi) {
    key.processor = machine.processor;
    key.mpi = machine.software.mpi;
  } else {
    add_gpus(key, machine);
    if (key.gpus.empty()) key.processor = machine.processor;
    key.nccl = minor_version(machine.software.nccl_library.value_or(""));
  }
  return key;
}

std::vector<std::string> differences(const MachineKey& key, const MachineKey& other) {
  std::vector<std::string> lines;
  compare(lines, "backend", name_of(key.backend), name_of(other.backend));
  compare(lines, "ranks", fmt::format("{}", key.ranks), fmt::format("{}", other.ranks));
  compare(lines, "hosts", fmt::format("{}", key.hosts), fmt::format("{}", other.hosts));
  compare(lines, "GPUs", describe_gpus(key.gpus), describe_gpus(other.gpus));
  for (std::size_t i = 0; i < std::min(key.nvlinks.size(), other.nvlinks.size()); ++i) {
    compare(lines, fmt::format("active NVLinks of rank {}", i), text_of(key.nvlinks[i]),
            text_of(other.nvlinks[i]));
  }
  compare_links(lines, key, other);
  compare(lines, "NCCL", key.nccl, other.nccl);
  compare(lines, "processor", key.processor, other.processor);
  compare(lines, "MPI", key.mpi, other.mpi);
  return lines;
}

void fill_in(MachineKey& key, const MachineKey& other) {
  for (std::size_t i = 0; i < std::min(key.nvlinks.size(), other.nvlinks.size()); ++i) {
    fill_in(key.nvlinks[i], other.nvlinks[i]);
  }
  fill_in(key.links, other.links);
  fill_in(key.nccl, other.nccl);
  fill_in(key.processor, other.processor);
  fill_in(key.mpi, other.mpi);
}

std::string describe(const MachineKey& key) {
  if (key.backend == BackendKind::exec && key.gpus.empty()) {
    return key.processor.empty() ? "an unknown processor" : key.processor;
  }
  if (key.gpus.empty()) {
    return fmt::format("{} on {}, {}", counted(key.ranks, "rank", "ranks"),
                       key.processor.empty() ? "an unknown processor" : key.processor,
                       key.mpi.empty() ? "MPI of an unknown version" : key.mpi);
  }
  const bool nvlink =
      !key.links.empty() && std::all_of(key.links.begin(), key.links.end(),
                                        [](const KeyLink& link) { return link.nvlink == true; });
  return fmt::format("{}{}{}", describe_gpus(key.gpus), nvlink ? ", NVLink" : "",
                     key.nccl.empty() ? "" : ", NCCL " + key.nccl);
}

void describe_members(auto& visit, json::Is<KeyLink> auto& link) {
  visit("from", link.from);
  visit("to", link.to);
  visit("nvlink", link.nvlink);
  visit("p2p", link.p2p);
  visit("ancestor", link.ancestor);
  visit("nvlinks", link.nvlinks);
}

}  // namespace linkgain

namespace linkgain::json {
namespace {

Out nullable_text(const std::string& text) { return text.empty() ? Out(nullptr) : Out(text); }

/// Baselines from before a pair's links were counted lack their number.
KeyLink read_key_link(const In& in) {
  const auto ancestor = optional_at<std::string>(in, "ancestor");
  return {in.at("from"),
          in.at("to"),
          optional_at<bool>(in, "nvlink"),
          optional_at<bool>(in, "p2p"),
          ancestor ? std::optional(AsText<Ancestor>::parse(*ancestor)) : std::nullopt,
          optional_at<int>(in, "nvlinks")};
}

}  // namespace

Out write_key(const MachineKey& key) {
  return {{"backend", name_of(key.backend)},
          {"ranks", key.ranks},
          {"hosts", key.hosts},
          {"gpus", key.gpus},
          {"nvlinks", array_of(key.nvlinks, nullable<int>)},
          {"links", write(key.links)},
          {"nccl", nullable_text(key.nccl)},
          {"processor", nullable_text(key.processor)},
          {"mpi", nullable_text(key.mpi)}};
}

MachineKey read_key(const In& in) {
  MachineKey key;
  key.backend = parse_recorded_backend(in.at("backend").get<std::string>());
  key.ranks = in.at("ranks");
  key.hosts = in.at("hosts");
  key.gpus = in.at("gpus").get<std::vector<std::string>>();
  key.nvlinks = vector_of<std::optional<int>>(in.at("nvlinks"), [](const In& links) {
    return links.is_null() ? std::nullopt : std::optional<int>(links.get<int>());
  });
  key.links = vector_of<KeyLink>(in.at("links"), read_key_link);
  key.nccl = optional_at<std::string>(in, "nccl").value_or("");
  key.processor = optional_at<std::string>(in, "processor").value_or("");
  key.mpi = optional_at<std::string>(in, "mpi").value_or("");
  return key;
}

}  // namespace linkgain::json
