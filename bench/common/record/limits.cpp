#include "linkgain/record/limits.hpp"

#include <algorithm>
#include <vector>

#include "linkgain/hardware/topology.hpp"

namespace linkgain {
namespace {

std::optional<Limit> nvlink_limit(const GpuInfo& gpu) {
  const std::optional<double> rate = nvlink_total(gpu);
  if (!rate || !(*rate > 0.0)) return std::nullopt;  // as of links that are all down
  const std::optional<double> share = nvlink_payload_share(gpu.nvlink_version.value_or(0));
  return share ? Limit{*rate * *share, LimitKind::nvlink_payload}
               : Limit{*rate, LimitKind::nvlink_rate};
}

/// A rank's link and the directions in which it carries what busbw counts.
struct Port {
  const RankInfo* rank = nullptr;
  bool in = true;
  bool out = true;
};

/// Returns the ports of a case's ranks; none where a rank that it names is not there.
std::vector<Port> ports_of(const Machine& machine, const Case& c) {
  if (c.pair) {
    const RankInfo* from = find_rank(machine, c.pair->from);
    const RankInfo* to = find_rank(machine, c.pair->to);
    if (from == nullptr || to == nullptr) return {};
    return {{from, c.pair->both, true}, {to, true, c.pair->both}};
  }
  if (goes_to_root(c.operation) || comes_from_root(c.operation)) {
    const RankInfo* root = find_rank(machine, c.root);
    if (root == nullptr) return {};
    return {{root, goes_to_root(c.operation), comes_from_root(c.operation)}};
  }
  std::vector<Port> ports;
  for (const RankInfo& rank : machine.ranks) {
    ports.push_back({&rank, c.operation != OperationKind::device_to_host,
                     c.operation != OperationKind::host_to_device});
  }
  return ports;
}

bool measured_alone(const Port& port) {
  return port.rank->host_copy && port.rank->host_copy->alone;
}

std::optional<Limit> copy_limit(const Port& port, bool alone) {
  if (!port.rank->host_copy) return std::nullopt;
  const HostCopyRates& copy = *port.rank->host_copy;
  const CopyRates rates = alone ? *copy.alone : copy.at_once();
  const double in = port.in ? rates.to_gpu_gb_per_s : rates.from_gpu_gb_per_s;
  const double out = port.out ? rates.from_gpu_gb_per_s : rates.to_gpu_gb_per_s;
  return Limit{std::min(in, out), alone ? LimitKind::copy_alone : LimitKind::copy_at_once};
}

/// Returns the least of all ports; nothing where one has none.
template <typename LimitOf>
std::optional<Limit> slowest_of(const std::vector<Port>& ports, LimitOf limit_of) {
  std::optional<Limit> slowest;
  for (const Port& port : ports) {
    const std::optional<Limit> limit = limit_of(port);
    if (!limit) return std::nullopt;
    if (!slowest || limit->gb_per_s < slowest->gb_per_s) slowest = limit;
  }
  return slowest;
}

std::optional<Limit> host_limit(const Machine& machine, const Case& c,
                                const std::vector<Port>& ports) {
  const bool alone = loads_few_ranks(c) && std::ranges::all_of(ports, measured_alone);
  if (loads_few_ranks(c) && !alone && machine.ranks.size() > 2) return std::nullopt;
  return slowest_of(ports, [&](const Port& port) { return copy_limit(port, alone); });
}

}  // namespace

bool loads_few_ranks(const Case& c) {
  return c.pair.has_value() || goes_to_root(c.operation) || comes_from_root(c.operation);
}

std::optional<Limit> limit_of(const Machine& machine, const Case& c, Path path) {
  // Between hosts network adapters carry it, whose rates are not known.
  if (!on_one_host(machine)) return std::nullopt;
  const std::vector<Port> ports = ports_of(machine, c);
  switch (path) {
    case Path::nvlink:
      return slowest_of(ports, [](const Port& port) {
        return port.rank->gpu ? nvlink_limit(*port.rank->gpu) : std::nullopt;
      });
    case Path::pcie_p2p:
    case Path::host_memory:
    case Path::network:
    case Path::mixed:
      return host_limit(machine, c, ports);
    case Path::p2p:
    case Path::engine:
    case Path::unknown:
      return std::nullopt;
  }
  return std::nullopt;
}

void note_limit(VariantResult& variant, const Case& c, const Machine& machine) {
  variant.fraction_of_limit.reset();
  variant.limit = LimitKind::unknown;
  const std::optional<Limit> limit = limit_of(machine, c, variant.path);
  if (!limit || !variant.busbw || needs_pair(c.operation)) return;
  variant.fraction_of_limit = *variant.busbw / limit->gb_per_s;
  variant.limit = limit->kind;
}

std::optional<double> shown_fraction(const Case& c, const VariantResult& variant) {
  const bool at_once = variant.limit == LimitKind::copy || variant.limit == LimitKind::copy_at_once;
  if (!variant.fraction_of_limit || !at_once || !loads_few_ranks(c)) {
    return variant.fraction_of_limit;
  }
  const bool no_limit = c.ranks > 2 || *variant.fraction_of_limit > 1.0;
  return no_limit ? std::nullopt : variant.fraction_of_limit;
}

}  // namespace linkgain
