"""How relations, indexes, rules and chains are laid out in the tables that the kernel reads.

The constants are plain numbers because kernels are compiled with them.
"""

import numpy as np

# Columns of the table of relations. Those named for an array hold its address; the ones from MARKS
# to BEFORE exist only for relations whose stratum is laid out. Uses are chains of that stratum from a
# literal of the relation, backs chains from its head. The last ones say, as a place in the array of
# changed rows and a number of rows, what stops and starts being an input fact, and what stops and starts
# being a fact.
ROWS = 0
CAPACITY = 1
ARITY = 2
COUNT = 3
DELETED = 4
SLOTS = 5
SLOT_COUNT = 6
ALIVE = 7
LEVELS = 8
PREVIOUS = 9
COUNTS = 10
MARKS = 11
FLAGS = 12
TENTATIVE = 13
TENTATIVE_COUNTS = 14
BEFORE = 15
FIRST_USE = 16
USE_COUNT = 17
FIRST_BACK = 18
BACK_COUNT = 19
FIRST_INDEX = 20
INPUT_GONE = 21
INPUT_GONE_COUNT = 22
INPUT_COME = 23
INPUT_COME_COUNT = 24
GONE = 25
GONE_COUNT = 26
COME = 27
COME_COUNT = 28
RELATION_WIDTH = 29

# Columns of the table of indexes; those named for an array hold its address.
INDEX_KEY_COLUMNS = 0
INDEX_KEY_WIDTH = 1
INDEX_REST_COLUMNS = 2
INDEX_REST_WIDTH = 3
INDEX_SLOTS = 4
INDEX_SLOT_COUNT = 5
INDEX_KEYS = 6
INDEX_KEY_CAPACITY = 7
INDEX_GROUPS = 8
INDEX_GROUP_CAPACITY = 9
INDEX_ARENA = 10
INDEX_ARENA_CAPACITY = 11
INDEX_ARENA_STATE = 12
INDEX_IS_DENSE = 13
INDEX_GROUP_COUNT = 14
INDEX_ROWS_INDEXED = 15
# Of an ordered index: the lengths of the sorted runs, and where the ordered column stands in an entry.
INDEX_SORTED_LENGTHS = 16
INDEX_POSITION = 17
# The next index of the same relation, -1 after the last.
NEXT_INDEX = 18
# Whether it is kept up to date; the others may not even exist.
INDEX_IS_USED = 19
INDEX_WIDTH = 20

# Columns of the table of strata: ranges of other tables, and what became of the stratum in this epoch.
# Reads are relations of earlier strata, forwards the literals over them with the chains from there.
HANDLER = 0
FIRST_RELATION = 1
RELATION_COUNT = 2
FIRST_LITERAL = 3
LITERAL_COUNT = 4
FIRST_FORWARD = 5
FORWARD_COUNT = 6
FIRST_READ = 7
READ_COUNT = 8
ROW_LIMIT = 9
REACHING = 10
STRATUM_WORK = 11
STRATUM_LEVEL = 12
IS_GROWING = 13
STRATUM_WIDTH = 14

# Who brings a stratum to the new epoch if anything reaches it; FORCED: whether or not.
KERNEL = 0
CALLER = 1
FORCED = 2

# Columns of the table of forwards.
FORWARD_RELATION = 0
FORWARD_IS_NEGATED = 1
FORWARD_CHAIN = 2

# Columns of the table of rules.
RULE_HEAD = 0
RULE_ARITY = 1
RULE_FIRST_LITERAL = 2
RULE_LITERAL_COUNT = 3
RULE_ASKS_BACKWARD = 4

# Columns of the table of literals.
LITERAL_RELATION = 0
LITERAL_IS_NEGATED = 1
LITERAL_IS_OWN = 2
LITERAL_MUST_CHECK = 3

# Columns of the table of chains; a chain has variants that differ in what they join first.
CHAIN_RULE = 0
CHAIN_PLACE = 1
CHAIN_RELATION = 2
CHAIN_FIRST_VARIANT = 3
CHAIN_VARIANT_COUNT = 4

# Instructions; registers hold codes and row numbers, negative ones name constants.
#   JOIN     index, keys, a register each, binds, (column of the entry, register) each,
#            comparisons, (comparison, left, right) each, relation, bounds, (kind, register) each
#   FIND     relation, columns, a register each, register for the row number, is negated
#   COMPARE  comparison, left, right
#   COMPUTE  functor, register, left, right
#   END      outputs, a register each
JOIN = 0
FIND = 1
COMPARE = 2
COMPUTE = 3
END = 4

# What COMPUTE can do with numbers.
ADD = 0
SUBTRACT = 1
MULTIPLY = 2
DIVIDE = 3
REMAINDER = 4
COPY = 5

# What a derivation is looked for.
LOSE_BY_LOWER = np.int64(0)
LOSE = np.int64(1)
OFFER_BACKWARD = np.int64(2)
OFFER_NEW = np.int64(3)
RELAX = np.int64(4)

# Positions in the array of counters: where the kernel is, what it counts and is limited by. From WORK
# to AFFECTED_COUNT they are of one stratum.
STRATUM = 0
JOURNAL = 1
CHANGED = 2
FREE_WORK = 3
WORK_PER_LEVEL = 4
FEW_ROWS = 5
SHORT_INDEX = 6
SHORT_KEY = 7
FIRST_OWN = 8
WORK = 9
WORK_LIMIT = 10
LEVEL_COUNT = 11
HIGHEST = 12
QUEUE = 13
AFFECTED_COUNT = 14
COUNTER_COUNT = 15

# How the kernel ended. DONE: all strata are. Otherwise the stratum it came to is as it was: it is the
# caller's, predicted or found to be more than the kernel should do, or the kernel lacks something.
DONE = 0
OVER_BUDGET = 1
TOO_LARGE = 2
NEEDS_ROOM = 3
NEEDS_WIDE_CODES = 4
NEEDS_JOURNAL = 5
ASKS = 6

# Marks of rows, as in `maintain.labels`.
UNTOUCHED = 0
AFFECTED = 1
CURRENT = 2
ABSENT_LEVEL = np.int64(2**31 - 1)

# A place in the queue is level, relation (counted from the stratum's first) and row in one number; what
# does not fit is not small.
ROW_BITS = 32
RELATION_BITS = 8
LEVEL_LIMIT = 1 << 22
RELATION_LIMIT = 1 << RELATION_BITS

REGISTERS = 64
DEPTH = 16
# What a level costs beside its rows, in bindings.
LEVEL_WORK = 4
