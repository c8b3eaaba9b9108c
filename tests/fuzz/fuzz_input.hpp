#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "linkgain/base/errors.hpp"

/// What fuzz targets and those who run them are made of.
namespace linkgain::fuzz {

/// Whether the reader took the latest input, and why it did not.
inline bool input_was_read = false;
inline std::string refusal;

/// Says whether `read` takes its input. It may refuse it with an Error; any other exception ends
/// the program, as whatever the sanitizers find does.
template <typename Read>
bool reads(Read read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    refusal = error.what();
    return false;
  }
}

/// Has `read` read the input's text.
template <typename Read>
int run(const std::uint8_t* data, std::size_t size, Read read) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  input_was_read = reads([&] { read(text); });
  return 0;
}

/// Blames the program for an Error of what the reader has taken already.
template <typename Work>
auto must_work(const char* what, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    throw std::logic_error(std::string(what) + ": " + error.what());
  }
}

/// Throws where what was written of an input is not what is written of that text read again.
inline void require_same(const std::string& written, const std::string& again) {
  if (written == again) return;
  throw std::logic_error("not the same when written, read and written again:\n" + written + "\n" +
                         again);
}

/// Requires that what `read` makes of an input is the same when written, read and written again.
template <typename Value, typename Read, typename Write>
void require_round_trip(const Value& value, Read read, Write write) {
  const std::string written = write(value);
  require_same(written,
               must_work("what was written is refused", [&] { return write(read(written)); }));
}

/// Takes the first line off the text.
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// Returns a folder of this process, in memory where /dev/shm is; removed when it ends, but not by
/// its children, which share it.
const std::filesystem::path& scratch_folder();

/// Gives a file of that folder these bytes.
inline std::filesystem::path scratch_file(const std::string& name, std::string_view bytes) {
  std::filesystem::path path = scratch_folder() / name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace linkgain::fuzz
