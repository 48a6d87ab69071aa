/* Functors as for a Soufflé whose numbers have 32 bits. */
#include <stdint.h>

int32_t negated(int32_t x) { return -x; }

uint32_t inverted(uint32_t x) { return ~x; }

float halved(float x) { return x / 2; }

float sum_of(int32_t a, float b, uint32_t c, float d) { return (float)a + b + (float)c + d; }
