// Passwords, tokens and community names. A secret comes from a file or from the environment, never from the settings
// themselves, and never gets into a message, a log or a recording: there is no way to print one.
//
// Invariant: the memory that held a secret is overwritten when it goes; it is never copied.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "core/result.h"

namespace joulery {

class Secret {
 public:
  explicit Secret(std::string_view text);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();
  // For the call that needs it, and nothing else. Ends in a zero byte; valid while the secret lives.
  const char* reveal() const { return bytes_.get(); }
  std::size_t size() const { return size_; }

 private:
  void overwrite();
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

struct FoundSecret {
  Secret secret;
  std::string warning;  // "the group may read /etc/joulery/bmc.pw"; "" where all is well
};

// The secret `name` ("password") of a section ("meters.bmc"): from the file that `meters.bmc.password_file` names (its first
// line; a relative path starts where the file that sets it lies, "~/" at the user's home), else from the environment variable
// that `meters.bmc.password_env` names. Nothing where neither is set.
// Errors: not_found, io; permission, where others may read the file; usage, for an empty secret, for both keys, and where
// another file says whom the secret would go to: what host, url, ca_file and insecure say must come from the file that names
// the secret, from the environment or from a flag. No error holds the secret.
Result<std::optional<FoundSecret>> read_secret(const Settings& settings, const std::string& section, std::string_view name);

}  // namespace joulery
