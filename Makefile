# The C core without Node: tests under the sanitizers, fuzzing, layout, and the
# rule of which room may include what. The addon itself is built by node-gyp.
# SPDX-License-Identifier: MIT

CC ?= cc
CLANG ?= clang
CLANG_FORMAT ?= clang-format
FUZZ_SECONDS ?= 30

OUT = test/build
WARN = -std=c11 -Wall -Wextra -Werror -g
CHECKED = -fsanitize=address,undefined -fno-sanitize-recover=all \
  -fno-omit-frame-pointer
# The transport wants the system beside C11; memory comes from a header that
# counts it and can refuse it.
DEFS = -D_GNU_SOURCE -DFL_ALLOC_HEADER='"alloc_fault.h"' -Itest/c

CORE = $(wildcard src/core/*.c) $(wildcard src/transport/*_posix.c)
HELPERS = test/c/alloc_fault.c test/c/memchr_count.c test/c/ring_memory.c
TESTS = $(notdir $(basename $(wildcard test/c/*_test.c)))
CASES = $(wildcard test/c/cases/*.txt)
FUZZERS = frame ring text
FORMATTED = $(wildcard src/*/*.[ch] src/*/*.cc test/c/*.[ch] test/fuzz/*.[ch] \
  test/model/*.[ch] test/model/*/*.h)

LIB_OBJS = $(patsubst %.c,$(OUT)/%.o,$(CORE) $(HELPERS))
TEST_BINS = $(TESTS:%=$(OUT)/%)
GENERIC_BINS = $(OUT)/generic_segment $(OUT)/generic_wake

.PHONY: all test tsan model fuzz $(FUZZERS:%=fuzz-%) format check-format \
  layers clean
all: test

# --- Tests ------------------------------------------------------------------

test: $(TEST_BINS) $(GENERIC_BINS) $(OUT)/ring_model
	@set -e; for t in $(TESTS); do \
	  echo "# $$t"; \
	  if [ $$t = cases_test ]; then $(OUT)/$$t $(CASES); else $(OUT)/$$t; fi; \
	done
	@set -e; for t in $(GENERIC_BINS); do echo "# $$t"; $$t; done
	@echo "# ring_model"; $(OUT)/ring_model

$(OUT)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(WARN) $(CHECKED) $(DEFS) $(CFLAGS) -MMD -MP -c -o $@ $<

# frame_test counts the bytes that the scanner is asked to look at.
$(OUT)/src/core/scan.o: DEFS += -Dmemchr=fl_test_memchr

$(TEST_BINS): $(OUT)/%: $(OUT)/test/c/%.o $(LIB_OBJS)
	$(CC) $(CHECKED) -pthread $(LDFLAGS) -o $@ $^ -lcmocka

# Shared memory and wakes as on a POSIX system that is not Linux.
$(GENERIC_BINS): $(OUT)/generic_%: test/c/%_test.c src/transport/%_posix.c \
    $(wildcard src/core/*.h src/transport/*.h test/c/*.h) $(LIB_OBJS) Makefile
	$(CC) $(WARN) $(CHECKED) $(DEFS) -DFL_GENERIC_POSIX $(CFLAGS) $(LDFLAGS) \
	  -o $@ $(filter test/% src/transport/%_posix.c,$(filter %.c,$^)) \
	  $(OUT)/src/core/ring.o $(OUT)/src/core/status.o \
	  $(OUT)/test/c/alloc_fault.o -lcmocka

-include $(LIB_OBJS:.o=.d) $(TESTS:%=$(OUT)/test/c/%.d)

# What AddressSanitizer has no eye for: whether what one thread writes and the
# other reads is in order. For longer, with optimization.
RACES = -O1 -fsanitize=thread -DRECORDS=100000
RACE_SOURCES = test/c/ring_threads_test.c src/core/ring.c \
  test/c/alloc_fault.c test/c/ring_memory.c

tsan: $(OUT)/ring_races
	TSAN_OPTIONS=halt_on_error=1 $<

$(OUT)/ring_races: $(RACE_SOURCES) $(wildcard src/core/*.h test/c/*.h) Makefile
	@mkdir -p $(@D)
	$(CC) $(WARN) $(RACES) $(DEFS) $(CFLAGS) -pthread $(LDFLAGS) -o $@ \
	  $(RACE_SOURCES) -lcmocka

# --- Model ------------------------------------------------------------------

# Every schedule of the ring's two sides. The atomic operations of ring.c become
# calls of the model, by a header that is found in the place of libc's.
MODEL_SOURCES = $(wildcard test/model/*.c) src/core/ring.c \
  test/c/alloc_fault.c test/c/ring_memory.c

model: $(OUT)/ring_model
	$<

# AddressSanitizer would make it three times as slow; the same code of ring.c
# runs under it above.
$(OUT)/ring_model: $(MODEL_SOURCES) $(wildcard src/core/*.h test/c/*.h) \
    $(wildcard test/model/*.h test/model/*/*.h) Makefile
	@mkdir -p $(@D)
	$(CC) $(WARN) -O2 -fsanitize=undefined -fno-sanitize-recover=all $(DEFS) \
	  -Itest/model/stepped $(CFLAGS) $(LDFLAGS) -o $@ $(MODEL_SOURCES) -lcmocka

# --- Fuzzing ----------------------------------------------------------------

# New inputs stay in the build directory. One that finds something new and is
# small may be moved to test/fuzz/corpus by hand.
fuzz: $(FUZZERS:%=fuzz-%)

$(FUZZERS:%=fuzz-%): fuzz-%: $(OUT)/fuzz_%
	@mkdir -p $(OUT)/corpus/$*
	$(OUT)/fuzz_$* -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
	  -verbosity=0 -print_final_stats=1 \
	  -artifact_prefix=$(OUT)/$*- $(OUT)/corpus/$* test/fuzz/corpus/$*

FUZZ_SOURCES = $(wildcard src/core/*.c) test/c/alloc_fault.c \
  test/c/ring_memory.c
$(FUZZERS:%=$(OUT)/fuzz_%): $(OUT)/fuzz_%: test/fuzz/fuzz_%.c $(FUZZ_SOURCES) \
    $(wildcard src/core/*.h test/c/*.h test/fuzz/*.h) Makefile
	@mkdir -p $(@D)
	$(CLANG) $(WARN) -O1 -fsanitize=fuzzer,address,undefined \
	  -fno-sanitize-recover=all $(DEFS) -o $@ $< $(FUZZ_SOURCES)

# --- Lint -------------------------------------------------------------------

format:
	$(CLANG_FORMAT) -i $(FORMATTED)

check-format:
	$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

# `rule DIRECTORY ALLOWED WHY` fails if a file there includes anything that does
# not match ALLOWED whole. A name without a slash is the file's own directory,
# because no include path is set for src.
C11_NAMES = assert ctype errno inttypes limits math setjmp signal stdalign \
  stdarg stdatomic stdbool stddef stdint stdio stdlib string time
empty :=
C11 = <($(subst $(empty) $(empty),|,$(strip $(C11_NAMES))))\.h>
OWN = "[a-z0-9_]+\.h"
NODE_API = [<"](node_api|js_native_api)(_types)?\.h[>"]
NODE_CXX_NAMES = (v8|cppgc/|libplatform/)[^>"]*|node(_[a-z_]+)?\.h|napi(-inl)?\.h
NODE_CXX = [<"]($(NODE_CXX_NAMES))[>"]
# What an angle include may name outside core, as long as it is not Node's.
ANY = <[^>]+>

layers:
	@bad=0; \
	includes() { \
	  grep -nE '^[[:space:]]*#[[:space:]]*(include|include_next|import)' \
	    $$(find "$$1" -type f -name '*.[ch]*') /dev/null | \
	    sed -E 's,^([^:]+:[0-9]+):[^a-z]*[a-z_]+[[:space:]]*,\1 ,' | \
	    sed -E 's,[[:space:]]*(//|/\*).*$$,,'; \
	}; \
	report() { \
	  if [ -n "$$1" ]; then echo "$$1" | sed "s,^,layers: ,"; \
	    echo "layers: $$2"; bad=1; fi; \
	}; \
	rule() { \
	  report "$$(includes "$$1" | grep -vE "^[^ ]+ ($$2)\$$")" "$$3"; \
	}; \
	rule src/core '$(C11)|$(OWN)|FL_ALLOC_HEADER' \
	  'src/core includes nothing but itself and the C library'; \
	rule src/transport '$(ANY)|$(OWN)|"\.\./core/[a-z0-9_]+\.h"' \
	  'src/transport includes itself, ../core, uv.h and the OS'; \
	rule src/v8 '$(ANY)|$(OWN)|"\.\./(core|transport)/[a-z0-9_]+\.h"' \
	  'src/v8 includes itself, ../core and ../transport'; \
	rule src/node '$(ANY)|$(OWN)|"\.\./(core|transport|v8)/[a-z0-9_]+\.h"' \
	  'src/node includes itself, ../core, ../transport and ../v8'; \
	report "$$(includes src | grep -vE '^src/v8/' | \
	  grep -E ' $(NODE_CXX)$$' | grep -vE ' $(NODE_API)$$')" \
	  'V8 and the C++ side of Node are included only in src/v8'; \
	report "$$(includes src | grep -vE '^src/(node/|v8/[a-z]+\.h:)' | \
	  grep -E ' $(NODE_API)$$')" \
	  'Node-API is included only in src/node and the headers of src/v8'; \
	exit $$bad

clean:
	rm -rf $(OUT)
