#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "programs.hpp"

namespace linkgain::test {

/// For one run of one variant.
inline const Words kOnce{"--variant", "p2p", "--rounds", "1"};

/// `linkgain exec` of programs that tests write.
class ExecProgram : public testing::Test {
 protected:
  void write_script(const std::string& name, const std::string& text) {
    write_executable(folder_ / name, text);
  }

  /// Requests `linkgain exec --out out` of two rounds where `options` name no number.
  ProgramRequest request(const Words& options, const Words& command) {
    Words all{"exec", "--out", "out"};
    if (std::ranges::find(options, "--rounds") == options.end()) {
      all.insert(all.end(), {"--rounds", "2", "--ci-width", "50%"});
    }
    all = joined(joined(all, options), {"--"});
    ProgramRequest made = linkgain(folder_, joined(all, command));
    made.environment["NCCL_P2P_DISABLE"] = std::nullopt;
    made.environment["PYTHONUNBUFFERED"] = std::nullopt;
    made.environment["LINKGAIN_NVML_LIBRARY"] = "/nonexistent";
    return made;
  }

  /// Reads a file of the results.
  std::string result(const std::string& name) const { return read_text(folder_ / "out" / name); }

  Outcome run(const Words& options, const Words& command) {
    return run_program(request(options, command));
  }

  /// Ends it after linkgain was stopped for so long, as by Ctrl-Z, once the file "begun" was there.
  Outcome finish_stopped(Program& program, double seconds) {
    if (!comes_true([&] { return std::filesystem::exists(folder_ / "begun"); }, 60.0)) {
      throw std::runtime_error("nothing was begun:\n" + program.error());
    }
    program.signal(SIGSTOP);
    pause_for(seconds);
    program.signal(SIGCONT);
    return program.finish(60.0);
  }

  Json record() const { return read_record(folder_); }
  std::string log(const std::string& name) const { return result("runs/" + name + ".log"); }
  Json case_named(const std::string& name) const { return first_with("cases", "case", name); }
  Words warning_codes() const {
    Words codes;
    const Json whole = record();
    for (const Json& each : whole.at("warnings")) codes.push_back(each.at("code"));
    return codes;
  }

  /// Returns the first with this code; null where there is none.
  Json warning(const std::string& code) const { return first_with("warnings", "code", code); }

  ScratchFolder folder_;

 private:
  Json first_with(const char* list, const char* key, const std::string& value) const {
    const Json whole = record();
    for (const Json& each : whole.at(list)) {
      if (each.at(key) == value) return each;
    }
    return {};
  }
};

}  // namespace linkgain::test
