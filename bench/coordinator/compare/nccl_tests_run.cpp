#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "foreign_runs.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/nccl_environment.hpp"

namespace linkgain {
namespace {

using Json = nlohmann::json;

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
        fmt::format("it holds several operations ({}), whose rows cannot be told apart", only),
        "write one file for each operation");
  }
  return only.empty() ? OperationKind::all_reduce : parse_operation(only);
}

/// nccl-tests' names of types where they differ from ours.
DataType type_of(const std::string& name) {
  if (name == "float") return DataType::float32;
  if (name == "half") return DataType::float16;
  if (name == "double") return DataType::float64;
  if (name == "f8e4m3") return DataType::float8e4m3;
  if (name == "f8e5m2") return DataType::float8e5m2;
  return parse_data_type(name);
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
Case pattern_of(const Json& document, const std::vector<std::string>& arguments) {
  Case pattern;
  pattern.operation = operation_of(arguments);
  const Json& config = document.at("config");
  pattern.ranks = static_cast<int>(config.at("devices").size());
  if (config.value("graph", 0) > 0) pattern.launch = LaunchMode::graph;
  const std::string registration = registration_of(arguments);
  if (registration == "1") pattern.buffers = Buffers::registered;
  if (registration == "2") pattern.buffers = Buffers::symmetric;
  return pattern;
}

Case case_of(const Json& row, const Case& pattern) {
  Case c = pattern;
  c.size = Bytes{row.at("size")};
  c.type = type_of(row.at("type"));
  if (has_reduction(c.operation)) c.reduction = parse_reduction(row.at("redop").get<std::string>());
  if (has_root(c.operation)) c.root = root_of(row);
  return c;
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
    figures.time = Seconds{time.get<double>() * 1e-6};
    figures.launches = {{0, *figures.time}};
    figures.algbw = algorithm_bandwidth(c, *figures.time);
    figures.busbw = bus_bandwidth(c, *figures.time);
  }
  return figures;
}

Environment environment_of(const Json& document) {
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

void read_machine(RunFigures& run, const Json& document) {
  const Json version = document.value("nccl_version", Json());
  if (version.is_number()) run.machine.software.nccl_library = version_text(version.get<int>());
  for (const Json& device : document.at("config").at("devices")) {
    RankInfo rank;
    rank.rank = device.at("rank");
    rank.host = device.value("hostname", "");
    if (run.machine.host.empty()) run.machine.host = rank.host;
    if (device.value("device", Json()).is_number()) {
      rank.gpu.emplace();
      rank.gpu->cuda_index = device.at("device");
      rank.gpu->name = device.value("device_info", "");
    }
    run.machine.ranks.push_back(rank);
  }
}

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

}  // namespace

std::string variant_of(BackendKind backend, const Environment& environment) {
  if (backend == BackendKind::mpi) return mpi_variant_of(environment);
  for (const auto& [name, value] : environment) {
    if (forbids_p2p(name, value)) return "host";
  }
  return "p2p";
}

Settings settings_of(BackendKind backend, const Environment& environment) {
  Settings settings;
  settings.backend = name_of(backend);
  settings.variants = {{variant_of(backend, environment), {}}};
  settings.environment_in_force = {environment};
  return settings;
}

RunFigures read_nccl_tests(const Json& document, const std::string& name) {
  RunFigures run;
  run.name = name;
  run.source = RunSource::nccl_tests;
  run.started = document.value("start_time", "");
  read_machine(run, document);
  const bool gpus = !run.machine.ranks.empty() && run.machine.ranks.front().gpu.has_value();
  const BackendKind backend = gpus ? BackendKind::nccl : BackendKind::mpi;
  run.settings = settings_of(backend, environment_of(document));
  const auto arguments = document.at("args").get<std::vector<std::string>>();
  const Case pattern = pattern_of(document, arguments);
  const std::string& variant = run.settings.variants.front().name;
  for (const Json& row : document.at("results")) {
    Case c = case_of(row, pattern);
    run.cases.push_back(figures_of(c, row.at("out_of_place"), variant));
    if (!supports_in_place(c.operation) || !row.contains("in_place")) continue;
    c.in_place = true;
    run.cases.push_back(figures_of(c, row.at("in_place"), variant));
  }
  return run;
}

}  // namespace linkgain
