"""The part of the build that `pyproject.toml` cannot say: a wheel brings machine code.

The common kernels are compiled for a processor that most machines have and put into the wheel, which
therefore is for one Python and one platform. What is compiled already, beside the source or in the user's
folder for such files, is taken from there. An editable install brings no code.
"""

import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).parent / "src"


class BuildWithKernels(build_py):
    """Build the package and compile its kernels into it."""

    def run(self) -> None:
        """Build."""
        super().run()
        if not self.editable_mode:
            sys.path.insert(0, str(SOURCE))
            from tidelog.kernels.ship import ship_kernels  # noqa: PLC0415 - it is found only now

            ship_kernels(Path(self.build_lib, "tidelog", "kernels"), self.announce)


class WithMachineCode(Distribution):
    """A distribution for one Python and one platform."""

    def has_ext_modules(self) -> bool:
        """Say that there is machine code."""
        return True


setup(distclass=WithMachineCode, cmdclass={"build_py": BuildWithKernels})
