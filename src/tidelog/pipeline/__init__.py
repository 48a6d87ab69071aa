"""The data pipeline: sources through rules to published tables, on Spark."""
