#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/nccl_tests/nccl_tests_options.hpp"

/// What nccl-tests measures for its options, in its order.
namespace linkgain {

/// Rows of one type, reduction and root. The definition's size is still open.
struct NcclTestsCurve {
  Case definition;
  std::string reduction;  ///< as the table names it
  int root = -1;
};

/// The machine, as far as `-d all`, `-o all` and `-r -1` depend on it.
struct NcclTestsMachine {
  BackendKind backend = BackendKind::mpi;
  int ranks = 2;
  bool has_float8 = false;
};

/// Throws UsageError where the backend lacks what was asked for.
std::vector<NcclTestsCurve> nccl_tests_curves(const NcclTestsOptions& options,
                                              const NcclTestsProgram& program,
                                              const NcclTestsMachine& machine);

/// Whether rows have an in-place half: NCCL takes any call so, MPI forbids what it has no form of.
bool has_nccl_tests_in_place(BackendKind backend, OperationKind operation);

/// What of `all` nccl_tests_curves() leaves out, and of the rows, as a comment says it; none where
/// it is all there.
std::vector<std::string> nccl_tests_left_out(const NcclTestsOptions& options,
                                             const NcclTestsProgram& program,
                                             const NcclTestsMachine& machine);

/// What one row is about: the count column, and the size that linkgain and the size column take.
struct NcclTestsSize {
  std::int64_t elements = 0;
  Bytes size{};
};

/// As much of `size` as is whole elements, a share of 16 bytes for each rank where elements are
/// counted so; may be nothing.
NcclTestsSize nccl_tests_size(const NcclTestsProgram& program, const Case& c, Bytes size);

/// The size after this one on the way to -e, by -f or -i; zero where it was the last.
Bytes next_nccl_tests_size(const NcclTestsOptions& options, Bytes size);

}  // namespace linkgain
