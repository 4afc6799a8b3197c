// SPDX-License-Identifier: Apache-2.0
// The C interface to programs and templates.
#include <atomic>
#include <vector>

#include "fattn/c_api.h"
#include "fattn/fattn.h"
#include "kernels/c/Guard.h"
#include "kernels/c/TemplateJson.h"

struct fattn_tile_kernel {
  fattn::TileKernel program;
  fattn::TemplateKernel from_template;
  std::atomic<std::int64_t> references{1};
};

namespace {

using fattn::Argument;
using fattn::Error;
using fattn::ErrorCode;
using fattn::TensorView;
using namespace fattn::capi;

/// The arguments of a launch in C++; on the stack, as a launch allocates nothing.
class Arguments {
 public:
  Arguments(const fattn_argument* given, std::size_t count) : count_(count) {
    if (count > kMost)
      throw Error(ErrorCode::InvalidArgument,
                  std::to_string(count) + " arguments are given; a launch takes up to " + std::to_string(kMost));
    if (count > 0) requirePointer("arguments", given);
    for (std::size_t i = 0; i < count; ++i) add(i, given[i]);
  }
  ~Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  std::span<const Argument> all() const { return {reinterpret_cast<const Argument*>(storage_), count_}; }

 private:
  static constexpr std::size_t kMost = 64;

  void add(std::size_t i, const fattn_argument& argument) {
    requirePointer("the name of an argument", argument.name);
    switch (argument.kind) {
      case FATTN_TENSOR:
        requirePointer(argument.name, argument.value.tensor);
        new (&views_[i]) TensorView(viewOf(argument.name, *argument.value.tensor));
        new (place(i)) Argument(argument.name, views_[i]);
        return;
      case FATTN_POINTER:
        new (place(i)) Argument(argument.name, argument.value.pointer);
        return;
      case FATTN_INTEGER:
        new (place(i)) Argument(argument.name, argument.value.integer);
        return;
      case FATTN_NUMBER:
        new (place(i)) Argument(argument.name, argument.value.number);
        return;
      default:
        throw Error(ErrorCode::InvalidArgument, std::string(argument.name) + ": kind is " + std::to_string(argument.kind) +
                                                    "; legal values are FATTN_TENSOR = 0 to FATTN_NUMBER = 3");
    }
  }
  void* place(std::size_t i) { return storage_ + i * sizeof(Argument); }

  static_assert(std::is_trivially_destructible_v<Argument> && std::is_trivially_destructible_v<TensorView>);
  std::size_t count_;
  alignas(Argument) std::byte storage_[kMost * sizeof(Argument)];
  union {
    TensorView views_[kMost];
  };
};

const fattn::TileKernel& programOf(const fattn_tile_kernel* kernel) {
  requirePointer("kernel", kernel);
  if (!kernel->program)
    throw Error(ErrorCode::InvalidArgument, "this kernel is of a template", "launch it for a shape, with fattn_launch_template");
  return kernel->program;
}

fattn::Grid gridOf(const std::int64_t* grid) {
  requirePointer("grid", grid);
  return {grid[0], grid[1], grid[2]};
}

}  // namespace

extern "C" {

fattn_status fattn_compile_ir(const char* ir, const char* options, fattn_tile_kernel** kernel) {
  return guarded(__func__, [&] {
    requirePointer("ir", ir);
    requirePointer("kernel", kernel);
    const fattn::CompileFor how = options != nullptr ? fattn::kernels::parseCompileFor(options) : fattn::CompileFor{};
    *kernel = new fattn_tile_kernel{.program = fattn::compile(fattn::dsl::parse(ir), how), .from_template = {}};
  });
}

fattn_status fattn_compile_template(const char* config, fattn_tile_kernel** kernel) {
  return guarded(__func__, [&] {
    requirePointer("config", config);
    requirePointer("kernel", kernel);
    const auto request = fattn::kernels::parseTemplateRequest(config);
    *kernel = new fattn_tile_kernel{.program = {}, .from_template = fattn::compile(*request.from, request.parameters, request.how)};
  });
}

fattn_status fattn_explain_template(const char* config, char** text) {
  return guarded(__func__, [&] {
    requirePointer("config", config);
    requirePointer("text", text);
    const auto request = fattn::kernels::parseTemplateRequest(config);
    *text = newString(fattn::explain(*request.from, request.parameters, request.how));
  });
}

fattn_status fattn_templates(char** json) {
  return guarded(__func__, [&] {
    requirePointer("json", json);
    *json = newString(fattn::kernels::templatesJson());
  });
}

fattn_status fattn_tune_template(const char* config, double seconds, char** json) {
  return guarded(__func__, [&] {
    requirePointer("config", config);
    requirePointer("json", json);
    if (!(seconds > 0)) throw Error(ErrorCode::InvalidArgument, "seconds must be above 0");
    const auto request = fattn::kernels::parseTemplateRequest(config);
    if (request.shapes.empty())
      throw Error(ErrorCode::InvalidArgument, "configuration: shapes is missing",
                  R"(write for example "shapes": [{"m": 4096, "n": 4096}])");
    *json = newString(fattn::kernels::toJson(
        fattn::tune(*request.from, request.parameters, request.shapes, {.target = request.how.target, .seconds = seconds}), *request.from));
  });
}

fattn_status fattn_tile_kernel_retain(fattn_tile_kernel* kernel) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    kernel->references.fetch_add(1, std::memory_order_relaxed);
  });
}

void fattn_tile_kernel_release(fattn_tile_kernel* kernel) {
  if (kernel != nullptr && kernel->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete kernel;
}

fattn_status fattn_tile_kernel_info(const fattn_tile_kernel* kernel, char** json) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    requirePointer("json", json);
    *json = newString(kernel->program ? fattn::kernels::toJson(kernel->program.info(), kernel->program.args())
                                      : fattn::kernels::toJson(kernel->from_template.info(), kernel->from_template.args()));
  });
}

fattn_status fattn_launch(const fattn_tile_kernel* kernel, void* stream, const int64_t* grid, const fattn_argument* arguments,
                          size_t count) {
  return guarded(__func__, [&] {
    const Arguments list(arguments, count);
    programOf(kernel).launch({.native = stream}, gridOf(grid), list.all());
  });
}

fattn_status fattn_launch_slots(const fattn_tile_kernel* kernel, void* stream, const int64_t* grid, const uint64_t* slots, size_t count) {
  return guarded(__func__, [&] {
    if (count > 0) requirePointer("slots", slots);
    programOf(kernel).launchSlots({.native = stream}, gridOf(grid), std::span(slots, count));
  });
}

fattn_status fattn_launch_template(const fattn_tile_kernel* kernel, void* stream, const int64_t* extents, size_t extent_count,
                                   const fattn_argument* arguments, size_t count) {
  return guarded(__func__, [&] {
    requirePointer("kernel", kernel);
    if (extent_count > 0) requirePointer("extents", extents);
    if (!kernel->from_template)
      throw Error(ErrorCode::InvalidArgument, "this kernel is of a program", "launch it on a grid, with fattn_launch");
    const Arguments list(arguments, count);
    kernel->from_template.launch({.native = stream}, std::span(extents, extent_count), list.all());
  });
}

}  // extern "C"
