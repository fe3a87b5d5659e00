"""Entry point of `elkhound`: finds the verb, turns errors into one line."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from importlib import import_module
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.model.errors import BadInputError, ElkhoundError, nearest

INTERRUPTED = 130

# verb -> module of this package; imported when the verb or its help is asked for
VERBS = {
    "compare": "compare",
    "plan": "plan",
    "simulate": "simulate",
    "export": "export",
    "evaluate": "evaluate",
    "allocate": "allocate",
    "place": "place",
    "fuse": "fuse",
    "generate": "generate",
    "sweep": "sweep",
    "rows": "rows",
    "figures": "figures",
    "report": "report",
    "import": "import_model",
    "options": "operator_options",
    "methods": "methods",
    "chips": "chips",
    "tiles": "tiles",
    "workloads": "workloads",
    "schema": "schema",
    "doctor": "doctor",
}


class LazyGroup(click.Group):
    """A group that imports a verb's file only when it is needed."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the verbs in the order they are explained."""
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import the verb's file."""
        if name not in VERBS:
            return None
        module = import_module(f"elkhound.experiments.cli.{VERBS[name]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest verb for one that does not exist."""
        name = arguments[0]
        completes = context.resilient_parsing
        if name not in VERBS and not name.startswith("-") and not completes:
            raise BadInputError(
                f"no verb {name!r}",
                code="unknown-verb",
                hint=nearest(name, list(VERBS)),
            )
        return super().resolve_command(context, arguments)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    epilog=options.verbatim(
        "Start with:",
        "  elkhound generate --kind schedule --size 6 --seed 1 --output problem.json",
        "  elkhound compare problem.json --time-limit 10",
    ),
)
@click.version_option(package_name="elkhound", message="%(package)s %(version)s")
@click.pass_context
def command_line(context: click.Context) -> None:
    """Say how far from optimal a plan for a many-core AI chip is.

    Elkhound plans a model with heuristics and exact methods, verifies every plan, and
    runs it on a simulated chip.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    as_json = "--json" in arguments
    try:
        status = command_line.main(
            args=arguments, prog_name="elkhound", standalone_mode=False
        )
    except ElkhoundError as error:
        return _report(error, as_json)
    except click.UsageError as error:
        return _report(_bad_usage(error), as_json)
    except click.ClickException as error:
        return _report(BadInputError(error.format_message(), code="usage"), as_json)
    except (click.Abort, KeyboardInterrupt):
        _report(ElkhoundError("interrupted", code="interrupted"), as_json)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click leaves so at a broken pipe
        return _quiet_pipe()
    except OSError as error:
        return _report(_unusable(error), as_json)
    except Exception as error:
        if os.environ.get("ELKHOUND_DEBUG") == "1":
            raise
        message = f"internal error: {type(error).__name__}: {error}"
        hint = "ELKHOUND_DEBUG=1 shows where"
        return _report(ElkhoundError(message, code="internal", hint=hint), as_json)
    return status if isinstance(status, int) else 0


def main() -> None:
    """Run the command of the process and leave with its exit status."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name may be any text or bytes
            stream.reconfigure(errors="replace")
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = _quiet_pipe()
    except OSError as error:
        _quiet_pipe()
        status = _report(_unusable(error), as_json=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: leave in peace
    sys.exit(status)


def _report(error: ElkhoundError, as_json: bool) -> int:
    """Write one line on standard error, or one object on standard output."""
    if as_json:
        document = {"error": _error_document(error)}
        try:
            click.echo(json.dumps(document, indent=2))
        except OSError:
            as_json = False  # nobody can read standard output
    if not as_json:
        line = "".join(c if c.isprintable() else " " for c in str(error))
        click.echo(f"elkhound: {' '.join(line.split())}", err=True)
    return error.exit_status


def _unusable(error: OSError) -> BadInputError:
    """Say which file or stream the system refused."""
    return BadInputError(
        f"cannot be used: {error.strerror or error}",
        code="unusable",
        where=str(error.filename or "standard output"),
    )


def _error_document(error: ElkhoundError) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "where": error.where,
        "hint": error.hint,
    }


def _bad_usage(error: click.UsageError) -> BadInputError:
    """Turn click's refusal into ours, with the nearest flag."""
    where = hint = ""
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        message = f"no flag {error.option_name}"
        flags = [
            flag
            for parameter in (error.ctx.command.params if error.ctx else [])
            for flag in parameter.opts
            if flag.startswith("-")
        ]
        hint = nearest(error.option_name, [*flags, "--help"])
    elif isinstance(error, click.MissingParameter):
        message = f"missing {message[0].lower()}{message[1:]}"
        if message.startswith("missing missing "):
            message = message[len("missing ") :]
        message = message.rstrip(".")
    elif isinstance(error, click.BadParameter) and error.param is not None:
        message = error.message
        where = error.param.opts[0] if error.param.opts else str(error.param.name)
    if error.ctx is not None and not hint and not where:
        hint = f"see {error.ctx.command_path} --help"
    return BadInputError(message, code="usage", where=where, hint=hint)


def _open_closed_streams() -> None:
    """Stand in for streams the caller closed, so that no file takes their place."""
    for number, (name, mode) in enumerate(
        (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
    ):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, mode))


def _quiet_pipe() -> int:
    """Leave without a word when nobody reads standard output any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    main()
