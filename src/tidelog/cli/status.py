"""`tidelog status`: what a store holds."""

import json
from pathlib import Path

from tidelog.cli.output import write_result
from tidelog.cli.parameters import OutputFormat
from tidelog.program.suggest import counted
from tidelog.program.text import ProgramText
from tidelog.store import PastEpoch, Status, Store

_LAST_EPOCHS = 10


def print_status(path: Path, form: OutputFormat) -> None:
    """Print the epoch, the sizes, the program and the last epochs of a store.

    Only the snapshot's description and the log are read, so that it is quick for any store; a
    process may be writing to the store meanwhile.
    """
    store = Store.open(path, read_only=True)
    try:
        status = store.status()
        sources = store.sources
    finally:
        store.close()
    rules = len(ProgramText.read(sources).rules)
    names = [source.name for source in sources]
    is_json = form is OutputFormat.JSON
    write_result((_json if is_json else _text)(path, status, names, rules))


def _text(path: Path, status: Status, names: list[str], rules: int) -> str:
    waiting = status.epoch - status.snapshot_epoch
    total = status.snapshot_bytes + status.log_bytes
    lines = [
        f"store    {path}",
        f"program  {', '.join(names)}: {counted(rules, 'rule')}",
        f"epoch    {status.epoch} (snapshot of epoch {status.snapshot_epoch}, {waiting:,} in the log)",
        f"size     {_size(total)} (snapshot {_size(status.snapshot_bytes)}, log {_size(status.log_bytes)})",
        f"facts at epoch {status.snapshot_epoch}",
    ]
    width = max((len(name) for name in status.facts), default=0)
    lines += [f"  {name.ljust(width)}  {count:,}" for name, count in status.facts.items()]
    if status.past:
        lines.append("last epochs")
    for each in status.past[-_LAST_EPOCHS:]:
        lines.append(f"  {each.epoch}  {_change(each)}  {each.seconds * 1000:.1f} ms")
    return "\n".join(lines)


def _json(path: Path, status: Status, names: list[str], rules: int) -> str:
    return json.dumps(
        {
            "store": str(path),
            "program": names,
            "rules": rules,
            "epoch": status.epoch,
            "snapshot_epoch": status.snapshot_epoch,
            "snapshot_bytes": status.snapshot_bytes,
            "log_bytes": status.log_bytes,
            "facts": dict(status.facts),
            "epochs": [
                {
                    "epoch": each.epoch,
                    "inserted": each.inserted,
                    "deleted": each.deleted,
                    "rules_changed": each.is_rule_change,
                    "seconds": round(each.seconds, 6),
                }
                for each in status.past
            ],
        },
        indent=2,
        ensure_ascii=False,
    )


def _change(epoch: PastEpoch) -> str:
    facts = f"+{epoch.inserted:,} -{epoch.deleted:,}"
    if not epoch.is_rule_change:
        return facts
    return f"rules changed, {facts}" if epoch.inserted or epoch.deleted else "rules changed"


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} GiB"
