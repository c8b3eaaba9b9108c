#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"

/// What a record keeps of variables and command lines, in files that others may read.
namespace linkgain {

/// What hides a secret.
inline constexpr std::string_view kMasked = "***";

/// Tells whether a variable, an option or a member of this name holds a secret: its last part is
/// key, apikey, token, secret, pass, passwd, password, passphrase, bearer, secrets or passwords,
/// it ends with authorization, or it is one of a few whole names, as PGPASSWORD. Parts are
/// split at _ - . and before a capital; numbers at the end do not count. So api_key and HF_TOKEN_1
/// are secret, and key_size, NCCL_IB_PKEY, tokenizer, max-tokens and monkey are not.
bool is_secret(std::string_view name);

/// Returns the variables with the values of secret ones, and passwords in URLs, masked.
Environment without_secrets(Environment environment);

/// Returns the words with the values of secret names (is_secret()) masked.  The value is behind `=`
/// or `:`, and of an option, which begins with -, also the next word. Behind `name:` it is the rest
/// of the line, or of the quotes around it, as of `Authorization: Bearer x`; of a name in quotes,
/// as in JSON, one value. Else it is a word as a shell takes it, which of a name that is no option
/// ends at a comma, too; a backslash at a line's end is a blank. An option's value in the same word
/// is all of the word. In a word that is --variant's, every secret variable's value is masked. So
/// is a password in a URL, scheme://user:password@host.
std::vector<std::string> without_secrets(std::vector<std::string> words);
/// Returns the same of a command that is one text.
std::string without_secrets(std::string_view command);

/// The values that without_secrets() hides, to be hidden wherever else they stand: in what a
/// program said, or where a command has them a second time.
class KnownSecrets {
 public:
  void add(const Environment& environment);
  void add(const std::vector<std::string>& words);
  void add(std::string_view command);

  std::string masked(std::string text) const;

 private:
  /// Shorter ones would hide words and figures, and tell nothing.
  static constexpr std::size_t kShortest = 6;
  struct LongerFirst {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };

  void keep(const std::vector<std::string>& values);

  std::set<std::string, LongerFirst> values_;
};

}  // namespace linkgain
