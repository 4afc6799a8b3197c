// SPDX-License-Identifier: Apache-2.0
#include "runtime/tune/OpenPieces.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace fattn::tuning {

void OpenPieces::hear(const std::string& line) {
  char* rest = nullptr;
  const unsigned number = static_cast<unsigned>(std::strtoul(line.c_str() + 1, &rest, 10));
  if (line.starts_with("-")) {
    open_.erase(number);
  } else {
    const double limit = std::strtod(rest, &rest);
    const auto span = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit));
    open_[number] = {.what = *rest == ' ' ? rest + 1 : rest, .limit = limit, .end = Clock::now() + span};
  }
}

bool OpenPieces::readSome(int pipe) {
  char bytes[4096];
  const ssize_t count = read(pipe, bytes, sizeof bytes);
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) return false;
  heard_.append(bytes, static_cast<std::size_t>(count));
  for (std::size_t end; (end = heard_.find('\n')) != std::string::npos; heard_.erase(0, end + 1)) hear(heard_.substr(0, end));
  return true;
}

const OpenPieces::Piece* OpenPieces::overdue() const {
  for (const auto& [number, piece] : open_)
    if (Clock::now() >= piece.end) return &piece;
  return nullptr;
}

int OpenPieces::millisecondsLeft() const {
  if (open_.empty()) return -1;
  const auto next = std::ranges::min_element(open_, {}, [](const auto& entry) { return entry.second.end; });
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next->second.end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 1000000));
}

std::optional<Blame> OpenPieces::listen(int pipe) {
  while (true) {
    pollfd waiting{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, millisecondsLeft());
    if (ready > 0 && !readSome(pipe)) return std::nullopt;
    if (ready != 0) continue;
    if (const Piece* piece = overdue()) return Blame{piece->what, fmt::format("it gave no result within {:g} s", piece->limit)};
  }
}

}  // namespace fattn::tuning
