"""Functors from shared libraries: found, loaded, and called as their declarations say."""

from tidelog.engine.libraries.find import Libraries, usual_libraries
from tidelog.engine.libraries.functor import LibraryFunctor

__all__ = ["Libraries", "LibraryFunctor", "usual_libraries"]
