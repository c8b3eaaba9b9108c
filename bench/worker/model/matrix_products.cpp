#include "matrix_products.hpp"

#include <algorithm>
#include <vector>

namespace linkgain::reference {
namespace {

/// One row of the left matrix: its elements lie `stride` apart.
struct LeftRow {
  const double* data;
  std::int64_t stride;

  double at(std::int64_t i) const { return data[i * stride]; }
};

/// result += left b, where result is one row. Four rows of b at a time: a result is then loaded and
/// stored once for four products.
void add_row_product(LeftRow left, ConstMatrix b, double* __restrict result) {
  const std::int64_t columns = b.columns;
  std::int64_t i = 0;
  for (; i + 4 <= b.rows; i += 4) {
    const double a0 = left.at(i);
    const double a1 = left.at(i + 1);
    const double a2 = left.at(i + 2);
    const double a3 = left.at(i + 3);
    const double* b0 = b.data + i * columns;
    const double* b1 = b0 + columns;
    const double* b2 = b1 + columns;
    const double* b3 = b2 + columns;
    for (std::int64_t j = 0; j < columns; ++j) {
      result[j] += (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
    }
  }
  for (; i < b.rows; ++i) {
    const double a0 = left.at(i);
    const double* b0 = b.data + i * columns;
    for (std::int64_t j = 0; j < columns; ++j) result[j] += a0 * b0[j];
  }
}

void prepare(Matrix result, Into into) {
  if (into == Into::overwrite) std::fill_n(result.data, result.rows * result.columns, 0.0);
}

}  // namespace

void multiply(ConstMatrix a, ConstMatrix b, Matrix result, Into into) {
  prepare(result, into);
  for (std::int64_t i = 0; i < result.rows; ++i) {
    add_row_product({a.data + i * a.columns, 1}, b, result.data + i * result.columns);
  }
}

void multiply_transposed(ConstMatrix a, ConstMatrix b, Matrix result, Into into) {
  std::vector<double> transposed(static_cast<std::size_t>(b.rows * b.columns));
  for (std::int64_t i = 0; i < b.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      transposed[static_cast<std::size_t>(j * b.rows + i)] = b.data[i * b.columns + j];
    }
  }
  multiply(a, {transposed.data(), b.columns, b.rows}, result, into);
}

void transposed_multiply(ConstMatrix a, ConstMatrix b, Matrix result, Into into) {
  prepare(result, into);
  for (std::int64_t i = 0; i < result.rows; ++i) {
    add_row_product({a.data + i, a.columns}, b, result.data + i * result.columns);
  }
}

void add_row(Matrix matrix, const double* row) {
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    double* target = matrix.data + i * matrix.columns;
    for (std::int64_t j = 0; j < matrix.columns; ++j) target[j] += row[j];
  }
}

void sum_rows(ConstMatrix matrix, double* row) {
  std::fill_n(row, matrix.columns, 0.0);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    const double* source = matrix.data + i * matrix.columns;
    for (std::int64_t j = 0; j < matrix.columns; ++j) row[j] += source[j];
  }
}

}  // namespace linkgain::reference
