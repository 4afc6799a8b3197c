// SPDX-License-Identifier: Apache-2.0
// Templates by name.
#include <charconv>
#include <map>
#include <mutex>
#include <new>

#include "fattn/Template.h"
#include "kernels/attention/AttentionBackward.h"
#include "kernels/attention/AttentionDecode.h"
#include "kernels/attention/AttentionTemplate.h"
#include "kernels/attention/AttentionVarlen.h"
#include "kernels/library/Library.h"
#include "runtime/base/Lifecycle.h"

namespace fattn {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const KernelTemplate>, std::less<>> templates;

  Registry() {
    for (const KernelTemplate* own :
         {&kernels::gemmTemplate(), &kernels::rowSoftmaxTemplate(), &kernels::layerNormTemplate(), &kernels::rmsNormTemplate(),
          &kernels::forwardTemplate(), &kernels::decodeTemplate(), &kernels::balancedDecodeTemplate(), &kernels::mergeTemplate(),
          &kernels::varlenTemplate(), &kernels::backwardRowsTemplate(), &kernels::backwardKeysTemplate(),
          &kernels::backwardQueriesTemplate(), &kernels::backwardRoundTemplate(), &kernels::packedBackwardRowsTemplate(),
          &kernels::packedBackwardKeysTemplate(), &kernels::packedBackwardQueriesTemplate(), &kernels::packedBackwardRoundTemplate()})
      templates.emplace(own->name, std::make_shared<const KernelTemplate>(*own));
    atFork([this] { mutex.lock(); }, [this] { mutex.unlock(); }, [this] { new (&mutex) std::mutex; });
  }
};

Registry& registry() {
  static auto* registry = new Registry;  // never destroyed: shared objects may register in any order
  return *registry;
}

/// A text as a value of the type that `like` has.
Parameters::Value parsedAs(const Parameters::Value& like, const std::string& name, const std::string& text) {
  const auto fail = [&](const char* legal) {
    return Error(ErrorCode::InvalidArgument, "parameter " + name + " is '" + text + "'; it must be " + legal);
  };
  if (std::holds_alternative<std::string>(like)) return text;
  if (std::holds_alternative<bool>(like)) {
    if (text != "true" && text != "false") throw fail("true or false");
    return text == "true";
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw fail("an integer");
  return value;
}

}  // namespace

void registerTemplate(KernelTemplate what) {
  auto held = std::make_shared<const KernelTemplate>(std::move(what));
  std::lock_guard lock(registry().mutex);
  registry().templates.insert_or_assign(held->name, held);
}

std::shared_ptr<const KernelTemplate> findTemplate(std::string_view name) {
  {
    std::lock_guard lock(registry().mutex);
    if (auto found = registry().templates.find(name); found != registry().templates.end()) return found->second;
  }
  std::string known;
  for (const std::string& one : templateNames()) known += (known.empty() ? "" : ", ") + one;
  throw Error(ErrorCode::InvalidArgument, "there is no template \"" + std::string(name) + "\"", "there are " + known);
}

Parameters parseParameters(const KernelTemplate& from, std::span<const std::pair<std::string, std::string>> texts) {
  Parameters parameters;
  for (const auto& [name, text] : texts) {
    const auto found = from.parameters.all().find(name);
    if (found == from.parameters.all().end())
      throw Error(ErrorCode::InvalidArgument, "template " + from.name + " has no parameter " + name,
                  "its parameters are " + from.parameters.toString());
    parameters.set(name, parsedAs(found->second, name, text));
  }
  return parameters;
}

std::vector<std::string> templateNames() {
  std::lock_guard lock(registry().mutex);
  std::vector<std::string> names;
  for (const auto& [name, held] : registry().templates) names.push_back(name);
  return names;
}

}  // namespace fattn
