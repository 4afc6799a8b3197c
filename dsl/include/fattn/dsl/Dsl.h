// SPDX-License-Identifier: Apache-2.0
// The tile language: everything a kernel author includes. docs/language.md is its tutorial and reference.
#ifndef FATTN_DSL_DSL_H
#define FATTN_DSL_DSL_H

#include "fattn/dsl/Control.h"
#include "fattn/dsl/Operators.h"
#include "fattn/dsl/Ops.h"
#include "fattn/dsl/Trace.h"
#include "fattn/dsl/Types.h"

#endif
