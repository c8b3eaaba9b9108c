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
