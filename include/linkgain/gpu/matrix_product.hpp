#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/common/element.hpp"
#include "linkgain/base/data_type.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// result = left right, or result += left right, where left is rows × inner and right inner ×
/// columns, all row-major.
struct ProductShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  bool left_transposed = false;   ///< in memory left is inner × rows
  bool right_transposed = false;  ///< in memory right is columns × inner
  /// Elements from a row of left in memory to the next; 0 where there are no gaps.
  std::int64_t left_stride = 0;
  /// left and right are bfloat16 with bf16, else float32. Sums are float32.
  kernels::TrainingPrecision precision = kernels::TrainingPrecision::fp32;
  DataType result = DataType::float32;  ///< float32, or bfloat16 with bf16
  bool has_bias = false;                ///< adds a row of `columns` elements to each row
  bool adds = false;                    ///< to what the result has

  /// Counts additions and multiplications.
  double operations() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(inner);
  }
  auto operator<=>(const ProductShape&) const = default;
};

/// Returns "4096 x 2304 x 768 (rows x columns x inner), right transposed, bias".
std::string description(const ProductShape& shape);

/// Device memory. Addresses are multiples of kProductAlignment bytes; the result overlaps nothing.
struct ProductOperands {
  const void* left = nullptr;
  const void* right = nullptr;
  const void* bias = nullptr;  ///< of the result's type; read only where the shape has one
  void* result = nullptr;
};

inline constexpr int kProductAlignment = 16;

/// How a plan's algorithm is chosen.
struct ProductSearch {
  int candidates = 8;         ///< algorithms that cuBLASLt is asked for, best first by its estimate
  bool measure = true;        ///< whether they are timed; else the first one is taken
  Bytes workspace{32 << 20};  ///< what NVIDIA recommends for Hopper
  /// Algorithms to take without a search, by the order in which shapes are planned. Where cuBLASLt
  /// does not offer one for its shape, or there is none, the search goes on as always.
  std::vector<std::string> chosen{};
};

/// One algorithm that a plan could have.
struct ProductCandidate {
  /// cuBLASLt's numbers, and where it stood among those offered: "algo 66, tile 20, stages 35,
  /// split 1, offer 3". No two of a plan are alike.
  std::string algorithm;
  Seconds time;  ///< of a product, the shortest of some runs; 0 where it was not timed
};

/// How products of one shape are computed. Owned by MatrixProducts.
class ProductPlan {
 public:
  ~ProductPlan();
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;

  const ProductShape& shape() const { return shape_; }
  const std::vector<ProductCandidate>& candidates() const { return candidates_; }
  std::size_t chosen() const { return chosen_; }

 private:
  friend class MatrixProducts;
  struct Handles;
  explicit ProductPlan(const ProductShape& shape);

  ProductShape shape_;
  std::vector<ProductCandidate> candidates_;
  std::size_t chosen_ = 0;
  std::unique_ptr<Handles> handles_;
};

/// A later candidate is taken only where it takes less than this part of the first one's time.
///
/// Ranks are processes of their own, each with a search of its own, and two algorithms that add in
/// another order differ in the last bits: with float32 sums by about 1e-7 of a result,
/// far below the 1e-5 within which losses have to agree. The margin is so that nearly always all
/// take the same one nevertheless: the shortest of several runs of one algorithm strays by less
/// than a percent on a quiet GPU, so only candidates that happen to be 3 % faster, within that, are
/// chosen here and not there. Within one process a plan is chosen once, so runs repeat bit by bit.
inline constexpr double kWorthwhileTime = 0.97;

/// Returns which of these times to take: the least of those below kWorthwhileTime of the first one;
/// 0 where there is none. Times of 0 were not taken and do not count.
std::size_t choose_candidate(const std::vector<ProductCandidate>& candidates);

/// Products of matrices by cuBLASLt on the device that was current at construction: its handle, its
/// workspace, and a plan for each shape. All work of one object must be on one stream, as it shares
/// the workspace. Not thread-safe. Everything throws MachineError, and std::logic_error for
/// operands that do not fit.
class MatrixProducts {
 public:
  explicit MatrixProducts(const ProductSearch& search = {});
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  /// Returns the plan of that shape, made now where there is none; this is when cuBLASLt is asked,
  /// and where `scratch` is needed to time algorithms: its result is overwritten, and the stream is
  /// waited for. The plan lives as long as this object.
  const ProductPlan& plan(const ProductShape& shape, const ProductOperands& scratch,
                          const Stream& stream);

  /// Enqueues one product, with a plan of this object. Neither allocates nor waits.
  void multiply(const ProductPlan& plan, const ProductOperands& operands, const Stream& stream);

  /// Returns algorithms in the order in which their shapes were planned, as ProductSearch::chosen
  /// has them.
  const std::vector<std::string>& chosen() const { return chosen_; }

 private:
  struct Library;

  void ask(ProductPlan& plan) const;
  void choose(ProductPlan& plan, const ProductOperands& scratch, const Stream& stream);
  void drop_those_that_fail(ProductPlan& plan, const ProductOperands& scratch,
                            const Stream& stream) const;
  void time_candidates(ProductPlan& plan, const ProductOperands& scratch, const Stream& stream);
  Seconds time_of(const ProductPlan& plan, std::size_t candidate, const ProductOperands& scratch,
                  const Stream& stream) const;
  bool run(const ProductPlan& plan, std::size_t candidate, const ProductOperands& operands,
           const Stream& stream) const;

  ProductSearch search_;
  std::unique_ptr<Library> library_;
  DeviceBuffer workspace_;
  std::map<ProductShape, std::unique_ptr<ProductPlan>> plans_;
  std::vector<std::string> chosen_;
  bool is_warm_ = false;
};

}  // namespace linkgain::gpu
