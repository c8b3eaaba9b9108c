#include "linkgain/core/data_type.hpp"

#include <stdexcept>

#include "linkgain/core/errors.hpp"
#include "linkgain/core/names.hpp"

namespace linkgain {
namespace {

/// The value whose name_of() is `name`; throws UsageError with the nearest name where there is
/// none.
template <typename Enum, std::size_t count>
Enum parse_name(std::string_view what, std::string_view name,
                const std::array<Enum, count>& values) {
  std::array<std::string_view, count> names;
  for (std::size_t i = 0; i < count; ++i) {
    names[i] = name_of(values[i]);
    if (names[i] == name) return values[i];
  }
  throw UsageError(unknown_name(what, name, names));
}

}  // namespace

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
  }
  throw std::invalid_argument("no such reduction");
}

DataType parse_data_type(std::string_view name) {
  return parse_name("data type", name, kDataTypes);
}

Reduction parse_reduction(std::string_view name) {
  return parse_name("reduction", name, kReductions);
}

}  // namespace linkgain
