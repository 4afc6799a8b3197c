// SPDX-License-Identifier: Apache-2.0
// A library that has the driver's first function and none of the others, as a driver from long ago would lack some.
extern "C" int cuInit(unsigned) { return 0; }
