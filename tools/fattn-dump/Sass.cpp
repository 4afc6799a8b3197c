// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Sass.h"

#include <fmt/format.h>

#include <fstream>
#include <regex>

#include "fattn/Error.h"
#include "tools/fattn-dump/Process.h"

namespace fattn::dump {
namespace {

std::string readFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

long numberBefore(const std::string& text, const char* words) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(std::string("([0-9]+) ") + words)) ? std::stol(match[1]) : 0;
}

}  // namespace

std::optional<Usage> parseUsage(const std::string& report) {
  std::smatch match;
  if (!std::regex_search(report, match, std::regex("Used ([0-9]{1,4}) registers"))) return std::nullopt;
  Usage usage;
  usage.registers = std::stoi(match[1]);
  usage.barriers = static_cast<int>(numberBefore(report, "barriers"));
  usage.sharedBytes = numberBefore(report, "bytes smem");
  usage.spillStores = numberBefore(report, "bytes spill stores");
  usage.spillLoads = numberBefore(report, "bytes spill loads");
  usage.stackBytes = numberBefore(report, "bytes stack frame");
  return usage;
}

Assembled assemble(const std::string& ptx, const std::string& chip) {
  const auto ptxas = findProgram("ptxas");
  if (!ptxas)
    throw Error(ErrorCode::Unsupported, "a cubin needs NVIDIA's assembler ptxas, which is not in PATH",
                "it is part of the CUDA toolkit (package cuda-nvcc); the stage ptx needs no assembler");
  const TemporaryFile source("kernel.ptx", ptx);
  const std::string cubin = source.beside("kernel.cubin");
  std::vector<std::string> command = {*ptxas, "-arch", chip, "-v", "-o", cubin, source.path()};
  if (ptx.find("\t.loc\t") != std::string::npos) command.insert(command.begin() + 1, "-lineinfo");
  const Outcome outcome = runProgram(command);
  if (outcome.status != 0)
    throw Error(ErrorCode::CompileError, fmt::format("ptxas rejects the kernel (exit code {}): {}", outcome.status, outcome.output));
  return {readFile(cubin), parseUsage(outcome.output).value_or(Usage{})};
}

compiler::Stage disassemble(const std::string& cubin) {
  const auto nvdisasm = findProgram("nvdisasm"), cuobjdump = nvdisasm ? std::nullopt : findProgram("cuobjdump");
  if (!nvdisasm && !cuobjdump)
    throw Error(ErrorCode::Unsupported, "SASS needs NVIDIA's nvdisasm or cuobjdump, and neither is in PATH",
                "they are part of the CUDA toolkit (packages cuda-nvdisasm and cuda-cuobjdump); the stage ptx needs neither");
  const TemporaryFile file("kernel.cubin", cubin);
  const std::vector<std::string> command =
      nvdisasm ? std::vector<std::string>{*nvdisasm, "-c", "-g", file.path()} : std::vector<std::string>{*cuobjdump, "-sass", file.path()};
  Outcome outcome = runProgram(command);
  if (outcome.status != 0)
    throw Error(ErrorCode::IoError, fmt::format("{} failed (exit code {}): {}", command.front(), outcome.status, outcome.output));
  return {"sass", "sass", std::move(outcome.output), {}};
}

}  // namespace fattn::dump
