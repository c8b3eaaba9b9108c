#include "linkgain/base/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

constexpr const char* kSharedMemory = "/dev/shm";

}  // namespace

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

Environment current_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::vector<std::string> assignments_of(const Environment& environment) {
  std::vector<std::string> assignments;
  for (const auto& [name, value] : environment) assignments.push_back(name + "=" + value);
  return assignments;
}

std::vector<char*> exec_array(const std::vector<std::string>& texts) {
  std::vector<char*> array;
  for (const std::string& text : texts) array.push_back(const_cast<char*>(text.c_str()));
  array.push_back(nullptr);
  return array;
}

bool is_assignment(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('='));
  return !name.empty() && name.size() < text.size() &&
         std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

void prepare_for_mpirun(Environment& environment) {
  environment.emplace("HWLOC_COMPONENTS", "-gl,-opencl");
  const auto temporary = environment.find("TMPDIR");
  if (temporary != environment.end() && temporary->second.empty()) environment.erase(temporary);
}

std::unique_ptr<TemporaryFolder> folder_for_segments() {
  try {
    return std::make_unique<TemporaryFolder>(kSharedMemory);
  } catch (const UsageError&) {
    return nullptr;
  }
}

void remove_left_segments() { remove_left_folders(kSharedMemory); }

void name_segments_folder(const std::filesystem::path& folder, Environment& environment) {
  // By its names of Open MPI 4 and 5.
  for (const char* name :
       {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}) {
    environment.emplace(name, folder.string());
  }
}

}  // namespace linkgain
