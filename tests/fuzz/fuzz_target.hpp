#pragma once

#include "fuzz_input.hpp"

/// A target is a file NAME_fuzz.cpp that defines read(). libFuzzer calls the function below in
/// builds with LINKGAIN_FUZZ, fuzz_replay (replay.cpp) in all others, where each has a name of its
/// own.
namespace linkgain {
namespace {

/// Reads the input's text; throws an Error to refuse it.
void read(std::string_view text);

}  // namespace
}  // namespace linkgain

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return linkgain::fuzz::run(data, size, linkgain::read);
}
