// What all kernels share: sets of facts, indexes, and queues of long postings.
//
// A thread never waits for another one, except for a slot that is being written. So the same source runs on a
// GPU, and as plain C++ where there is none: there `KERNEL` makes a function that runs a range of threads.

#ifdef __CUDACC__
#define DEVICE static __device__
#define STATE __constant__
#define KERNEL(name)                                                                              \
    DEVICE void name##_thread(u64 thread, u64 threads);                                           \
    extern "C" __global__ void name() {                                                           \
        name##_thread(blockIdx.x * (u64)blockDim.x + threadIdx.x, gridDim.x * (u64)blockDim.x);   \
    }                                                                                             \
    DEVICE void name##_thread(u64 thread, u64 threads)
#else
#include <cmath>
#include <cstring>
#define DEVICE static
#define STATE
#define KERNEL(name)                                                                              \
    DEVICE void name##_thread(u64 thread, u64 threads);                                           \
    extern "C" void name(u64 first, u64 last, u64 threads) {                                      \
        for (u64 thread = first; thread < last; thread++) name##_thread(thread, threads);         \
    }                                                                                             \
    DEVICE void name##_thread(u64 thread, u64 threads)
#endif

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;

#ifdef __CUDACC__
DEVICE u64 swap_if(u64* place, u64 expected, u64 value) { return atomicCAS(place, expected, value); }
DEVICE u64 add(u64* place, u64 amount) { return atomicAdd(place, amount); }
DEVICE u32 add_small(u32* place, u32 amount) { return atomicAdd(place, amount); }
DEVICE u64 read(const u64* place) { return *(volatile const u64*)place; }
DEVICE void write(u64* place, u64 value) { *(volatile u64*)place = value; }
DEVICE void fence() { __threadfence(); }
DEVICE i64 bits_of(double value) { return __double_as_longlong(value); }
DEVICE double float_of(i64 code) { return __longlong_as_double(code); }
#else
static u64 swap_if(u64* place, u64 expected, u64 value) {
    __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
static u64 add(u64* place, u64 amount) { return __atomic_fetch_add(place, amount, __ATOMIC_SEQ_CST); }
static u32 add_small(u32* place, u32 amount) { return __atomic_fetch_add(place, amount, __ATOMIC_SEQ_CST); }
static u64 read(const u64* place) { return __atomic_load_n(place, __ATOMIC_SEQ_CST); }
static void write(u64* place, u64 value) { __atomic_store_n(place, value, __ATOMIC_SEQ_CST); }
static void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static i64 bits_of(double value) { i64 code; memcpy(&code, &value, 8); return code; }
static double float_of(i64 code) { double value; memcpy(&value, &code, 8); return value; }
#endif

// A posting: where its entries are, how many there are and fit, and how many were there before this iteration.
struct Group {
    u64 start;
    u32 count, room, old, stamp, wanted, unused;
};

struct Range {
    u64 begin, end;
};

// What an aggregate has made of the bindings it has seen, and how many these are.
struct Result {
    i64 value;
    u64 count;
};

// Counters that every program has; those of relations, indexes and queues follow.
enum { STOP, STAGE, ITERATION, FINISHED, MOVED, COUNTERS };

// Longer postings are cut into pieces, each for the threads of a warp.
enum { LIGHT = 24, PIECE = 512, LANES = 32 };

// Key 0 of a table means that the slot is empty, so keys and words are kept plus one.
DEVICE u64 scatter(u64 word) {
    word *= 0x9E3779B97F4A7C15ull;
    return word ^ word >> 29;
}

// A float as a code: one NaN, no negative zero.
DEVICE i64 float_code(double value) { return value != value ? 0x7FF8000000000000ll : bits_of(value + 0.0); }

// A float as a number in value order, NaN last.
DEVICE i64 float_order(i64 code) { return code < 0 ? code ^ 0x7FFFFFFFFFFFFFFFll : code; }

DEVICE i64 power(i64 base, i64 exponent) {
    u64 result = 1, factor = (u64)base;
    for (u64 left = (u64)exponent; left; left >>= 1, factor *= factor)
        if (left & 1) result *= factor;
    return (i64)result;
}

// A fact of at most 63 bits is in the table itself.
DEVICE bool has_word(const u64* table, u64 mask, u64 word) {
    for (u64 slot = scatter(word + 1) & mask;; slot = (slot + 1) & mask) {
        u64 found = table[slot];
        if (found == word + 1) return true;
        if (!found) return false;
    }
}

// Return whether the word is new; `full` is set if there is no slot left.
DEVICE bool add_word(u64* table, u64 mask, u64 word, bool& full) {
    u64 slot = scatter(word + 1) & mask;
    for (u64 tried = 0; tried <= mask; tried++, slot = (slot + 1) & mask) {
        u64 found = table[slot];
        if (!found) found = swap_if(&table[slot], 0, word + 1);
        if (!found) return true;
        if (found == word + 1) return false;
    }
    full = true;
    return false;
}

// Of a larger fact the table has a tag and the row number, plus one; a slot that is being written has this number.
#define WRITING 0xFFFFFFFFull

template <int WORDS>
DEVICE u64 tag_of(const u64* words) {
    u64 tag = 0;
    for (int word = 0; word < WORDS; word++) tag = scatter(tag ^ (words[word] + 0x632BE59BD9B4E019ull));
    return tag;
}

template <int WORDS>
DEVICE bool is_row(const u64* rows, u64 capacity, u64 row, const u64* words) {
    for (int word = 0; word < WORDS; word++)
        if (read(&rows[word * capacity + row]) != words[word]) return false;
    return true;
}

template <int WORDS>
DEVICE bool has_row(const u64* table, u64 mask, const u64* rows, u64 capacity, const u64* words) {
    u64 tag = tag_of<WORDS>(words), upper = tag & ~WRITING;
    for (u64 slot = tag & mask;; slot = (slot + 1) & mask) {
        u64 found = read(&table[slot]);
        if (!found) return false;
        // What is being written is not part of what this iteration sees.
        bool same = (found & ~WRITING) == upper && (found & WRITING) != WRITING;
        if (same && is_row<WORDS>(rows, capacity, (found & WRITING) - 1, words)) return true;
    }
}

// Insert a fact of several words; return false if there is no room for it.
template <int WORDS>
DEVICE bool add_row(u64* table, u64 mask, u64* rows, u64 capacity, u64* count, const u64* words) {
    u64 tag = tag_of<WORDS>(words), upper = tag & ~WRITING;
    u64 slot = tag & mask;
    for (u64 tried = 0; tried <= mask; tried++, slot = (slot + 1) & mask) {
        u64 found = read(&table[slot]);
        if (!found) found = swap_if(&table[slot], 0, upper | WRITING);
        if (!found) {
            u64 row = add(count, 1);
            if (row >= capacity) {
                // The row number of no row: the table is made again before it is read.
                write(&table[slot], upper | 1);
                return false;
            }
            for (int word = 0; word < WORDS; word++) write(&rows[word * capacity + row], words[word]);
            fence();
            write(&table[slot], upper | (row + 1));
            return true;
        }
        if ((found & ~WRITING) != upper) continue;
        while ((found & WRITING) == WRITING) found = read(&table[slot]);
        fence();
        if (is_row<WORDS>(rows, capacity, (found & WRITING) - 1, words)) return true;
    }
    return false;
}

// Put a row that is known to be distinct into an empty table.
template <int WORDS>
DEVICE void place_row(u64* table, u64 mask, const u64* rows, u64 capacity, u64 row) {
    u64 words[WORDS];
    for (int word = 0; word < WORDS; word++) words[word] = rows[word * capacity + row];
    u64 tag = tag_of<WORDS>(words);
    u64 slot = tag & mask;
    while (swap_if(&table[slot], 0, (tag & ~WRITING) | (row + 1))) slot = (slot + 1) & mask;
}

// An index: keys lead to groups, groups to entries. While rows are added, each one notes its group and its turn
// among the new rows of that group.
struct Index {
    Group* groups;
    u64* keys;
    u64 slots;
    u64* entries;
    u64 room;
    u32* slot_of_row;
    u32* turn_of_row;
};

// Postings that move to where they have more room, in pieces of four words: index, from, to, how many.
struct Moves {
    u64* pieces;
    u64 room;
};

// The slot of a key, or the number of slots if there is none.
DEVICE u64 find_group(const Index& index, u64 key) {
    u64 mask = index.slots - 1;
    for (u64 slot = scatter(key + 1) & mask;; slot = (slot + 1) & mask) {
        u64 found = index.keys[slot];
        if (found == key + 1) return slot;
        if (!found) return index.slots;
    }
}

// The slot of a key, a new one if need be; `used` counts slots, and of more than half of them none is given.
DEVICE u64 make_group(const Index& index, u64* used, u64 key) {
    u64 mask = index.slots - 1;
    u64 slot = scatter(key + 1) & mask;
    for (u64 tried = 0; tried <= mask; tried++, slot = (slot + 1) & mask) {
        u64 found = index.keys[slot];
        if (!found) {
            if (read(used) * 2 >= index.slots) return index.slots;
            found = swap_if(&index.keys[slot], 0, key + 1);
            if (!found) add(used, 1);
        }
        if (!found || found == key + 1) return slot;
    }
    return index.slots;
}

// The entries of a group that were there before this iteration, came with it, or both.
enum View { FULL_VIEW, OLD_VIEW, DELTA_VIEW };

DEVICE Range entries_of(const Index& index, u64 slot, View view, u64 iteration) {
    Range found = {0, 0};
    if (slot >= index.slots) return found;
    Group group = index.groups[slot];
    u32 first = 0, last = group.count;
    if (view != FULL_VIEW) {
        u32 old = group.stamp == (u32)iteration ? group.old : group.count;
        if (view == OLD_VIEW) last = old;
        else first = old;
    }
    found.begin = group.start + first;
    found.end = group.start + last;
    return found;
}

// Adding rows takes five kernels: rows are counted by group; groups without room for them get it elsewhere; what is
// in these is copied; rows are placed; and groups take note. Until the last one nothing is done that cannot be done
// again, since a kernel may stop for more memory. The first row of a group acts for all of its new ones.

DEVICE bool count_row(const Index& index, u64 slot, u64 row) {
    if (slot >= index.slots) return false;
    index.slot_of_row[row] = (u32)slot;
    index.turn_of_row[row] = add_small(&index.groups[slot].wanted, 1);
    return true;
}

enum Lack { NOTHING, ENTRIES_LACK, MOVES_LACK };

DEVICE Lack make_room(const Index& index, u64 number, u64 row, bool grows, u64* top, const Moves& moves, u64* moved) {
    if (index.turn_of_row[row]) return NOTHING;
    Group& group = index.groups[index.slot_of_row[row]];
    u32 wanted = group.count + group.wanted;
    if (wanted <= group.room) return NOTHING;
    u32 room = grows ? wanted + wanted / 2 + 2 : wanted;
    u64 start = add(top, room);
    if (start + room > index.room) return ENTRIES_LACK;
    u64 pieces = ((u64)group.count + PIECE - 1) / PIECE;
    u64 first = pieces ? add(moved, pieces) : 0;
    if (first + pieces > moves.room) return MOVES_LACK;
    for (u64 piece = 0; piece < pieces; piece++) {
        u64* move = moves.pieces + (first + piece) * 4;
        u64 left = group.count - piece * PIECE;
        move[0] = number;
        move[1] = group.start + piece * PIECE;
        move[2] = start + piece * PIECE;
        move[3] = left < PIECE ? left : PIECE;
    }
    group.start = start;
    group.room = room;
    return NOTHING;
}

DEVICE void copy_piece(const Index& index, const u64* move, u64 lane) {
    for (u64 place = lane; place < move[3]; place += LANES)
        index.entries[move[2] + place] = index.entries[move[1] + place];
}

DEVICE void place_row_in(const Index& index, u64 row, u64 entry) {
    const Group& group = index.groups[index.slot_of_row[row]];
    index.entries[group.start + group.count + index.turn_of_row[row]] = entry;
}

DEVICE void note_rows(const Index& index, u64 row, u64 iteration) {
    if (index.turn_of_row[row]) return;
    Group& group = index.groups[index.slot_of_row[row]];
    group.old = group.count;
    group.count += group.wanted;
    group.wanted = 0;
    group.stamp = (u32)iteration;
}

// Move a group to another table of the same keys.
DEVICE void move_group(const Index& old, u64 slot, const Index& index, u64* used) {
    if (!old.keys[slot]) return;
    Group& group = index.groups[make_group(index, used, old.keys[slot] - 1)];
    group = old.groups[slot];
    group.wanted = 0;
}
