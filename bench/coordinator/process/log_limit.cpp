#include "linkgain/process/log_limit.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"

namespace linkgain {
namespace {

/// Reads what stands at the end, from the beginning of a line on, and what a program writes behind
/// it meanwhile; empty where nothing can be read.
std::string end_of(const std::filesystem::path& path, std::uintmax_t size) {
  std::string text(2 * LogLimit::kKeptAtEachEnd, '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size - LogLimit::kKeptAtEachEnd));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::size_t line = text.find('\n');
  return line == text.npos ? text : text.substr(line + 1);
}

}  // namespace

bool LogLimit::keep() {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path_, unknown);
  if (unknown || size <= kMost) return false;
  const int file = open_to_write(path_, WriteMode::append);
  if (file < 0) return false;
  const std::string end = end_of(path_, size);
  cut_ += std::filesystem::file_size(path_, unknown) - kKeptAtEachEnd - end.size();
  const bool is_cut = ::ftruncate(file, static_cast<off_t>(kKeptAtEachEnd)) == 0;
  if (is_cut) {
    try {
      write_fully(
          file, fmt::format("\nlinkgain: {} MiB of output were cut out here\n{}", cut_ >> 20, end),
          path_.string());
    } catch (const Error&) {
      // A disk that is full: the beginning is what is left.
    }
  }
  ::close(file);
  return is_cut;
}

void LogLimit::free_middle() const {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path_, unknown);
  if (unknown || size <= kMost) return;
  const int file = open_to_write(path_, WriteMode::append);
  if (file < 0) return;
  // A file system that cannot keeps all of it.
  ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(kKeptAtEachEnd),
              static_cast<off_t>(size - 2 * kKeptAtEachEnd));
  ::close(file);
}

}  // namespace linkgain
