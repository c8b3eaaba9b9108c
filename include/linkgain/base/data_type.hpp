#pragma once

#include <string_view>

#include "linkgain/base/names.hpp"

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

template <>
inline constexpr auto kNames<DataType> = names<DataType>("data type",
                                                         {{DataType::float32, "float32"},
                                                          {DataType::float16, "float16"},
                                                          {DataType::bfloat16, "bfloat16"},
                                                          {DataType::float64, "float64"},
                                                          {DataType::int8, "int8"},
                                                          {DataType::uint8, "uint8"},
                                                          {DataType::int32, "int32"},
                                                          {DataType::uint32, "uint32"},
                                                          {DataType::int64, "int64"},
                                                          {DataType::uint64, "uint64"},
                                                          {DataType::float8e4m3, "float8e4m3"},
                                                          {DataType::float8e5m2, "float8e5m2"}});

/// Reductions in NCCL's sense; avg is the sum divided by the number of ranks, mulsum the sum of
/// each rank's data times a factor of its own.
enum class Reduction { sum, prod, min, max, avg, mulsum };

template <>
inline constexpr auto kNames<Reduction> = names<Reduction>("reduction",
                                                           {{Reduction::sum, "sum"},
                                                            {Reduction::prod, "prod"},
                                                            {Reduction::min, "min"},
                                                            {Reduction::max, "max"},
                                                            {Reduction::avg, "avg"},
                                                            {Reduction::mulsum, "mulsum"}});

/// Returns the bytes of one element.
int size_of(DataType type);

/// Returns nccl-tests' names: half, bfloat16, float, f8e4m3, …
std::string_view nccl_tests_name(DataType type);
/// Throws UsageError for any other.
DataType parse_nccl_tests_type(std::string_view name);

}  // namespace linkgain
