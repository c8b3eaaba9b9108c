#include "nccl/reduction.hpp"

#include <stdexcept>

#include "data_mapping.hpp"
#include "nccl/api.hpp"

namespace linkgain {
namespace {

ncclRedOp_t ready_made(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return ncclSum;
    case Reduction::prod:
      return ncclProd;
    case Reduction::min:
      return ncclMin;
    case Reduction::max:
      return ncclMax;
    case Reduction::avg:
      return ncclAvg;
    case Reduction::mulsum:
      break;  // made for each rank
  }
  throw std::logic_error("unhandled reduction");
}

}  // namespace

NcclReduction::NcclReduction(Reduction reduction, DataType type, int rank,
                             ncclComm_t communicator) {
  if (reduction != Reduction::mulsum) {
    reduction_ = ready_made(reduction);
    return;
  }
  std::uint64_t factor = factor_bits(type, rank);
  check(ncclRedOpCreatePreMulSum(&reduction_, &factor, nccl_type(type), ncclScalarHostImmediate,
                                 communicator));
  made_for_ = communicator;
}

NcclReduction::~NcclReduction() {
  if (made_for_ != nullptr) ncclRedOpDestroy(reduction_, made_for_);
}

}  // namespace linkgain
