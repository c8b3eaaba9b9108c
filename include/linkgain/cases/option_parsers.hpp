#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/cases/case.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/cases/tolerance.hpp"

/// Option values that both programs take.
namespace linkgain {

/// "0,1" as device numbers. Throws UsageError.
std::vector<int> parse_gpus(std::string_view text);

/// "0-1" as a one-way pair. Throws UsageError.
Pair parse_pair(std::string_view text);

/// A rank. Throws UsageError.
int parse_root(std::string_view text);

/// "5%", "5 %" or "0.05" as 0.05. Throws UsageError that names `option` where the text is neither
/// or is outside `least` to `most`.
double parse_share(std::string_view text, std::string_view option, double least, double most);

/// The same as a tolerance to both sides, 0.1 % to 99 %.
Tolerance parse_tolerance(std::string_view text, std::string_view option);

/// Every name by `parse`, in order.
template <typename Value, typename Parse>
std::vector<Value> parse_each(const std::vector<std::string>& names, Parse parse) {
  std::vector<Value> values;
  for (const std::string& name : names) values.push_back(parse(name));
  return values;
}

/// The options that decide cases, as they stand on a command line.
struct SelectionTexts {
  std::vector<std::string> only;
  std::string sizes;
  std::vector<std::string> types;
  std::vector<std::string> reductions;
  std::vector<std::string> launch_modes;
  std::vector<std::string> patterns;
  std::string pair;
  std::vector<std::string> roots;
  std::vector<std::string> buffers;
  bool in_place = false;
  bool kernels = false;  ///< our own kernels, too
  std::vector<std::string> models;
  std::vector<std::string> strategies;
  std::vector<std::string> training_precisions;
  std::string bucket_rule;
  std::optional<double> bucket_mib;
  std::optional<int> samples;
  std::optional<int> length;
  std::optional<double> dropout;
};

/// The same as values; empty or absent means not asked for.
struct SelectionOptions {
  std::vector<OperationKind> operations;
  std::vector<Bytes> sizes;
  std::vector<DataType> types;
  std::vector<Reduction> reductions;
  std::vector<LaunchMode> launch_modes;
  std::vector<Pattern> patterns;
  std::optional<Pair> pair;
  std::vector<int> roots;
  std::vector<Buffers> buffers;
  bool in_place = false;
  bool kernels = false;
  TrainingSelection training;
};

/// Throws UsageError for names and values that cannot be meant.
SelectionOptions read_selection(const SelectionTexts& texts);

/// `selection` with every parameter but the operations that was asked for put in its place.
Selection with_options(Selection selection, const SelectionOptions& options);

}  // namespace linkgain
