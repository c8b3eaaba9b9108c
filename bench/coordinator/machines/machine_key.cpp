#include "linkgain/machines/machine_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "linkgain/base/text.hpp"
#include "linkgain/cases/backend.hpp"

namespace linkgain {
namespace {

std::optional<std::string> known(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

/// Returns "2 x NVIDIA H200", or each in turn where they differ.
std::string describe_gpus(const std::vector<std::string>& gpus) {
  if (gpus.empty()) return "no GPUs";
  const bool alike =
      std::ranges::all_of(gpus, [&](const std::string& gpu) { return gpu == gpus.front(); });
  if (alike) return fmt::format("{} x {}", gpus.size(), gpus.front());
  std::string text;
  for (const std::string& gpu : gpus) text += (text.empty() ? "" : " + ") + gpu;
  return text;
}

template <typename T>
void fill_in(std::optional<T>& value, const std::optional<T>& other) {
  if (!value) value = other;
}

void fill_in(std::vector<PairLink>& links, const std::vector<PairLink>& others) {
  for (const PairLink& other : others) {
    const auto same = std::ranges::find_if(links, [&](const PairLink& each) {
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
  key.links = machine.links;
}

}  // namespace

std::optional<std::string> nccl_release(const std::optional<std::string>& version) {
  if (!version || version->empty()) return std::nullopt;
  return version->substr(0, version->find('.', version->find('.') + 1));
}

MachineKey key_of(const Record& record) {
  const Machine& machine = record.machine;
  MachineKey key;
  key.backend = record.settings.backend;
  key.ranks = static_cast<int>(machine.ranks.size());
  std::set<std::string> hosts;
  for (const RankInfo& rank : machine.ranks) hosts.insert(rank.host);
  key.hosts = std::max(1, static_cast<int>(hosts.size()));
  if (key.backend == BackendKind::mpi) {
    key.processor = known(machine.processor);
    key.mpi = known(machine.software.mpi);
  } else {
    add_gpus(key, machine);
    if (key.gpus.empty()) key.processor = known(machine.processor);
    key.nccl = nccl_release(machine.software.nccl_library);
  }
  return key;
}

Record known_by(const MachineKey& key) {
  Record record;
  record.settings.backend = key.backend;
  Machine& machine = record.machine;
  machine.processor = key.processor.value_or("");
  machine.software.mpi = key.mpi.value_or("");
  machine.software.nccl_library = key.nccl;
  for (int i = 0; i < key.ranks; ++i) {
    const auto place = static_cast<std::size_t>(i);
    RankInfo& rank = machine.ranks.emplace_back();
    rank.rank = i;
    rank.host = fmt::format("{}", std::min(i, key.hosts - 1));
    if (place >= key.gpus.size()) continue;
    rank.gpu.emplace();
    rank.gpu->cuda_index = i;
    rank.gpu->name = key.gpus[place];
    if (place < key.nvlinks.size()) rank.gpu->nvlink_links_active = key.nvlinks[place];
  }
  machine.links = key.links;
  return record;
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

std::string key_text(const MachineKey& key) {
  const std::string processor = key.processor.value_or("an unknown processor");
  if (key.gpus.empty() && key.backend == BackendKind::exec) return processor;
  if (key.gpus.empty()) {
    return fmt::format("{} on {}, {}", counted(key.ranks, "rank", "ranks"), processor,
                       key.mpi.value_or("MPI of an unknown version"));
  }
  const bool nvlink =
      !key.links.empty() &&
      std::ranges::all_of(key.links, [](const PairLink& link) { return link.nvlink == true; });
  return fmt::format("{}{}{}", describe_gpus(key.gpus), nvlink ? ", NVLink" : "",
                     key.nccl ? ", NCCL " + *key.nccl : "");
}

}  // namespace linkgain
