/* SPDX-License-Identifier: MIT
 *
 * What the records of a ring mean (PROTOCOL.md, "Records").
 */
#ifndef FL_RECORD_H
#define FL_RECORD_H

#include <stdint.h>

/* Kinds. A value is one record, or FL_KIND_BEGIN and then parts; the numbers
 * are part of the format. */
typedef enum fl_kind {
  FL_KIND_LATIN1 = 1,      /* a string, one byte a character */
  FL_KIND_UTF16 = 2,       /* a string, two bytes a unit, native endian */
  FL_KIND_JSON_LATIN1 = 3, /* JSON text, one byte a character */
  FL_KIND_JSON_UTF16 = 4,  /* JSON text, two bytes a unit */
  FL_KIND_V8 = 5,          /* V8's serialization with Node's host objects */
  FL_KIND_INT32 = 6,       /* immediate */
  FL_KIND_DOUBLE = 7,      /* 64 bits, native endian */
  FL_KIND_CONSTANT = 8,    /* immediate: fl_constant */

  FL_KIND_BEGIN = 16, /* fl_begin_t: a value that comes in parts */
  FL_KIND_PART = 17,  /* the next bytes of it */

  FL_KIND_HELLO = 32, /* immediate: the segment's version. A program took this
                         end: what was begun before it will not be finished */
  FL_KIND_SWITCH = 33 /* immediate: what follows comes after the message
                         NODE_FORKLANE_SWITCH of this number on the socket */
} fl_kind_t;

typedef enum fl_constant {
  FL_CONSTANT_NULL = 0,
  FL_CONSTANT_FALSE = 1,
  FL_CONSTANT_TRUE = 2
} fl_constant_t;

/* The payload of FL_KIND_BEGIN, native endian. */
typedef struct fl_begin_s {
  uint64_t total; /* bytes of all parts */
  uint8_t kind;   /* of the value: LATIN1 to V8 */
  uint8_t zero[7];
} fl_begin_t;

#endif
