#include "linkgain/diagnostics/check_catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "faults.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/telemetry/kernel_log.hpp"

namespace linkgain {
namespace {

using enum CheckGroup;
using enum CheckScope;

constexpr CheckEntry kCatalog[] = {
    {"gpu-driver", gpus, "whether the driver is there and knows GPUs"},
    {"gpus-present", gpus, "whether the driver knows all GPUs that are on PCIe"},
    {"gpu-responds", gpus, "whether the GPU answers"},
    {"memory-rows", gpus, "broken rows of its memory"},
    {"compute-mode", gpus, "whether processes may share it"},
    {"persistence", gpus, "persistence mode"},
    {"neighbours", gpus, "other processes on it"},
    {"load", gpus, "whether --load put the GPUs to work"},
    {"cuda-visible", gpus, "which GPUs CUDA sees", run},
    {"cuda-order", gpus, "whether CUDA numbers the GPUs as nvidia-smi does", run},
    {"xid", gpus,
     "Xid errors in the kernel log, SXid errors of an NVSwitch; those of before the driver "
     "was last loaded do not count"},
    {"power-limit", power, "the power limit beside the GPU's default"},
    {"power-brake", power, "what halves the clocks from outside"},
    {"power-cap", power, "what the GPU draws of its limit"},
    {"temperature", cooling, "the temperature beside that where the GPU slows down"},
    {"thermal-slowdown", cooling, "clocks that are lowered for heat"},
    {"nvlink-links", connectivity, "how many of the GPU's links are active"},
    {"nvlink-rate", connectivity, "the rate of each link"},
    {"nvlink-errors", connectivity, "CRC errors, replays and recoveries of the links"},
    {"nvlink-peers", connectivity, "whether the GPUs at the other ends are here, too"},
    {"p2p", connectivity, "whether two GPUs may reach each other's memory"},
    {"nccl-path", connectivity, "what NCCL takes between two GPUs, and why", run},
    {"p2p-delivery", connectivity,
     "with --prove, whether data that one GPU sends another by P2P arrive: stores, copy "
     "engine, loads, flags, all-reduce by linkgain and NCCL"},
    {"nvlink-bandwidth", connectivity,
     "what a copy between two GPUs reaches over NVLink, with --load; it is the only figure "
     "where a generation's payload rate is not public"},
    {"pcie-link", connectivity, "generation and lanes of the PCIe link"},
    {"pcie-path", connectivity,
     "the links from the GPU's slot up to the CPU: their lanes and rates"},
    {"bar1", connectivity, "how much of its memory others reach over PCIe (BAR1, Resizable BAR)"},
    {"iommu", connectivity, "whether the IOMMU translates the GPUs' addresses"},
    {"pcie-acs", connectivity, "access control (ACS) on the PCIe bridges above the GPUs"},
    {"shared-memory", host, "room in /dev/shm"},
    {"locked-memory", host, "how much memory a process may lock", run},
    {"cores", host, "the processors that this process may use", run},
    {"process-ids", host, "whose processes /proc shows", run},
    {"sysfs", host, "whether /sys shows PCI devices"},
    {"worker", software, "linkgain-bench", run},
    {"mpirun", software, "the mpirun that starts ranks", run},
    {"cuda-driver", software, "the CUDA of the driver beside that of linkgain-bench", run},
    {"nccl-version", software, "the NCCL that linkgain-bench opens", run},
    {"nccl-known-bugs", software, "versions of NCCL with known faults", run},
    {"nccl-variable", software, "variables that NCCL finds", run},
    {"nccl-conf", software, "the files of variables that NCCL reads", run},
    {"cuda-variable", software, "variables that CUDA and cuBLAS find", run},
};

/// What stands in an explanation for the words that a finding fills in.
struct Place {
  std::string_view place;
  std::string_view words;
};
constexpr Place kPlaces[] = {
    {"{add}", "unset CUDA_VISIBLE_DEVICES or add GPUs to it"},
    {"{advice}", "see the code below"},
    {"{channels}", "N"},
    {"{effect}", "changes what is measured"},
    {"{missing}", "no library of NCCL's name could be loaded"},
    {"{needed}", "more room than there is"},
    {"{ranks}", "N"},
    {"{removal}", "unset the variable, or take it out of nccl.conf,"},
    {"{times}", "N times"},
    {"{unfit}", "is longer than Open MPI 4 takes"},
};

/// Shows other places, as "{gpu}", in capitals.
std::string with_places(std::string_view text) {
  std::string shown(text);
  for (const auto& [place, words] : kPlaces) {
    const std::size_t start = shown.find(place);
    if (start != std::string::npos) shown.replace(start, place.size(), words);
  }
  bool is_place = false;
  for (char& c : shown) {
    if (c == '{' || c == '}') is_place = c == '{';
    if (is_place) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  std::erase_if(shown, [](char c) { return c == '{' || c == '}'; });
  return shown;
}

void list_xids(Document& document) {
  constexpr int kMostCode = 200;
  const std::string unknown = meaning_of({}).what;
  document.paragraph("Codes:");
  for (int code = 1; code < kMostCode; ++code) {
    const XidMeaning meaning = meaning_of({.code = code});
    if (meaning.what == unknown) continue;
    Document::Item item{fmt::format("Xid {}: {}", code, meaning.what)};
    item.below.push_back(with_code(fmt::format("do: {}", meaning.advice)));
    document.item(std::move(item));
  }
}

}  // namespace

std::span<const CheckEntry> check_catalog() { return kCatalog; }

std::span<const Fault* const> fault_catalog() { return fault::kAll; }

const CheckEntry& find_check(std::string_view id) {
  const auto* const found = std::ranges::find(kCatalog, id, &CheckEntry::id);
  if (found != std::end(kCatalog)) return *found;
  std::vector<std::string_view> ids;
  for (const CheckEntry& entry : kCatalog) ids.push_back(entry.id);
  throw UsageError(unknown_name("check", id, ids));
}

Document explanation_of(const CheckEntry& check) {
  Document document;
  document.paragraph(fmt::format("{} ({}): {}", check.id, name_of(check.group), check.looks_at));
  for (const Fault* const fault : fault_catalog()) {
    if (fault->check != check.id) continue;
    Document::Item item{fmt::format("{}: {}", name_of(fault->verdict), fault->when)};
    if (!fault->why.empty()) item.below.push_back(with_code("why: " + with_places(fault->why)));
    item.below.push_back(with_code("do: " + with_places(fault->advice)));
    document.item(std::move(item));
  }
  if (check.id == "xid") list_xids(document);
  return document;
}

}  // namespace linkgain
