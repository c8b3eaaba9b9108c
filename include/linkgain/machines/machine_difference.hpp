#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/names.hpp"
#include "linkgain/record/record.hpp"

/// Are these machines alike? Answered here for all commands, which differ in the weights of the
/// differences that they act on.
namespace linkgain {

/// What a difference is one of.
enum class DifferenceKind {
  link,      ///< what joins GPUs
  pcie,      ///< what joins GPUs with the host, and the rates of copies over it
  gpu,       ///< which GPUs
  clock,     ///< what clocks the GPUs reached, and what limits clocks and power
  driver,    ///< NVIDIA's driver
  nccl,      ///< NCCL's library
  software,  ///< everything else that is installed
  host,      ///< the machine around the GPUs
  variable,  ///< variables in force
  setting,   ///< what linkgain was told to do
};

template <>
inline constexpr auto kNames<DifferenceKind> =
    names<DifferenceKind>("difference", {{DifferenceKind::link, "link"},
                                         {DifferenceKind::pcie, "pcie"},
                                         {DifferenceKind::gpu, "gpu"},
                                         {DifferenceKind::clock, "clock"},
                                         {DifferenceKind::driver, "driver"},
                                         {DifferenceKind::nccl, "nccl"},
                                         {DifferenceKind::software, "software"},
                                         {DifferenceKind::host, "host"},
                                         {DifferenceKind::variable, "variable"},
                                         {DifferenceKind::setting, "setting"}});

/// What follows from a difference, the gravest first.
enum class Weight {
  machine,    ///< the machines are not alike: other GPUs, other links, another processor
  reference,  ///< nor is one's time a reference for the other's: NCCL's release, MPI, the backend
  caution,    ///< it may explain a difference between their times
  part,       ///< they are not parts of one run
};

/// Something that differs between two runs; both sides are known.
struct MachineDifference {
  DifferenceKind kind = DifferenceKind::link;
  Weight weight = Weight::caution;
  std::string what;    ///< "GPU0–GPU1", "driver", "NCCL_ALGO with p2p"
  std::string before;  ///< "PHB"; "not set"
  std::string after;   ///< "NV4"
  bool operator==(const MachineDifference&) const = default;
};

/// What a run was measured on and with; it points into the run.
struct Setup {
  const Machine* machine = nullptr;
  const Settings* settings = nullptr;
  std::string_view program = "linkgain";  ///< that measured
  int highest_sm_clock_mhz = 0;           ///< of all samples; 0: not known
};

/// Lists what differs between two runs, down to the weight `least`, which is not `part`: links
/// first. Ranks are matched by number. What only one of the two tells is left out, variables
/// excepted.
std::vector<MachineDifference> differences_between(const Setup& before, const Setup& after,
                                                   Weight least = Weight::caution);

/// Lists the declared members that differ between two parts of one run, as "ranks/0/gpu/uuid" with
/// its values in JSON; what may differ from part to part, as process ids, is left out.
std::vector<MachineDifference> differences_of_parts(const Machine& before, const Machine& after);
std::vector<MachineDifference> differences_of_parts(const Settings& before, const Settings& after);
std::vector<MachineDifference> differences_of_parts(Environment before, Environment after);

}  // namespace linkgain
