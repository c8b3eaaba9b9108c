#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "linkgain/nccl_tests/nccl_tests_output.hpp"

namespace linkgain {

/// nccl-tests' JSON, version 3. Of the environment it has the variables that may be recorded, not
/// all.
std::string nccl_tests_json(const NcclTestsReport& report, const std::string& end_time);

/// The file of -J.
class NcclTestsFile {
 public:
  /// Makes a new file; where there is one of this name, a number is put behind it. Throws
  /// UsageError.
  explicit NcclTestsFile(const std::string& path);

  const std::string& name() const { return name_; }
  /// Once. Throws MachineError where not all could be written.
  void write(const std::string& text);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace linkgain
