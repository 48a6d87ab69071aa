"""How commands show their usage, and what they say of arguments too many."""

from typing import TYPE_CHECKING

from typer.core import TyperCommand

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


def show_plain_usage(app: "Typer") -> None:
    """Let all commands of an app show their usage plainly."""
    for command in app.registered_commands:
        command.cls = PlainCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            show_plain_usage(group.typer_instance)
