// SPDX-License-Identifier: Apache-2.0
// Kernel templates: programs that leave their tile configuration open, which tuning chooses for each kind of shape.
//   TemplateKernel kernel = compile(rowSum, {{"dtype", "f16"}});
//   kernel.launch(stream, {rows, columns}, {{"x", x}, {"out", out}});
#ifndef FATTN_TEMPLATE_H
#define FATTN_TEMPLATE_H

#include <cstdint>
#include <expected>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fattn/Kernel.h"
#include "fattn/Target.h"

namespace fattn {

/// What the author of a template leaves to its users, by name: flags, integers and texts. A name is a letter, then letters, digits and _,
/// all lower case.
class Parameters {
 public:
  using Value = std::variant<bool, std::int64_t, std::string>;

  Parameters() = default;
  Parameters(std::initializer_list<std::pair<const std::string, Value>> values) : values_(values) {}

  /// The value of a parameter. Throws Error{InvalidArgument} where there is none of that name and type.
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  /// A text that names an element type.
  DType dtype(std::string_view name) const;

  void set(const std::string& name, Value value) { values_.insert_or_assign(name, std::move(value)); }
  const std::map<std::string, Value, std::less<>>& all() const { return values_; }
  /// "causal=true,dtype=f16,width=128".
  std::string toString() const;
  bool operator==(const Parameters&) const = default;

 private:
  std::map<std::string, Value, std::less<>> values_;
};

/// An argument that tuning launches a template with.
struct Operand {
  /// Memory of random numbers, row-major.
  static Operand input(std::string name, DType dtype, std::vector<std::int64_t> shape) {
    return {std::move(name), dtype, std::move(shape)};
  }
  /// Memory that every launch writes, all of it: what candidates compute is compared with what the default does.
  static Operand output(std::string name, DType dtype, std::vector<std::int64_t> shape) {
    return {std::move(name), dtype, std::move(shape), true};
  }
  /// A scalar.
  static Operand number(std::string name, double value) { return {std::move(name), DType::F32, {}, false, true, value}; }
  static Operand integer(std::string name, std::int64_t value) { return {std::move(name), DType::I64, {}, false, true, 0, value}; }

  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape{};
  bool written = false, isScalar = false;
  double real = 0;
  std::int64_t whole = 0;
};

/// What people and files call a template with its parameters. What is empty is its name with the list of all parameters.
struct TemplateNames {
  std::string text{};    ///< in messages and to the progress callback: "attention bf16 head_dim 64"
  std::string tuned{};   ///< of the folder of its tuned configurations, those shipped among them
  std::string folder{};  ///< of the folder in FATTN_DUMP_DIR; target and configuration follow
};

/// A compilation of a template that begins (done = false, ms = 0) or has ended.
struct TemplateProgress {
  const Parameters& parameters;  ///< complete
  const std::string& target;     ///< in full
  const TileConfig& tile;
  bool done;
  double ms;
};

/// What its author says of a kernel. Its functions may be called from any thread at any time. `program`, `grid` and `tile` have to be
/// there; to be tuned, a template needs `space` and `operands`, too.
struct KernelTemplate {
  std::string name;                   ///< as a parameter's name; tuned configurations are kept under it
  Parameters parameters{};            ///< all there are, with what they are where a user says nothing
  std::vector<std::string> extents;   ///< the 1 to 4 extents that tuning tells shapes by, as parameters' names; bucketed to powers of two
  std::vector<std::int64_t> typical;  ///< the shape that is tuned where a user tells none, `more` included
  /// Extents that every launch gives behind these, and that tuning does not tell shapes by: only `grid` and `operands` depend on them.
  std::vector<std::string> more{};
  /// The author's promise that no other template of the process has this name. Code that was compiled before is found in microseconds then;
  /// else templates of one name are told apart by their programs' text, and a compilation takes at least the time of a trace.
  bool unique = false;

  /// The kernel itself.
  std::function<void(dsl::Params&, const Parameters&, const TileConfig&)> program{};
  /// The grid of a shape, whose extents come in the order of `extents`. Called by every launch: it should allocate nothing.
  std::function<Grid(const Parameters&, const TileConfig&, std::span<const std::int64_t>)> grid{};
  /// The configuration where nothing is tuned. It has to be right everywhere.
  std::function<TileConfig(const Parameters&, const Machine&)> tile{};
  /// The same for a compilation that is told what extents launches have (TemplateFor::extents; 0 = not known). It has to be right
  /// everywhere, too. Where there is none, `tile` serves all shapes.
  std::function<TileConfig(const Parameters&, const Machine&, std::span<const std::int64_t>)> tileFor{};

  /// Replaces what a user left open, as an alignment of 0, by what it means on a machine. What it returns is what all other functions but
  /// `check` are given.
  std::function<Parameters(const Parameters&, const Machine&)> complete{};
  /// Throws Error{Unsupported} for parameters that there is no kernel for. It is asked before `complete`.
  std::function<void(const Parameters&)> check{};
  /// Throws Error{InvalidArgument} for a configuration of a user's, or a tuned one, that makes choices which the kernel does not have.
  std::function<void(const Parameters&, const TileConfig&)> checkTile{};
  /// The parameters of the kernel for launches whose arguments break a promise that the program was given (dsl::Params: multiples of a
  /// number), as one for any alignment; nothing where there is none, and such launches are refused. The first such launch finds or compiles
  /// that kernel.
  std::function<std::optional<Parameters>(const Parameters&)> relaxed{};
  /// The configurations that are worth trying, the promising ones first.
  std::function<std::vector<TileConfig>(const Parameters&, const Machine&)> space{};
  /// Why a configuration cannot work, or can only waste, for a shape, in one sentence; nothing where it may work.
  std::function<std::optional<std::string>(const Parameters&, const TileConfig&, const Machine&, std::span<const std::int64_t>)> misfit{};
  /// The arguments of a launch for a shape.
  std::function<std::vector<Operand>(const Parameters&, std::span<const std::int64_t>)> operands{};
  /// Whether a shape that was tuned may decide for a user who told `told` of 0 = not known. Where there is no such function, each near one
  /// may.
  std::function<bool(std::span<const std::int64_t> told, std::span<const std::int64_t> tuned)> hasSay{};

  std::function<TemplateNames(const Parameters&)> names{};
  /// Called on the compiling thread. Finding code in the process's cache does not call it.
  std::function<void(const TemplateProgress&)> progress{};

  /// What a launch gives: `extents`, and behind them `more`.
  std::vector<std::string> allExtents() const {
    std::vector<std::string> all = extents;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

/// What the compilation of a template is asked for.
struct TemplateFor {
  std::string target{};                 ///< as in CompileFor
  std::optional<TileConfig> tile{};     ///< none = what was tuned, else the template's; what is not chosen is taken from the template's
  std::vector<std::int64_t> extents{};  ///< what launches will mostly look like, 0 = not known; chooses among tuned configurations

  /// Whether the choice is fattn's.
  bool leavesTileOpen() const { return !tile || *tile == TileConfig{}; }
};

/// A compiled template. A cheap handle, as a TileKernel.
class TemplateKernel {
 public:
  TemplateKernel() = default;
  explicit operator bool() const { return impl_ != nullptr; }

  /// Launches the kernel for a shape; arguments as in TileKernel::launch(). Where the tile was left open, the configuration is the one of
  /// the shape's bucket, or the nearest one, of those that this process has compiled (warmup()). Allocates nothing, and compiles nothing
  /// but for KernelTemplate::relaxed. `extents` are all of the template's, and behind them `more`.
  void launch(Stream stream, std::span<const std::int64_t> extents, std::span<const Argument> arguments) const;
  void launch(Stream stream, std::initializer_list<std::int64_t> extents, std::initializer_list<Argument> arguments) const {
    launch(stream, std::span(extents.begin(), extents.size()), std::span(arguments.begin(), arguments.size()));
  }
  /// The same with one slot of 8 bytes for each argument in the order of args(), its value at the slot's start. Their number is checked,
  /// and, where the template has `relaxed`, what their values were promised to be.
  void launchSlots(Stream stream, std::span<const std::int64_t> extents, std::span<const std::uint64_t> slots) const;

  /// What launches run on. Throws Error{InvalidArgument} where the code is for a chip.
  Device& device() const;
  const KernelCode& info() const;
  const Parameters& parameters() const;
  std::span<const dsl::Param> args() const;

  struct Impl;
  explicit TemplateKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  friend class TemplateRelaunch;
  std::shared_ptr<const Impl> impl_;
};

/// Compiles a template for parameters, or finds its code in the process's cache or in the one on disk. Takes at least the time of a trace,
/// about a millisecond, where the template is not `unique`: keep the handle (fattn/Handles.h). With FATTN_TUNE=on it tunes first what is
/// not tuned. Throws Error.
TemplateKernel compile(const KernelTemplate& from, const Parameters& parameters = {}, const TemplateFor& how = {});
std::expected<TemplateKernel, Error> try_compile(const KernelTemplate& from, const Parameters& parameters = {},
                                                 const TemplateFor& how = {});
/// Compiles the configurations that were tuned for these shapes, in parallel; launches of every handle to this kernel have them then.
void warmup(const KernelTemplate& from, const Parameters& parameters, std::span<const std::vector<std::int64_t>> shapes,
            const TemplateFor& how = {});
/// Which configuration a compilation takes, who chose it, and the tuned shapes; or what is wrong with the parameters.
std::string explain(const KernelTemplate& from, const Parameters& parameters = {}, const TemplateFor& how = {});
/// Of that what stands behind "with": the configuration, who chose it, and the tuned shapes. Throws Error.
std::string explainTile(const KernelTemplate& from, const Parameters& parameters = {}, const TemplateFor& how = {});
/// Whether compile() would accept this. Takes microseconds, or, where the user chose a configuration for a GPU, a part of a compilation:
/// whether that fits is the compiler's to say.
std::expected<void, Error> supports(const KernelTemplate& from, const Parameters& parameters = {}, const TemplateFor& how = {});

/// What tuning found for one shape.
struct Tuned {
  std::vector<std::int64_t> extents;
  std::optional<TileConfig> tile;        ///< the fastest; none where the budget was too small for a verdict
  double median_us = 0, default_us = 0;  ///< of one launch with it, and with the template's own configuration
  double gain = 1, gain_noise = 0;       ///< default's time / winner's time in turns that alternate, and its standard error
  std::size_t measured = 0, failed = 0, pruned = 0;
};
struct TuneFor {
  std::string target{};
  double seconds = 60;  ///< for all shapes together
};
/// Measures the configurations of a template's space for each shape, as docs/tuning.md explains, and keeps what it finds for all processes.
/// A configuration counts only if it computes what the template's own does. Throws Error: InvalidArgument for a template without space or
/// operands; DeviceError where a candidate hung or the device was lost.
std::vector<Tuned> tune(const KernelTemplate& from, const Parameters& parameters, std::span<const std::vector<std::int64_t>> shapes,
                        const TuneFor& how = {});

/// Makes a template known by its name to the C interface and to the tools. A later one of the same name takes its place. fattn's own,
/// "gemm", "row_softmax", "layer_norm", "rms_norm", "attention_forward", "attention_decode", "attention_decode_balanced",
/// "attention_merge", "attention_varlen", the four of the backward pass, "attention_backward_rows", "_keys", "_queries" and "_round", and
/// those of its packed sequences, "packed_backward_rows" and so on, are known from the beginning.
void registerTemplate(KernelTemplate what);
/// The template of a name; throws Error{InvalidArgument} with the names that there are.
std::shared_ptr<const KernelTemplate> findTemplate(std::string_view name);
std::vector<std::string> templateNames();
/// Parameters of a template by names and texts, such as "head_dim" and "128", "causal" and "true". Throws Error{InvalidArgument} for a name
/// that the template has no parameter of, and for a text that is no value of its type.
Parameters parseParameters(const KernelTemplate& from, std::span<const std::pair<std::string, std::string>> texts);

}  // namespace fattn

#endif
