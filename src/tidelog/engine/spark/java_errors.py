"""What went wrong inside Spark, as one diagnostic in place of a Java stack trace."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Span

# These say only that something failed elsewhere: the reason is further down.
_WRAPPERS: Final = re.compile(
    r"FAILED_READ_FILE\.NO_HINT|Job aborted|Job \d+ cancelled|Exception thrown in awaitResult"
    r"|^An exception was thrown|^java\.util\.concurrent\.ExecutionException|^Multiple failures"
)
_TASK: Final = re.compile(
    r"(?:Job aborted due to stage failure: .*?|Lost task .*?)\): (?:\(?executor[^)]*\): )?(?P<reason>.+)",
    re.DOTALL,
)
_CLASS: Final = re.compile(r"^(?:[a-zA-Z_$][\w$]*\.)+([A-Z][\w$]*): ")
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+")
_CODE: Final = re.compile(r"\[([A-Z_0-9.]+)\]\s*")
_MOST_WORDS: Final = 300
# PySpark logs every failed query with its whole stack trace, beside the exception that it raises.
_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "DataFrameContextLogger")


@dataclass(frozen=True, slots=True)
class _Known:
    """A failure that has a remedy."""

    code: str
    pattern: str
    hint: str


_KNOWN: Final = (
    _Known(
        "spark-missing-package",
        r"DATA_SOURCE_NOT_FOUND.*?data source: delta",
        'give Spark the package: "spark.jars.packages" = "io.delta:delta-spark_2.13:4.0.0", with'
        ' "spark.sql.extensions" = "io.delta.sql.DeltaSparkSessionExtension"',
    ),
    _Known(
        "spark-missing-package",
        r"DATA_SOURCE_NOT_FOUND.*?data source: iceberg",
        'give Spark the package: "spark.jars.packages" ='
        ' "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0"',
    ),
    _Known(
        "spark-missing-package",
        r"KAFKA_DATA_SOURCE_NOT_ENABLED|data source: kafka",
        'give Spark the package: "spark.jars.packages" = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"',
    ),
    _Known(
        "spark-missing-package",
        r"DATA_SOURCE_NOT_FOUND",
        'the name of the format may be wrong, or "spark.jars.packages" does not name its package',
    ),
    _Known(
        "spark-missing-package",
        r"Class org\.apache\.hadoop\.fs\.s3a|No FileSystem for scheme|UNSUPPORTED_FILE_SYSTEM|"
        r"Class \S+FileSystem not found",
        'Spark needs the package of that file system: for s3a "spark.jars.packages" ='
        ' "org.apache.hadoop:hadoop-aws:3.4.1"',
    ),
    _Known(
        "spark-missing-package",
        r"No suitable driver|JDBC.*?DRIVER|ClassNotFoundException: \S*Driver",
        'Spark needs the JDBC driver of the database: "spark.jars" names its file,'
        " and `driver` under options its class",
    ),
    _Known(
        "spark-result-too-large",
        r"spark\.driver\.maxResultSize|bigger than .*?maxResultSize",
        "raise spark.driver.maxResultSize, or ask for fewer rows",
    ),
    _Known(
        "spark-out-of-memory",
        r"OutOfMemoryError|Java heap space|GC overhead limit",
        "give Spark more memory: spark.driver.memory with a local master, spark.executor.memory otherwise",
    ),
    _Known(
        "spark-unreachable",
        r"All masters are unresponsive|Could not connect to .*?:\d+|Connection refused|UnknownHostException",
        "look whether that machine is up, and whether the address and the port are right",
    ),
    _Known(
        "spark-lost-executors",
        r"ExecutorLostFailure|ExecutorDeadException|Executor heartbeat timed out|"
        r"Remote RPC client disassociated",
        "the logs of the executors say why; memory beyond the limit of its container is the commonest reason",
    ),
    _Known(
        "spark-no-session",
        r"Cannot call methods on a stopped SparkContext|SparkContext (?:was|has been) (?:shut|stopped)|"
        r"Error while sending or receiving|An error occurred while trying to connect to the Java server",
        "Spark has ended: start a new session",
    ),
)


def java_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions with which failures inside Spark arrive."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with PySpark
    from pyspark.errors import PySparkException  # noqa: PLC0415 - as above

    return (PySparkException, Py4JError)


@contextmanager
def plain_failures(doing: str = "", span: Span | None = None) -> Iterator[None]:
    """Raise what fails inside Spark as a diagnostic, and keep PySpark from logging its stack trace."""
    try:
        with quiet_queries():
            yield
    except java_errors() as error:
        raise TidelogError([java_diagnostic(error, doing, span)]) from error


@contextmanager
def quiet_queries() -> Iterator[None]:
    """Keep PySpark from logging failed queries: they are raised anyway."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - comes with PySpark

    # Made by PySpark's own class: one of Python's under the same name would not take what PySpark logs.
    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def java_diagnostic(error: Exception, doing: str = "", span: Span | None = None) -> Diagnostic:
    """Return the diagnostic for a failure inside Spark: what failed, the real reason, and a remedy."""
    chain = "\n".join(_chain(error))
    reason = java_reason(error)
    message = f"{doing}: {reason}" if doing else f"Spark failed: {reason}"
    for known in _KNOWN:
        if re.search(known.pattern, chain, re.DOTALL):
            return Diagnostic(known.code, message, span, known.hint)
    return Diagnostic("spark-failed", message, span, "Spark's own log has the details")


def java_reason(error: Exception) -> str:
    """Return the reason of a failure inside Spark in one line: that of the innermost cause that says one."""
    chain = [words for words in _chain(error) if words]
    telling = [words for words in chain if not _WRAPPERS.search(words)]
    words = (telling or chain or [str(error)])[-1]
    task = _TASK.search(words)
    return plain_words(words if task is None else task["reason"])


def plain_words(text: str) -> str:
    """Return the first line of a message of Java, without names of classes and states of SQL."""
    lines = [line.strip() for line in text.strip().splitlines()]
    kept = []
    for line in lines:
        if re.match(r"at [\w$.]+\(|Caused by:|\.\.\. \d+ more|Driver stacktrace|JVM stacktrace", line):
            break
        kept.append(line)
    words = " ".join(part for part in kept if part)
    # The class of an exception is dropped, unless it is all there is to say.
    while (match := _CLASS.match(words)) is not None and words[match.end() :].strip():
        words = words[match.end() :]
    words = _STATE.sub("", _CODE.sub("", words)).strip()
    return words if len(words) <= _MOST_WORDS else words[:_MOST_WORDS] + "..."


def _chain(error: Exception) -> list[str]:
    """Return the message of a failure and those of its causes, outermost first."""
    found: list[str] = []
    java = _java_exception(error)
    while java is not None and len(found) < 20:
        found.append(str(java.toString()))
        java = java.getCause()
    return found or [_without_preamble(str(error))]


def _java_exception(error: Exception) -> Any:
    """Return the exception of Java behind one of Python; None if there is none, or Java has ended."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    try:
        if java is not None:
            java.toString()
    except Exception:  # noqa: BLE001 - the bridge to Java fails in many ways once Java has ended
        return None
    return java


def _without_preamble(text: str) -> str:
    """Return a message of the bridge to Java without its words about the call that failed."""
    return re.sub(r"^An error occurred while calling [^\n]*\n: ", "", text)
