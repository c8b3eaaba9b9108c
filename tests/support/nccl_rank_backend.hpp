#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "linkgain/backends/registry.hpp"
#include "linkgain/gpu/device.hpp"
#include "rank_test.hpp"

/// NCCL's backend for tests on ranks with a GPU each.
namespace linkgain::test {

/// Keeps it from before the first test until after the last, as it needs all ranks.
inline std::unique_ptr<Backend>& nccl_backend() {
  static std::unique_ptr<Backend> made;
  return made;
}

/// Makes the backend; returns why these ranks cannot run the tests, absent if they can. Collective.
inline std::optional<std::string> prepare_nccl_backend(Session& session) {
  std::optional<std::string> own;
  if (gpu::device_count() < session.ranks()) own = "fewer GPUs than ranks";
  if (auto first = session.first_text(own)) return first;
  nccl_backend() = make_backend(BackendKind::nccl, session, {});
  nccl_backend()->connect();
  return std::nullopt;
}

/// The backend uses the session, which main's callee ends.
class NcclBackendEnd : public ::testing::Environment {
 public:
  void TearDown() override { nccl_backend().reset(); }
};

}  // namespace linkgain::test
