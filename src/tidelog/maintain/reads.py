"""What the rules of a stratum look at."""

from tidelog.program.nodes import Aggregate, Atom, Constraint, NegatedAtom, Stratum


def relations_read(stratum: Stratum) -> frozenset[str]:
    """Return the relations of earlier strata that a stratum's rules look at."""
    found: set[str] = set()
    waiting = [literal for rule in stratum.rules for literal in rule.body]
    waiting.extend(literal for subsumption in stratum.subsumptions for literal in subsumption.body)
    terms = [term for rule in stratum.rules for term in rule.head.terms]
    while waiting or terms:
        if terms:
            term = terms.pop()
            terms.extend(getattr(term, "terms", ()))
            if isinstance(term, Aggregate):
                waiting.extend(term.body)
                terms.extend(inner for inner in (term.target, term.init) if inner is not None)
            continue
        literal = waiting.pop()
        match literal:
            case Atom():
                found.add(literal.relation)
                terms.extend(literal.terms)
            case NegatedAtom():
                found.add(literal.atom.relation)
                terms.extend(literal.atom.terms)
            case Constraint():
                terms.extend((literal.left, literal.right))
            case _:
                terms.extend((literal.start, literal.stop))
    return frozenset(found - set(stratum.relations))
