// SPDX-License-Identifier: Apache-2.0
// Memory that a workgroup shares.
#include <algorithm>
#include <array>
#include <bit>

#include "simulator/MemoryOps.h"
#include "simulator/Table.h"

namespace fattn::simulator {
namespace {

/// Passes of the banks for one access of a wave.
struct Passes {
  std::uint64_t taken = 0, minimal = 0;
};

Passes countPasses(const LdsAccess& access, int lanes, int banks) {
  Passes passes;
  int together = std::max(1, banks * 4 / static_cast<int>(std::max(4U, access.bytes)));  // lanes that one pass could serve
  for (int first = 0; first < lanes; first += together) {
    std::array<std::array<std::uint32_t, 64>, 64> dwords;  // of each bank, those that some lane asks for
    std::array<std::uint32_t, 64> counts{};
    std::uint32_t worst = 0;
    for (int lane = first; lane < std::min(first + together, lanes); ++lane) {
      if ((access.lanes >> lane & 1) == 0) continue;
      for (std::uint32_t byte = 0; byte < std::max(4U, access.bytes); byte += 4) {
        std::uint32_t dword = (access.addresses[lane] + byte) / 4;
        std::size_t bank = dword % static_cast<std::uint32_t>(banks);
        auto end = dwords[bank].begin() + counts[bank];
        if (std::find(dwords[bank].begin(), end, dword) != end) continue;
        *end = dword;
        worst = std::max(worst, ++counts[bank]);
      }
    }
    passes.taken += worst;
    passes.minimal += worst != 0 ? 1 : 0;
  }
  return passes;
}

LdsAccess addressesOf(Wave& wave, const Instruction& instruction, const Operand& address, int element) {
  wave.checkDefined(address, "the address in LDS");
  if (wave.signaled) violate("accesses LDS between the two halves of a barrier, where other waves may not have arrived");
  const Access& access = instruction.access;
  std::uint64_t offset = access.elements == 1
                             ? static_cast<std::uint32_t>(instruction.offset)
                             : (element == 0 ? instruction.offset0 : instruction.offset1) * static_cast<std::uint64_t>(access.stride);
  LdsAccess result{.lanes = wave.exec, .bytes = access.bytes, .addresses = {}};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!wave.active(lane)) continue;
    std::uint64_t at = wave.row(address.index)[lane] + offset;
    checkAlignment(at, access, 4, lane);
    wave.group->lds.checkBounds(at, access.bytes, lane);
    result.addresses[lane] = static_cast<std::uint32_t>(at);
  }
  bool wide = access.kind == Access::Load && access.bytes >= 8;
  Passes passes = countPasses(result, wave.lanes, wide ? wave.chip().wideLdsBanks : 32);
  wave.group->statistics.ldsPasses += passes.taken;
  wave.group->statistics.ldsMinimalPasses += passes.minimal;
  return result;
}

void loadLocal(Wave& wave, const Instruction& instruction) {
  const Access& access = instruction.access;
  const Operand &destination = instruction.operands[0], &address = instruction.source(0);
  Outstanding load{.counters = Counters::bit(Counter::Local),
                   .source = &instruction,
                   .registers = Operand::Vector,
                   .first = destination.index,
                   .count = destination.dwords,
                   .readsLds = true};
  for (int element = 0; element < access.elements; ++element) load.lds.push_back(addressesOf(wave, instruction, address, element));
  for (int element = 0; element < access.elements; ++element) {
    int index = destination.index + element * access.bytes / 4;
    for (int lane = 0; lane < wave.lanes; ++lane) {
      if (!wave.active(lane)) continue;
      std::array<std::byte, 16> bytes{};
      wave.group->lds.read(wave.number, lane, load.lds[static_cast<std::size_t>(element)].addresses[lane], access.bytes, bytes.data());
      receiveLane(wave, access, index, lane, bytes.data());
    }
  }
  for (int i = 0; i < destination.dwords; ++i) wave.undefined(destination.index + i) &= ~wave.exec;
  wave.counters.issue(std::move(load));
}

/// gfx950: a transposed load of 4 elements of 16 bits. Of 16 lanes each, lane i takes element i % 4 of what the lanes i / 4 + 4 j load.
void loadLocalTransposed(Wave& wave, const Instruction& instruction) {
  if (wave.exec != wave.allLanes) violate("transposes with lanes switched off");
  loadLocal(wave, instruction);
  int index = instruction.operands[0].index;
  std::array<Wave::Row, 2> loaded = {wave.rows[slot(index)], wave.rows[slot(index + 1)]};
  for (int lane = 0; lane < wave.lanes; ++lane)
    for (int j = 0; j < 4; ++j) {
      int i = lane & 15, element = i % 4;
      std::uint32_t value = loaded[slot(element / 2)][slot((lane & ~15) + 4 * j + i / 4)] >> element % 2 * 16 & 0xffff;
      std::uint32_t& into = wave.row(index + j / 2)[lane];
      into = j % 2 == 0 ? (into & 0xffff0000) | value : (into & 0xffff) | value << 16;
    }
}

void storeLocal(Wave& wave, const Instruction& instruction) {
  const Access& access = instruction.access;
  Outstanding store{.counters = Counters::bit(Counter::Local), .source = &instruction};
  for (int element = 0; element < access.elements; ++element) {
    const Operand& data = instruction.source(1 + element);
    wave.checkDefined(data, "what is stored");
    LdsAccess written = addressesOf(wave, instruction, instruction.source(0), element);
    for (int lane = 0; lane < wave.lanes; ++lane) {
      if (!wave.active(lane)) continue;
      std::array<std::byte, 16> bytes{};
      sendLane(wave, access, data.index, lane, bytes.data());
      wave.group->lds.write(wave.number, lane, written.addresses[lane], access.bytes, bytes.data());
    }
    store.lds.push_back(written);
  }
  wave.counters.issue(std::move(store));
}

/// "read2_b32", "2addr_stride64_b64" ...: takes the number of elements and their stride off the name.
std::string_view takeElements(std::string_view form, Access& access) {
  std::uint16_t scale = 1;
  if (form.starts_with("2addr_")) {
    access.elements = 2;
    form.remove_prefix(6);
    if (form.starts_with("stride64_")) scale = 64, form.remove_prefix(9);
  } else if (form.starts_with("2st64_")) {
    access.elements = 2, scale = 64;
    form.remove_prefix(6);
  } else if (form.starts_with("2_")) {
    access.elements = 2;
    form.remove_prefix(2);
  } else if (form.starts_with("_")) {
    form.remove_prefix(1);
  }
  access.stride = scale;
  return form;
}

}  // namespace

std::optional<Row> localRow(std::string_view mnemonic) {
  Access access;
  bool load = false;
  std::string_view form;
  for (auto [prefix, isLoad] :
       {std::pair<std::string_view, bool>{"ds_read", true}, {"ds_write", false}, {"ds_load_", true}, {"ds_store_", false}})
    if (mnemonic.starts_with(prefix)) load = isLoad, form = mnemonic.substr(prefix.size());
  if (form.empty()) return std::nullopt;
  bool transposed = mnemonic == "ds_read_b64_tr_b16";
  form = transposed ? "b64" : takeElements(form, access);
  auto known = accessOf(form, load ? Access::Load : Access::Store);
  if (!known) return std::nullopt;
  known->elements = access.elements;
  known->stride = static_cast<std::uint16_t>(access.stride * known->bytes);
  return Row{.name = "",
             .handler = transposed ? loadLocalTransposed
                        : load     ? loadLocal
                                   : storeLocal,
             .writes = load ? std::uint8_t{1} : std::uint8_t{0},
             .plainTaint = false,
             .access = *known};
}

}  // namespace fattn::simulator
