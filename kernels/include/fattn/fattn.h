// SPDX-License-Identifier: Apache-2.0
// Everything an engine author needs: kernels, tensors, devices, errors. The tile language is in "fattn/dsl/Dsl.h".
#ifndef FATTN_FATTN_H
#define FATTN_FATTN_H

#include "fattn/Attention.h"
#include "fattn/Backward.h"
#include "fattn/DType.h"
#include "fattn/Decode.h"
#include "fattn/Device.h"
#include "fattn/Error.h"
#include "fattn/Handles.h"
#include "fattn/Host.h"
#include "fattn/Kernel.h"
#include "fattn/Library.h"
#include "fattn/Overlap.h"
#include "fattn/Target.h"
#include "fattn/Template.h"
#include "fattn/TensorView.h"
#include "fattn/TileConfig.h"
#include "fattn/Varlen.h"
#include "fattn/Version.h"

#endif
