// SPDX-License-Identifier: Apache-2.0
// Options are collected as text by CLI11 and parsed here, so that every error is a sentence of ours.
#include "tools/fattn-run/Options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "fattn/Error.h"
#include "fattn/Version.h"
#include "tools/common/Program.h"

namespace fattn::run {
namespace {

constexpr const char* kDescription =
    "Runs the attention forward on real tensors or on random ones: compiles the kernel for the target, launches it, and, if asked, checks\n"
    "the result against float64 and measures the speed. A subcommand does the same with another kernel, on random operands.";
constexpr const char* kFooter = R"(
Examples:
  fattn-run --shape 2,8,1024,64 --causal --check
      random inputs: batch 2, 8 heads, 1024 queries and keys, head dimension 64; compare with float64
  fattn-run --shape 1,32:8,1:4096,128 --dtype bf16 --bench
      grouped heads (32 share 8), one query against 4096 keys, measured
  fattn-run --q q.npy --k k.npy --v v.npy --out o.npy --lse lse.npy --scale 0.125
      tensors from files; the result as a NumPy file
  fattn-run --q x.safetensors:q0 --k x.safetensors:k0 --v x.safetensors:v0 --out y.safetensors --json
      bf16 lives in .safetensors; figures as JSON
  fattn-run gemm --shape 1000,500,300 --dtype bf16 --bias --activation gelu --check
      a matrix product with what is done to its result; softmax, layer-norm and rms-norm take rows
  fattn-run decode --shape 16,32:8,1,8192,128 --dtype bf16 --pages 16 --ragged --check --bench
      one query row of 16 sequences of up to 8192 keys, in pages of 16
  fattn-run varlen --shape 32:8,128 --cu-seqlens 0,700,710,4096 --dtype bf16 --causal --check
      three packed sequences of 700, 10 and 3386 rows; with --backward, their gradients
  fattn-run --shape 1,2,100,64 --dtype f16 --target amd:gfx942 --simulate --check
      the code for a chip of AMD's, executed on the CPU
  fattn-run backward --shape 2,8,1024,64 --dtype bf16 --causal --deterministic --check
      the gradients of q, k and v, the same bits each time

Files: .npy and .safetensors[:NAME]; without NAME the only tensor of the file, or the one called q, k, v (o, lse when writing).
Speed: TFLOP/s counts 2 (D + Dv) operations for each pair of a query and a key it sees.
Exit codes: 0 success, 1 failure (a check that does not pass, a broken file), 2 wrong usage, 3 unsupported configuration, 4 no device.)";

/// Thrown within this file only; parseCommandLine() returns it.
[[noreturn]] void fail(std::string message, std::string hint = "") { throw UsageError{std::move(message), std::move(hint)}; }

/// The options as text. A flag stays empty until it is given.
struct Text {
  std::string q, k, v, out, lse, shape, layout, dtype, scale, target, config, seed, threads;
  KernelText kernel;
};

template <typename Integer>
Integer parseInteger(const std::string& text, const char* option, Integer lowest, Integer highest) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > highest)
    fail(fmt::format("{} {}: expected an integer from {} to {}", option, io::quote(text), lowest, highest));
  return value;
}

std::int64_t parseExtent(std::string_view text, const std::string& shape, std::string_view what, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) fail(fmt::format("--shape {}: {} {} does not fit in 64 bits", shape, what, io::quote(text)));
  if (error != std::errc() || end != text.data() + text.size())
    fail(fmt::format("--shape {}: {} is {}, expected an integer", shape, what, io::quote(text)), "write it as B,Hq[:Hkv],Sq[:Skv],D[:Dv]");
  if (value < least)
    fail(fmt::format("--shape {}: {} is {}; {}", shape, what, value,
                     least == 0 ? "it must be at least 0" : "every size must be at least 1"));
  return value;
}

/// Every tensor's size, so that an overflow is named before anything is allocated.
void checkSizes(const io::AttentionShape& s, DType dtype) {
  try {
    io::byteCount({s.batch, s.headsQ, s.lenQ, s.dim}, dtype, "q");
    io::byteCount({s.batch, s.headsKv, s.lenKv, s.dim}, dtype, "k");
    io::byteCount({s.batch, s.headsKv, s.lenKv, s.dimV}, dtype, "v");
    io::byteCount({s.batch, s.headsQ, s.lenQ, s.dimV}, dtype, "the output");
  } catch (const Error& error) {
    fail("--shape: " + error.constraint(), error.hint());
  }
}

/// `least`: of the batch and of lengths, which may be 0 in the forward pass.
io::AttentionShape parseShape(const std::string& text, std::int64_t least) {
  const std::string shown = io::quote(text);
  const std::vector<std::string> fields = split(text, ',');
  if (fields.size() != 4)
    fail(fmt::format("--shape {} has {} field{}, needs 4: B,Hq[:Hkv],Sq[:Skv],D[:Dv]", shown, fields.size(), fields.size() == 1 ? "" : "s"),
         "for example 2,32:8,4096,128");
  io::AttentionShape s;
  s.batch = parseExtent(fields[0], shown, "the batch", least);
  const auto pair = [&](std::string_view field, const char* first, const char* second, std::int64_t& a, std::int64_t& b,
                        std::int64_t lowest) {
    const std::vector<std::string> parts = split(field, ':');
    if (parts.size() > 2) fail(fmt::format("--shape {}: {} has more than two parts", shown, io::quote(field)));
    a = b = parseExtent(parts[0], shown, first, lowest);
    if (parts.size() == 2) b = parseExtent(parts[1], shown, second, lowest);
  };
  pair(fields[1], "the number of query heads", "the number of key/value heads", s.headsQ, s.headsKv, 1);
  pair(fields[2], "the query length", "the key length", s.lenQ, s.lenKv, least);
  pair(fields[3], "the head dimension", "the head dimension of v", s.dim, s.dimV, 1);
  if (s.headsQ % s.headsKv != 0)
    fail(fmt::format("--shape {}: {} query heads cannot share {} key/value heads; the first must be a multiple of the second", shown,
                     s.headsQ, s.headsKv));
  return s;
}

double parseScale(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool finite = error == std::errc() && end == text.data() + text.size() && std::isfinite(static_cast<float>(value));
  if (!finite) fail(fmt::format("--scale {}: expected a finite number", io::quote(text)), "where it is not given, it is 1 / sqrt(D)");
  return value;
}

std::optional<io::FileSpec> parseFile(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  try {
    return io::parseFileSpec(text);
  } catch (const Error& error) {
    fail(fmt::format("{}: {}", option, error.constraint()), error.hint());
  }
}

[[noreturn]] void failUnknown(const CLI::App& app, const std::string& argument) {
  if (!argument.starts_with("-")) fail(fmt::format("unexpected argument {}", io::quote(argument)), "files are given by --q, --k and --v");
  const std::string name = argument.substr(0, std::min(argument.find('='), std::size_t{40}));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  const std::string best = nearest(name, names);
  fail(fmt::format("unknown option {}", io::quote(argument)),
       best.empty() ? "fattn-run --help lists the options" : fmt::format("did you mean {}?", best));
}

/// What attention and the other kernels are asked alike.
void declareCommon(CLI::App& app, Text& text, Options& options, const char* operands) {
  app.add_option("--seed", text.seed, "of the random inputs and of the rows --check samples (0)")->type_name("N")->group(operands);
  app.add_option("--target", text.target, "where to run (the first GPU, else the host)")->type_name("TARGET")->group("Kernel");
  app.add_option("--config", text.config, "tile configuration, for example BLOCK_M=64,BLOCK_N=64")->type_name("K=V,...")->group("Kernel");
  app.add_option("--threads", text.threads, "threads on the host (all cores)")->type_name("N")->group("Kernel");
  app.add_flag("--simulate", options.simulate, "execute the code for --target amd:gfx942 and the like on the CPU, stricter than the chip")
      ->group("Kernel");
  app.add_flag("--check", options.check, "compare with a float64 reference")->group("Actions");
  app.add_flag("--bench", options.bench, "measure: median of many launches")->group("Actions");
  app.add_flag("--json", options.json, "print one JSON object instead of the table")->group("Actions");
}

void declare(CLI::App& app, Text& text, Options& options) {
  const auto file = [&](const char* name, std::string& target, const char* what) {
    app.add_option(name, target, what)->type_name("FILE")->group("Tensors");
  };
  file("--q", text.q, "queries: batch, query heads, query length, D");
  file("--k", text.k, "keys: batch, key/value heads, key length, D");
  file("--v", text.v, "values: batch, key/value heads, key length, Dv");
  file("--out", text.out, "write the output here");
  file("--lse", text.lse, "write the log-sum-exp here (natural logarithm, f32, batch, heads, length)");
  app.add_option("--shape", text.shape, "sizes of random inputs (1,8,1024,64)")->type_name("B,Hq[:Hkv],Sq[:Skv],D[:Dv]")->group("Tensors");
  app.add_option("--layout", text.layout, "order of the dimensions in files and memory (bhsd)")->type_name("bhsd|bshd")->group("Tensors");
  app.add_option("--dtype", text.dtype, "element type; files are converted to it (that of the files, else f32)")
      ->type_name("f32|f16|bf16")
      ->group("Tensors");
  app.add_flag("--causal", options.shape.causal, "mask keys after the query, aligned at the last query and key")->group("Kernel");
  app.add_option("--scale", text.scale, "factor of the scores (1 / sqrt(D))")->type_name("X")->group("Kernel");
  declareCommon(app, text, options, "Tensors");
  for (const std::string& kernel : kernelNames()) {
    CLI::App* command = declareKernel(app, kernel, text.kernel);
    declareCommon(*command, text, options, "Operands");
    command->allow_extras();
  }
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", std::string(version()));
  app.footer(kFooter);
}

/// The device that simulates the chip asked for.
std::string simulatedTarget(const Options& options) {
  constexpr std::string_view kChips = "amd:";
  if (!options.target.starts_with(kChips))
    fail(options.target.empty() ? "--simulate: there is no --target that names a chip"
                                : fmt::format("--simulate: --target {} names no chip that is simulated", io::quote(options.target)),
         "give --target amd:gfx942, amd:gfx950, amd:gfx1100 or amd:gfx1201");
  if (options.bench) fail("--bench: a simulation says nothing of a chip's speed", "leave --bench or --simulate out");
  return "simulated:" + options.target.substr(kChips.size());
}

void interpretCommon(const Text& text, Options& options) {
  if (!text.target.empty()) options.target = text.target;
  if (options.simulate) options.target = simulatedTarget(options);
  if (!text.seed.empty()) options.seed = parseInteger<std::uint64_t>(text.seed, "--seed", 0, UINT64_MAX);
  if (!text.threads.empty()) options.threads = parseInteger<int>(text.threads, "--threads", 1, 1024);
  try {
    options.config = TileConfig::parse(text.config);
  } catch (const Error& error) {
    fail("--config: " + error.constraint(), error.hint());
  }
}

/// The inputs come from three files, or none of them does.
void checkInputs(const Text& text, const Options& options) {
  const int files = (options.q ? 1 : 0) + (options.k ? 1 : 0) + (options.v ? 1 : 0);
  if (files == 0) return;
  if (files != 3) {
    const char* missing = !options.q ? "--q" : !options.k ? "--k" : "--v";
    fail(fmt::format("{} is missing: --q, --k and --v belong together", missing), "give all three files, or --shape for random inputs");
  }
  if (!text.shape.empty()) fail("--shape is for random inputs; with --q, --k and --v the files give the shape", "leave one of them out");
}

/// Where a .safetensors file is given without names, the results have two that differ.
bool overwrite(const io::FileSpec& out, const io::FileSpec& lse) {
  if (out.path != lse.path) return false;
  return out.format == io::FileFormat::Npy || (out.tensor == lse.tensor && !out.tensor.empty());
}

void interpretFiles(const Text& text, Options& options) {
  options.q = parseFile("--q", text.q);
  options.k = parseFile("--k", text.k);
  options.v = parseFile("--v", text.v);
  options.out = parseFile("--out", text.out);
  options.lse = parseFile("--lse", text.lse);
  checkInputs(text, options);
  if (options.out && options.lse && overwrite(*options.out, *options.lse))
    fail(fmt::format("--out and --lse both write {}", options.out->path),
         "an .npy file holds one array, a .safetensors file any number of names");
}

io::Layout parseLayout(const std::string& text) {
  if (text != "bhsd" && text != "bshd") fail(fmt::format("--layout {}: expected bhsd or bshd", io::quote(text)));
  return text == "bhsd" ? io::Layout::BHSD : io::Layout::BSHD;
}

DType parseElementType(const std::string& text) {
  const auto type = parseDType(text);
  if (!type || (*type != DType::F32 && *type != DType::F16 && *type != DType::BF16))
    fail(fmt::format("--dtype {}: expected f32, f16 or bf16", io::quote(text)));
  return *type;
}

void interpret(const Text& text, Options& options) {
  interpretFiles(text, options);
  const bool causal = options.shape.causal;
  options.shape = parseShape(text.shape.empty() ? "1,8,1024,64" : text.shape, 0);
  options.shape.causal = causal;
  if (!text.layout.empty()) options.layout = parseLayout(text.layout);
  if (!text.dtype.empty()) options.dtype = parseElementType(text.dtype);
  checkSizes(options.shape, options.dtype.value_or(DType::F32));
  if (options.out && options.out->format == io::FileFormat::Npy && options.dtype == DType::BF16)
    fail("--out: an .npy file cannot hold bf16", "write a .safetensors file, or choose --dtype f32 or f16");
  if (!text.scale.empty()) options.scale = parseScale(text.scale);
  interpretCommon(text, options);
}

void interpretBackwardShape(const KernelText& text, KernelOptions& options) {
  const bool causal = options.backward.shape.causal;
  options.backward.shape = parseShape(text.shape.empty() ? "1,8,1024,64" : text.shape, 1);
  options.backward.shape.causal = causal;
  checkSizes(options.backward.shape, options.dtype);
}

}  // namespace

std::expected<Options, UsageError> parseCommandLine(const std::vector<std::string>& arguments) {
  CLI::App app(kDescription, "fattn-run");
  Options options;
  Text text;
  declare(app, text, options);
  app.allow_extras();
  auto shown = tool::readWords(app, arguments, [&] {
    const std::vector<CLI::App*> commands = app.get_subcommands();
    const CLI::App& parsed = commands.empty() ? app : *commands.front();
    if (const std::vector<std::string> extras = app.remaining(true); !extras.empty()) failUnknown(parsed, extras.front());
    if (commands.empty()) {
      interpret(text, options);
    } else {
      options.kernel = interpretKernel(commands.front()->get_name(), text.kernel);
      if (options.kernel->kernel == "backward") interpretBackwardShape(text.kernel, *options.kernel);
      interpretCommon(text, options);
    }
  });
  if (!shown) return std::unexpected(shown.error());
  options.text = std::move(*shown);
  return options;
}

}  // namespace fattn::run
