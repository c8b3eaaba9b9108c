#include "linkgain/compare/run_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_node.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record_json.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

using json::Node;

constexpr const char* kWhatToGive =
    "give a record.json, the directory of a run, or JSON that nccl-tests' -J wrote";

/// Returns a member, which may be null; nothing if there is none.
std::optional<Node> member(const Node& object, const char* key) {
  return object.is_object() ? object.find(key) : std::nullopt;
}

/// Throws UsageError where there is no such member.
Node must_have(const Node& object, const char* key) {
  if (const auto found = member(object, key)) return *found;
  throw UsageError(fmt::format("not a document of nccl-tests as known here: it lacks '{}'", key),
                   kWhatToGive);
}

/// Returns a number; nothing where the member is none.
std::optional<double> number_at(const Node& object, const char* key) {
  const auto found = member(object, key);
  return found && found->is_number() ? std::optional(found->number()) : std::nullopt;
}

template <typename T>
T known(const std::optional<T>& value, const char* key) {
  if (value) return *value;
  throw UsageError(
      fmt::format("not a document of nccl-tests as known here: its '{}' is missing or of another "
                  "kind",
                  key),
      kWhatToGive);
}

/// Returns a whole number; nothing where the member is no number. Throws UsageError for a number
/// that T does not hold.
template <typename T>
std::optional<T> whole_at(const Node& object, const char* key) {
  const auto found = member(object, key);
  if (!found || !found->is_number()) return std::nullopt;
  return known(found->whole<T>(), key);
}

/// Returns a text; nothing where the member is none.
std::optional<std::string> text_at(const Node& object, const char* key) {
  const auto found = member(object, key);
  if (!found || found->kind() != Node::Kind::text) return std::nullopt;
  return visible_lines(found->text());
}

/// Returns the items of an array; none where the member is no array.
std::vector<Node> items_at(const Node& object, const char* key) {
  std::vector<Node> all;
  const auto found = member(object, key);
  if (!found || found->kind() != Node::Kind::array) return all;
  json::Items items(*found);
  while (const auto item = items.next()) all.push_back(*item);
  return all;
}

std::vector<std::string> texts_at(const Node& object, const char* key) {
  std::vector<std::string> texts;
  for (const Node& item : items_at(object, key)) {
    if (item.kind() == Node::Kind::text) texts.push_back(visible_lines(item.text()));
  }
  return texts;
}

/// Returns the variant of these transports; Open MPI's own choice is not written down.
std::string mpi_variant_of(const Environment& environment) {
  const auto transports = environment.find("OMPI_MCA_btl");
  if (transports == environment.end() || transports->second.starts_with('^')) return "mpi";
  const std::vector<std::string> names = split(transports->second, ',');
  const auto has = [&](const char* name) { return std::ranges::find(names, name) != names.end(); };
  if (has("vader") || has("sm")) return "shared-memory";
  return has("tcp") ? "tcp" : "mpi";
}

/// Returns the built-in variant of `backend` that these variables stand for. NCCL: "host" where
/// they forbid P2P, else "p2p". MPI in CPU memory: "shared-memory" or "tcp" where they choose Open
/// MPI's transports, else its own name, "mpi".
std::string variant_of(BackendKind backend, const Environment& environment) {
  if (backend == BackendKind::mpi) return mpi_variant_of(environment);
  for (const auto& [name, value] : environment) {
    if (forbids_p2p(name, value)) return "host";
  }
  return "p2p";
}

/// Returns the settings of a run of this one variant.
Settings settings_of(BackendKind backend, const Environment& environment) {
  Settings settings;
  settings.backend = backend;
  settings.variants = {{variant_of(backend, environment), {}}};
  settings.environment_in_force = {environment};
  return settings;
}

/// Throws UsageError for what no operation takes: ratios of such times would be infinite.
Seconds possible_time(double microseconds) {
  constexpr double kLeast = 1e-6;
  constexpr double kMost = 1e15;
  if (microseconds >= kLeast && microseconds <= kMost) return Seconds{microseconds * 1e-6};
  throw UsageError(fmt::format("a time of {} us cannot be", microseconds));
}

/// Sets the time of a case that has one launch.
void set_time(CaseFigures& figures, Seconds time) {
  figures.time = time;
  figures.launches = {{0, time}};
  figures.algbw = algorithm_bandwidth(figures.definition, time);
  figures.busbw = bus_bandwidth(figures.definition, time);
}

struct Program {
  std::string_view name;
  OperationKind operation;
};

constexpr std::array kPrograms{Program{"all_reduce_perf", OperationKind::all_reduce},
                               Program{"all_gather_perf", OperationKind::all_gather},
                               Program{"reduce_scatter_perf", OperationKind::reduce_scatter},
                               Program{"broadcast_perf", OperationKind::broadcast},
                               Program{"reduce_perf", OperationKind::reduce},
                               Program{"alltoall_perf", OperationKind::alltoall},
                               Program{"gather_perf", OperationKind::gather},
                               Program{"scatter_perf", OperationKind::scatter},
                               Program{"sendrecv_perf", OperationKind::send_recv}};

/// Returns the value after an option, or behind its '='; empty where it is not given.
std::string option_value(const std::vector<std::string>& arguments, const std::string& option) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == option && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with(option + "=")) return arguments[i].substr(option.size() + 1);
  }
  return {};
}

/// Returns the value of -R in all its forms; the last one counts.
std::string registration_of(const std::vector<std::string>& arguments) {
  constexpr std::string_view kLongName =
      "--local_register";  // nccl-tests' only one with that letter
  std::string value;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string next = i + 1 < arguments.size() ? arguments[i + 1] : "";
    const std::size_t end = argument.find('=');
    const bool is_long =
        argument.starts_with("--l") && kLongName.starts_with(argument.substr(0, end));
    if (is_long) {
      value = end == std::string::npos ? next : argument.substr(end + 1);
    } else if (argument.starts_with("-R")) {
      value = argument == "-R" ? next : argument.substr(2);
    }
  }
  return value;
}

/// Tells the operation by the program; linkgain-bench measures all_reduce unless --only says
/// otherwise.
OperationKind operation_of(const std::vector<std::string>& arguments) {
  const std::string path = arguments.empty() ? "" : arguments.front();
  const std::string program = path.substr(path.rfind('/') + 1);
  for (const Program& each : kPrograms) {
    if (program == each.name) return each.operation;
  }
  if (!program.starts_with("linkgain-bench")) {
    throw UsageError(
        fmt::format("its program '{}' is none of nccl-tests' that is known here", program),
        "give a file that all_reduce_perf or another of them wrote with -J");
  }
  const std::string only = option_value(arguments, "--only");
  if (only.find(',') != std::string::npos) {
    throw UsageError(
        fmt::format("it holds several operations ({}), whose rows are not distinguishable", only),
        "write one file for each operation");
  }
  return only.empty() ? OperationKind::all_reduce : parse_operation(only);
}

/// Reads the root, which is a number or padded text: "    -1".
int root_of(const Node& row) {
  if (const auto root = whole_at<int>(row, "root")) return *root;
  std::string text = text_at(row, "root").value_or("");
  text.erase(0, text.find_first_not_of(' '));
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Returns what -G and -R set for all rows alike. Without -R the buffers count as plain, so that
/// their cases are those of others' runs.
Case pattern_of(const Node& config, const std::vector<std::string>& arguments, int ranks) {
  Case pattern;
  pattern.operation = operation_of(arguments);
  pattern.ranks = ranks;
  if (whole_at<int>(config, "graph").value_or(0) > 0) pattern.launch = LaunchMode::graph;
  const std::string registration = registration_of(arguments);
  if (registration == "1") pattern.buffers = Buffers::registered;
  if (registration == "2") pattern.buffers = Buffers::symmetric;
  return pattern;
}

Case case_of(const Node& row, const Case& pattern) {
  Case c = pattern;
  c.size = Bytes{known(whole_at<std::int64_t>(row, "size"), "size")};
  if (c.size.value < 0 || c.size > kLargestSize) {
    throw UsageError(fmt::format("a row has a size of {} bytes", c.size.value));
  }
  c.type = parse_nccl_tests_type(known(text_at(row, "type"), "type"));
  if (has_reduction(c.operation)) {
    c.reduction = from_name<Reduction>(known(text_at(row, "redop"), "redop"));
  }
  if (has_root(c.operation)) c.root = root_of(row);
  return c;
}

/// Throws UsageError where the bandwidth is not that of the time and the ranks: then the file is of
/// another number of ranks than it says, or of another size. nccl-tests writes six decimals;
/// figures of a table, which has fewer digits, pass too.
void require_bandwidth(const CaseFigures& figures, const Node& result) {
  constexpr double kDecimals = 1e-6;
  constexpr double kRounding = 1e-3;
  const std::optional<double> bandwidth = number_at(result, "bus_bw");
  if (!bandwidth || !figures.busbw) return;
  if (std::abs(*bandwidth - *figures.busbw) <= kDecimals + kRounding * *figures.busbw) return;
  throw UsageError(fmt::format("{}: bus_bw is {:.6g} GB/s, and {} by {} ranks are {:.6g} GB/s",
                               figures.name, *bandwidth, readable_time(*figures.time),
                               figures.definition.ranks, *figures.busbw),
                   "give the file as nccl-tests wrote it: config has nthreads, ngpus and an entry "
                   "in devices for each process");
}

/// Reads one measurement. Times are in microseconds; -1 and 0 stand for nothing measured.
CaseFigures figures_of(const Case& c, const Node& result, const std::string& variant) {
  CaseFigures figures;
  figures.name = case_name(c);
  figures.definition = c;
  figures.variant = variant;
  const double time = number_at(result, "time").value_or(0.0);
  const double wrong = number_at(result, "nwrong").value_or(0.0);
  if (wrong > 0.0) {
    figures.no_time = fmt::format("wrong data: {} elements", wrong);
    figures.wrong_data = true;
  } else if (!(time > 0.0)) {
    figures.no_time = "not measured";
  } else {
    set_time(figures, possible_time(time));
    require_bandwidth(figures, result);
  }
  return figures;
}

/// Makes one case of its rows, which come from several cycles (-N) of one launch: their median
/// counts, as that of repetitions does.
std::vector<CaseFigures> without_cycles(const std::vector<CaseFigures>& rows) {
  std::map<std::string, std::size_t> places;
  std::vector<CaseFigures> cases;
  std::vector<std::vector<double>> times;
  for (const CaseFigures& row : rows) {
    const auto [place, added] = places.try_emplace(row.name, cases.size());
    if (added) {
      cases.push_back(row);
      times.emplace_back();
    }
    CaseFigures& own = cases[place->second];
    if (own.no_time.empty()) own.no_time = row.no_time;
    if (row.time) times[place->second].push_back(row.time->value);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (times[i].size() < 2 && cases[i].no_time.empty()) continue;
    CaseFigures& own = cases[i];
    if (own.no_time.empty()) {
      set_time(own, Seconds{median(times[i])});
    } else {
      own.time.reset();
      own.launches.clear();
      own.algbw.reset();
      own.busbw.reset();
    }
  }
  return cases;
}

Environment environment_of_document(const Node& document) {
  Environment environment;
  for (const std::string& text : texts_at(document, "env")) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos ||
        !(name.starts_with("NCCL_") || name.starts_with("OMPI_MCA_btl") ||
          name.starts_with("OMPI_MCA_pml") || name == "CUDA_VISIBLE_DEVICES")) {
      continue;
    }
    environment[name] = text.substr(equals + 1);
  }
  return environment;
}

/// Makes "2.28.3" of 22803.
std::string version_text(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code % 10000 / 100, code % 100);
}

/// Multiplies -g GPUs by -t threads, for the ranks of one process.
int ranks_of_process(const Node& config) {
  std::int64_t ranks = 1;
  for (const char* key : {"nthreads", "ngpus"}) {
    const std::int64_t count = whole_at<std::int64_t>(config, key).value_or(1);
    if (count < 1 || count > kMostRanks) {
      throw UsageError(fmt::format("its config has {} {}, 1 to {} can be", count, key, kMostRanks));
    }
    ranks *= count;
  }
  return static_cast<int>(std::min<std::int64_t>(ranks, kMostRanks + 1));
}

/// Adds the ranks of one process. nccl-tests names the first one's GPU; the others have the next
/// indices and are taken for the same model.
void add_process(Machine& machine, const Node& device, int ranks) {
  const int first = known(whole_at<int>(device, "rank"), "rank");
  const std::optional<int> gpu = whole_at<int>(device, "device");
  for (int i = 0; i < ranks; ++i) {
    RankInfo rank;
    rank.rank = first + i;
    rank.host = text_at(device, "hostname").value_or("");
    if (machine.host.empty()) machine.host = rank.host;
    if (gpu) {
      rank.gpu.emplace();
      rank.gpu->cuda_index = *gpu + i;
      rank.gpu->name = text_at(device, "device_info").value_or("");
    }
    machine.ranks.push_back(rank);
  }
}

/// Reads the ranks. An entry in devices is a process, not a GPU. Processes of other groups
/// (NCCL_TESTS_SPLIT) have a communicator of their own, which the rows are not of.
void read_machine(RunFigures& run, const Node& document) {
  if (const auto version = whole_at<int>(document, "nccl_version")) {
    run.machine.software.nccl_library = version_text(*version);
  }
  const Node config = must_have(document, "config");
  const std::vector<Node> devices = items_at(config, "devices");
  const int ranks = ranks_of_process(config);
  const auto group_of = [](const Node& device) {
    return whole_at<int>(device, "group").value_or(0);
  };
  int all = 0;
  for (const Node& device : devices) {
    if (group_of(device) != group_of(devices.front())) continue;
    all = std::min(all + ranks, kMostRanks + 1);
    if (all <= kMostRanks) add_process(run.machine, device, ranks);
  }
  if (all < 1 || all > kMostRanks) {
    throw UsageError(fmt::format("it is of {} ranks, 1 to {} can be",
                                 all < 1 ? "no" : fmt::format("more than {}", kMostRanks),
                                 kMostRanks));
  }
}

/// Returns what of the config times depend on and cases do not have.
std::map<std::string, std::string> settings_of_config(const Node& config) {
  std::map<std::string, std::string> settings;
  for (const char* key : {"aggregated_iterations", "blocking_collectives", "iterations",
                          "per_iter_timing", "warmup_iters"}) {
    const auto number = whole_at<std::int64_t>(config, key);
    const auto value = number ? std::to_string(*number) : text_at(config, key).value_or("");
    if (!value.empty()) settings[key] = value;
  }
  return settings;
}

RunFigures read_nccl_tests(const Node& document, const std::string& name) {
  RunFigures run;
  run.name = name;
  run.source = RunSource::nccl_tests;
  run.started = text_at(document, "start_time").value_or("");
  read_machine(run, document);
  const bool gpus = run.machine.ranks.front().gpu.has_value();
  const BackendKind backend = gpus ? BackendKind::nccl : BackendKind::mpi;
  run.settings = settings_of(backend, environment_of_document(document));
  const Node config = must_have(document, "config");
  run.settings_of_nccl_tests = settings_of_config(config);
  const Case pattern =
      pattern_of(config, texts_at(document, "args"), static_cast<int>(run.machine.ranks.size()));
  const std::string& variant = run.settings.variants.front().name;
  for (const Node& row : items_at(document, "results")) {
    Case c = case_of(row, pattern);
    // null where only the other form was measured.
    const Node result = must_have(row, "out_of_place");
    if (!result.is_null()) run.cases.push_back(figures_of(c, result, variant));
    const auto in_place = member(row, "in_place");
    if (!supports_in_place(c.operation) || !in_place || in_place->is_null()) continue;
    c.in_place = true;
    run.cases.push_back(figures_of(c, *in_place, variant));
  }
  run.cases = without_cycles(run.cases);
  return run;
}

/// Reads JSON of nccl-tests, or says that the text is no record either.
RunFigures read_other(std::string_view text, const std::string& name) {
  const json::Document document(text);
  const Node root = document.root();
  if (member(root, "results") && member(root, "config") && member(root, "args")) {
    return read_nccl_tests(root, name);
  }
  if (member(root, "schema")) json::require_known_schema(root);
  throw UsageError("neither a record nor JSON of nccl-tests", kWhatToGive);
}

RunFigures figures_of_record(Record record, const std::string& name) {
  judge(record);
  return figures_of(record, name);
}

}  // namespace

RunFigures parse_run(std::string_view text, const std::string& name) {
  if (text.starts_with("{\"head\"")) return figures_of_record(parse_journal(text, name), name);
  try {
    return figures_of_record(parse_record(text, name), name);
  } catch (const json::NotARecord&) {
  } catch (const UsageError& error) {
    throw UsageError(error.what(), error.advice().empty() ? kWhatToGive : error.advice());
  }
  try {
    return read_other(text, name);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", name, error.what()), error.advice());
  }
}

RunFigures read_run(const std::filesystem::path& path) {
  const std::string name = visible(path.string());
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    return figures_of_record(read_record(path), name);
  }
  const Reading<std::string> text = read_regular_file(path);
  if (!text.measured()) {
    throw UsageError(fmt::format("cannot read {}: {}", name, text.reason()), kWhatToGive);
  }
  return parse_run(text.value(), name);
}

}  // namespace linkgain
