// SPDX-License-Identifier: Apache-2.0
// AMD's chips as devices that simulator/ executes: for tests, and for looking at what a kernel does wrong.
#ifndef FATTN_RUNTIME_SIMULATED_SIMULATEDDEVICE_H
#define FATTN_RUNTIME_SIMULATED_SIMULATEDDEVICE_H

#include "fattn/Device.h"

namespace fattn::simulated {

/// The device of "simulated:gfx942" or another chip that is simulated. Made at its first use and never destroyed. Launches run on the
/// calling thread; what a kernel does wrong is an Error{DeviceError} of the launch that names instruction, workgroup, wave and lane. Waves
/// of a workgroup run in ascending, in descending and in a drawn order in turns, from launch to launch. Memory has addresses that the host
/// does not use, each allocation far from the others, and begins as 0xff bytes: NaN in every floating-point type.
/// "modelled:gfx942": the same, but events read the clock of a model of time (simulator/Estimate.h), and where a launch has more than a few
/// workgroups, only samples of them run: what it computes is incomplete, and the time is that of the whole launch.
/// Throws Error{InvalidArgument} for other names.
Device& open(std::string_view target);

}  // namespace fattn::simulated

#endif
