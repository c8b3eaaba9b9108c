// linkgain-bench with the nccl backend of a machine that has no GPU but those of the NVML double:
// every operation takes a millisecond, whatever path a variant chooses. For all that is done about
// ranks.
#include "linkgain/backends/registry.hpp"
#include "linkgain/telemetry/nvml.hpp"
#include "worker/runtime/steady_backend.hpp"

namespace linkgain {
namespace {

class BackendDouble : public test::SteadyBackend {
 public:
  BackendDouble(const Session& session, const std::vector<int>& gpus) : SteadyBackend(session) {
    const int place = session.local_rank();
    const int gpu = gpus.empty() ? place : gpus.at(static_cast<std::size_t>(place));
    const std::shared_ptr<Nvml> nvml = Nvml::open();
    const auto device = nvml ? nvml->device_by_index(gpu) : std::nullopt;
    if (!device) refuse_without_gpus("the double has no such GPU: name its scenario");
    sleeps = true;
    gpu_.cuda_index = gpu;
    gpu_.compute_capability = "9.0";
    gpu_.name = device->name().value_or("");
    gpu_.pci_bus_id = device->pci_bus_id().value_or("");
    gpu_.memory_bytes = device->memory_bytes().value();
  }

 private:
  BackendKind do_kind() const override { return BackendKind::nccl; }
  std::optional<GpuInfo> do_gpu() const override { return gpu_; }

  GpuInfo gpu_;
};

}  // namespace

void require_built(BackendKind) {}

std::unique_ptr<Backend> make_backend(BackendKind, Session& session,
                                      const BackendOptions& options) {
  return std::make_unique<BackendDouble>(session, options.gpus);
}

void describe_gpus(Machine&) {}
void load_gpu_links(Seconds) {}
std::vector<PeerCopy> copy_between_gpus() { return {}; }

}  // namespace linkgain
