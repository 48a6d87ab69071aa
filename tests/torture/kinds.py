"""All kinds of cases, by name; a module is imported when its kind is asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final, cast

from torture.kind import Kind

# Where each kind is. Those of `SLOW` take seconds for a case and run only when they are named.
MODULES: Final[Mapping[str, tuple[str, str]]] = {
    "epochs": ("torture.maintained", "EPOCHS"),
    "sessions": ("torture.sessions", "SESSIONS"),
    "stores": ("torture.sessions", "STORES"),
    "partners": ("torture.partners", "PARTNERS"),
    "proofs": ("torture.explanations", "PROOFS"),
    "why-not": ("torture.explanations", "WHY_NOT"),
    "repairs": ("torture.explanations", "REPAIRS"),
    "fuzz-programs": ("torture.fuzz_programs", "KIND"),
    "fuzz-facts": ("torture.fuzz_facts", "KIND"),
    "fuzz-changes": ("torture.fuzz_changes", "KIND"),
    "fuzz-http": ("torture.fuzz_http", "KIND"),
    "fuzz-jobs": ("torture.fuzz_jobs", "KIND"),
    "fuzz-messages": ("torture.fuzz_messages", "KIND"),
    "kill-store": ("torture.kill_store", "KIND"),
    "kill-pipeline": ("torture.kill_pipeline", "KIND"),
}
SLOW: Final = frozenset({"kill-pipeline"})


def find_kind(name: str) -> Kind:
    """Return a kind by its name."""
    module, attribute = MODULES[name]
    return cast("Kind", getattr(import_module(module), attribute))
