// SPDX-License-Identifier: Apache-2.0
// The machine, described once: what the passes, the resource model, the scheduler and the tuner's pruning ask instead of
// testing for a chip's name. One row a chip; the rows are in targets/, each figure with its source.
//
// An SM here is what shares one shared memory: a streaming multiprocessor (NVIDIA) or a compute unit (AMD). How many of them a
// device has, its clock and its memory's speed differ between products of one row: they are run-time values and not in this table.
// A figure that nobody has published or measured is left out (std::nullopt), never guessed: whoever needs it has to say so.
#ifndef FATTN_COMPILER_GPU_TARGET_H
#define FATTN_COMPILER_GPU_TARGET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fattn/DType.h"

namespace fattn::gpu {

/// Where an operand may live.
enum class Home : std::uint8_t { Registers = 1, Shared = 2, TensorMemory = 4 };
/// A set of homes.
struct Homes {
  std::uint8_t bits = 0;
  bool has(Home home) const { return (bits & static_cast<std::uint8_t>(home)) != 0; }
};
constexpr Homes operator|(Home a, Home b) {
  return {static_cast<std::uint8_t>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b))};
}
constexpr Homes only(Home home) { return {static_cast<std::uint8_t>(home)}; }

/// Cycles that one instruction with n columns keeps the matrix units of an SM busy when all of them are fed:
/// max(perColumn * n, (A in shared memory ? sharedA : 0) + sharedBPerColumn * n).
struct MatrixCycles {
  double perColumn = 0;
  double sharedA = 0;
  double sharedBPerColumn = 0;
};

struct MatrixInstruction {
  std::string_view name = {};         ///< as the instruction set calls the family: "wgmma", "mma.sync", "mfma", "wmma"
  std::vector<DType> types = {};      ///< of A and B; F32 stands for tf32, xf32 or f32 itself
  int m = 0, k = 0;                   ///< rows and depth of one instruction
  int minK = 0;                       ///< depth of the shallowest instruction of this form; 0: k
  int pieces = 1;                     ///< instructions, each of depth k / pieces, that take a lane's numbers of A and B in turn
  int minN = 0, maxN = 0, stepN = 0;  ///< legal columns
  int warps = 1;                      ///< that execute one instruction together
  Homes a = {}, b = {}, accumulator = {};
  std::string_view layout = {};  ///< of the accumulator, as the layout library calls it
  bool inRuns = false;           ///< a lane's numbers of A and B follow each other along the depth, in an order that the two share
  bool asynchronous = false;     ///< the issuing warps go on; a wait names the result
  bool inOrder = false;          ///< asynchronous instructions complete in the order of their issue
  bool occupiesAlu = false;      ///< no vector instruction of any warp runs where it is under way
  std::optional<MatrixCycles> cycles = {};

  bool takes(DType type) const;
  /// One warp executes it on operands and an accumulator in registers, and goes on when it has the result.
  bool isInRegisters() const;
  int shallowest() const { return minK ? minK : k; }
  /// Cycles of one instruction; nothing where the table has no figure.
  std::optional<double> cyclesOf(int n, bool aInShared) const;
};

enum class CopyKind : std::uint8_t { Register, CpAsync, BulkTensor, DirectToShared };
enum class Issuer : std::uint8_t { Thread, OneThread, Warp };
enum class Completion : std::uint8_t { Register, Group, Mbarrier, Counter };

/// A way to bring a tile from global to shared memory.
struct CopyEngine {
  CopyKind kind = CopyKind::Register;
  std::vector<int> bytes = {};  ///< a thread and instruction may move; empty: a whole box
  int alignment = 4;            ///< of the global address, for the largest of `bytes`
  bool fillsOutside = false;    ///< elements outside of the tensor become zero without a test in the kernel
  Issuer issuer = Issuer::Thread;
  Completion completion = Completion::Register;
  int slotsOfTile = 0;  ///< of issue that a copy of a tile costs beside its instructions
  bool asynchronous() const { return kind != CopyKind::Register; }
};

struct SharedMemory {
  std::int64_t bytesPerBlock = 0, bytesPerSM = 0;
  int banks = 32, bankBytes = 4;
  std::optional<double> bytesPerCycle = {};
  std::vector<int> wideGroup = {1, 2, 4};  ///< lanes that differ in these bits are served together where each moves 16 bytes
  std::int64_t reservedPerBlock = 0;       ///< bytes of an SM that the system takes for every block
  bool readsMatrices = false;              ///< a warp has an instruction that reads 8 x 8 matrices whose rows are 16 bytes
};

struct RegisterFile {
  int perThread = 0;          ///< the most that one thread can address
  std::int64_t perSM = 0;     ///< 32-bit registers
  int granule = 8;            ///< registers a thread are allocated in multiples of
  bool reallocation = false;  ///< warp groups may hand registers to each other while they run
};

struct Barriers {
  int named = 1;          ///< block barriers with a number
  bool mbarrier = false;  ///< barrier objects in shared memory with a phase
  bool split = false;     ///< arrive and wait are two instructions
  bool orderAll = true;   ///< each orders global memory as well as shared memory, at no further cost
  bool votes = true;      ///< one tells all threads whether any of them met a condition; else they vote in shared memory
  bool counters = false;  ///< instructions of their own wait for loads, for stores, and for shared memory
};

/// Lane operations an SM does in a cycle.
struct Rates {
  std::optional<double> exp2 = {}, fma = {}, add = {}, convert = {}, shuffle = {};
  double issue = 0;             ///< warp instructions an SM issues in a cycle
  bool convertsToBF16 = false;  ///< an instruction rounds f32 to bf16
};

struct Target {
  std::string_view name = {};  ///< "nvidia:sm_90a"
  int warpSize = 32;
  int maxWarps = 0;                   ///< resident on an SM
  int simds = 0;                      ///< of an SM, where the code generator bounds registers by the warps that one of them holds; else 0
  int smsOfBlock = 1;                 ///< whose SIMDs and shared memory the warps of a block are spread over
  int maxThreads = 1024;              ///< of a block
  std::optional<int> warpGroup = {};  ///< warps that act as one for matrix instructions and register reallocation
  std::vector<MatrixInstruction> matrix = {};
  std::vector<CopyEngine> copies = {};
  SharedMemory shared = {};
  RegisterFile registers = {};
  Barriers barriers = {};
  Rates rates = {};
  bool overlapsLaunches = false;  ///< a kernel may start before the one in front of it has ended, and waits for it by an instruction
  int mostClusterBlocks = 1;      ///< blocks that reach each other's shared memory, and may share copies
  int dies = 1;                   ///< with a cache of their own, to which the device deals blocks in turns, in the largest product
  int addedBytes = 4;             ///< of neighbours that one instruction adds to memory atomically; one element where that is wider

  /// The best instruction for operands of this type, or the one of this name; null where there is none.
  const MatrixInstruction* matrixFor(DType type, std::string_view name = {}) const;
  /// The first instruction for operands of this type that leaves its result in registers, as all do that are emitted; null: there is none.
  const MatrixInstruction* emittedFor(DType type) const;
  /// Whether several warps have an instruction of theirs (wgmma) that multiplies what an engine has copied to shared memory.
  bool multipliesByGroups() const;
  const CopyEngine* copy(CopyKind kind) const;
};

/// What passes take where no target is named: the first row.
std::string_view defaultTarget();
/// The row of a target; throws InvalidArgument that lists the legal names.
const Target& findTarget(std::string_view name);
/// Every legal name, in the order of the table.
std::vector<std::string_view> targetNames();

/// Registers a thread of `groups` computing groups of `threads` threads may use. With reallocation a further group, which only
/// copies, keeps `copierRegisters` and gives the rest of its share to the others; 0: there is none.
int registerLimit(const Target& target, int groups, int threads, int copierRegisters = 24);

namespace targets {
std::vector<Target> nvidia();
std::vector<Target> amd();
}  // namespace targets

}  // namespace fattn::gpu

#endif
