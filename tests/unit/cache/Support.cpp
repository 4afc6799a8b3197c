// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cache/Support.h"

namespace fattn::cache::test {

std::string damaged(const std::string& file, std::minstd_rand& random) {
  auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random()) % n; };
  std::string result = file;
  do {
    std::size_t at = below(result.size()), length = 1 + below(below(4) == 0 ? 500 : 8);
    switch (below(7)) {
      case 0:
        result[at] = static_cast<char>(result[at] ^ (1 << below(8)));
        break;
      case 1:
        for (std::size_t i = at; i < std::min(at + length, result.size()); ++i) result[i] = static_cast<char>(random());
        break;
      case 2:
        result.resize(at);
        break;
      case 3:
        result.erase(at, length);
        break;
      case 4:
        result.insert(at, std::string(length, static_cast<char>(random())));
        break;
      case 5:
        result.insert(at, result.substr(below(result.size()), length));
        break;
      default:
        result.replace(at, std::min<std::size_t>(4, result.size() - at), "\xff\xff\xff\x7f");
    }
  } while (result == file || (result.size() > 1 && below(3) == 0));
  return result;
}

std::vector<int> killAtRandomMoments(std::size_t enough, const std::function<void(int, const std::function<void(int)>&)>& body) {
  constexpr int kRounds = 20, kMostRounds = 6 * kRounds;
  std::minstd_rand random = seeded(7);
  std::vector<int> reported;
  for (int round = 0; round < kRounds || (reported.size() < enough && round < kMostRounds); ++round) {
    int channel[2];
    if (pipe(channel) != 0) return {};
    pid_t child = startProcess([&] { body(round * 100000, [&](int number) { (void)!write(channel[1], &number, sizeof(number)); }); });
    close(channel[1]);
    usleep((2000 + random() % 40000) << (round / kRounds));  // a slow or busy machine gets more time, after that of the first rounds
    kill(child, SIGKILL);
    waitFor(child);
    for (int number; read(channel[0], &number, sizeof(number)) == sizeof(number);) reported.push_back(number);
    close(channel[0]);
  }
  return reported;
}

}  // namespace fattn::cache::test
