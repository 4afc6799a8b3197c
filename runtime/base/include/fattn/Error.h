// SPDX-License-Identifier: Apache-2.0
// The one exception type of fattn.
#ifndef FATTN_ERROR_H
#define FATTN_ERROR_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fattn {

enum class ErrorCode : std::uint8_t {
  InvalidArgument,  ///< the caller's values contradict each other or the documentation
  Unsupported,      ///< legal, but this target or configuration cannot do it; hint names what can
  TraceError,       ///< a kernel written in the tile language breaks a rule of the language
  CompileError,     ///< the compiler rejected its input; constraint holds the diagnostics
  NoDevice,         ///< the target asks for a device or driver that is not there
  DeviceError,      ///< a driver call failed
  OutOfMemory,      ///< the device, or the host, has too little memory
  IoError,          ///< a file could not be read or written
  Internal,         ///< a bug in fattn
};

/// Lower-case name with dashes: "invalid-argument", "no-device" ...
std::string_view name(ErrorCode code);

/// What went wrong (`constraint`: the rule that failed, with the offending and the legal values) and what to do about
/// it (`hint`, may be empty). what() is "constraint" and, where there is one, "\n  hint: ...".
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string constraint, std::string hint = "");

  ErrorCode code() const { return code_; }
  const std::string& constraint() const { return constraint_; }
  const std::string& hint() const { return hint_; }

 private:
  ErrorCode code_;
  std::string constraint_;
  std::string hint_;
};

}  // namespace fattn

#endif
