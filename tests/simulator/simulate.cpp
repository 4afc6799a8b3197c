// SPDX-License-Identifier: Apache-2.0
// simulate-kernel: runs a kernel of a code object on arrays from files, and prints what it has executed, or the fault that has stopped it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <vector>

#include "fattn/Error.h"
#include "simulator/Run.h"
#include "simulator/Timing.h"
#include "tools/common/CommandLine.h"
#include "tools/io/File.h"
#include "tools/io/HostTensor.h"
#include "tools/io/Npy.h"

namespace fattn {
namespace {

constexpr const char* kTool = "simulate-kernel";

struct Job {
  std::string file, kernel, order = "forward", grid = "1", block = "64";
  std::vector<std::string> arguments;
  std::uint64_t seed = 0;
  int resident = 0;
  std::int64_t apart = 400;
  bool stalls = false;
};

/// "64", "16,16" or "4,4,4".
std::array<std::uint32_t, 3> sizesOf(const std::string& text) try {
  std::array<std::uint32_t, 3> result = {1, 1, 1};
  std::vector<std::string> parts = tool::split(text, ',');
  for (std::size_t i = 0; i < parts.size(); ++i) result.at(i) = static_cast<std::uint32_t>(std::stoul(parts[i]));
  return result;
} catch (const std::logic_error&) {
  throw tool::UsageError{fmt::format("'{}' is no size of a grid or a block", text), "legal are one to three numbers such as 64 or 16,16"};
}

std::vector<std::byte> readBytes(const std::string& path) {
  io::FileSource source(path);
  std::vector<std::byte> bytes(static_cast<std::size_t>(source.size()));
  source.read(0, bytes);
  return bytes;
}

/// The kernel's arguments: their bytes, and the arrays they lead to.
struct Arguments {
  std::vector<std::byte> bytes;
  simulator::Memory memory;
  std::map<std::string, io::HostTensor> arrays;
  std::vector<std::string> outputs;

  template <class T>
  void append(T value) {
    bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value);
    bytes.resize(bytes.size() + sizeof value);
    std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
  }
  void appendArray(const std::string& path, io::HostTensor tensor, simulator::Memory::Use use) {
    io::HostTensor& kept = arrays[path] = std::move(tensor);
    append(memory.add(path, {kept.data(), static_cast<std::size_t>(kept.bytes())}, use));
  }
  void parse(const std::string& text);
};

[[noreturn]] void refuseArgument(const std::string& text) {
  throw tool::UsageError{fmt::format("'{}' is no argument of a kernel", text),
                         "legal are FILE.npy (an array to read), FILE.npy=f32:128x64 (one to write), i32:N, i64:N and f32:X"};
}

void Arguments::parse(const std::string& text) try {
  if (text.starts_with("i32:")) return append(static_cast<std::int32_t>(std::stol(text.substr(4))));
  if (text.starts_with("i64:")) return append(static_cast<std::int64_t>(std::stoll(text.substr(4))));
  if (text.starts_with("f32:")) return append(std::stof(text.substr(4)));
  std::size_t equals = text.find(".npy=");
  if (equals == std::string::npos) {
    if (!text.ends_with(".npy")) refuseArgument(text);
    return appendArray(text, io::readNpy(io::FileSource(text)), simulator::Memory::Use::ReadOnly);
  }
  std::string path = text.substr(0, equals + 4), form = text.substr(equals + 5);
  std::size_t colon = form.find(':');
  auto dtype = parseDType(form.substr(0, colon));
  if (!dtype || colon == std::string::npos) refuseArgument(text);
  std::vector<std::int64_t> shape;
  for (const std::string& size : tool::split(form.substr(colon + 1), 'x')) shape.push_back(std::stoll(size));
  outputs.push_back(path);
  appendArray(path, io::HostTensor::allocate(*dtype, shape, path), simulator::Memory::Use::ReadWrite);
} catch (const std::logic_error&) {  // of the numbers
  refuseArgument(text);
}

void describe(const simulator::CodeObject& object) {
  for (const simulator::Kernel& kernel : object.kernels()) {
    fmt::print(
        "{} for {}: {} bytes of arguments, {} vector registers, {} bytes of LDS, {} bytes of a lane's own memory, blocks of at most {} "
        "threads\n",
        kernel.name, object.chip().name, kernel.explicitBytes(), kernel.vectorRegisters(object.chip()), kernel.ldsBytes,
        kernel.scratchBytes, kernel.maxThreads);
  }
  for (const std::string& name : object.unknownMnemonics()) fmt::print("not known to the simulator: {}\n", name);
}

void print(const simulator::Statistics& statistics) {
  for (int i = 0; i < simulator::kCategories; ++i)
    fmt::print("{:<15} {:>12}\n", name(static_cast<simulator::Category>(i)), statistics.instructions[simulator::slot(i)]);
  fmt::print("{:<15} {:>12}\n{:<15} {:>12}\n", "instructions", statistics.total(), "barriers passed", statistics.barriers);
  fmt::print("{:<15} {:>12} ({} without conflicts)\n", "LDS passes", statistics.ldsPasses, statistics.ldsMinimalPasses);
  fmt::print("{:<15} {:>12}\n", "global bytes", statistics.globalBytes);
}

/// The workgroup that has just run, as often as a compute unit holds it.
void printTiming(const simulator::CodeObject& object, const simulator::Trace& trace, const Job& job) {
  const std::vector<const simulator::Trace*> groups(static_cast<std::size_t>(job.resident), &trace);
  const simulator::Timing timing = simulator::timingOf(object.chip(), timedCode(object.code(), object.chip()), groups, job.apart);
  const auto clocks = static_cast<double>(timing.clocks);
  fmt::print(
      "{:<15} {:>12} of a compute unit with {} workgroups; busy: matrix unit {:.1f} %, vector unit {:.1f} %, LDS {:.1f} %, global {:.1f} "
      "%\n",
      "modelled clocks", timing.clocks, job.resident, 100 * timing.matrix / clocks, 100 * timing.vector / clocks,
      100 * static_cast<double>(timing.local) / clocks, 100 * static_cast<double>(timing.global) / clocks);
  if (!job.stalls) return;
  std::vector<std::int64_t> times(object.code().size());
  for (const auto& wave : trace.waves)
    for (const simulator::Executed& executed : wave) ++times[executed.number];
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i] > 0) fmt::print("{:>10} {:>8} {:#06x} {}\n", timing.waited[i], times[i], object.code()[i].address, object.code()[i].text);
}

int run(const Job& job) {
  auto object = simulator::CodeObject::load(readBytes(job.file));
  if (job.arguments.empty()) return describe(*object), tool::kOk;
  Arguments arguments;
  for (const std::string& text : job.arguments) arguments.parse(text);
  using Order = simulator::LaunchOptions::Order;
  Order order = job.order == "reversed" ? Order::Reversed : job.order == "random" ? Order::Random : Order::Forward;
  const std::string& kernel = job.kernel.empty() ? object->kernels().front().name : job.kernel;
  std::function<void(const simulator::Trace&, const std::array<std::uint32_t, 3>&)> traced;
  if (job.resident > 0)
    traced = [&](const simulator::Trace& trace, const std::array<std::uint32_t, 3>&) { printTiming(*object, trace, job); };
  auto result = simulator::launch(*object, kernel, arguments.bytes, sizesOf(job.grid), sizesOf(job.block), arguments.memory,
                                  {.order = order, .seed = job.seed, .traced = traced});
  print(result.statistics);
  if (result.fault) return tool::complain(kTool, result.fault->text(), "", tool::kFailure);
  for (const std::string& path : arguments.outputs) io::writeNpy(path, arguments.arrays[path]);
  return tool::kOk;
}

}  // namespace
}  // namespace fattn

int main(int argc, char** argv) {
  using namespace fattn;
  Job job;
  CLI::App app("Runs a kernel of a code object for AMD's GPUs on the CPU. Without arguments of the kernel it says what the file holds.",
               kTool);
  app.add_option("file", job.file, "the code object")->required();
  app.add_option("arguments", job.arguments, "the kernel's arguments: FILE.npy to read, FILE.npy=f32:128x64 to write, i32:N, i64:N, f32:X");
  app.add_option("--kernel", job.kernel, "its name (default: the first one)");
  app.add_option("--grid", job.grid, "workgroups: X,Y,Z");
  app.add_option("--block", job.block, "threads of a workgroup: X,Y,Z");
  app.add_option("--order", job.order, "of the waves between barriers")->check(CLI::IsMember({"forward", "reversed", "random"}));
  app.add_option("--seed", job.seed, "of the random order");
  app.add_option("--resident", job.resident, "workgroups that a compute unit holds at once: print what the model says of their time");
  app.add_option("--apart", job.apart, "with --resident: clocks between the starts of two of them");
  app.add_flag("--stalls", job.stalls, "with --resident: the clocks that waves stood at each instruction, and how often they executed it");
  try {
    app.parse(argc, argv);
    return run(job);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? tool::kOk : tool::kUsage;
  } catch (const tool::UsageError& error) {
    return tool::complain(kTool, error.message, error.hint, tool::kUsage);
  } catch (const Error& error) {
    return tool::complain(kTool, error.constraint(), error.hint(), tool::exitCode(error.code()));
  }
}
