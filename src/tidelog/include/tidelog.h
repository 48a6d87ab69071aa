/* What functors in C libraries see of Tidelog.
 *
 * A plain functor needs nothing of this: `number` is int64_t, `unsigned` is uint64_t, `float` is double and
 * `symbol` is const char *, a text in UTF-8. What a functor returns for a symbol is copied and never freed;
 * NULL means that there is no value, and so no derivation.
 *
 * A functor that is declared `stateful` gets two tables and codes:
 *
 *     .functor reversed(text: symbol): symbol stateful
 *
 *     int64_t reversed(const tidelog_symbols *symbols, const tidelog_records *records, int64_t text);
 *
 * The code of a number is the number, that of an unsigned or a float its 64 bits; nil is 0.
 */
#ifndef TIDELOG_H
#define TIDELOG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tidelog_symbols {
    /* Return the code of a text of so many bytes, a new one if it has none. */
    int64_t (*encode)(const char *text, size_t size);
    /* Return the text of a code, with a NUL behind it; size may be NULL. Valid until the functor returns. */
    const char *(*decode)(int64_t code, size_t *size);
} tidelog_symbols;

typedef struct tidelog_records {
    /* Return the code of a record. */
    int64_t (*pack)(const int64_t *fields, size_t width);
    /* Return the fields of a record that is not nil. Valid until the functor returns. */
    const int64_t *(*unpack)(int64_t code, size_t width);
} tidelog_records;

/* By this Tidelog knows a library that was compiled with this header. */
#if defined(__GNUC__)
__attribute__((weak, visibility("default")))
#endif
int tidelog_interface = 1;

#ifdef __cplusplus
}
#endif

#endif
