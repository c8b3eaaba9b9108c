#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/cases/tolerance.hpp"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

/// Options that both programs take: declared, read, put into a selection.

namespace linkgain {

/// Reads "0,1" as device numbers. Throws UsageError.
std::vector<int> parse_gpus(std::string_view text);

/// Reads "0-1" as a one-way pair. Throws UsageError.
Pair parse_pair(std::string_view text);

/// Reads a rank. Throws UsageError.
int parse_root(std::string_view text);

/// Reads "5%", "5 %" or "0.05" as 0.05. Throws UsageError that names `option` where the text is
/// neither or is outside `least` to `most`.
double parse_share(std::string_view text, std::string_view option, double least, double most);

/// Reads "70", "7e9" or "7B", a number with k, M, B or T behind it. Throws UsageError that names
/// `option` where the text is none or is outside `least` to `most`.
double parse_count(std::string_view text, std::string_view option, double least, double most);

/// Reads "300", "90.5s", "5m", "8 h" or "5ms" as a time; a number alone is one of seconds. Throws
/// UsageError that names `option` where the text is none or is outside `least` to `most`.
Seconds parse_duration(std::string_view text, std::string_view option, Seconds least, Seconds most);

/// Reads a share as a tolerance to both sides, 0.1 % to 99 %.
Tolerance parse_tolerance(std::string_view text, std::string_view option);

/// Reads every name by `parse`, in order.
template <typename Value, typename Parse>
std::vector<Value> parse_each(const std::vector<std::string>& names, Parse parse) {
  std::vector<Value> values;
  for (const std::string& name : names) values.push_back(parse(name));
  return values;
}

/// Returns a command line's words behind the program's name, as CLI11 takes them: last first. Of
/// `--out=` the value is empty; CLI11 alone would take the next word for it, be that another
/// option.
std::vector<std::string> words_to_parse(int argc, const char* const* argv);

/// Explains CLI11's "Could not convert: --np = 1.5" in words that say why: "--np 1.5 is no whole
/// number", "is no number" or "is out of range"; "--np: Value 0 not in range 1 to 8" as "--np 0 is
/// outside 1 to 8"; "--np: 1 required TEXT missing" as "--np needs a value". Other texts are given
/// back as they are.
std::string describe_conversion_error(const std::string& error);

/// Explains any error of parsing. Of `strays`, words that no option takes, it names the first that
/// begins with '-', else the first: "unknown option '-q'".
std::string describe_parse_error(const CLI::ParseError& error,
                                 const std::vector<std::string>& strays);

/// Options whose values are read when all of a command line was parsed: what is wrong with its form
/// is told first, and help is given whatever else stands there.
class DeferredOptions {
 public:
  /// Defers what depends on several options; `app` must outlive this, and this its parsing.
  explicit DeferredOptions(CLI::App& app) : app_(app) {}
  DeferredOptions(const DeferredOptions&) = delete;
  DeferredOptions& operator=(const DeferredOptions&) = delete;

  CLI::App& app() { return app_; }

  /// Adds an option: `value = parse(text)` of the text given, else of `usual`; if that is empty,
  /// `value` stays.
  template <typename Value, typename Parse>
  CLI::Option* add(const char* name, Value& value, Parse parse, const std::string& help,
                   const std::string& usual = "") {
    return add_text(name, help, usual,
                    [&value, parse](const std::string& text) { value = parse(text); });
  }
  /// Names joined by commas, each by `parse`.
  template <typename Value, typename Parse>
  CLI::Option* add_list(const char* name, std::vector<Value>& values, Parse parse,
                        const std::string& help) {
    return add_texts(name, help, [&values, parse](const std::vector<std::string>& texts) {
      values = parse_each<Value>(texts, parse);
    });
  }
  /// Adds something else to be looked at or done at this place of reading.
  void then(std::function<void()> step) { steps_.push_back(std::move(step)); }

  /// Reads the options in the order of the calls above. Throws UsageError for names and values that
  /// cannot be meant, before any step where an option of the app, added here or not, has an empty
  /// value.
  void read() const;

 private:
  CLI::Option* add_text(const char* name, const std::string& help, const std::string& usual,
                        std::function<void(const std::string&)> read);
  CLI::Option* add_texts(const char* name, const std::string& help,
                         std::function<void(const std::vector<std::string>&)> read);

  CLI::App& app_;
  std::vector<std::function<void()>> steps_;
};

/// What both programs can be asked for; empty or absent means not asked for.
struct SelectionOptions {
  std::optional<BackendKind> backend;
  std::vector<int> gpus;  ///< CUDA device of each rank
  std::vector<OperationKind> operations;
  std::vector<Bytes> sizes;
  std::vector<DataType> types;
  std::vector<Reduction> reductions;
  std::vector<LaunchChoice> launch_modes;
  std::vector<Pattern> patterns;
  std::optional<Pair> pair;
  std::vector<int> roots;
  std::vector<Buffers> buffers;
  std::vector<int> hidden;
  bool in_place = false;
  bool kernels = false;
  TrainingSelection training;
  std::optional<std::int64_t> steps;  ///< of trainings
  std::optional<std::filesystem::path> tokens;
};

/// Declares --backend, --gpus and --only. `options` must outlive `deferred`, here and below.
void add_job_options(DeferredOptions& deferred, SelectionOptions& options);

/// Declares the others.
void add_selection_options(DeferredOptions& deferred, SelectionOptions& options);

/// Returns `selection` with every parameter but the operations that was asked for put in its place.
Selection with_options(Selection selection, const SelectionOptions& options);

inline constexpr int kMaxSweepSizes = 10'000;

/// Reads sizes: `8:1G:x4` (times 4 from 8 up), `1M:64M:+1M` (plus 1 MiB), a list `8,64K,1G`, or any
/// of these joined by commas. A sweep always includes its end. The result ascends, without
/// repetition. Throws UsageError on zero, a falling sweep, a factor below 2, a step of zero, or
/// more than kMaxSweepSizes sizes.
std::vector<Bytes> parse_sizes(std::string_view text);

}  // namespace linkgain
