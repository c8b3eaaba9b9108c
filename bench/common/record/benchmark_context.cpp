#include "linkgain/record/benchmark_context.hpp"

#include <fmt/format.h>

namespace linkgain {

std::vector<std::pair<std::string, std::string>> benchmark_context(const Machine& machine,
                                                                   BackendKind backend,
                                                                   const Environment& in_force) {
  const Software& software = machine.software;
  std::vector<std::pair<std::string, std::string>> context{
      {"linkgain", fmt::format("{} ({})", software.linkgain, software.build)},
      {"machine", fmt::format("{}, {}", machine.host, describe_ranks(machine))},
      {"mpi", software.mpi},
      {"backend", std::string(name_of(backend))}};
  if (software.nccl_library) context.emplace_back("nccl", *software.nccl_library);
  if (software.driver) context.emplace_back("driver", *software.driver);
  std::string variables;
  for (const auto& [name, value] : in_force) {
    const bool chooses_path = name == "OMPI_MCA_btl" || name == "OMPI_MCA_pml";
    if (name.starts_with("NCCL_") || chooses_path) variables += fmt::format(" {}={}", name, value);
  }
  if (!variables.empty()) context.emplace_back("environment", variables.substr(1));
  return context;
}

}  // namespace linkgain
