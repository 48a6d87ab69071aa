"""Programs as relational algebra: printed, evaluated over Arrow tables, written as SQL."""

from tidelog.algebra.nodes import Dialect, Expression
from tidelog.algebra.program import Algebra, program_algebra

__all__ = ["Algebra", "Dialect", "Expression", "program_algebra"]
