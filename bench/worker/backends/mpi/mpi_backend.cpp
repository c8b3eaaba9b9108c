#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends.hpp"
#include "kernels/verify/pattern.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/runtime/data_mapping.hpp"
#include "linkgain/runtime/mpi_library.hpp"
#include "mpi/host_check.hpp"
#include "mpi/mpi_calls.hpp"

namespace linkgain {
namespace {

/// A pool of buffer slots in page-aligned CPU memory. Move-only owner. Without bytes it has none.
class HostPool {
 public:
  /// Throws MachineError where the memory cannot be allocated.
  HostPool(std::int64_t slot_bytes, std::int64_t slots) : slot_bytes_(slot_bytes) {
    constexpr std::int64_t kPageBytes = 4096;
    if (slot_bytes == 0) return;
    const auto whole_pages = static_cast<std::size_t>(round_up(slot_bytes * slots, kPageBytes));
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, whole_pages)));
    if (!memory_) {
      throw MachineError(
          fmt::format("no {} of memory for buffers", readable_bytes({slot_bytes * slots})),
          "measure smaller sizes with --sizes");
    }
  }

  std::span<std::byte> slot(std::int64_t index) {
    if (!memory_) return {};
    return {memory_.get() + index * slot_bytes_, static_cast<std::size_t>(slot_bytes_)};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::int64_t slot_bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

void poison(std::span<std::byte> bytes) {
  if (!bytes.empty()) std::memset(bytes.data(), kernels::kPoisonByte, bytes.size());
}

std::span<std::byte> part_of(std::span<std::byte> slot, Bytes offset, Bytes size) {
  if (size.value == 0) return {};
  return slot.subspan(static_cast<std::size_t>(offset.value), static_cast<std::size_t>(size.value));
}

/// Waits busily, as a rank that comes late is.
void wait(Seconds time) {
  const double end = mpi().wtime() + time.value;
  while (mpi().wtime() < end) {
  }
}

/// One operation by MPI over MPI_COMM_WORLD, in CPU memory.
class MpiOperation : public Operation {
 public:
  MpiOperation(const Case& c, const BufferPlan& plan, int rank)
      : definition_(c),
        plan_(plan),
        rank_(rank),
        pattern_(verification_pattern(c)),
        burst_(verified_burst(c, plan)),
        buffers_(mpi_buffers(c, rank)),
        first_(slot_bytes(c, rank).first, plan.slots),
        second_(slot_bytes(c, rank).second, plan.slots) {
    require_mpi_has(c);
    fill(0);
    for (std::int64_t slot = 1; slot < plan_.slots; ++slot) {
      for (HostPool* pool : {&first_, &second_}) {
        const std::span<std::byte> filled = pool->slot(0);
        if (!filled.empty()) std::memcpy(pool->slot(slot).data(), filled.data(), filled.size());
      }
    }
  }

 private:
  void do_warm_up() override { run_once(0); }

  std::optional<Seconds> do_time_batch(std::int64_t operations) override {
    const double start = mpi().wtime();
    do_run(operations);
    const double stop = mpi().wtime();
    if (!takes_part(definition_, rank_)) return std::nullopt;
    return Seconds{stop - start};
  }

  void do_run(std::int64_t operations) override {
    for (std::int64_t done = 0; done < operations; done += plan_.operations_per_slot) {
      run_once(next_slot_);
      next_slot_ = next_slot_ + 1 == plan_.slots ? 0 : next_slot_ + 1;
    }
  }

  /// Verifies a slot a turn, each with data of its own.
  Verification do_verify(Spoil spoil) override {
    std::vector<std::byte> earlier;
    if (spoil == Spoil::stale) earlier.assign(output(0).begin(), output(0).end());
    pattern_ = later_pattern(pattern_, burst_);
    for (std::int64_t turn = 0; turn < burst_; ++turn) fill(turn);
    for (std::int64_t turn = 0; turn < burst_; ++turn) {
      wait(verification_delay(later_pattern(pattern_, turn), rank_));
      run_once(turn);
    }
    next_slot_ = 0;
    Verification total;
    const std::vector<ExpectedPart> parts = expected_parts(definition_, rank_);
    const std::span<std::byte> last = output(burst_ - 1);
    if (last.empty() || parts.empty()) return total;
    if (spoil == Spoil::stale) {
      const std::span<const std::byte> before = burst_ > 1 ? output(burst_ - 2) : earlier;
      std::ranges::copy(before, last.begin());
    } else if (spoil != Spoil::nothing) {
      spoil_output(last, spoil == Spoil::last ? parts.back() : parts.front(), spoil);
    }
    for (std::int64_t turn = 0; turn < burst_; ++turn) {
      add(total, check_parts(output(turn), later_pattern(pattern_, turn), parts));
    }
    return total;
  }

  void spoil_output(std::span<std::byte> output, const ExpectedPart& part, Spoil spoil) const {
    const int size = size_of(definition_.type);
    const auto bytes = part_of(output, Bytes{part.begin * size}, Bytes{part.count * size});
    const int wrong_source = (part.source + 1) % definition_.ranks;
    spoil_part(bytes, Bytes{size}, spoil);
    if (spoil != Spoil::wrong_rank) return;
    fill_input(bytes, later_pattern(pattern_, burst_ - 1), wrong_source);
  }

  std::int64_t do_granularity() const override { return plan_.granularity(); }
  Execution do_execution() const override {
    Execution execution;
    execution.buffer_slots = plan_.slots;
    execution.cold_data = plan_.cold;
    return execution;
  }

  std::span<std::byte> input(std::int64_t slot) {
    return part_of(first_.slot(slot), buffers_.input_offset, buffers_.input);
  }

  std::span<std::byte> output(std::int64_t slot) {
    HostPool& pool = definition_.in_place ? first_ : second_;
    return part_of(pool.slot(slot), buffers_.output_offset, buffers_.output);
  }

  /// Puts known data into the input, another operation's in each slot, and poison into everything
  /// else.
  void fill(std::int64_t slot) {
    poison(first_.slot(slot));
    poison(second_.slot(slot));
    fill_input(input(slot), later_pattern(pattern_, slot), rank_);
  }

  void run_once(std::int64_t slot) {
    call_mpi(definition_, rank_, input(slot).data(), output(slot).data());
  }

  Case definition_;
  BufferPlan plan_;
  int rank_;
  kernels::Pattern pattern_;  ///< of what was last filled into slot 0
  std::int64_t burst_;
  RankBuffers buffers_;
  HostPool first_;   ///< of inputs; in place of both
  HostPool second_;  ///< of outputs; in place of nothing
  std::int64_t next_slot_ = 0;
};

/// Returns a text control variable of the MPI library as it is in force; empty where there is none.
std::string control_variable(const char* name) {
  int index = -1;
  if (mpi().t_cvar_get_index(name, &index) != MpiLibrary::kSuccess) return {};
  MpiLibrary::Variable handle{};
  int count = 0;
  if (mpi().t_cvar_handle_alloc(index, nullptr, &handle, &count) != MpiLibrary::kSuccess) return {};
  std::string text(static_cast<std::size_t>(count) + 1, '\0');
  const bool read = mpi().t_cvar_read(handle, text.data()) == MpiLibrary::kSuccess;
  mpi().t_cvar_handle_free(&handle);
  return read ? std::string(text.c_str()) : std::string();
}

/// Returns the path that Open MPI's selection leaves: with pml ob1 messages go by the BTLs named
/// and no other, within a host by vader, which Open MPI 5 calls sm, where it is one of them.
std::optional<Path> selected_path(const Session& session) {
  int provided = 0;
  if (mpi().t_init_thread(MpiLibrary::kThreadSingle, &provided) != MpiLibrary::kSuccess)
    return std::nullopt;
  const std::string pml = control_variable("pml");
  const std::string btl = control_variable("btl");
  mpi().t_finalize();
  if (pml != "ob1") return std::nullopt;
  std::set<std::string> btls;
  for (const std::string& part : split(btl, ',')) {
    if (part != "self") btls.insert(part == "sm" ? "vader" : part);
  }
  if (btls == std::set<std::string>{"vader"}) return Path::host_memory;
  if (btls == std::set<std::string>{"tcp"}) return Path::network;
  if (btls != std::set<std::string>{"tcp", "vader"}) return std::nullopt;
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
