#pragma once

#include <cstdint>

namespace linkgain::reference {

/// Row-major, rows * columns numbers.
struct ConstMatrix {
  const double* data;
  std::int64_t rows;
  std::int64_t columns;
};

struct Matrix {
  double* data;
  std::int64_t rows;
  std::int64_t columns;

  operator ConstMatrix() const { return {data, rows, columns}; }
};

/// Whether the result is added to what stands there.
enum class Into { overwrite, add };

/// result = a b
void multiply(ConstMatrix a, ConstMatrix b, Matrix result, Into into = Into::overwrite);

/// result = a bᵀ
void multiply_transposed(ConstMatrix a, ConstMatrix b, Matrix result, Into into = Into::overwrite);

/// result = aᵀ b
void transposed_multiply(ConstMatrix a, ConstMatrix b, Matrix result, Into into = Into::overwrite);

/// Adds `row` to every row.
void add_row(Matrix matrix, const double* row);

/// row = the sum of all rows.
void sum_rows(ConstMatrix matrix, double* row);

}  // namespace linkgain::reference
