"""How relations, indexes, rules and chains are laid out in the tables that the kernel reads.

The constants are plain numbers because kernels are compiled with them.
"""

import numpy as np

# Columns of the table of relations. Those named for an array hold its address; the ones from MARKS
# to BEFORE exist only for relations of the stratum itself. Uses are chains from a literal of the
# relation, backs chains from its head.
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
RELATION_WIDTH = 20

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
INDEX_WIDTH = 18

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

# What an epoch begins with.
DELETE_INPUT = 0
LOSE_START = 1
INSERT_INPUT = 2
OFFER_START = 3

# What a derivation is looked for.
LOSE_BY_LOWER = np.int64(0)
LOSE = np.int64(1)
OFFER_BACKWARD = np.int64(2)
OFFER_NEW = np.int64(3)
RELAX = np.int64(4)

# Positions in the array of counters: what the kernel counts and is limited by.
WORK = 0
WORK_LIMIT = 1
LEVEL_COUNT = 2
HIGHEST = 3
JOURNAL = 4
QUEUE = 5
AFFECTED_COUNT = 6
FREE_WORK = 7
WORK_PER_LEVEL = 8
COUNTER_COUNT = 9

# How the kernel ended; on all but DONE the caller undoes.
DONE = 0
OVER_BUDGET = 1
TOO_LARGE = 2
NEEDS_ROOM = 3
NEEDS_WIDE_CODES = 4

# Marks of rows, as in `maintain.labels`.
UNTOUCHED = 0
AFFECTED = 1
CURRENT = 2
ABSENT_LEVEL = np.int64(2**31 - 1)

# A place in the queue is level, relation and row in one number; what does not fit is not small.
ROW_BITS = 32
RELATION_BITS = 8
LEVEL_LIMIT = 1 << 22
RELATION_LIMIT = 1 << RELATION_BITS

REGISTERS = 64
DEPTH = 16
# What a level costs beside its rows, in bindings.
LEVEL_WORK = 4
