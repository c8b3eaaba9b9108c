#include "linkgain/base/data_type.hpp"

#include <algorithm>
#include <array>
#include <iterator>
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
  static constexpr Named<DataType> kOwnNames[] = {{DataType::float32, "float"},
                                                  {DataType::float16, "half"},
                                                  {DataType::float64, "double"},
                                                  {DataType::float8e4m3, "f8e4m3"},
                                                  {DataType::float8e5m2, "f8e5m2"}};
  const auto* const own = std::ranges::find(kOwnNames, type, &Named<DataType>::value);
  return own == std::end(kOwnNames) ? name_of(type) : own->name;
}

DataType parse_nccl_tests_type(std::string_view name) {
  std::array<std::string_view, kValues<DataType>.size()> names;
  std::ranges::transform(kValues<DataType>, names.begin(), nccl_tests_name);
  const auto found = std::ranges::find(names, name);
  if (found != names.end())
    return kValues<DataType>[static_cast<std::size_t>(found - names.begin())];
  throw UsageError(unknown_name("data type", name, names));
}

}  // namespace linkgain
