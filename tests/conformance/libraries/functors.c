/* Plain functors, of 64 bits as Tidelog's numbers; they need no header. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int64_t twice(int64_t x) { return 2 * x; }

int64_t collatz(int64_t x) { return x % 2 ? 3 * x + 1 : x / 2; }

int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

int64_t add(int64_t total, int64_t x) { return total + x; }

int64_t minus_seven(void) { return -7; }

uint64_t flip(uint64_t bits) { return ~bits; }

double mixed(int64_t a, double b, uint64_t c, double d, int64_t e, double f) {
    return (double)a + 10 * b + 100 * (double)c + 1000 * d + 10000 * (double)e + 100000 * f;
}

double nothing_by_nothing(double zero) { return zero / zero; }

int64_t length(const char *text) { return (int64_t)strlen(text); }

/* Its value is overwritten by the next call, as is usual. */
const char *shout(const char *text) {
    static char loud[4096];
    size_t end = 0;
    for (; text[end] && end < sizeof loud - 2; end++) loud[end] = (char)toupper((unsigned char)text[end]);
    loud[end] = '!';
    loud[end + 1] = 0;
    return loud;
}

const char *repeated(const char *text, int64_t times) {
    static char buffer[65536];
    char *end = buffer;
    for (; times > 0; times--) end += sprintf(end, "%s", text);
    *end = 0;
    return buffer;
}

/* What comes before a separator; texts without it have none. */
const char *before(const char *text, const char *separator) {
    static char part[4096];
    const char *found = strstr(text, separator);
    if (!found) return NULL;
    memcpy(part, text, (size_t)(found - text));
    part[found - text] = 0;
    return part;
}

const char *broken(int64_t ignored) { (void)ignored; return "\xff\xfe"; }
