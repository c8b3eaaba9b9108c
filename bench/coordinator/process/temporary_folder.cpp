#include "linkgain/process/temporary_folder.hpp"

#include <cstdlib>
#include <string>
#include <system_error>

#include "linkgain/base/errors.hpp"

namespace linkgain {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) throw UsageError("TMPDIR names no folder", "set it to one, or leave it out");
  std::string name = (parent / "linkgain-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw UsageError("cannot make a folder in " + parent.string(),
                     "set TMPDIR to one that can be written");
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace linkgain
