"""Spark: partners in its Python workers run the local engine's kernels."""

from tidelog.engine.spark.options import SparkOptions
from tidelog.engine.spark.sockets import Tls

__all__ = ["SparkOptions", "Tls"]
