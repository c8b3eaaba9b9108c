#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace linkgain {

/// Element types in NCCL's sense. The float8 types exist from NCCL 2.24 on.
enum class DataType {
  float32,
  float16,
  bfloat16,
  float64,
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float8e4m3,
  float8e5m2,
};

/// Reductions in NCCL's sense; avg is the sum divided by the number of ranks, mulsum the sum of
/// each rank's data times a factor of its own.
enum class Reduction { sum, prod, min, max, avg, mulsum };

inline constexpr std::array kDataTypes{
    DataType::float32, DataType::float16, DataType::bfloat16,   DataType::float64,
    DataType::int8,    DataType::uint8,   DataType::int32,      DataType::uint32,
    DataType::int64,   DataType::uint64,  DataType::float8e4m3, DataType::float8e5m2,
};
inline constexpr std::array kReductions{Reduction::sum, Reduction::prod, Reduction::min,
                                        Reduction::max, Reduction::avg,  Reduction::mulsum};

/// Returns the bytes of one element.
int size_of(DataType type);

std::string_view name_of(DataType type);
std::string_view name_of(Reduction reduction);

/// Parses exact names as name_of() gives them; anything else throws UsageError with the nearest
/// name.
DataType parse_data_type(std::string_view name);
Reduction parse_reduction(std::string_view name);

/// Returns nccl-tests' names: half, bfloat16, float, f8e4m3, …
std::string_view nccl_tests_name(DataType type);
/// Throws UsageError for any other.
DataType parse_nccl_tests_type(std::string_view name);

}  // namespace linkgain
