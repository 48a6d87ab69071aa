"""Files whose lines other threads parse before it is their turn.

    ahead = ReadAhead(threads, [begin_edge, begin_node])
    edge, node = ahead.columns(0), ahead.columns(1)

Files are opened, and lines given codes, in the calling thread and in the order of the files.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.io.csv_read import CsvReading, ParsedPiece, ParseTask
from tidelog.io.threads import LoadThreads, Started
from tidelog.values import Codes

Begin = Callable[[], CsvReading | None]

# Other threads are worth starting for so many bytes.
_BYTES_FOR_THREADS: Final = 2**22
# So many bytes are parsed, or wait for that, for each of the threads.
_BYTES_PER_THREAD: Final = 2**22


@dataclass
class _Waiting:
    """A piece of a file that was cut and has not been taken yet."""

    reading: CsvReading
    size: int
    task: ParseTask
    started: Started[ParsedPiece] | None = None


class ReadAhead:
    """Files by their numbers, in the order in which they will be asked for.

    Each of `begins` makes the reading of a file, or None if it must wait for its turn.
    """

    def __init__(self, threads: LoadThreads, begins: Sequence[Begin]) -> None:
        self._threads = threads
        self._begins = begins
        self._begun: dict[int, CsvReading | None] = {}
        self._ended: set[CsvReading] = set()
        self._pieces = self._cut()
        self._waiting: deque[_Waiting] = deque()
        self._bytes = 0

    def columns(self, number: int) -> list[Codes] | None:
        """Return the codes of the facts in a file, None if the file is not read ahead."""
        reading = self._reading(number)
        if reading is None:
            return None
        try:
            return reading.columns(self._parsed(reading))
        finally:
            self._ended.add(reading)
            reading.close()

    def close(self) -> None:
        """End the threads, and close the files that nobody has asked for."""
        self._threads.close()
        self._pieces.close()
        for reading in self._begun.values():
            if reading is not None:
                reading.close()

    def _reading(self, number: int) -> CsvReading | None:
        if number not in self._begun:
            self._begun[number] = self._begins[number]()
        return self._begun[number]

    def _parsed(self, reading: CsvReading) -> Iterator[ParsedPiece]:
        """Return the pieces of a file; those of the files before it were taken, or are not wanted."""
        while True:
            self._fill()
            if not self._waiting or self._waiting[0].reading is not reading:
                return
            piece = self._take()
            yield piece.task() if piece.started is None else piece.started.result()

    def _take(self) -> _Waiting:
        piece = self._waiting.popleft()
        self._bytes -= piece.size
        return piece

    def _fill(self) -> None:
        """Cut as many pieces as threads may work on, and have them parsed."""
        while self._waiting and self._waiting[0].reading in self._ended:
            self._take()
        wanted = _BYTES_PER_THREAD * self._threads.jobs
        while not self._waiting or self._bytes < wanted:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._waiting.append(piece)
            self._bytes += piece.size
        if self._threads.are_running or self._bytes >= _BYTES_FOR_THREADS:
            for piece in self._waiting:
                if piece.started is None:
                    piece.started = self._threads.start(piece.task)

    def _cut(self) -> Generator[_Waiting]:
        """Return the pieces of all files; what fails does so when it is taken."""
        for number in range(len(self._begins)):
            reading = self._reading(number)
            if reading is None:
                continue
            try:
                for size, task in reading.tasks():
                    yield _Waiting(reading, size, task)
                    if reading in self._ended:
                        break
            except Exception as error:  # noqa: BLE001 - the file that it belongs to raises it in its turn
                yield _Waiting(reading, 0, partial(_fail, error))


def _fail(error: Exception) -> ParsedPiece:
    raise error
