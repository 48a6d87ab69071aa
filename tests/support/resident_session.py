"""A session's engine on Spark, taken from epoch to epoch by residents in threads."""

from support.epochs import Maintained
from support.programs import read, run_program
from support.resident_threads import no_spark
from tidelog.engine.lattice_tables import with_tables
from tidelog.engine.spark.options import SparkOptions
from tidelog.maintain.partners.driver_group import DriverGroup
from tidelog.maintain.partners.state_files import read_annotated
from tidelog.maintain.spark import SparkMaintainedEngine
from tidelog.values.functors import order_key


class Resident(Maintained):
    """A session's engine whose partners are residents in threads."""

    partners = 3
    attempts = 4
    driver_facts = 0
    replicated_facts = 2_000_000
    delta_facts = 100_000

    def _new_engine(self):
        chosen = SparkOptions(
            no_spark(self.partners), partners=self.partners, driver_facts=self.driver_facts, resident=True,
            attempts=self.attempts, replicated_facts=self.replicated_facts, delta_facts=self.delta_facts,
        )  # fmt: skip
        functions = with_tables(self.program, self.functions)
        self.engine = SparkMaintainedEngine(self.program, self.codec, self.settings, functions, chosen)

    def relations(self):
        """Return all facts."""
        return {name: read(self.engine, each, self.codec) for name, each in self.program.relations.items()}

    def expected(self):
        """Return what the reference engine derives from the input facts of now."""
        return run_program(
            self.program,
            inputs={n: sorted(facts, key=order_key) for n, facts in self.inputs.items() if facts},
            functions=self.functions,
        )


def check_same_files(engine, other):
    """Compare the levels and counts of all relations that partners keep, those of passes too.

    Of those that the driver keeps there are levels alone: derivations are counted when they matter.
    """
    if [each.where for each in engine._placed] != [each.where for each in other._placed]:
        return  # without input facts, the driver keeps everything
    for group, again in zip(engine._groups, other._groups, strict=True):
        if isinstance(group, DriverGroup):
            for name in group.own:
                if not decides_by_law(group, name):
                    assert levels_in(group.engine, name) == levels_in(again.engine, name), name
            continue
        for name, files in group.files.items():
            if group.is_alone or decides_by_law(group, name):
                continue
            arity = group.program.relations[name].arity
            if name not in again.files:
                # What was in the middle of a rule that is gone, or has lost all its rules.
                inputs = other._inputs[name].rows().tolist() if name in other._inputs else []
                assert sorted(read_annotated(engine._folder, files, arity).rows.tolist()) == sorted(inputs)
                continue
            first = read_annotated(engine._folder, files, arity)
            second = read_annotated(other._folder, again.files[name], arity)
            assert as_facts(first) == as_facts(second), name


def levels_in(engine, name):
    """Return the facts of a relation of a local engine with their levels."""
    state = engine.export_state().relations[name]
    return sorted(zip(*(column.tolist() for column in state.columns), state.levels.tolist(), strict=True))


def decides_by_law(group, name):
    """Say whether a law decides about a relation, whose counts nobody follows then."""
    stratum = next(each for each in group.program.strata if name in each.relations)
    return group.program.law_of(stratum) is not None


def as_facts(content):
    """Return facts with their levels and counts."""
    columns = zip(content.rows.tolist(), content.levels.tolist(), content.counts.tolist(), strict=True)
    return sorted((*row, level, count) for row, level, count in columns)
