"""Spark: partners in its Python workers run the local engine's kernels."""

from tidelog.engine.spark.greeting import Tls
from tidelog.engine.spark.options import SparkOptions

__all__ = ["SparkOptions", "Tls"]
