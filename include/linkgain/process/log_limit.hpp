#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

namespace linkgain {

/// Keeps a log that others append to from filling the disk: of a longer one the beginning and the
/// end stay, and a line between them says how much was cut out.
class LogLimit {
 public:
  static constexpr std::uintmax_t kMost = std::uintmax_t{16} << 20;
  static constexpr std::uintmax_t kKeptAtEachEnd = kMost / 4;

  explicit LogLimit(std::filesystem::path path) : path_(std::move(path)) {}

  /// Cuts the log where it is longer than kMost, and returns whether it did. What is appended at
  /// the moment of the cut may be lost, too. Leaves alone what it cannot read or write.
  bool keep();

  /// Frees the room of what keep() would cut out and leaves the file's length as it is, for a log
  /// whose writer goes on where it was; reads as zeros there, until keep() is called at its end.
  void free_middle() const;

 private:
  std::filesystem::path path_;
  std::uintmax_t cut_ = 0;
};

}  // namespace linkgain
