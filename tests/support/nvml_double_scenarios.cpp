#include "nvml_double.hpp"

namespace linkgain::nvml_double {
namespace {

constexpr Model kH200{};
constexpr Model kH100Nvl{.name = "NVIDIA H100 NVL", .nvswitch = false, .bridged_of_six = 4};
constexpr Model kTitanRtx{.name = "NVIDIA TITAN RTX",
                          .memory = 25386352640ULL,
                          .architecture = 75,
                          .links = 2,
                          .nvlink_version = 2,
                          .nvlink_speed = 25781,
                          .nvswitch = false,
                          .pcie_generation = 3,
                          .idle_power = 14211,
                          .busy_power = 271408,
                          .power_limit = 280000,
                          .least_power_limit = 100000,
                          .slowdown_temperature = 91,
                          .most_clock = 2100,
                          .application_clock = 1350,
                          .most_custom_boost_clock = 0,
                          .remaps_rows = false};
constexpr Model kRtx3090{.name = "NVIDIA GeForce RTX 3090",
                         .memory = 25769803776ULL,
                         .architecture = 86,
                         .links = 4,
                         .nvlink_version = 4,
                         .nvlink_speed = 14062,
                         .nvswitch = false,
                         .pcie_generation = 4,
                         .idle_power = 21874,
                         .busy_power = 338712,
                         .power_limit = 350000,
                         .least_power_limit = 100000,
                         .slowdown_temperature = 95,
                         .most_clock = 2100,
                         .application_clock = 0,
                         .most_custom_boost_clock = 0,
                         .remaps_rows = false};
constexpr Model kRtx4090{.name = "NVIDIA GeForce RTX 4090",
                         .memory = 25757220864ULL,
                         .architecture = 89,
                         .links = 0,
                         .nvlink_version = 0,
                         .nvlink_speed = 0,
                         .nvswitch = false,
                         .pcie_generation = 4,
                         .idle_power = 18124,
                         .busy_power = 431207,
                         .power_limit = 450000,
                         .least_power_limit = 150000,
                         .slowdown_temperature = 97,
                         .most_clock = 3105,
                         .application_clock = 0,
                         .most_custom_boost_clock = 0,
                         .remaps_rows = false};
constexpr Model kL4{.name = "NVIDIA L4",
                    .memory = 24152899584ULL,
                    .architecture = 89,
                    .links = 0,
                    .nvlink_version = 0,
                    .nvlink_speed = 0,
                    .nvswitch = false,
                    .pcie_generation = 4,
                    .idle_power = 12345,
                    .busy_power = 71306,
                    .power_limit = 72000,
                    .least_power_limit = 40000,
                    .slowdown_temperature = 94,
                    .most_clock = 2040,
                    .application_clock = 2040,
                    .most_custom_boost_clock = 2040};

constexpr Model with_memory(Model model, unsigned long long memory) {
  model.memory = memory;
  return model;
}

/// Makes GPUs that cannot reach each other's memory.
constexpr Scenario no_p2p(std::string_view name, const Model& model, int link_down = kNone) {
  Scenario scenario{.name = name, .model = model, .link_down = link_down};
  scenario.p2p_read = P2pStatus::not_supported;
  scenario.p2p_write = P2pStatus::not_supported;
  scenario.p2p_nvlink = P2pStatus::not_supported;
  scenario.p2p_atomics = P2pStatus::not_supported;
  return scenario;
}

constexpr Scenario with_fields(Scenario scenario, Fields fields) {
  scenario.fields = fields;
  return scenario;
}

constexpr Scenario with_gpus(Scenario scenario, int gpus) {
  scenario.gpus = gpus;
  return scenario;
}

constexpr Scenario with_faults(Scenario scenario, const Fault& first, const Fault& second = {}) {
  scenario.faults = {first, second};
  return scenario;
}

constexpr std::array kScenarios{
    Scenario{.name = "h200x2"},
    Scenario{.name = "h200x1", .gpus = 1},
    Scenario{.name = "h200x4", .gpus = 4},
    Scenario{.name = "h200x8", .gpus = 8},
    Scenario{.name = "titan-rtx-nv2", .model = kTitanRtx, .fields = Fields::old},
    no_p2p("titan-rtx-phb", kTitanRtx, kAll),
    Scenario{.name = "rtx3090-nv4", .model = kRtx3090},
    Scenario{.name = "h100-nvl", .model = kH100Nvl},
    no_p2p("rtx3090-no-bridge", kRtx3090, kAll),
    no_p2p("rtx4090", kRtx4090),
    Scenario{.name = "rtx4090-p2p", .model = kRtx4090, .p2p_nvlink = P2pStatus::not_supported},
    no_p2p("no-nvlink", kL4),
    no_p2p("phb", kL4),
    no_p2p("little-memory", with_memory(kL4, 1ULL << 30)),
    with_fields(no_p2p("nvlink-count-0", kL4), Fields::zero_links),
    Scenario{.name = "one-link-down", .link_down = 0},
    Scenario{.name = "one-link-unreadable", .link_unreadable = 3},
    Scenario{.name = "one-link-slow", .link_slow = 3},
    Scenario{.name = "p2p-refused",
             .model = kRtx3090,
             .p2p_read = P2pStatus::chipset_not_supported,
             .p2p_write = P2pStatus::chipset_not_supported,
             .p2p_atomics = P2pStatus::chipset_not_supported},
    Scenario{.name = "p2p-read-only",
             .p2p_write = P2pStatus::not_supported,
             .p2p_atomics = P2pStatus::not_supported},
    Scenario{.name = "p2p-unknown",
             .p2p_read = P2pStatus::unknown,
             .p2p_write = P2pStatus::unknown,
             .p2p_nvlink = P2pStatus::unknown,
             .p2p_atomics = P2pStatus::unknown},
    Scenario{.name = "p2p-error", .p2p_result = kUnknown},
    with_faults({.name = "throttling", .model = kRtx3090},
                {.gpu = 0, .temperature = 96, .reasons = 0x48},
                {.gpu = 1, .power_limit = 200000, .reasons = 0x88}),
    with_faults(no_p2p("draws-too-much", kL4), {.gpu = 1, .power = 612345}),
    with_faults(no_p2p("pcie-trained-down", kTitanRtx, kAll),
                {.gpu = 1, .pcie_generation = 1, .pcie_width = 4}),
    with_faults({.name = "lost-gpu"}, {.gpu = 1, .lost = true}),
    with_faults({.name = "lost-gpu-at-start"}, {.gpu = 1, .lost = true, .no_handle = true}),
    Scenario{.name = "persistence-off", .persistence = false},
    Scenario{.name = "exclusive", .mode = ComputeMode::exclusive_process},
    Scenario{.name = "prohibited", .mode = ComputeMode::prohibited},
    with_faults({.name = "remap-pending"}, {.gpu = 1, .remap_pending = true}),
    with_faults({.name = "remap-failed"}, {.gpu = 1, .remap_failed = true}),
    with_faults(no_p2p("mig", kH200), {.gpu = 0, .mig = true}, {.gpu = 1, .mig = true}),
    with_faults(no_p2p("mig-one", kH200), {.gpu = 1, .mig = true}),
    with_faults(no_p2p("mig-lost-gpu", kH200), {.gpu = 0, .mig = true},
                {.gpu = 1, .lost = true, .mig = true}),
    with_faults(no_p2p("mig-one-lost-gpu", kH200), {.gpu = 0, .lost = true},
                {.gpu = 1, .mig = true}),
    with_faults(no_p2p("mig-remap-failed", kH200), {.gpu = 0, .mig = true},
                {.gpu = 1, .remap_failed = true, .mig = true}),
    with_faults(no_p2p("mig-power-brake", kH200), {.gpu = 0, .mig = true},
                {.gpu = 1, .reasons = 0x88, .mig = true}),
    with_faults(no_p2p("mig-one-link-down", kH200, 0), {.gpu = 1, .mig = true}),
    with_faults(with_gpus(no_p2p("mig-p2p-refused", kH200), 3), {.gpu = 2, .mig = true}),
    with_faults({.name = "clock-limits"}, {.gpu = 1, .application_clock = 1410}),
    Scenario{.name = "link-errors", .link_errors = 1},
    Scenario{.name = "link-errors-3090", .model = kRtx3090, .link_errors = 1},
    Scenario{.name = "p2p-reasons",
             .p2p_read = P2pStatus::gpu_not_supported,
             .p2p_write = P2pStatus::io_hub_topology_not_supported,
             .p2p_nvlink = P2pStatus{42},
             .p2p_atomics = P2pStatus::disabled_by_registry_key},
    Scenario{.name = "every-level", .model = kL4, .gpus = 8, .every_level = true},
    Scenario{.name = "no-fields", .fields = Fields::none},
    Scenario{.name = "failing-fields", .fields = Fields::failing},
    Scenario{.name = "some-fields", .fields = Fields::some},
    Scenario{.name = "no-driver", .init = kDriverNotLoaded},
    Scenario{.name = "no-permission", .init = kNoPermission},
    Scenario{.name = "blocked", .init = kBlockedBySystem},
    Scenario{.name = "driver-mismatch", .init = kVersionMismatch},
};

}  // namespace

const Scenario* find_scenario(std::string_view name) {
  for (const Scenario& scenario : kScenarios) {
    if (scenario.name == name) {
      return &scenario;
    }
  }
  return nullptr;
}

}  // namespace linkgain::nvml_double
