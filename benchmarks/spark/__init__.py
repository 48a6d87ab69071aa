"""The engine on Spark, measured beside the local engine and a loop of data frames."""
