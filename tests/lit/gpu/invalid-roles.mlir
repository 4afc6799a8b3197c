// SPDX-License-Identifier: Apache-2.0
// What the verifiers of operations on warp groups and programs refuse.
// RUN: fattn-opt %s -split-input-file -verify-diagnostics

func.func @least_of_what_is_no_number(%x: tensor<128xf32>) {
  // expected-error @+1 {{'tilegpu.warp_least' op needs a tile of i32, but got 'tensor<128xf32>'}}
  %least = tilegpu.warp_least %x : tensor<128xf32>
  return
}

// -----

#row = #tilegpu.regs<"lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (32), 2 -> (64) | dim0: 128">
func.func @last_of_a_machine_without_groups() attributes {tile.kernel, tilegpu.target = "nvidia:sm_80", tilegpu.warps = 4 : i64} {
  // expected-error @+1 {{'tilegpu.group_last' op needs a machine with warp groups}}
  %last = tilegpu.group_last #row
  return
}

// -----

#row = #tilegpu.regs<"lane: 1 -> (1), 2 -> (2), 4 -> (4), 8 -> (8), 16 -> (16); warp: 1 -> (32), 2 -> (64) | dim0: 128">
func.func @last_of_other_warps() attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  // expected-error @+1 {{'tilegpu.group_last' op needs a layout of the function's 8 warps in groups of 4, but this one has 4}}
  %last = tilegpu.group_last #row
  return
}

// -----

func.func @programs_without_ids() attributes {tilegpu.repeats} {
  // expected-error @+1 {{'tilegpu.each_program' op needs a region with arguments of type i32: the three ids of a program, its number in the block, which may be left out where nothing is carried, and one for each of the 0 numbers carried}}
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32):
  }
  return
}

// -----

func.func @programs_that_carry_without_a_number(%n: i32) attributes {tilegpu.repeats} {
  // expected-error @+1 {{and one for each of the 1 numbers carried}}
  tilegpu.each_program carry(%n) {
  ^bb0(%x: i32, %y: i32, %z: i32, %carried: i32):
    tilegpu.next_program %carried
  }
  return
}

// -----

func.func @programs_that_lose_what_they_carry(%n: i32) attributes {tilegpu.repeats} {
  // expected-error @+1 {{'tilegpu.each_program' op carries 1 numbers, but a program ends with 0}}
  tilegpu.each_program carry(%n) {
  ^bb0(%x: i32, %y: i32, %z: i32, %number: i32, %carried: i32):
  }
  return
}

// -----

func.func @programs_of_a_launch_that_gives_each_a_block() {
  // expected-error @+1 {{'tilegpu.each_program' op needs a function with the attribute tilegpu.repeats, for which a launch has fewer blocks than programs}}
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32, %z: i32):
  }
  return
}

// -----

func.func @programs_that_nobody_hands_out() attributes {tilegpu.repeats} {
  // expected-error @+1 {{'tilegpu.each_program' op is dynamic and needs a function with the attribute tilegpu.claims, which -tilegpu-allocate-shared sets}}
  tilegpu.each_program dynamic {
  ^bb0(%x: i32, %y: i32, %z: i32):
  }
  return
}

// -----

func.func @claim_in_pairs() attributes {tilegpu.repeats} {
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32, %z: i32):
    // expected-error @+1 {{'tilegpu.claim_program' op needs a tilegpu.each_program dynamic around it}}
    tilegpu.claim_program
  }
  return
}

// -----

func.func @take_in_pairs() attributes {tilegpu.repeats} {
  tilegpu.each_program {
  ^bb0(%x: i32, %y: i32, %z: i32):
    // expected-error @+1 {{'tilegpu.take_program' op needs to stand in the region of a tilegpu.each_program dynamic itself}}
    tilegpu.take_program
  }
  return
}

// -----

func.func @take_twice() attributes {tilegpu.repeats, tilegpu.claims = 0 : i64} {
  tilegpu.each_program dynamic {
  ^bb0(%x: i32, %y: i32, %z: i32):
    // expected-error @+1 {{'tilegpu.take_program' op stands twice in a program, which takes one next program}}
    tilegpu.take_program
    tilegpu.take_program
  }
  return
}

// -----

!boxes = !tilegpu.buffer<1 x 16x16xbf16, #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (0,8), 16 -> (1,0), 32 -> (2,0), 64 -> (4,0), 128 -> (8,0) | dim0: 16, dim1: 16">>
!window = !tile.block_ptr<16x16xbf16>

func.func @take_before_a_wait(%p: !window) attributes {tilegpu.repeats, tilegpu.claims = 0 : i64, tilegpu.tensor_maps = [{}]} {
  %zero = arith.constant 0 : i32
  %b = tilegpu.alloc : !boxes
  tilegpu.each_program dynamic {
  ^bb0(%x: i32, %y: i32, %z: i32):
    // expected-error @+1 {{'tilegpu.take_program' op stands in front of a wait for copies, which may need what this role has not given back}}
    tilegpu.take_program
    %t = tilegpu.copy_async %p, %b[%zero] map 0[] : !window, !boxes
    tilegpu.copy_wait %t in %b[%zero] : !boxes
  }
  return
}

// -----

func.func @owner_without_groups(%turn: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 4 : i64} {
  // expected-error @+1 {{'tilegpu.owner_only' op needs a machine with warp groups, and a function of two or more of them}}
  tilegpu.owner_only %turn {
  }
  return
}

// -----

func.func @owner_in_another(%turn: i32) attributes {tile.kernel, tilegpu.target = "nvidia:sm_90a", tilegpu.warps = 8 : i64} {
  tilegpu.owner_only %turn {
    // expected-error @+1 {{'tilegpu.owner_only' op stands in another one; legal is one for all that its owner does}}
    tilegpu.owner_only %turn {
    }
  }
  return
}

// -----

#s = #tilegpu.shared<"offset: 1 -> (0,1), 2 -> (0,2), 4 -> (0,4), 8 -> (1,0) | dim0: 2, dim1: 8">
func.func @wait_by_all(%slot: i32) {
  %b = tilegpu.alloc : !tilegpu.buffer<2 x 2x8xbf16, #s>
  // expected-error @+1 {{'tilegpu.slot_wait' op needs to stand in tilegpu.owner_only}}
  tilegpu.slot_wait %b[%slot] : !tilegpu.buffer<2 x 2x8xbf16, #s>
  return
}
