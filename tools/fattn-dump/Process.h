// SPDX-License-Identifier: Apache-2.0
// Runs another program and reads what it says.
#ifndef FATTN_TOOLS_FATTN_DUMP_PROCESS_H
#define FATTN_TOOLS_FATTN_DUMP_PROCESS_H

#include <optional>
#include <string>
#include <vector>

namespace fattn::dump {

/// The path of a program in PATH; nothing where there is none.
std::optional<std::string> findProgram(const std::string& name);

struct Outcome {
  int status = 0;      ///< exit code; 128 + the signal that ended it
  std::string output;  ///< of standard output and standard error, in the order of writing
};

/// Starts the program without a shell, with no input, and waits. Throws Error{IoError} where it cannot be started.
Outcome runProgram(const std::vector<std::string>& command);

/// A file with this content, in a folder of its own that is removed with the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  const std::string& path() const { return path_; }
  /// Another name in the same folder.
  std::string beside(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_, path_;
};

}  // namespace fattn::dump

#endif
