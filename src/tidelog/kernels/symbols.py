"""Names that the code of kernels and its callers share."""

from typing import Final

# Names for functions and variables of the code: the entry with its checks, the entry of Numba's own, which
# has none, and the variable with the object for constants.
CHECKED: Final = "tidelog_checked"
UNCHECKED: Final = "tidelog_unchecked"
ENVIRONMENT: Final = "tidelog_environment"
# Symbols that stand for Python objects: the type of arrays, where calls go on whose arguments do not fit the
# checks, and the types and dtypes of the arguments that the entry was linked for, by their places.
ARRAY_TYPE: Final = "tidelog_array"
OTHERWISE: Final = "tidelog_otherwise"
OF_ARGUMENT: Final = "tidelog_argument"
