// The function says how many waves a SIMD is to hold, where the machine holds as many with its warps and shared memory.
// RUN: fattn-opt %s -tilegpu-bound-waves=waves=2 -split-input-file -verify-diagnostics | FileCheck %s
// RUN: not fattn-opt %s -tilegpu-bound-waves=waves=0 -split-input-file 2>&1 | FileCheck %s --check-prefix=ZERO

// Two blocks of 32 KiB on four SIMDs.
// CHECK: func.func @two
// CHECK-SAME: tilegpu.waves = 2 : i64
// ZERO: waves0 asks for 0 waves a SIMD; with 4 waves and 32768 bytes of shared memory a program legal numbers on amd:gfx942 are 1 to 2
// ZERO-NEXT: hint: leave it out to let the compiler choose
func.func @two() attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 32768 : i64} {
  return
}

// -----

// Nothing of a function that no pass has given a machine.
// CHECK: func.func @helper()
// CHECK-NOT: tilegpu.waves
func.func @helper() {
  return
}

// -----

// expected-error-re @below {{{{waves2 asks for 2 waves a SIMD; with 4 waves and 40960 bytes of shared memory a program legal numbers on amd:gfx942 are 1 to 1.*leave it out}}}}
func.func @full() attributes {tile.kernel, tilegpu.target = "amd:gfx942", tilegpu.warps = 4 : i64, tilegpu.shared_bytes = 40960 : i64} {
  return
}

// -----

// expected-error @below {{waves2 asks for waves a SIMD, which nvidia:sm_90a has no bound of registers for}}
func.func @other() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  return
}
