// SPDX-License-Identifier: Apache-2.0
#include "tools/io/MlirText.h"

#include <fmt/format.h>
#include <pthread.h>

#include <exception>

#include "compiler/text/TextLimits.h"
#include "fattn/Error.h"
#include "tools/io/File.h"

namespace fattn::io {

std::string readMlir(const std::string& path) {
  std::string text = readText(path, compiler::TextLimits{}.bytes, "give a module of the tile dialect, as text");
  if (const std::string broken = compiler::brokenLimit(text); !broken.empty())
    throw Error(ErrorCode::CompileError, fmt::format("{}: {}", path, broken), "such a text is refused before it is parsed");
  return text;
}

void onLargeStack(const std::function<void()>& body) {
  struct Task {
    const std::function<void()>& body;
    std::exception_ptr thrown;
  } task{body, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread{};
  int error = pthread_attr_setstacksize(&attributes, std::size_t{512} << 20);
  const auto run = [](void* given) -> void* {
    auto& task = *static_cast<Task*>(given);
    try {
      task.body();
    } catch (...) {
      task.thrown = std::current_exception();
    }
    return nullptr;
  };
  if (error == 0) error = pthread_create(&thread, &attributes, run, &task);
  pthread_attr_destroy(&attributes);
  if (error != 0) throw Error(ErrorCode::OutOfMemory, "no thread with 512 MiB of stack can be started, which reading a module needs");
  pthread_join(thread, nullptr);
  if (task.thrown) std::rethrow_exception(task.thrown);
}

}  // namespace fattn::io
