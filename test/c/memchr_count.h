/* SPDX-License-Identifier: MIT
 *
 * scan.c is compiled with memchr() renamed to fl_test_memchr(), which counts
 * how many bytes it was asked to look through.
 */
#ifndef MEMCHR_COUNT_H
#define MEMCHR_COUNT_H

#include <stddef.h>

/* Bytes up to and including the one that was found, or all of them. */
extern size_t fl_test_memchr_bytes;

void *fl_test_memchr(const void *data, int c, size_t n);

#endif
