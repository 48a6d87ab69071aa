"""Components: parameters, inheritance, overriding, nesting."""

from support.building import build, core, mistakes

GRAPH = """
.comp Graph<T> {
  .type Pair = [a: T, b: T]
  .type Mark = Old {} | New {at: T}
  .decl edge(x: T, y: T)
  .decl path(x: T, y: T) overridable
  .decl pair(p: Pair, m: Mark)
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
  pair([x, y], $New(x)) :- path(x, y).
  .output path
}
"""


def test_an_instance_qualifies_what_it_declares() -> None:
    """Relations, types and branches of an instance have its name in front."""
    program = build(GRAPH + ".init g = Graph<number> g.edge(1, 2).")

    assert set(program.relations) == {"g.edge", "g.path", "g.pair"}
    assert program.relations["g.edge"].columns[0].type == "number"
    assert program.types["g.Mark"].branches[1].name == "g.New"
    assert program.directives[0].relation == "g.path"


def test_instances_are_independent() -> None:
    """Two instances of one component, with different parameters, do not meet."""
    text = GRAPH + '.init a = Graph<number> .init b = Graph<symbol> a.edge(1, 2). b.edge("x", "y").'
    program = build(text)

    assert program.relations["a.path"].columns[0].type == "number"
    assert program.relations["b.path"].columns[0].type == "symbol"
    assert core(text, "b.pair") == ["b.pair([x, y], $b.New(x)) :- b.path(x, y)."]


def test_overriding_takes_the_inherited_rules_away() -> None:
    """`.override` leaves the declaration and replaces the rules."""
    text = (
        GRAPH
        + """
    .comp Steps<T> : Graph<T> {
      .override path
      path(x, y) :- edge(x, y), edge(y, _).
    }
    .init s = Steps<number>
    s.edge(1, 2).
    """
    )

    assert core(text, "s.path") == ["s.path(x, y) :- s.edge(x, y), s.edge(y, _)."]


def test_inherited_rules_see_the_relations_of_the_derived_component() -> None:
    """A base may read what its derived components declare."""
    text = """
    .comp Base { .decl out(x: number) out(x) :- source(x). }
    .comp Derived : Base { .decl source(x: number) source(1). }
    .init d = Derived
    """

    assert core(text, "d.out") == ["d.out(x) :- d.source(x)."]


def test_components_nest() -> None:
    """An instance inside an instance is reached with a longer name, and sees what is around it."""
    text = """
    .decl seed(x: number)
    seed(1).
    .comp Outer {
      .decl a(x: number)
      a(x) :- seed(x).
      .comp Inner { .decl b(x: number) b(x) :- a(x). }
      .init inner = Inner
      .decl c(x: number)
      c(x) :- inner.b(x).
    }
    .init o = Outer
    .decl all(x: number)
    all(x) :- o.inner.b(x), o.c(x).
    """

    assert core(text, "o.inner.b") == ["o.inner.b(x) :- o.a(x)."]
    assert core(text, "o.c") == ["o.c(x) :- o.inner.b(x)."]
    assert core(text, "all") == ["all(x) :- o.inner.b(x), o.c(x)."]


def test_a_component_adds_rules_to_a_relation_around_it() -> None:
    """A rule for a relation that the component does not declare belongs to the one outside."""
    text = ".decl all(x: number) .comp C { .decl a(x: number) a(1). all(x) :- a(x). } .init c = C"

    assert core(text, "all") == ["all(x) :- c.a(x)."]


def test_a_parameter_can_be_a_component() -> None:
    """A component can instantiate and inherit from its parameters."""
    text = """
    .comp One { .decl n(x: number) n(1). }
    .comp Uses<C> { .init c = C .decl m(x: number) m(x) :- c.n(x). }
    .comp Is<C> : C { .decl k(x: number) k(x) :- n(x). }
    .init u = Uses<One>
    .init i = Is<One>
    """

    assert core(text, "u.m") == ["u.m(x) :- u.c.n(x)."]
    assert core(text, "i.k") == ["i.k(x) :- i.n(x)."]


def test_a_component_that_is_not_used_adds_nothing() -> None:
    """Only instances count."""
    assert build(GRAPH).relations == {}


def test_mistakes_of_components_are_reported_together() -> None:
    """Unknown components, wrong parameters, cycles and bad overrides are all told at once."""
    text = (
        GRAPH
        + """
    .comp Loop : Loop { .decl a(x: number) }
    .comp Wrong<T> : Graph<T> { .override edge }
    .init g = Graph<number, number>
    .init h = Grahp<number>
    .init l = Loop
    .init w = Wrong<number>
    """
    )

    codes = [code for code, _ in mistakes(text)]

    assert sorted(codes) == [
        "bad-override",
        "cyclic-component",
        "undeclared-component",
        "wrong-parameter-count",
    ]
