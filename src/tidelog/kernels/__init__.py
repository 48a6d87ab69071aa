"""Kernels: functions over arrays, compiled once and kept on disk as machine code.

A process that finds the code of a kernel maps it and calls it; what is not there another process compiles.
`decorators` has what other packages use; `signature` names the types of arguments, `stamp` what a kernel is
made of, `target` the processor, `store` the files, `image` the code in them, and `link` takes it into memory.
`compilers` starts processes with `worker`, of which `warm`, `background` and `ship` need several. `compile`
and `entry` are the only modules here that load the compiler; `emitted` are operations that it lacks.
"""

from tidelog.kernels.decorators import IS_COMPILED, emitted, inlined, kernel

__all__ = ["IS_COMPILED", "emitted", "inlined", "kernel"]
