#include "mpi/backend.hpp"

#include <mpi.h>

#include <limits>
#include <set>
#include <string>

#include "data_mapping.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "mpi/operation.hpp"
#include "mpi/training_communication.hpp"

namespace linkgain {
namespace {

/// A text control variable of the MPI library as it is in force; empty where there is none.
std::string control_variable(const char* name) {
  int index = -1;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return {};
  MPI_T_cvar_handle handle{};
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return {};
  std::string text(static_cast<std::size_t>(count) + 1, '\0');
  const bool read = MPI_T_cvar_read(handle, text.data()) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  return read ? std::string(text.c_str()) : std::string();
}

/// The road that Open MPI's selection leaves: with pml ob1 messages go by the BTLs named and no
/// other, within a host by vader where it is one of them.
std::optional<Path> selected_path(const Session& session) {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return std::nullopt;
  const std::string pml = control_variable("pml");
  const std::string btl = control_variable("btl");
  MPI_T_finalize();
  if (pml != "ob1") return std::nullopt;
  std::set<std::string> roads;
  for (const std::string& part : split(btl, ',')) {
    if (part != "self") roads.insert(part);
  }
  if (roads == std::set<std::string>{"vader"}) return Path::host_memory;
  if (roads == std::set<std::string>{"tcp"}) return Path::network;
  if (roads != std::set<std::string>{"tcp", "vader"}) return std::nullopt;
  if (session.on_one_host()) return Path::host_memory;
  return session.some_share_a_host() ? Path::mixed : Path::network;
}

class MpiBackend : public Backend {
 public:
  MpiBackend(const Session& session, Bytes cache)
      : rank_(session.rank()), cache_(cache), path_(selected_path(session)) {}

 private:
  BackendKind do_kind() const override { return BackendKind::mpi; }
  std::optional<GpuInfo> do_gpu() const override { return std::nullopt; }
  void do_connect() override {}

  std::unique_ptr<Operation> do_open(const Case& c,
                                     const std::optional<Rotation>& rotation) override {
    require_supported(BackendKind::mpi, c);
    if (c.elements() > std::numeric_limits<int>::max()) {
      throw MachineError("MPI counts elements in 31 bits", "measure smaller sizes with --sizes");
    }
    return std::make_unique<MpiOperation>(c, plan_buffers(c, cache_, rotation), rank_);
  }

  std::unique_ptr<TrainingCommunication> do_open_training_communication(
      void* model_stream) override {
    if (model_stream != nullptr) {
      throw MachineError("the mpi backend does not reach the memory of a GPU",
                         "train with --backend nccl");
    }
    return make_mpi_training_communication();
  }

  std::unique_ptr<HostCopy> do_open_host_copy() override { return nullptr; }
  void do_keep_busy(Seconds) override {}
  void do_describe(Software&) const override {}
  LogSwitch do_log_switch() const override { return nullptr; }
  std::optional<Path> do_path() const override { return path_; }

  int rank_;
  Bytes cache_;
  std::optional<Path> path_;
};

}  // namespace

std::unique_ptr<Backend> make_mpi_backend(const Session& session, Bytes cache) {
  return std::make_unique<MpiBackend>(session, cache);
}

}  // namespace linkgain
