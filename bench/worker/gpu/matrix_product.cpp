#include "linkgain/gpu/matrix_product.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <source_location>
#include <stdexcept>

#include "cublas_library.hpp"
#include "kernels/timing/warm_up.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

std::string description(const ProductShape& shape) {
  return fmt::format("{} x {} x {} (rows x columns x inner){}{}{}{}", shape.rows, shape.columns,
                     shape.inner, shape.left_transposed ? ", left transposed" : "",
                     shape.right_transposed ? ", right transposed" : "",
                     shape.has_bias ? ", bias" : "", shape.adds ? ", added" : "");
}

namespace {

// Owners of cuBLASLt's descriptors, and its enumerations from ours. Neither copied nor moved.

void check_cublas(cublasStatus_t status, const ProductShape* shape = nullptr,
                  const std::source_location& where = std::source_location::current()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what = shape != nullptr ? fmt::format(" for {}", description(*shape)) : "";
  throw MachineError(
      fmt::format("cuBLASLt: {}{}, at {}", cublas().get_status_name(status), what, place_of(where)),
      status == CUBLAS_STATUS_NOT_SUPPORTED
          ? "This GPU or this cuBLASLt lacks the precision; take fp32."
          : "");
}

cudaDataType_t cuda_type(DataType type) {
  return type == DataType::bfloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

DataType input_type(const ProductShape& shape) {
  return shape.precision == kernels::TrainingPrecision::bf16 ? DataType::bfloat16
                                                             : DataType::float32;
}

cublasComputeType_t compute_type(kernels::TrainingPrecision precision) {
  switch (precision) {
    case kernels::TrainingPrecision::fp32:
    case kernels::TrainingPrecision::bf16:
      return CUBLAS_COMPUTE_32F;
    case kernels::TrainingPrecision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
  }
  throw std::invalid_argument("no such precision");
}

/// cuBLASLt's matrices are column-major, so it is given the transposed product, resultᵀ = rightᵀ
/// leftᵀ: a row-major matrix read by columns is its transpose.
struct Layout {
  cublasLtMatrixLayout_t handle = nullptr;

  Layout(DataType type, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    check_cublas(cublas().matrix_layout_create(&handle, cuda_type(type),
                                               static_cast<std::uint64_t>(columns),
                                               static_cast<std::uint64_t>(rows), stride));
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { cublas().matrix_layout_destroy(handle); }
};

struct Operation {
  cublasLtMatmulDesc_t handle = nullptr;

  explicit Operation(kernels::TrainingPrecision precision) {
    check_cublas(cublas().matmul_desc_create(&handle, compute_type(precision), CUDA_R_32F));
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation() { cublas().matmul_desc_destroy(handle); }

  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check_cublas(cublas().matmul_desc_set_attribute(handle, attribute, &value, sizeof(value)));
  }
};

struct Preference {
  cublasLtMatmulPreference_t handle = nullptr;

  Preference() { check_cublas(cublas().matmul_preference_create(&handle)); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  ~Preference() { cublas().matmul_preference_destroy(handle); }

  template <typename Value>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
    check_cublas(
        cublas().matmul_preference_set_attribute(handle, attribute, &value, sizeof(value)));
  }
};

template <typename Value>
Value setting(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t which) {
  Value value{};
  std::size_t written = 0;
  check_cublas(cublas().matmul_algo_config_get_attribute(&algorithm, which, &value, sizeof(value),
                                                         &written));
  return value;
}

std::string algorithm_text(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format("algo {}, tile {}, stages {}, split {}",
                     setting<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID),
                     setting<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
                     setting<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     setting<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

void require_aligned(const void* address) {
  if (address == nullptr || reinterpret_cast<std::uintptr_t>(address) % kProductAlignment != 0) {
    throw std::logic_error("a matrix at an address that is none, or not aligned");
  }
}

std::int64_t left_stride(const ProductShape& shape) {
  if (shape.left_stride != 0) return shape.left_stride;
  return shape.left_transposed ? shape.rows : shape.inner;
}

}  // namespace

struct ProductPlan::Handles {
  explicit Handles(const ProductShape& shape)
      : operation(shape.precision),
        left(input_type(shape), shape.left_transposed ? shape.inner : shape.rows,
             shape.left_transposed ? shape.rows : shape.inner, left_stride(shape)),
        right(input_type(shape), shape.right_transposed ? shape.columns : shape.inner,
              shape.right_transposed ? shape.inner : shape.columns,
              shape.right_transposed ? shape.inner : shape.columns),
        result(shape.result, shape.rows, shape.columns, shape.columns) {
    const auto transposed = [](bool is) { return is ? CUBLAS_OP_T : CUBLAS_OP_N; };
    operation.set(CUBLASLT_MATMUL_DESC_TRANSA, transposed(shape.right_transposed));
    operation.set(CUBLASLT_MATMUL_DESC_TRANSB, transposed(shape.left_transposed));
    if (!shape.has_bias) return;
    operation.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    operation.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(shape.result));
  }

  Operation operation;
  Layout left;
  Layout right;
  Layout result;
  std::vector<cublasLtMatmulAlgo_t> algorithms;
};

ProductPlan::ProductPlan(const ProductShape& shape)
    : shape_(shape), handles_(std::make_unique<Handles>(shape)) {}
ProductPlan::~ProductPlan() = default;

std::size_t choose_candidate(const std::vector<ProductCandidate>& candidates) {
  std::size_t best = 0;
  if (candidates.empty() || candidates[0].time.value <= 0.0) return best;
  double least = candidates[0].time.value * kWorthwhileTime;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    const double time = candidates[i].time.value;
    if (time <= 0.0 || time >= least) continue;
    best = i;
    least = time;
  }
  return best;
}

struct MatrixProducts::Library {
  Library() { check_cublas(cublas().create(&handle)); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { cublas().destroy(handle); }

  cublasLtHandle_t handle = nullptr;
};

MatrixProducts::MatrixProducts(const ProductSearch& search)
    : search_(search), library_(std::make_unique<Library>()), workspace_(search.workspace) {}
MatrixProducts::~MatrixProducts() = default;

const ProductPlan& MatrixProducts::plan(const ProductShape& shape, const ProductOperands& scratch,
                                        const Stream& stream) {
  if (const auto known = plans_.find(shape); known != plans_.end()) return *known->second;
  std::unique_ptr<ProductPlan> made(new ProductPlan(shape));
  ask(*made);
  choose(*made, scratch, stream);
  chosen_.push_back(made->candidates_[made->chosen_].algorithm);
  return *plans_.emplace(shape, std::move(made)).first->second;
}

void MatrixProducts::choose(ProductPlan& plan, const ProductOperands& scratch,
                            const Stream& stream) {
  const std::vector<ProductCandidate>& candidates = plan.candidates_;
  if (chosen_.size() < search_.chosen.size()) {
    const auto found =
        std::ranges::find(candidates, search_.chosen[chosen_.size()], &ProductCandidate::algorithm);
    plan.chosen_ = static_cast<std::size_t>(found - candidates.begin());
    if (found != candidates.end()) return;
  }
  if (search_.measure && candidates.size() > 1) time_candidates(plan, scratch, stream);
  plan.chosen_ = choose_candidate(candidates);
}

void MatrixProducts::ask(ProductPlan& plan) const {
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                 static_cast<std::uint64_t>(search_.workspace.value));
  for (const auto operand :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    preference.set(operand, std::uint32_t{kProductAlignment});
  }
  // Parts of a split sum meet in float32 in the workspace, in a fixed order; not in the result's
  // type.
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  ProductPlan::Handles& handles = *plan.handles_;
  // The search reads of the bias only how its address is aligned.
  if (plan.shape_.has_bias) {
    handles.operation.set(
        CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        static_cast<const void*>(static_cast<char*>(workspace_.data()) + kProductAlignment));
  }
  std::vector<cublasLtMatmulHeuristicResult_t> found(
      static_cast<std::size_t>(std::max(search_.candidates, 1)));
  int count = 0;
  check_cublas(cublas().matmul_algo_get_heuristic(
                   library_->handle, handles.operation.handle, handles.right.handle,
                   handles.left.handle, handles.result.handle, handles.result.handle,
                   preference.handle, static_cast<int>(found.size()), found.data(), &count),
               &plan.shape_);
  found.resize(static_cast<std::size_t>(count));
  for (const cublasLtMatmulHeuristicResult_t& each : found) {
    if (each.state != CUBLAS_STATUS_SUCCESS) continue;
    handles.algorithms.push_back(each.algo);
    // Algorithms may differ in what the description leaves out.
    plan.candidates_.push_back(
        {fmt::format("{}, offer {}", algorithm_text(each.algo), plan.candidates_.size() + 1), {}});
  }
  if (handles.algorithms.empty()) check_cublas(CUBLAS_STATUS_NOT_SUPPORTED, &plan.shape_);
}

void MatrixProducts::time_candidates(ProductPlan& plan, const ProductOperands& scratch,
                                     const Stream& stream) {
  constexpr int kRounds = 4;
  constexpr double kHopeless = 1.25;  // of the least time so far: not run again
  constexpr double kWarmUp = 50e3;    // microseconds: an idle GPU's clock takes that long to rise
  if (!is_warm_) check(kernels::warm_up(stream.get(), kWarmUp));
  is_warm_ = true;
  std::vector<ProductCandidate>& candidates = plan.candidates_;
  drop_those_that_fail(plan, scratch, stream);
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      Seconds& time = candidates[i].time;
      if (round > 0 && time.value > kHopeless * least) continue;
      const Seconds now = time_of(plan, i, scratch, stream);
      if (round == 0 || now < time) time = now;
      least = std::min(least, time.value);
    }
  }
}

Seconds MatrixProducts::time_of(const ProductPlan& plan, std::size_t candidate,
                                const ProductOperands& scratch, const Stream& stream) const {
  // Enough that events' clock and the gaps between launches do not count: 0.1 ms and more.
  constexpr double kOperations = 1e11;
  constexpr int kMostRuns = 32;
  const int runs =
      static_cast<int>(std::clamp(kOperations / plan.shape_.operations(), 1.0, double{kMostRuns}));
  // Meanwhile the host gets ahead, so that no launch is waited for.
  constexpr double kHeadStart = 100.0;  // microseconds
  check(kernels::warm_up(stream.get(), kHeadStart));
  Event start;
  Event stop;
  start.record(stream);
  for (int i = 0; i < runs; ++i) run(plan, candidate, scratch, stream);
  stop.record(stream);
  stop.synchronize();
  return {elapsed(start, stop).value / runs};
}

void MatrixProducts::drop_those_that_fail(ProductPlan& plan, const ProductOperands& scratch,
                                          const Stream& stream) const {
  // This first run loads the kernel too.
  for (std::size_t i = plan.candidates_.size(); i-- > 0;) {
    if (run(plan, i, scratch, stream)) continue;
    const auto place = static_cast<std::ptrdiff_t>(i);
    plan.candidates_.erase(plan.candidates_.begin() + place);
    plan.handles_->algorithms.erase(plan.handles_->algorithms.begin() + place);
  }
  if (plan.candidates_.empty()) check_cublas(CUBLAS_STATUS_NOT_SUPPORTED, &plan.shape_);
}

bool MatrixProducts::run(const ProductPlan& plan, std::size_t candidate,
                         const ProductOperands& operands, const Stream& stream) const {
  ProductPlan::Handles& handles = *plan.handles_;
  if (plan.shape_.has_bias) {
    handles.operation.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  }
  constexpr float kOne = 1.0F;
  const float kept = plan.shape_.adds ? 1.0F : 0.0F;
  return cublas().matmul(library_->handle, handles.operation.handle, &kOne, operands.right,
                         handles.right.handle, operands.left, handles.left.handle, &kept,
                         operands.result, handles.result.handle, operands.result,
                         handles.result.handle, &handles.algorithms[candidate], workspace_.data(),
                         static_cast<std::size_t>(workspace_.size().value),
                         stream.get()) == CUBLAS_STATUS_SUCCESS;
}

void MatrixProducts::multiply(const ProductPlan& plan, const ProductOperands& operands,
                              const Stream& stream) {
  require_aligned(operands.left);
  require_aligned(operands.right);
  require_aligned(operands.result);
  if (plan.shape_.has_bias) require_aligned(operands.bias);
  if (!run(plan, plan.chosen_, operands, stream)) {
    check_cublas(CUBLAS_STATUS_EXECUTION_FAILED, &plan.shape_);
  }
}

}  // namespace linkgain::gpu
