"""How commands show their usage, and what they say of arguments too many."""

from typing import TYPE_CHECKING, Final

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer import Context, Typer


class PlainCommand(TyperCommand):
    """A command whose usage has `PROGRAM` where Typer writes `{PROGRAM}`."""

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:  # type: ignore[override]  # Typer makes no other
        """Return the words behind the name of the command."""
        return [piece.removeprefix("{").removesuffix("}") for piece in super().collect_usage_pieces(ctx)]

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:  # type: ignore[override]  # as above
        """Read the arguments; those too many are named together with what there is."""
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest:
            taken = " ".join(self.collect_usage_pieces(ctx)[1:]) or "no arguments"
            extra = ", ".join(f"`{each}`" for each in rest)
            ctx.fail(f"too many arguments: `{ctx.command_path}` takes {taken}; leave out {extra}")
        return rest


# What people call commands elsewhere.
_MEANT: Final = {
    "compile": "run", "eval": "run", "exec": "run", "explain": "why", "format": "fmt", "info": "status",
    "lint": "check", "query": "shell", "repl": "shell", "update": "apply", "whynot": "why-not",
}  # fmt: skip


class SuggestingGroup(TyperGroup):
    """Commands, of which one is suggested to who names it as other tools do."""

    def resolve_command(  # type: ignore[override]  # as above
        self, ctx: "Context", args: list[str]
    ) -> tuple[str | None, TyperCommand | None, list[str]]:
        """Return the command that is called."""
        meant = _MEANT.get(args[0], "") if args else ""
        if meant in self.commands and args[0] not in self.commands:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{meant}'?")
        return super().resolve_command(ctx, args)  # type: ignore[return-value]  # as above


def show_plain_usage(app: "Typer") -> None:
    """Let all commands of an app show their usage plainly."""
    app.info.cls = SuggestingGroup
    for command in app.registered_commands:
        command.cls = PlainCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            show_plain_usage(group.typer_instance)
