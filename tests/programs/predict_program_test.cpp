#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "programs.hpp"

/// `linkgain predict` held to what `linkgain exec` measures of the same thing, in CPU memory.
namespace linkgain::test {
namespace {

constexpr int kLayers = 4;
constexpr int kHidden = 1024;
constexpr int kBatch = 128;  // 256 KiB a call: what MPI sends takes most of the time

/// Less time by shared memory than by TCP, with its interval.
struct LessTime {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
  bool agrees_with(const LessTime& other) const {
    return (low <= other.high && other.low <= high) ||
           std::abs(value - other.value) <= 0.25 * std::abs(value);
  }
};

class PredictProgram : public MpiTest {
 protected:
  /// Records the all-reduces of this machine.
  void measure_link() {
    ProgramRequest request = linkgain(
        folder_, {"run", "--backend", "mpi", "--only", "all_reduce", "--sizes", "128K:512K:x2",
                  "--launches", "3", "--budget", "8", "--out", "link", "--quiet"});
    request.environment["LINKGAIN_BENCH"] = LINKGAIN_BENCH;
    ASSERT_LE(run_program(request).status, 7);
  }

  bool link_was_disturbed() const {
    const Json record = Json::parse(read_text(folder_ / "link/record.json"));
    return std::ranges::any_of(record.at("warnings"), [](const Json& each) {
      return each.at("code") == "busy-processors" || each.at("code") == "host-load";
    });
  }

  /// Measures a step by exec; returns seconds by shared memory.
  double measure_steps(LessTime& measured) {
    Words command{"mpirun", "-np", "2", "--bind-to", "none", "--oversubscribe"};
    if (geteuid() == 0) command.push_back("--allow-run-as-root");
    const int floats = kHidden * kBatch * 2 / 4;
    command =
        joined(command, {PRODUCTS_PROGRAM, std::to_string(2 * kLayers), std::to_string(floats)});
    run_linkgain(
        folder_,
        joined({"exec", "--out", "steps", "--quiet", "--rounds", "4", "--ci-width", "50%",
                "--variant", "shared-memory:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,vader", "--variant",
                "tcp:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,tcp,OMPI_MCA_btl_tcp_if_include=lo",
                "--metric", "step_ms: ([0-9.]+)", "--"},
               command));
    const Json record = Json::parse(read_text(folder_ / "steps/record.json"));
    for (const Json& each : record.at("cases")) {
      if (each.at("case") != "exec/step_ms") continue;
      const Json& ratio = each.at("ratios")[0];
      const auto less_time = [&](const char* name) {
        const Json& end = ratio.at(name).is_null() ? ratio.at("ratio") : ratio.at(name);
        return 1.0 - 1.0 / end.get<double>();
      };
      measured = {less_time("ratio"), less_time("low"), less_time("high")};
      return each.at("variants")[0].at("time_s").get<double>() / 1e3;
    }
    throw std::runtime_error("no step was measured");
  }

  Outcome predict(double step) {
    return run_linkgain(
        folder_, {"predict", "link", "--json", "--layers", std::to_string(kLayers), "--hidden",
                  std::to_string(kHidden), "--batch", std::to_string(kBatch), "--prompt",
                  std::to_string(kBatch), "--tokens-per-second", fmt::format("{}", kBatch / step)});
  }

  const ScratchFolder folder_;
};

/// Tries again where other work made another machine of it between the two measurements; where a
/// record says that there was some, nothing can be told.
TEST_F(PredictProgram, AgreesWithWhatExecMeasures) {
  constexpr int kAttempts = 3;
  std::string seen;
  bool is_disturbed = false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    measure_link();
    LessTime measured;
    const double step = measure_steps(measured);
    const Outcome outcome = predict(step);
    is_disturbed = is_disturbed || link_was_disturbed();
    seen += fmt::format("measured {:.3f} ({:.3f} to {:.3f}) of a step of {:.3f} ms; ",
                        measured.value, measured.low, measured.high, 1e3 * step);
    if (outcome.status != 0) {
      seen += outcome.error;
      continue;
    }
    const Json decode = Json::parse(outcome.output).at("decode");
    const auto end = [&](const char* name) { return decode.at(name).get<double>(); };
    const LessTime predicted{end("less_time"), end("less_time_low"), end("less_time_high")};
    seen += fmt::format("predicted {:.3f} ({:.3f} to {:.3f})\n", predicted.value, predicted.low,
                        predicted.high);
    if (predicted.agrees_with(measured)) return;
  }
  if (is_disturbed) GTEST_SKIP() << "others use this machine's processors: " << seen;
  FAIL() << seen;
}

}  // namespace
}  // namespace linkgain::test
