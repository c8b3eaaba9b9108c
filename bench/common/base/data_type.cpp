#include "linkgain/base/data_type.hpp"

#include <algorithm>
#include <stdexcept>

#include "linkgain/base/text.hpp"

namespace linkgain {
int size_of(DataType type) {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::float8e4m3:
    case DataType::float8e5m2:
      return 1;
    case DataType::float16:
    case DataType::bfloat16:
      return 2;
    case DataType::float32:
    case DataType::int32:
    case DataType::uint32:
      return 4;
    case DataType::float64:
    case DataType::int64:
    case DataType::uint64:
      return 8;
  }
  throw std::invalid_argument("no such data type");
}

std::string_view name_of(DataType type) {
  switch (type) {
    case DataType::float32:
      return "float32";
    case DataType::float16:
      return "float16";
    case DataType::bfloat16:
      return "bfloat16";
    case DataType::float64:
      return "float64";
    case DataType::int8:
      return "int8";
    case DataType::uint8:
      return "uint8";
    case DataType::int32:
      return "int32";
    case DataType::uint32:
      return "uint32";
    case DataType::int64:
      return "int64";
    case DataType::uint64:
      return "uint64";
    case DataType::float8e4m3:
      return "float8e4m3";
    case DataType::float8e5m2:
      return "float8e5m2";
  }
  throw std::invalid_argument("no such data type");
}

std::string_view name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return "sum";
    case Reduction::prod:
      return "prod";
    case Reduction::min:
      return "min";
    case Reduction::max:
      return "max";
    case Reduction::avg:
      return "avg";
    case Reduction::mulsum:
      return "mulsum";
  }
  throw std::invalid_argument("no such reduction");
}

DataType parse_data_type(std::string_view name) {
  return parse_name("data type", name, kDataTypes);
}

Reduction parse_reduction(std::string_view name) {
  return parse_name("reduction", name, kReductions);
}

std::string_view nccl_tests_name(DataType type) {
  switch (type) {
    case DataType::float32:
      return "float";
    case DataType::float16:
      return "half";
    case DataType::float64:
      return "double";
    case DataType::float8e4m3:
      return "f8e4m3";
    case DataType::float8e5m2:
      return "f8e5m2";
    case DataType::bfloat16:
    case DataType::int8:
    case DataType::uint8:
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
      return name_of(type);
  }
  throw std::invalid_argument("no such data type");
}

DataType parse_nccl_tests_type(std::string_view name) {
  std::array<std::string_view, kDataTypes.size()> names;
  std::ranges::transform(kDataTypes, names.begin(), nccl_tests_name);
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return kDataTypes[static_cast<std::size_t>(found - names.begin())];
  throw UsageError(unknown_name("data type", name, names));
}

}  // namespace linkgain
