#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/mpi_library.hpp"
#include "mpi/mpi_calls.hpp"

namespace linkgain {
namespace {

MpiLibrary::Datatype training_type(DataType type) {
  if (type == DataType::float32) return mpi().float32;
  if (type == DataType::float64) return mpi().float64;
  throw MachineError(fmt::format("the mpi backend does not train in {}", name_of(type)),
                     "train in float32 or float64");
}

/// One call's memory as MPI wants it.
struct Part {
  Part(const FlatMemory& memory, const ParameterRange& range, const ParameterRange& own)
      : type(training_type(memory.type)) {
    memory.require(range);
    if (range.count > std::numeric_limits<int>::max()) {
      throw MachineError(fmt::format("{} elements at once: MPI counts in 31 bits", range.count),
                         "train a smaller model or take smaller buckets");
    }
    begin = memory.at(range.offset);
    shard = memory.at(own.offset);
    shard_bytes = memory.bytes_of(own);
    count = static_cast<int>(range.count);
    shard_count = static_cast<int>(own.count);
  }

  MpiLibrary::Datatype type;
  void* begin = nullptr;
  int count = 0;
  void* shard = nullptr;  ///< this rank's
  Bytes shard_bytes{0};
  int shard_count = 0;
};

class MpiTrainingCommunication : public TrainingCommunication {
 public:
  MpiTrainingCommunication() {
    require_success(mpi().comm_dup(mpi().comm_world, &communicator_), "MPI_Comm_dup");
    mpi().comm_rank(communicator_, &rank_);
    mpi().comm_size(communicator_, &ranks_);
  }

  /// Waits for what is under way: a communicator in use may not be freed.
  ~MpiTrainingCommunication() override {
    if (flights_.empty()) mpi().comm_free(&communicator_);
  }

  MpiTrainingCommunication(const MpiTrainingCommunication&) = delete;
  MpiTrainingCommunication& operator=(const MpiTrainingCommunication&) = delete;

 private:
  struct Flight {
    MpiLibrary::Request request =
        mpi().request_null;  ///< null again once it is known to be complete
    /// What MPI leaves at the begin of the range though it belongs into this rank's shard.
    const void* result = nullptr;
    void* shard = nullptr;
    Bytes bytes{0};
  };

  int do_rank() const override { return rank_; }
  int do_ranks() const override { return ranks_; }

  CommunicationTicket do_all_reduce(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    const Part part(memory, range, range);
    Flight flight;
    require_success(mpi().iallreduce(MpiLibrary::in_place(), part.begin, part.count, part.type,
                                     mpi().sum, communicator_, &flight.request),
                    "MPI_Iallreduce");
    return keep(flight);
  }

  /// Reduces in place: MPI puts every rank's sums at the begin of its memory, of which wait() makes
  /// a shard.
  CommunicationTicket do_reduce_scatter(const FlatMemory& memory,
                                        const ParameterRange& range) override {
    const Part part(memory, range, shard_of(range, rank_, ranks_));
    Flight flight{mpi().request_null, part.begin, part.shard, part.shard_bytes};
    require_success(
        mpi().ireduce_scatter_block(MpiLibrary::in_place(), part.begin, part.shard_count, part.type,
                                    mpi().sum, communicator_, &flight.request),
        "MPI_Ireduce_scatter_block");
    return keep(flight);
  }

  CommunicationTicket do_all_gather(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    const Part part(memory, range, shard_of(range, rank_, ranks_));
    Flight flight;
    require_success(mpi().iallgather(MpiLibrary::in_place(), 0, mpi().datatype_null, part.begin,
                                     part.shard_count, part.type, communicator_, &flight.request),
                    "MPI_Iallgather");
    return keep(flight);
  }

  CommunicationTicket keep(const Flight& flight) {
    flights_.emplace(next_, flight);
    return {next_++};
  }

  void do_wait(CommunicationTicket ticket) override {
    const auto found = flights_.find(ticket.number);
    if (found == flights_.end()) throw std::logic_error("no such ticket, or waited for twice");
    Flight& flight = found->second;
    require_success(mpi().wait(&flight.request, MpiLibrary::kStatusIgnore), "MPI_Wait");
    if (flight.bytes.value > 0) {
      std::memmove(flight.shard, flight.result, static_cast<std::size_t>(flight.bytes.value));
    }
    flights_.erase(found);
  }

  /// Looks at an operation that is not complete, which lets MPI move all of them.
  void do_progress() override {
    for (auto& [number, flight] : flights_) {
      int is_done = 0;
      require_success(mpi().test(&flight.request, &is_done, MpiLibrary::kStatusIgnore), "MPI_Test");
    }
  }

  MpiLibrary::Comm communicator_ = mpi().comm_null;
  int rank_ = 0;
  int ranks_ = 1;
  std::int64_t next_ = 0;
  std::map<std::int64_t, Flight> flights_;  ///< what is not waited for yet, by number
};

}  // namespace

std::unique_ptr<TrainingCommunication> make_mpi_training_communication() {
  return std::make_unique<MpiTrainingCommunication>();
}

}  // namespace linkgain
