"""The tools that our analyses are compared with."""

from benchmarks.agreement.comparison import Comparison
from benchmarks.agreement.pyflakes_classes import CLASSES as PYFLAKES_CLASSES
from benchmarks.agreement.pyflakes_findings import find_with_pyflakes
from benchmarks.agreement.vulture_classes import CLASSES as VULTURE_CLASSES
from benchmarks.agreement.vulture_findings import find_with_vulture

COMPARISONS = (
    Comparison(
        "pyflakes",
        {"names.dl": ("undefined", "unused_import", "unused_variable"), "uses.dl": ("unset",)},
        find_with_pyflakes,
        PYFLAKES_CLASSES,
    ),
    Comparison(
        "vulture",
        {
            "unused_code.dl": ("unused_function", "unused_method", "unused_class"),
            "control.dl": ("unreachable",),
        },
        find_with_vulture,
        VULTURE_CLASSES,
    ),
)
