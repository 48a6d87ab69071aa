"""What the tests of the engine `cuda` share."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from tidelog.engine.protocol import UserFunctions


@pytest.fixture(scope="session")
def case_functions() -> UserFunctions:
    """Return the functions that conformance cases call."""
    path = Path(__file__).parents[2] / "conformance" / "functions.py"
    spec = spec_from_file_location("conformance_functions", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    functions: UserFunctions = module.FUNCTIONS
    return functions
