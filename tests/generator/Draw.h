// SPDX-License-Identifier: Apache-2.0
// One case of the comparison of implementations: a program, and what it is compiled for and with. Everything that runs random programs
// draws its cases here, so that a case has one name everywhere: the text of its Draw.
#ifndef FATTN_TESTS_GENERATOR_DRAW_H
#define FATTN_TESTS_GENERATOR_DRAW_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fattn/TileConfig.h"
#include "tests/generator/Generator.h"

namespace fattn::generator {

struct Draw {
  uint64_t program = 0;                    ///< the seed of generate()
  std::string target = "host";             ///< as compiler::CompileOptions has it
  int stages = 2;                          ///< 1 to 4
  int warps = 4;                           ///< 1 to 8
  int schedule = 0;                        ///< rank among the schedules of the search; see fitSchedule()
  Alignment alignment = Alignment::Mixed;  ///< of the program's arrays

  /// Stages and warps as the compiler takes them.
  TileConfig config() const;
  /// What the program is generated with.
  Options options() const { return {.alignment = alignment}; }

  /// The compiler refuses a rank beyond the schedules that a program's loops have, with `message`. Where this is such a message, takes the
  /// rank modulo their number and returns true: the program is to be generated and compiled again. Otherwise nothing changes.
  bool fitSchedule(std::string_view message);

  /// "program=17 target=nvidia:sm_90 stages=2 warps=4 schedule=0 alignment=mixed"
  std::string toString() const;
  /// Reads that text; what it does not name keeps its default. Throws Error{InvalidArgument} that names the bad item.
  static Draw parse(std::string_view text);

  bool operator==(const Draw&) const = default;
};

/// The draw of a seed, the same on every machine. The program's seed is the draw's. The target is one of `targets`, which are not empty.
Draw draw(uint64_t seed, std::span<const std::string> targets);

/// The program of a draw.
Program generate(mlir::MLIRContext& context, const Draw& draw);

}  // namespace fattn::generator

#endif
