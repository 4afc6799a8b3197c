// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-run/KernelOptions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "tools/common/CommandLine.h"
#include "tools/io/HostTensor.h"

namespace fattn::run {
namespace {

[[noreturn]] void failKernel(std::string message, std::string hint = "") { throw tool::UsageError{std::move(message), std::move(hint)}; }

std::vector<std::int64_t> parseExtents(const std::string& text, std::size_t count, const char* form) {
  const std::vector<std::string> fields = tool::split(text, ',');
  if (fields.size() != count) failKernel(fmt::format("--shape {}: expected {}", io::quote(text), form));
  std::vector<std::int64_t> extents;
  for (const std::string& field : fields) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || value < 1 || value > INT32_MAX)
      failKernel(fmt::format("--shape {}: {} is no integer from 1 to 2147483647", io::quote(text), io::quote(field)));
    extents.push_back(value);
  }
  return extents;
}

bool isGemm(const std::string& kernel) { return kernel == "gemm"; }
bool isDecode(const std::string& kernel) { return kernel == "decode"; }
bool isVarlen(const std::string& kernel) { return kernel == "varlen"; }
bool isBackward(const std::string& kernel) { return kernel == "backward"; }

std::int64_t parseCount(const char* option, const std::string& text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
    failKernel(fmt::format("{} {}: expected an integer from 1 to {}", option, io::quote(text), most));
  return value;
}

void declareDecode(CLI::App* command, KernelText& text) {
  command
      ->add_option("--shape", text.shape,
                   "sequences, heads of queries and of keys, query rows, keys of the longest sequence, D (4,32:8,1,4096,128)")
      ->type_name("B,Hq[:Hkv],Sq,KEYS,D")
      ->group("Operands");
  command->add_option("--dtype", text.dtype, "element type (f32)")->type_name("f32|f16|bf16")->group("Operands");
  command->add_flag("--ragged", text.ragged, "sequences of different lengths, from 1 key on")->group("Operands");
  command->add_option("--pages", text.pages, "keys of a page of the cache (one piece a sequence)")->type_name("N")->group("Kernel");
  command->add_option("--window", text.window, "keys that a row sees, its own among them (all)")->type_name("N")->group("Kernel");
  command->add_flag("--settled-cache", text.settled, "the launch in front writes nothing of the cache, which may be read before it ends")
      ->group("Kernel");
  command->add_flag("--append", text.append, "the launch writes the keys of its query rows to the cache")->group("Kernel");
  command->add_option("--splits", text.splits, "programs that share a sequence (as many as fill the device)")
      ->type_name("N")
      ->group("Kernel");
  command->add_flag("--causal", text.causal, "mask keys after the query, aligned at the last query and key")->group("Kernel");
}

void declareDeterministic(CLI::App* command, KernelText& text) {
  command
      ->add_flag("--deterministic,!--atomic", text.deterministic,
                 "dq has a kernel of its own, or may be added up atomically where that is faster (--atomic)")
      ->group("Kernel");
  command->add_option("--config-dq", text.configDq, "tile configuration of the kernel for dq")->type_name("K=V,...")->group("Kernel");
}

TileConfig parseConfigDq(const KernelText& text) {
  try {
    return TileConfig::parse(text.configDq);
  } catch (const Error& error) {
    failKernel("--config-dq: " + error.constraint(), error.hint());
  }
}

void declareVarlen(CLI::App* command, KernelText& text) {
  command->add_option("--shape", text.shape, "heads of queries and of keys, D (8,64)")->type_name("Hq[:Hkv],D")->group("Operands");
  command->add_option("--cu-seqlens", text.cuSeqlens, "where sequences begin, and the last one ends (0,300,1000,1024)")
      ->type_name("0,N,...")
      ->group("Operands");
  command->add_option("--cu-seqlens-k", text.cuSeqlensK, "the same of the keys (as the query rows)")
      ->type_name("0,N,...")
      ->group("Operands");
  command->add_option("--dtype", text.dtype, "element type (f32)")->type_name("f32|f16|bf16")->group("Operands");
  command->add_flag("--causal", text.causal, "mask keys after the query, aligned at the last query and key")->group("Kernel");
  command->add_flag("--backward", text.backward, "run the backward pass, after the forward")->group("Kernel");
  declareDeterministic(command, text);
}

void declareBackward(CLI::App* command, KernelText& text) {
  command->add_option("--shape", text.shape, "sizes of random inputs (1,8,1024,64)")
      ->type_name("B,Hq[:Hkv],Sq[:Skv],D[:Dv]")
      ->group("Operands");
  command->add_option("--dtype", text.dtype, "element type (f32)")->type_name("f32|f16|bf16")->group("Operands");
  command->add_flag("--causal", text.causal, "mask keys after the query, aligned at the last query and key")->group("Kernel");
  declareDeterministic(command, text);
}

BackwardOptions interpretBackward(const KernelText& text) {
  BackwardOptions options{.shape = {}, .deterministic = text.deterministic, .configDq = parseConfigDq(text)};
  options.shape.causal = text.causal;
  return options;
}

std::vector<std::int32_t> parseBegins(const char* option, const std::string& text) {
  std::vector<std::int32_t> begins;
  for (const std::string& field : tool::split(text, ',')) {
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || value < 0 || (begins.empty() ? value != 0 : value < begins.back()))
      failKernel(fmt::format("{} {}: expected 0 and then integers that do not fall", option, io::quote(text)));
    begins.push_back(value);
  }
  if (begins.size() < 2 || begins.back() == 0) failKernel(fmt::format("{} {}: there are no rows", option, io::quote(text)));
  return begins;
}

VarlenOptions interpretVarlen(const KernelText& text) {
  constexpr const char* kForm = "Hq[:Hkv],D";
  VarlenOptions options{
      .causal = text.causal, .backward = text.backward, .deterministic = text.deterministic, .configDq = parseConfigDq(text)};
  if (text.deterministic && !text.backward) failKernel("--deterministic is a choice of --backward: the forward always gives the same bits");
  if (!text.configDq.empty() && !text.backward) failKernel("--config-dq is a choice of --backward: the forward has one kernel");
  if (!text.shape.empty()) {
    const std::vector<std::string> fields = tool::split(text.shape, ',');
    const std::vector<std::string> heads = tool::split(fields.front(), ':');
    if (fields.size() != 2 || heads.size() > 2) failKernel(fmt::format("--shape {}: expected {}", io::quote(text.shape), kForm));
    const std::vector<std::int64_t> n = parseExtents(fmt::format("{},{},{}", heads.front(), heads.back(), fields.back()), 3, kForm);
    options.headsQ = n[0], options.headsKv = n[1], options.dim = n[2];
    if (options.headsQ % options.headsKv != 0)
      failKernel(fmt::format("--shape {}: {} query heads are no multiple of {}", io::quote(text.shape), options.headsQ, options.headsKv));
  }
  if (!text.cuSeqlens.empty()) options.cuQ = options.cuK = parseBegins("--cu-seqlens", text.cuSeqlens);
  if (!text.cuSeqlensK.empty()) options.cuK = parseBegins("--cu-seqlens-k", text.cuSeqlensK);
  if (options.cuK.size() != options.cuQ.size())
    failKernel(fmt::format("--cu-seqlens-k has {} sequences, --cu-seqlens {}", options.cuK.size() - 1, options.cuQ.size() - 1));
  return options;
}

DecodeOptions interpretDecode(const KernelText& text) {
  constexpr const char* kForm = "B,Hq[:Hkv],Sq,KEYS,D";
  DecodeOptions options{.causal = text.causal, .ragged = text.ragged, .append = text.append, .settled = text.settled};
  if (!text.shape.empty()) {
    std::vector<std::string> fields = tool::split(text.shape, ',');
    if (fields.size() != 5) failKernel(fmt::format("--shape {}: expected {}", io::quote(text.shape), kForm));
    const std::vector<std::string> heads = tool::split(fields[1], ':');
    if (heads.size() > 2) failKernel(fmt::format("--shape {}: expected {}", io::quote(text.shape), kForm));
    const std::string numbers = fmt::format("{},{},{},{},{},{}", fields[0], heads.front(), heads.back(), fields[2], fields[3], fields[4]);
    const std::vector<std::int64_t> n = parseExtents(numbers, 6, kForm);
    options.batch = n[0], options.headsQ = n[1], options.headsKv = n[2], options.queries = n[3], options.keys = n[4], options.dim = n[5];
    if (options.headsQ % options.headsKv != 0)
      failKernel(fmt::format("--shape {}: {} query heads are no multiple of {}", io::quote(text.shape), options.headsQ, options.headsKv));
  }
  if (!text.pages.empty()) options.pageSize = parseCount("--pages", text.pages, 1 << 20);
  if (!text.window.empty()) options.window = parseCount("--window", text.window, INT32_MAX);
  if (!text.splits.empty()) options.splits = static_cast<int>(parseCount("--splits", text.splits, 1024));
  return options;
}

std::vector<std::int64_t> interpretExtents(const std::string& text, bool gemm) {
  if (gemm) return text.empty() ? std::vector<std::int64_t>{1024, 1024, 1024} : parseExtents(text, 3, "M,N,K");
  return text.empty() ? std::vector<std::int64_t>{4096, 1024} : parseExtents(text, 2, "ROWS,COLUMNS");
}

DType parseOperandType(const std::string& text, bool gemm) {
  std::vector<DType> types = {DType::F32, DType::F16, DType::BF16};
  if (gemm) types.push_back(DType::I8);
  const auto type = parseDType(text);
  if (!type || std::ranges::find(types, *type) == types.end())
    failKernel(fmt::format("--dtype {}: expected {}", io::quote(text), gemm ? "f32, f16, bf16 or i8" : "f32, f16 or bf16"));
  return *type;
}

void interpretFactors(const std::string& layout, KernelOptions& options) {
  const std::vector<std::string> legal = {"nn", "nt", "tn", "tt"};
  if (std::ranges::find(legal, layout) == legal.end()) failKernel(fmt::format("--layout {}: expected nn, nt, tn or tt", io::quote(layout)));
  options.aColumns = layout[0] == 't', options.bColumns = layout[1] == 't';
}

std::string parseActivation(const std::string& text, DType type) {
  if (text != "none" && text != "gelu" && text != "silu")
    failKernel(fmt::format("--activation {}: expected none, gelu or silu", io::quote(text)));
  if (text != "none" && type == DType::I8) failKernel(fmt::format("--activation {}: there is none of i32", text), "choose another --dtype");
  return text;
}

}  // namespace

const std::vector<std::string>& kernelNames() {
  static const std::vector<std::string> names = {"gemm", "softmax", "layer-norm", "rms-norm", "decode", "varlen", "backward"};
  return names;
}

CLI::App* declareKernel(CLI::App& app, const std::string& kernel, KernelText& text) {
  static const std::vector<std::string> what = {"runs a matrix product, with what is done to its result",
                                                "runs a softmax of rows",
                                                "runs a layer norm of rows",
                                                "runs an RMS norm of rows",
                                                "runs attention of a few rows against a long cache",
                                                "runs attention of sequences that are packed behind each other",
                                                "runs the backward pass of attention, after the forward"};
  const auto index = static_cast<std::size_t>(std::ranges::find(kernelNames(), kernel) - kernelNames().begin());
  CLI::App* command = app.add_subcommand(kernel, what[index]);
  if (isDecode(kernel)) return declareDecode(command, text), command;
  if (isVarlen(kernel)) return declareVarlen(command, text), command;
  if (isBackward(kernel)) return declareBackward(command, text), command;
  if (!isGemm(kernel)) {
    command->add_option("--shape", text.shape, "sizes of random inputs (4096,1024)")->type_name("ROWS,COLUMNS")->group("Operands");
    command->add_option("--dtype", text.dtype, "element type (f32)")->type_name("f32|f16|bf16")->group("Operands");
    return command;
  }
  command->add_option("--shape", text.shape, "sizes of random inputs: [M, K] x [K, N] (1024,1024,1024)")
      ->type_name("M,N,K")
      ->group("Operands");
  command->add_option("--dtype", text.dtype, "element type; of i8 the result is i32 (f32)")
      ->type_name("f32|f16|bf16|i8")
      ->group("Operands");
  command
      ->add_option("--layout", text.layout, "whether the rows (n) or the columns (t) of the first and second factor lie side by side (nn)")
      ->type_name("nn|nt|tn|tt")
      ->group("Operands");
  command->add_flag("--bias", text.bias, "add a row to each row of the product")->group("Kernel");
  command->add_option("--activation", text.activation, "what is applied then (none)")->type_name("none|gelu|silu")->group("Kernel");
  command->add_flag("--residual", text.residual, "add a matrix at last")->group("Kernel");
  return command;
}

KernelOptions interpretKernel(const std::string& kernel, const KernelText& text) {
  KernelOptions options{.kernel = kernel, .extents = {}, .bias = text.bias, .residual = text.residual};
  if (isDecode(kernel))
    options.decode = interpretDecode(text);
  else if (isVarlen(kernel))
    options.varlen = interpretVarlen(text);
  else if (isBackward(kernel))
    options.backward = interpretBackward(text);
  else
    options.extents = interpretExtents(text.shape, isGemm(kernel));
  if (!text.dtype.empty()) options.dtype = parseOperandType(text.dtype, isGemm(kernel));
  if (!text.layout.empty()) interpretFactors(text.layout, options);
  if (!text.activation.empty()) options.activation = parseActivation(text.activation, options.dtype);
  return options;
}

}  // namespace fattn::run
