/* SPDX-License-Identifier: MIT
 *
 * Replays the text cases of test/c/cases: an input and the log of events that
 * the frame parser must make of it, however the input is cut. Each case runs
 * whole, cut in two at each point, in chunks of each size, and in random
 * chunks. The grammar is at the top of each case file.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "../../src/core/bytes.h"
#include "../../src/core/frame.h"
#include "../../src/core/status.h"
#include "check.h"

enum { RANDOM_ROUNDS = 50 };

typedef struct case_s {
  char *title;
  fl_frame_format_t format;
  size_t max;
  fl_bytes_t input;
  fl_bytes_t log; /* expected, one line per event */
  int has_format;
  int has_max;
  int has_pending;
} case_t;

static struct CMUnitTest *tests;
static size_t test_count;
static unsigned long replays;

/* --- Logs ----------------------------------------------------------------- */

static void add(fl_bytes_t *b, const void *data, size_t n) {
  if (fl_bytes_append(b, data, n, SIZE_MAX) != FL_OK) abort();
}

static void add_text(fl_bytes_t *b, const char *text) {
  add(b, text, strlen(text));
}

static void add_number(fl_bytes_t *b, size_t n) {
  char text[32];

  snprintf(text, sizeof(text), " %zu", n);
  add_text(b, text);
}

static void log_frame(fl_bytes_t *log, size_t offset, const uint8_t *content,
                      size_t len) {
  char text[8];

  add_text(log, "frame");
  add_number(log, offset);
  add_number(log, len);
  add_text(log, " \"");
  for (size_t i = 0; i < len; i++) {
    uint8_t c = content[i];
    int as_is = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';

    snprintf(text, sizeof(text), as_is ? "%c" : "\\x%02x", c);
    add_text(log, text);
  }
  add_text(log, "\"\n");
}

static void log_error(fl_bytes_t *log, const char *name) {
  add_text(log, "error ");
  add_text(log, name);
  add_text(log, "\n");
}

static void log_pending(fl_bytes_t *log, size_t n) {
  add_text(log, "pending");
  add_number(log, n);
  add_text(log, "\n");
}

/* --- Reading a case file -------------------------------------------------- */

static const char *file_name;
static int line_number;

static void syntax(const char *what) {
  fprintf(stderr, "%s:%d: %s\n", file_name, line_number, what);
  exit(2);
}

static const char *skip_spaces(const char *s) {
  while (*s == ' ') s++;
  return s;
}

/* The text behind `word`, or NULL if the line begins with something else. */
static const char *after(const char *line, const char *word) {
  size_t n = strlen(word);

  if (strncmp(line, word, n) != 0) return NULL;
  if (line[n] != ' ' && line[n] != '\0') return NULL;
  return skip_spaces(line + n);
}

static size_t read_number(const char **s) {
  unsigned long long n;
  char *end;

  if (!isdigit((unsigned char) **s)) syntax("a number is missing");
  errno = 0;
  n = strtoull(*s, &end, 10);
  if (errno != 0 || n > SIZE_MAX) syntax("a number is too large");
  *s = skip_spaces(end);
  return (size_t) n;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

static uint8_t read_hex(const char **s) {
  int high = hex_digit((*s)[0]);
  int low = high < 0 ? -1 : hex_digit((*s)[1]);

  if (low < 0) syntax("two hex digits are missing");
  *s += 2;
  return (uint8_t) (high << 4 | low);
}

static void read_quoted(const char **s, fl_bytes_t *out) {
  ++*s;
  while (**s != '"') {
    uint8_t c = (uint8_t) * *s;

    if (c == '\0') syntax("a quote is not closed");
    ++*s;
    if (c == '\\') {
      char escape = **s;

      ++*s;
      if (escape == 'n')
        c = '\n';
      else if (escape == 'r')
        c = '\r';
      else if (escape == 'x')
        c = read_hex(s);
      else if (escape == '"' || escape == '\\')
        c = (uint8_t) escape;
      else
        syntax("an escape is unknown");
    }
    add(out, &c, 1);
  }
  ++*s;
}

/* item = [ number "*" ] ( quoted / hex ), separated by spaces. */
static void read_items(const char *s, fl_bytes_t *out) {
  while (*(s = skip_spaces(s)) != '\0') {
    const char *star = s + strspn(s, "0123456789");
    size_t times = 1;
    fl_bytes_t item = FL_BYTES_INIT;

    if (star > s && *star == '*') {
      times = read_number(&s);
      s = star + 1;
    }
    if (*s == '"') {
      read_quoted(&s, &item);
    } else {
      uint8_t c = read_hex(&s);
      add(&item, &c, 1);
    }
    if (*s != ' ' && *s != '\0') syntax("a space is missing");
    while (times-- > 0) add(out, item.base, item.len);
    fl_bytes_destroy(&item);
  }
}

static void read_frame(const char *s, fl_bytes_t *log) {
  size_t offset = read_number(&s);
  size_t len = read_number(&s);
  fl_bytes_t content = FL_BYTES_INIT;

  read_items(s, &content);
  if (content.len != len) syntax("the length is not that of the content");
  log_frame(log, offset, content.base, len);
  fl_bytes_destroy(&content);
}

static void read_line(case_t *c, const char *line) {
  const char *rest;

  if (c->has_pending) syntax("a case ends with `pending`");
  if ((rest = after(line, "format")) != NULL) {
    if (strcmp(rest, "lines") == 0)
      c->format = FL_FRAME_LINES;
    else if (strcmp(rest, "length") == 0)
      c->format = FL_FRAME_LENGTH;
    else
      syntax("a format is unknown");
    c->has_format = 1;
  } else if ((rest = after(line, "max")) != NULL) {
    c->max = strcmp(rest, "none") == 0 ? SIZE_MAX : read_number(&rest);
    c->has_max = 1;
  } else if ((rest = after(line, "input")) != NULL) {
    read_items(rest, &c->input);
  } else if ((rest = after(line, "frame")) != NULL) {
    read_frame(rest, &c->log);
  } else if ((rest = after(line, "error")) != NULL) {
    log_error(&c->log, rest);
  } else if ((rest = after(line, "pending")) != NULL) {
    log_pending(&c->log, read_number(&rest));
    c->has_pending = 1;
  } else {
    syntax("a keyword is unknown");
  }
}

static void check_complete(const case_t *c) {
  if (c == NULL) return;
  if (!c->has_format) syntax("the case above has no format");
  if (!c->has_max) syntax("the case above has no max");
  if (!c->has_pending) syntax("the case above has no `pending`");
}

static void run_case(void **state);

static case_t *new_case(const char *title) {
  struct CMUnitTest test = {NULL, run_case, NULL, NULL, NULL};
  case_t *c = calloc(1, sizeof(*c));

  tests = realloc(tests, (test_count + 1) * sizeof(*tests));
  if (c == NULL || tests == NULL) abort();
  c->title = malloc(strlen(title) + 1);
  if (c->title == NULL) abort();
  strcpy(c->title, title);
  test.name = c->title;
  test.initial_state = c;
  tests[test_count++] = test;
  return c;
}

static void read_file(const char *name) {
  char line[1024];
  case_t *c = NULL;
  FILE *file = fopen(name, "r");

  file_name = name;
  line_number = 0;
  if (file == NULL) syntax(strerror(errno));
  while (fgets(line, sizeof(line), file) != NULL) {
    size_t n = strlen(line);
    const char *rest;

    line_number++;
    if (n == 0 || line[n - 1] != '\n') syntax("a line is too long or cut");
    line[n - 1] = '\0';
    rest = skip_spaces(line);
    if (*rest == '\0' || *rest == '#') continue;
    if (after(rest, "case") != NULL) {
      check_complete(c);
      c = new_case(after(rest, "case"));
    } else {
      if (c == NULL) syntax("a file begins with `case`");
      read_line(c, rest);
    }
  }
  check_complete(c);
  fclose(file);
}

/* --- Replaying ------------------------------------------------------------ */

typedef struct replay_s {
  const case_t *c;
  fl_frame_t f;
  fl_bytes_t log;
  size_t fed;
  size_t offset; /* behind the last frame */
  int failed;
} replay_t;

static void replay_begin(replay_t *r, const case_t *c) {
  memset(r, 0, sizeof(*r));
  r->c = c;
  fl_frame_init(&r->f, c->format, c->max);
}

static void replay_frame(replay_t *r, const fl_frame_view_t *view) {
  size_t front = r->c->format == FL_FRAME_LENGTH ? FL_FRAME_HEADER : 0;
  size_t back = r->c->format == FL_FRAME_LENGTH ? 0 : 1;
  size_t offset = r->offset + front;

  r->offset = offset + view->len + back;
  assert_true(r->offset <= r->fed);
  log_frame(&r->log, offset, view->data, view->len);
}

/* The chunk lies in memory of its own that is gone afterwards. */
static void replay_chunk(replay_t *r, size_t n) {
  fl_frame_view_t view;
  uint8_t *chunk;
  int rc;

  chunk = exact_copy(n == 0 ? NULL : r->c->input.base + r->fed, n);
  r->fed += n;
  fl_frame_feed(&r->f, chunk, n);
  while ((rc = fl_frame_next(&r->f, &view)) == 1) {
    assert_false(r->failed);
    replay_frame(r, &view);
  }
  if (rc != 0 && !r->failed) log_error(&r->log, fl_status_name(rc));
  r->failed = rc != 0;
  free(chunk);
}

/* Compares the logs. `how` and `n` say how the input was cut. */
static void replay_end(replay_t *r, const char *how, size_t n) {
  const fl_bytes_t *expected = &r->c->log;

  assert_int_equal(r->fed, r->c->input.len);
  log_pending(&r->log, fl_frame_pending(&r->f));
  fl_frame_destroy(&r->f);
  replays++;
  if (r->log.len != expected->len ||
      memcmp(r->log.base, expected->base, expected->len) != 0) {
    print_error("%s %zu\n--- expected\n%.*s--- got\n%.*s", how, n,
                (int) expected->len, (const char *) expected->base,
                (int) r->log.len, (const char *) r->log.base);
    fail();
  }
  fl_bytes_destroy(&r->log);
}

static void run_case(void **state) {
  const case_t *c = *state;
  size_t len = c->input.len;
  uint32_t seed = 1;
  replay_t r;

  for (size_t split = 0; split <= len; split++) {
    replay_begin(&r, c);
    replay_chunk(&r, split);
    replay_chunk(&r, len - split);
    replay_end(&r, "cut in two at", split);
  }
  for (size_t size = 1; size <= len; size++) {
    replay_begin(&r, c);
    while (r.fed < len)
      replay_chunk(&r, len - r.fed < size ? len - r.fed : size);
    replay_end(&r, "in chunks of", size);
  }
  for (size_t round = 0; round < RANDOM_ROUNDS; round++) {
    replay_begin(&r, c);
    while (r.fed < len) {
      size_t most = len - r.fed < 8 ? len - r.fed : 8;
      replay_chunk(&r, draw(&seed) % (most + 1));
    }
    replay_end(&r, "in random chunks, round", round);
  }
}

int main(int argc, char **argv) {
  int failures;

  for (int i = 1; i < argc; i++) read_file(argv[i]);
  if (test_count == 0) {
    fprintf(stderr, "usage: %s CASE_FILE...\n", argv[0]);
    return 2;
  }

  /* The array is made at run time, which the macro in front of this function
   * does not allow for. */
  failures = _cmocka_run_group_tests("cases", tests, test_count, NULL, NULL);
  printf("%zu cases, %lu replays\n", test_count, replays);

  for (size_t i = 0; i < test_count; i++) {
    case_t *c = tests[i].initial_state;
    fl_bytes_destroy(&c->input);
    fl_bytes_destroy(&c->log);
    free(c->title);
    free(c);
  }
  free(tests);
  return failures;
}
