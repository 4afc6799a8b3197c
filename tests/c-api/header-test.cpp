// SPDX-License-Identifier: Apache-2.0
// fattn/c_api.h is legal C++11 without a warning, and its functions have C linkage: this links.
#include "fattn/c_api.h"

int main() { return fattn_c_api_version() == FATTN_C_API_VERSION ? 0 : 1; }
