/* SPDX-License-Identifier: MIT
 *
 * Found in the place of the C library's header when src/core is compiled for a
 * model: each atomic operation is a call, with the name of the function that it
 * stands in. What answers the call is the model's.
 */
#ifndef STEPPED_STDATOMIC_H
#define STEPPED_STDATOMIC_H

#include_next <stdatomic.h>
#include <stdint.h>

uint64_t fl_model_load(const char *function, const volatile void *at,
                       memory_order order);
void fl_model_store(const char *function, const volatile void *at,
                    uint64_t value, memory_order order);
uint64_t fl_model_exchange(const char *function, const volatile void *at,
                           uint64_t value, memory_order order);

#undef atomic_load_explicit
#define atomic_load_explicit(at, order) fl_model_load(__func__, (at), (order))

#undef atomic_store_explicit
#define atomic_store_explicit(at, value, order)                                \
  fl_model_store(__func__, (at), (value), (order))

#undef atomic_exchange_explicit
#define atomic_exchange_explicit(at, value, order)                             \
  fl_model_exchange(__func__, (at), (value), (order))

#endif
