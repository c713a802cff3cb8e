// How a function says that it could not: what happened, where, and what the user can do now.
// Result<T> is std::expected (libstdc++ 12 has no monadic members: return early).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace joulery {

// What went wrong, as a stable kind that programs may branch on.
enum class ErrorCode { usage, not_found, permission, io, format, newer_format, unsupported, no_space, busy, internal };

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string what;   // one sentence without a full stop: "cannot open the recording"
  std::string where;  // a path, an option, a table: "" where there is none
  std::string hint;   // what the user can do now: "" where there is nothing

  // "what: where (hint)" on one line, for stderr and logs.
  std::string line() const {
    std::string text = what;
    if (!where.empty()) text += ": " + where;
    if (!hint.empty()) text += " (" + hint + ")";
    return text;
  }
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string what, std::string where = {}, std::string hint = {}) {
  return std::unexpected(Error{code, std::move(what), std::move(where), std::move(hint)});
}

// An Error from errno: permission, not_found, no_space and io are told apart.
Error error_from_errno(int number, std::string what, std::string where, std::string hint = {});

}  // namespace joulery
