#include "core/result.h"

#include <cerrno>
#include <cstring>

namespace joulery {

Error error_from_errno(int number, std::string what, std::string where, std::string hint) {
  ErrorCode code = ErrorCode::io;
  if (number == EACCES || number == EPERM) code = ErrorCode::permission;
  if (number == ENOENT || number == ENODEV || number == ENXIO || number == ENOTDIR) code = ErrorCode::not_found;
  if (number == ENOSPC || number == EDQUOT) code = ErrorCode::no_space;
  return {code, std::move(what) + ": " + std::strerror(number), std::move(where), std::move(hint)};
}

}  // namespace joulery
