#pragma once

#include <string>

#include "linkgain/diagnostics/finding.hpp"

namespace linkgain::test {

/// Has two cards on a bridge that is half in its socket, one of them badly fed.
inline Diagnosis sick_workstation() {
  using enum CheckVerdict;
  using enum CheckGroup;
  return {
      "workstation",
      "2026-11-20T16:40:00Z",
      {"GPU0 and GPU1 are joined by NVLink: 4 of 4 links active, peer access is refused (GPU not "
       "supported).",
       "What the bridge is worth: linkgain run --profile bridge", CheckVerdict::problem},
      {{gpus, "gpu-driver", "host", ok, "2 GPUs, driver 580.159.04", "", ""},
       {gpus, "gpu-responds", "GPU0", ok, "NVIDIA GeForce RTX 3090", "", ""},
       {gpus, "gpu-responds", "GPU1", ok, "NVIDIA GeForce RTX 3090", "", ""},
       {power, "power-limit", "GPU0", ok,
        quantity("limit", Unit::watts, 350) + " of " + quantity("default", Unit::watts, 350) +
            " default",
        "", ""},
       {power, "power-brake", "GPU0", ok, "none now", "", ""},
       {power, "power-brake", "GPU1", problem, "slowed down by the power brake now",
        "the power supply or the machine tells the GPU to halve its clocks or worse",
        "give each 8-pin socket of the card a cable of its own from the power supply (150 W "
        "each; no two plugs at the end of one cable), and see that the supply has watts to "
        "spare"},
       {cooling, "temperature", "GPU0", ok,
        quantity("now", Unit::celsius, 45) + " idle, 48 below slowdown at " +
            quantity("slowdown", Unit::celsius, 93),
        "", ""},
       {cooling, "temperature", "GPU1", warning,
        quantity("now", Unit::celsius, 84) + ", 9 below slowdown at " +
            quantity("slowdown", Unit::celsius, 93),
        "GPUs begin to slow down at 84 to 90 °C, and wear faster", "clean fans and filters"},
       {connectivity, "nvlink-links", "GPU0", ok,
        quantity("active", Unit::count, 4) + " of 4 links active", "", ""},
       {connectivity, "nvlink-links", "GPU1", ok,
        quantity("active", Unit::count, 4) + " of 4 links active", "", ""},
       {connectivity, "p2p", "GPU0-GPU1", problem, "NV4, reads refused: GPU not supported",
        "NVLink joins the GPUs and yet neither may reach the other's memory", "reseat"},
       {connectivity, "pcie-link", "GPU0", not_checkable,
        "generation 1 x16 of 4 x16: an idle GPU trains its link down (needs --load)", "", ""},
       {connectivity, "pcie-link", "GPU1", not_checkable,
        "generation 1 x16 of 4 x16: an idle GPU trains its link down (needs --load)", "", ""},
       {host, "shared-memory", "host", ok,
        quantity("free", Unit::bytes, 0x1p35 * 0.98) + " free of " +
            quantity("size", Unit::bytes, 0x1p35 * 0.98) + " in /dev/shm",
        "", ""}}};
}

/// Has eight GPUs and nothing wrong.
inline Diagnosis healthy_server() {
  using enum CheckVerdict;
  using enum CheckGroup;
  Diagnosis diagnosis{
      "server", "2026-11-20T16:40:00Z", {"All 28 pairs.", "", CheckVerdict::ok}, {}};
  for (int i = 0; i < 8; ++i) {
    const std::string gpu = "GPU" + std::to_string(i);
    diagnosis.findings.push_back({power, "power-limit", gpu, ok, "700 W of 700 W default", "", ""});
    for (int j = i + 1; j < 8; ++j) {
      diagnosis.findings.push_back({connectivity, "p2p", gpu + "-GPU" + std::to_string(j), ok,
                                    "reads and writes over NVLink (NV18)", "", ""});
    }
  }
  diagnosis.findings.push_back({gpus, "xid", "host", not_checkable,
                                "the kernel log may be read by root only (kernel.dmesg_restrict)",
                                "", "dmesg | grep -i xid (as root)"});
  return diagnosis;
}

}  // namespace linkgain::test
