#pragma once

#include <string>
#include <vector>

#include "linkgain/base/regular_file.hpp"

namespace linkgain {

enum class JunitOutcome { passed, failed, skipped };

/// A test case of a JUnit document.
struct JunitCase {
  std::string class_name;  ///< by which readers group cases: "linkgain.p2p"
  std::string name;
  JunitOutcome outcome = JunitOutcome::passed;
  std::string failure_type;  ///< of one that failed: "slower"
  std::string message;       ///< shown with any outcome
};

/// The one suite of a document. Its texts are escaped by junit_text().
struct JunitSuite {
  std::string name;     ///< "linkgain check"
  std::string subject;  ///< what was tested
  std::string summary;
  std::vector<JunitCase> cases;
};

/// Writes JUnit XML as continuous integration systems read it.
std::string junit_text(const JunitSuite& suite);

extern const FileKind kJunitFile;

}  // namespace linkgain
