"""The commands by name: their help in a line, and where each is loaded from when it is typed."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from orchestrator.cli.failures import ReaderLeft


class Place(NamedTuple):
    """`target` is `module:attribute`; `line` is the command's help in a line."""

    target: str
    line: str


JOBS: Mapping[str, Place] = {
    "submit": Place("orchestrator.cli.submit:submit", "Hand in a job file; -f follows it to its end."),
    "plan": Place("orchestrator.cli.submit:plan", "Say what would be chosen for a job file, why, at what price."),
    "ps": Place("orchestrator.cli.ps:ps", "List the jobs."),
    "show": Place("orchestrator.cli.show:show", "Show one job whole: stages, attempts, instances, costs."),
    "logs": Place("orchestrator.cli.logs:logs", "Print what a job's stages printed; -f follows."),
    "events": Place("orchestrator.cli.events:events", "Print what happened to a job; -f follows."),
    "explain": Place("orchestrator.cli.events:explain", "Tell a job's history in words, and why it is where it is."),
    "cancel": Place("orchestrator.cli.cancel:cancel", "End a job and its instances."),
    "drill": Place("orchestrator.cli.drill:drill", "Reclaim a running job on purpose; report whether it survived."),
    "pull": Place("orchestrator.cli.pull:pull", "Fetch a job's output into a directory."),
    "instances": Place("orchestrator.cli.instances:instances", "List the instances."),
}

HOUSE: Mapping[str, Place] = {
    "config": Place("orchestrator.cli.house:config", "Check a config file."),
    "doctor": Place("orchestrator.cli.house:doctor", "Look for what would stop a job, and say how to mend it."),
    "daemon": Place("orchestrator.cli.house:daemon", "Run orchd here, in the foreground."),
    "bundle": Place("orchestrator.cli.house:bundle", "Make the agent's bundle, for machines that have only Python."),
    "demo": Place("orchestrator.cli.demo:demo", "Watch a training job survive three lost instances."),
}


class LazyGroup(click.Group):
    """A group whose help comes from tables: no command is imported before it is typed."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _noticing_who_leaves():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _noticing_who_leaves():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*JOBS, *HOUSE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = JOBS.get(cmd_name) or HOUSE.get(cmd_name)
        return None if place is None else _load(place.target)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            ctx.fail(_unknown(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, places in (("Jobs", JOBS), ("House", HOUSE)):
            with formatter.section(title):
                formatter.write_dl([(name, place.line) for name, place in places.items()])


@contextmanager
def _noticing_who_leaves() -> Iterator[None]:
    """Click ends the process as failed where a pipe is broken; what ends it is ours to say."""
    try:
        yield
    except BrokenPipeError:
        raise ReaderLeft from None


def _load(target: str) -> click.Command:
    from importlib import import_module

    module, attribute = target.split(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)
    return command


def _unknown(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"no command '{name}'" + (f"; did you mean '{near[0]}'?" if near else "; `orch --help` lists them")


def _version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:  # a click callback
    if not wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"orch {version('orch')}")
    except PackageNotFoundError:
        click.echo("orch (not installed: run from its sources)")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--socket", metavar="PATH", help="The daemon's socket.  [default: $ORCH_SOCKET, or the state's]")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print it.")
@click.pass_context
def root(ctx: click.Context, socket: str | None) -> None:
    """Train models on spot GPU instances as if nobody could take them away.

    \b
    Example:  orch submit job.toml -f
    Each command has its own help:  orch COMMAND --help
    """
    from orchestrator.cli.places import Session, socket_path  # only here: --help does without

    ctx.obj = Session(socket_path(socket, os.environ, os.geteuid()), socket)
