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

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

using Json = nlohmann::json;

/// Open MPI's own choice of transports is not written down.
std::string mpi_variant_of(const Environment& environment) {
  const auto transports = environment.find("OMPI_MCA_btl");
  if (transports == environment.end() || transports->second.starts_with('^')) return "mpi";
  const std::vector<std::string> names = split(transports->second, ',');
  const auto has = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has("vader") || has("sm")) return "shared-memory";
  return has("tcp") ? "tcp" : "mpi";
}

/// The built-in variant of `backend` that these variables stand for. NCCL: "host" where they forbid
/// P2P, else "p2p". MPI in CPU memory: "shared-memory" or "tcp" where they choose Open MPI's
/// transports, else its own name, "mpi".
std::string variant_of(BackendKind backend, const Environment& environment) {
  if (backend == BackendKind::mpi) return mpi_variant_of(environment);
  for (const auto& [name, value] : environment) {
    if (forbids_p2p(name, value)) return "host";
  }
  return "p2p";
}

/// The settings of a run of this one variant.
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

/// The value after an option, or behind its '='; empty where it is not given.
std::string option_value(const std::vector<std::string>& arguments, const std::string& option) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == option && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with(option + "=")) return arguments[i].substr(option.size() + 1);
  }
  return {};
}

/// The value of -R in all its forms; the last one counts.
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

/// linkgain-bench measures all_reduce unless --only says otherwise.
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

/// The column is padded text: "    -1".
int root_of(const Json& row) {
  const Json root = row.value("root", Json());
  if (root.is_number()) return root.get<int>();
  if (!root.is_string()) return 0;
  std::string text = root.get<std::string>();
  text.erase(0, text.find_first_not_of(' '));
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Set by -G and -R for all rows alike. Without -R the buffers count as plain, so that their cases
/// are those of others' runs.
Case pattern_of(const Json& config, const std::vector<std::string>& arguments, int ranks) {
  Case pattern;
  pattern.operation = operation_of(arguments);
  pattern.ranks = ranks;
  if (config.value("graph", 0) > 0) pattern.launch = LaunchMode::graph;
  const std::string registration = registration_of(arguments);
  if (registration == "1") pattern.buffers = Buffers::registered;
  if (registration == "2") pattern.buffers = Buffers::symmetric;
  return pattern;
}

Case case_of(const Json& row, const Case& pattern) {
  Case c = pattern;
  c.size = Bytes{row.at("size")};
  if (c.size.value < 0 || c.size > kLargestSize) {
    throw UsageError(fmt::format("a row has a size of {} bytes", c.size.value));
  }
  c.type = parse_nccl_tests_type(row.at("type").get<std::string>());
  if (has_reduction(c.operation)) c.reduction = parse_reduction(row.at("redop").get<std::string>());
  if (has_root(c.operation)) c.root = root_of(row);
  return c;
}

/// Throws UsageError where the bandwidth is not that of the time and the ranks: then the file is of
/// another number of ranks than it says, or of another size. nccl-tests writes six decimals;
/// figures of a table, which has fewer digits, pass too.
void require_bandwidth(const CaseFigures& figures, const Json& result) {
  constexpr double kDecimals = 1e-6;
  constexpr double kRounding = 1e-3;
  const Json written = result.value("bus_bw", Json());
  if (!written.is_number() || !figures.busbw) return;
  const double bandwidth = written.get<double>();
  if (std::abs(bandwidth - *figures.busbw) <= kDecimals + kRounding * *figures.busbw) return;
  throw UsageError(fmt::format("{}: bus_bw is {:.6g} GB/s, and {} by {} ranks are {:.6g} GB/s",
                               figures.name, bandwidth, readable_time(*figures.time),
                               figures.definition.ranks, *figures.busbw),
                   "give the file as nccl-tests wrote it: config has nthreads, ngpus and an entry "
                   "in devices for each process");
}

/// Times are in microseconds; -1 and 0 stand for nothing measured.
CaseFigures figures_of(const Case& c, const Json& result, const std::string& variant) {
  CaseFigures figures;
  figures.name = case_name(c);
  figures.definition = c;
  figures.variant = variant;
  const Json time = result.value("time", Json());
  const Json wrong = result.value("nwrong", Json());
  if (wrong.is_number() && wrong.get<double>() > 0.0) {
    figures.no_time = fmt::format("wrong data: {} elements", wrong.get<double>());
  } else if (!time.is_number() || !(time.get<double>() > 0.0)) {
    figures.no_time = "not measured";
  } else {
    set_time(figures, possible_time(time.get<double>()));
    require_bandwidth(figures, result);
  }
  return figures;
}

/// Rows of one case come from several cycles (-N) of one launch: their median counts, as that of
/// repetitions does.
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
      own.sample_error = log_median_error(times[i]);
    } else {
      own.time.reset();
      own.launches.clear();
      own.algbw.reset();
      own.busbw.reset();
    }
  }
  return cases;
}

Environment environment_of_document(const Json& document) {
  Environment environment;
  for (const Json& entry : document.value("env", Json::array())) {
    const std::string text = entry;
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

/// 22803 → "2.28.3".
std::string version_text(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code % 10000 / 100, code % 100);
}

/// Multiplies -g GPUs by -t threads, for the ranks of one process.
int ranks_of_process(const Json& config) {
  std::int64_t ranks = 1;
  for (const char* member : {"nthreads", "ngpus"}) {
    const std::int64_t count = config.value(member, std::int64_t{1});
    if (count < 1 || count > kMostRanks) {
      throw UsageError(
          fmt::format("its config has {} {}, 1 to {} can be", count, member, kMostRanks));
    }
    ranks *= count;
  }
  return static_cast<int>(std::min<std::int64_t>(ranks, kMostRanks + 1));
}

/// The ranks of one process. nccl-tests names the first one's GPU; the others have the next indices
/// and are taken for the same model.
void add_process(Machine& machine, const Json& device, int ranks) {
  for (int i = 0; i < ranks; ++i) {
    RankInfo rank;
    rank.rank = device.at("rank").get<int>() + i;
    rank.host = device.value("hostname", "");
    if (machine.host.empty()) machine.host = rank.host;
    if (device.value("device", Json()).is_number()) {
      rank.gpu.emplace();
      rank.gpu->cuda_index = device.at("device").get<int>() + i;
      rank.gpu->name = device.value("device_info", "");
    }
    machine.ranks.push_back(rank);
  }
}

/// An entry in devices is a process, not a GPU. Processes of other groups (NCCL_TESTS_SPLIT) have a
/// communicator of their own, which the rows are not of.
void read_machine(RunFigures& run, const Json& document) {
  const Json version = document.value("nccl_version", Json());
  if (version.is_number()) run.machine.software.nccl_library = version_text(version.get<int>());
  const Json& config = document.at("config");
  const Json& devices = config.at("devices");
  const int ranks = ranks_of_process(config);
  int all = 0;
  for (const Json& device : devices) {
    if (device.value("group", 0) != devices.front().value("group", 0)) continue;
    all = std::min(all + ranks, kMostRanks + 1);
    if (all <= kMostRanks) add_process(run.machine, device, ranks);
  }
  if (all < 1 || all > kMostRanks) {
    throw UsageError(fmt::format("it is of {} ranks, 1 to {} can be",
                                 all < 1 ? "no" : fmt::format("more than {}", kMostRanks),
                                 kMostRanks));
  }
}

RunFigures read_nccl_tests(const Json& document, const std::string& name) {
  RunFigures run;
  run.name = name;
  run.source = RunSource::nccl_tests;
  run.started = document.value("start_time", "");
  read_machine(run, document);
  const bool gpus = run.machine.ranks.front().gpu.has_value();
  const BackendKind backend = gpus ? BackendKind::nccl : BackendKind::mpi;
  run.settings = settings_of(backend, environment_of_document(document));
  const auto arguments = document.at("args").get<std::vector<std::string>>();
  const Case pattern =
      pattern_of(document.at("config"), arguments, static_cast<int>(run.machine.ranks.size()));
  const std::string& variant = run.settings.variants.front().name;
  for (const Json& row : document.at("results")) {
    Case c = case_of(row, pattern);
    // null where only the other form was measured.
    if (const Json& result = row.at("out_of_place"); !result.is_null()) {
      run.cases.push_back(figures_of(c, result, variant));
    }
    if (!supports_in_place(c.operation) || row.value("in_place", Json()).is_null()) continue;
    c.in_place = true;
    run.cases.push_back(figures_of(c, row.at("in_place"), variant));
  }
  run.cases = without_cycles(run.cases);
  return run;
}

constexpr const char* kWhatToGive =
    "give a record.json, the directory of a run, or JSON that nccl-tests' -J wrote";

bool is_of_nccl_tests(const Json& document) {
  return document.is_object() && document.contains("results") && document.contains("config") &&
         document.contains("args");
}

Json parse_document(std::string_view text, const std::string& name) {
  try {
    return json::parse(text);
  } catch (const Json::parse_error& error) {
    throw UsageError(fmt::format("{}: not JSON, from byte {} on", name, error.byte), kWhatToGive);
  } catch (const Json::exception& error) {  // as of a number that is out of range
    throw UsageError(fmt::format("{}: {}", name, error.what()), kWhatToGive);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", name, error.what()), kWhatToGive);
  }
}

RunFigures parse_nccl_tests(const Json& document, const std::string& name) {
  try {
    return read_nccl_tests(document, name);
  } catch (const Json::exception& error) {
    throw UsageError(
        fmt::format("{}: not a document of nccl-tests as known here: {}", name, error.what()),
        kWhatToGive);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", name, error.what()), error.advice());
  }
}

/// Takes what the record's samples give from these.
RunFigures figures_of_record(Record record, const std::string& name) {
  summarise(record);
  return figures_of(record, name);
}

}  // namespace

RunFigures parse_run(std::string_view text, const std::string& name) {
  if (text.starts_with("{\"head\"")) return figures_of_record(parse_journal(text, name), name);
  const Json document = parse_document(text, name);
  if (document.is_object() && document.contains("schema")) {
    return figures_of_record(parse_record(text, name), name);
  }
  if (is_of_nccl_tests(document)) return parse_nccl_tests(document, name);
  throw UsageError(fmt::format("{}: neither a record nor JSON of nccl-tests", name), kWhatToGive);
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
