"""`kvcalc`: the first word chooses a file of this package, which is the only one imported."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

from calculator import __version__
from calculator.cli import output
from calculator.errors import CalculatorError, InvalidInput, shown

COMMANDS = {
    "estimate": "bytes of a model's key-value cache, and how they come about",
    "capacity": "whether it fits a device, the longest context, the largest batch",
    "import": "read a config.json and show the model, or write it as a preset",
    "presets": "the models that are known by name",
    "devices": "the accelerators that are known by name",
    "verify": "hold the bytes against real tensors or real model code",
    "app": "open the page in a browser",
}
OK, CHECK_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class Parser(argparse.ArgumentParser):
    """argparse that reports every mistake as one line on standard error."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.register("action", None, _Once)

    def print_help(self, file: Any = None) -> None:
        """argparse's own takes no notice of a disk that is full."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(message)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; its exit status, never a traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    gc.disable()  # a short process: collecting while importing is a twentieth of its time
    output.print_what_can_be()
    try:
        return _run(words)
    except CalculatorError as error:
        output.complain(_one_line(_message(error, words)))
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # a reader such as `head` has gone away
        output.give_up(sys.stdout)
        return OK
    except Exception as error:
        if why := output.failure(error):
            output.give_up(sys.stdout)
            output.complain(f"the output cannot be written: {why}.")
            return BAD_INPUT
        if os.environ.get("KVCALC_TRACEBACK"):
            raise
        what = _one_line(f"{type(error).__name__}: {error}")
        output.complain(
            f"a fault of kvcalc, not of your input: {what} (KVCALC_TRACEBACK=1 shows where)"
        )
        return BAD_INPUT


def _run(words: list[str]) -> int:
    status = _status(words)
    output.flush()
    return status


def _status(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return OK
    if words[0] in ("-V", "--version"):
        print(f"kvcalc {__version__}")
        return OK
    name, rest = words[0], words[1:]
    if name not in COMMANDS:
        raise InvalidInput(f"{shown(name)} is no command; commands: {', '.join(COMMANDS)}.")
    command: Any = import_module(
        f"calculator.cli.{name}_" if name == "import" else f"calculator.cli.{name}"
    )
    parser = Parser(
        prog=f"kvcalc {name}",
        description=command.__doc__,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    try:
        given = parser.parse_args(rest)
    except SystemExit:  # it has printed its help
        return OK
    result: int = command.run(given)
    return result


class _Once(argparse.Action):
    """Stores a value; argparse itself would let the last of two win without a word."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        given = namespace.__dict__.setdefault("given", set())
        if option in given:
            parser.error(f"{option} is given twice; leave one out.")
        given |= {option} if option else set()
        setattr(namespace, self.dest, values)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: asking the terminal costs an import on every start."""

    def __init__(self, prog: str):
        super().__init__(prog, width=96)


def _help() -> str:
    lines = ["usage: kvcalc COMMAND …    (kvcalc COMMAND --help says more)", ""]
    lines += [f"  {name:<10} {text}" for name, text in COMMANDS.items()]
    return "\n".join([*lines, "", "  example: kvcalc estimate llama-3-8b --context 8k"])


def _message(error: CalculatorError, words: list[str]) -> str:
    """What the error says; where it is about an input, with the option that sets it."""
    if not isinstance(error, InvalidInput) or words[:1] == ["import"]:
        return str(error)
    from calculator.cli.options import naming_options

    return naming_options(str(error), words)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
