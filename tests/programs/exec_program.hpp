#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "programs.hpp"

namespace linkgain::test {

/// `linkgain exec` of programs that tests write.
class ExecProgram : public testing::Test {
 protected:
  /// An executable script in the folder.
  void write_script(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  /// `linkgain exec --out out` of two rounds where `options` name no number.
  ProgramRequest request(const std::vector<std::string>& options,
                         const std::vector<std::string>& command) {
    std::vector<std::string> all{"exec", "--out", "out"};
    if (std::ranges::find(options, "--rounds") == options.end()) {
      all.insert(all.end(), {"--rounds", "2", "--ci-width", "50%"});
    }
    all.insert(all.end(), options.begin(), options.end());
    all.emplace_back("--");
    all.insert(all.end(), command.begin(), command.end());
    ProgramRequest made = linkgain(folder_, all);
    made.environment["NCCL_P2P_DISABLE"] = std::nullopt;
    made.environment["PYTHONUNBUFFERED"] = std::nullopt;
    made.environment["LINKGAIN_NVML_LIBRARY"] = "/nonexistent";
    return made;
  }

  Outcome run(const std::vector<std::string>& options, const std::vector<std::string>& command) {
    return run_program(request(options, command));
  }

  /// Ends it after linkgain was stopped for so long, as by Ctrl-Z, once the file "begun" was there.
  Outcome finish_stopped(Program& program, double seconds) {
    if (!comes_true([&] { return std::filesystem::exists(folder_.path() / "begun"); }, 60.0)) {
      throw std::runtime_error("nothing was begun:\n" + program.error());
    }
    program.signal(SIGSTOP);
    pause_for(seconds);
    program.signal(SIGCONT);
    return program.finish(60.0);
  }

  Json record() const { return read_record(folder_); }
  std::string log(const std::string& name) const {
    return read_text(folder_.path() / "out" / "runs" / (name + ".log"));
  }
  Json case_named(const std::string& name) const {
    const Json whole = record();
    for (const Json& each : whole.at("cases")) {
      if (each.at("case") == name) return each;
    }
    return {};
  }
  std::vector<std::string> warning_codes() const {
    std::vector<std::string> codes;
    const Json whole = record();
    for (const Json& each : whole.at("warnings")) codes.push_back(each.at("code"));
    return codes;
  }

  /// The first with this code; null where there is none.
  Json warning(const std::string& code) const {
    const Json whole = record();
    for (const Json& each : whole.at("warnings")) {
      if (each.at("code") == code) return each;
    }
    return {};
  }

  ScratchFolder folder_;
};

}  // namespace linkgain::test
