/* Stateful functors, which see the tables of texts and records. */
#include <stdlib.h>
#include <string.h>

#include "tidelog.h"

int64_t joined(const tidelog_symbols *symbols, const tidelog_records *records, int64_t left, int64_t right) {
    size_t first, second;
    const char *before = symbols->decode(left, &first);
    const char *after = symbols->decode(right, &second);
    char *both = malloc(first + second);
    memcpy(both, before, first);
    memcpy(both + first, after, second);
    int64_t code = symbols->encode(both, first + second);
    free(both);
    (void)records;
    return code;
}

/* .type List = [head: number, tail: List] */
int64_t longer(const tidelog_symbols *symbols, const tidelog_records *records, int64_t list) {
    (void)symbols;
    int64_t head = list == 0 ? 0 : records->unpack(list, 2)[0] + 1;
    int64_t fields[2] = {head, list};
    return records->pack(fields, 2);
}

/* Mistakes: a code that is none, nil taken apart, a record of another width, a result that is no code. */
int64_t wrong(const tidelog_symbols *symbols, const tidelog_records *records, int64_t which) {
    int64_t fields[3] = {1, 2, 3};
    if (which == 0) symbols->decode(1000000, NULL);
    if (which == 1) records->unpack(0, 2);
    if (which == 2) records->unpack(records->pack(fields, 3), 2);
    if (which == 3) symbols->encode("\xff", 1);
    return 1000000;
}
