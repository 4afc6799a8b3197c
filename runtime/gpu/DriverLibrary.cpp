// SPDX-License-Identifier: Apache-2.0
#include "runtime/gpu/DriverLibrary.h"

#include <dlfcn.h>

#include "fattn/Error.h"

namespace fattn {

void* openDriverLibrary(const std::vector<std::string>& names, std::string& opened, const std::string& none, const std::string& hint) {
  std::string tried, reasons;
  for (const std::string& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      opened = name;
      return library;
    }
    const char* reason = dlerror();
    tried.append(tried.empty() ? "" : ", then ").append(name);
    reasons.append(reasons.empty() ? "" : "; ").append(reason ? reason : "no reason given");
  }
  throw Error(ErrorCode::NoDevice, none + ": looked for " + tried + " (" + reasons + ")", hint);
}

int ordinalOf(std::string_view target, TargetKind kind, std::string_view hint) {
  const TargetName name = parseTarget(target);
  if (name.kind != kind || name.index < 0)
    throw Error(ErrorCode::InvalidArgument, "there is no target '" + std::string(target) + "'", std::string(hint));
  return name.index;
}

}  // namespace fattn
