#include "linkgain/hardware/mpi_version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace linkgain {
namespace {

/// How an implementation names itself.
struct MpiName {
  std::string_view in_text;
  std::string_view implementation;
};

/// More particular names first: MVAPICH's library mentions MPICH, too.
constexpr MpiName kImplementations[] = {{"Open MPI", "Open MPI"},
                                        {"Intel(R) MPI", "Intel MPI"},
                                        {"MVAPICH", "MVAPICH"},
                                        {"HYDRA", "MPICH"},
                                        {"MPICH", "MPICH"}};

constexpr std::string_view kDigits = "0123456789";

/// Finds the first "digits.digits..." of the text; empty where there is none. The 2 of "MVAPICH2"
/// is none.
std::string_view first_number(std::string_view text) {
  while (true) {
    const std::size_t begin = text.find_first_of(kDigits);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    const std::size_t dot = text.find_first_not_of(kDigits);
    const bool more = dot != std::string_view::npos && dot + 1 < text.size();
    if (more && text[dot] == '.' && kDigits.find(text[dot + 1]) != std::string_view::npos) {
      std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
      while (number.ends_with('.')) number.remove_suffix(1);
      return number;
    }
    text.remove_prefix(std::min(dot, text.size()));
  }
}

}  // namespace

std::string version_text(const MpiVersion& version) {
  return fmt::format("{} {}", version.implementation, version.number);
}

Reading<MpiVersion> mpi_version_in(const Reading<std::string>& text) {
  if (!text.measured()) return text.missing();
  for (const MpiName& name : kImplementations) {
    const std::size_t at = text.value().find(name.in_text);
    if (at == std::string::npos) continue;
    const std::string_view number = first_number(std::string_view(text.value()).substr(at));
    MpiVersion version{std::string(name.implementation), 0, std::string(number)};
    const char* end = number.data() + number.size();
    if (std::from_chars(number.data(), end, version.major_part).ec == std::errc()) return version;
  }
  return Missing{fmt::format("'{}' names no version of an MPI known here",
                             text.value().substr(0, text.value().find('\n')))};
}

std::string why_mpirun_is_unfit(const MpiVersion& version, std::string_view host) {
  if (version.implementation != kOpenMpi) {
    return fmt::format("is of {}, not of {}", version_text(version), kOpenMpi);
  }
  // Seen with 4.1.4.
  constexpr int kLastMajor = 4;
  constexpr std::size_t kLongestHost = 56;
  if (version.major_part > kLastMajor || host.size() <= kLongestHost) return {};
  return fmt::format(
      "is of {}, which ends with \"stack smashing detected\" where the host's name is longer than "
      "{} characters, and this one's has {}",
      version_text(version), kLongestHost, host.size());
}

}  // namespace linkgain
