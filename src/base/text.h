/* Numbers, sizes and durations as people write them; parsed once, at the edge, with bounds. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB 1024ULL
#define MIB (1024ULL * KIB)
#define GIB (1024ULL * MIB)
#define TIB (1024ULL * GIB)

/* Why a text was not accepted; the caller writes the sentence. */
enum text_fault {
    TEXT_OK = 0,
    TEXT_EMPTY,
    TEXT_NEGATIVE,
    TEXT_NOT_A_NUMBER,
    TEXT_BAD_UNIT,
    TEXT_TOO_LARGE,
    TEXT_TOO_FINE /* more digits after the point than the unit can hold */
};

/* "64" */
enum text_fault text_parse_count(const char *text, uint64_t *ret);
/* "512m", "1.5g", "256MB", "100": binary multiples; a bare number is bytes. */
enum text_fault text_parse_size(const char *text, uint64_t *ret_bytes);
/* "500ms", "30s", "2m", "1.5h"; a bare number is seconds, as for timeout(1). */
enum text_fault text_parse_duration(const char *text, uint64_t *ret_ms);
/* "1.5" -> 1500 */
enum text_fault text_parse_millis(const char *text, uint64_t *ret_thousandths);

const char *text_fault_reason(enum text_fault fault);

/* Short exact forms, for messages: "512m", "30s", "1.5". */
void text_format_size(uint64_t bytes, char *buf, size_t size);
void text_format_duration(uint64_t ms, char *buf, size_t size);
void text_format_millis(uint64_t thousandths, char *buf, size_t size);

/* The candidate nearest to `word` within two edits, or NULL: "did you mean". */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);

/* Where a text ends with `with`; NULL: it does not. */
const char *text_ends(const char *text, size_t len, const char *with);
/* A list with commas, which has the word. */
bool text_list_has(const char *list, const char *word);

bool text_is_utf8(const void *data, size_t len);
/* Length of the character at `text`, of which `left` bytes are there; 0: not well-formed UTF-8. */
size_t text_character_len(const void *text, size_t left);
/* The same; 0 also for characters that text_copy_visibly changes. */
size_t text_visible_len(const char *text, size_t left);

/* Copies untrusted text: control characters, those that change the direction of reading or that
 * nobody sees, and what is no UTF-8 become \x1b and the like.  What does not fit ends in dots.  Its
 * own output it leaves as it is. */
void text_copy_visibly(char *to, size_t size, const char *from, size_t len);

/* Relative, no empty, "." or ".." component, at most `max` bytes. */
bool text_is_relative_path(const char *path, size_t max);
/* The same without control characters. */
bool text_is_safe_relative_path(const char *path, size_t max);

/* As asprintf: the caller frees it; NULL without memory. */
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
