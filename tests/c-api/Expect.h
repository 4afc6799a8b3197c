/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that say what they expected, and what the library said last. */
#ifndef FATTN_TESTS_C_API_EXPECT_H
#define FATTN_TESTS_C_API_EXPECT_H

#include <fattn/c_api.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;
#define EXPECT(condition)                                                               \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      failures++;                                                                       \
      fprintf(stderr, "line %d: %s\n  %s\n", __LINE__, #condition, fattn_last_error()); \
    }                                                                                   \
  } while (0)
/* The call fails with the status, and with the text or one that begins with it. */
#define REFUSED(call, status, text) EXPECT((call) == (status) && strcmp(fattn_last_error(), (text)) == 0)
#define REFUSED_BEGINNING(call, status, text) EXPECT((call) == (status) && strncmp(fattn_last_error(), (text), strlen(text)) == 0)

#endif
