#pragma once

#include <filesystem>
#include <string>

#include "linkgain/base/environment.hpp"

namespace linkgain {

/// Keeps on disk which step of `linkgain doctor --prove` runs: a machine that goes down with it
/// leaves the note.
class ProofNotes {
 public:
  /// Takes the host's folder in that of the user's state, $XDG_STATE_HOME/linkgain or
  /// ~/.local/state/linkgain.
  explicit ProofNotes(const Environment& environment);
  /// Removes the note: the proof has ended.
  ~ProofNotes();
  ProofNotes(const ProofNotes&) = delete;
  ProofNotes& operator=(const ProofNotes&) = delete;

  /// Notes what starts now, "step kernels between GPU0 and GPU1", and returns when it is on disk;
  /// else why it is not and where it would lie.
  std::string begin(const std::string& step);

  /// Says what earlier proofs left that did not end, "an earlier proof did not end its step ...",
  /// and whether the machine has started again since, for whatever reason; empty where none did.
  std::string left() const;

  /// Forgets these: a proof has ended since.
  void forget_left() const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path own_;
};

}  // namespace linkgain
