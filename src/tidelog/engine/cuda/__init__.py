"""The engine on a GPU: kernels written for each stratum, compiled when it runs."""

from tidelog.engine.cuda.engine import CudaEngine

__all__ = ["CudaEngine"]
