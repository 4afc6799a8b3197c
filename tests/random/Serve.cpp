// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Serve.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>

#include "fattn/Error.h"
#include "tests/random/Request.h"

namespace fattn::random {
namespace {

constexpr int kLostContext = 3;

void writeLine(int descriptor, const std::string& line) {
  std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    ssize_t count = write(descriptor, text.data() + sent, text.size() - sent);
    if (count < 0 && errno != EINTR) _exit(1);
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
}

}  // namespace

int serve(const std::string& deviceName) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // Whatever else is printed must not look like a reply.
  int replies = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    Device& device = openDevice(deviceName);
    device.prepare();
    // A simulated chip sees what leaves an allocation; a GPU takes long to make one.
    Execution execution(device, device.kind() == DeviceKind::Simulated ? Placing::Apart : Placing::Together,
                        [](std::string_view phase) { std::fprintf(stderr, "%.*s\n", static_cast<int>(phase.size()), phase.data()); });
    writeLine(replies, "ready");
    for (std::string line; std::getline(std::cin, line);) {
      Request request = requestOf(line);
      Result result{.draw = request.draw};
      result.outcome = execution.run(result.draw, programOf(request));
      if (result.outcome.verdict == Verdict::Crashed) {
        std::fprintf(stderr, "%s\n", result.outcome.message.c_str());
        _exit(kLostContext);
      }
      writeLine(replies, toLine(result));
    }
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace fattn::random
