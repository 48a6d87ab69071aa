# ruff: noqa: INP001 - a file that is read by its path, no package
"""The expressions and types of a small lambda language, for lambda.dl."""

from dataclasses import dataclass


class Type:
    """A type."""


@dataclass
class IntType(Type):
    """The numbers."""


@dataclass
class BoolType(Type):
    """True and false."""


@dataclass
class FunType(Type):
    """Functions."""

    source: Type
    target: Type


class Exp:
    """An expression."""


@dataclass
class Num(Exp):
    """A number."""

    value: int


@dataclass
class Truth(Exp):
    """True or false."""

    value: bool


@dataclass
class Var(Exp):
    """A variable."""

    name: str


@dataclass
class Add(Exp):
    """The sum of two numbers."""

    left: Exp
    right: Exp


@dataclass
class Lam(Exp):
    """A function of one parameter; without an annotation it must be applied at once."""

    param: str
    body: Exp
    annotation: Type | None = None


@dataclass
class App(Exp):
    """A function applied to an argument."""

    function: Exp
    argument: Exp


@dataclass
class Let(Exp):
    """A name for a value within a body."""

    name: str
    value: Exp
    body: Exp


@dataclass
class If(Exp):
    """One of two expressions."""

    test: Exp
    then: Exp
    other: Exp
