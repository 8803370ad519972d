"""Messages from the command line and from standard input: texts, and JSON documents one a line."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any

from scopes.cli.input import STANDARD_INPUT, open_input
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.model.codec import MAX_MESSAGE_BYTES


def read_text(call: Invocation, text: str) -> str:
    """Return the text itself, or all of standard input for `-`, to the byte: bytes that are no UTF-8 become surrogates.

    Raises:
        Invalid: it is larger than a message may be.
    """
    if text != STANDARD_INPUT:
        return text
    with open_input(call, STANDARD_INPUT) as stream:
        data = stream.read(MAX_MESSAGE_BYTES + 1)
    if len(data) > MAX_MESSAGE_BYTES:
        raise Invalid(
            f"the message is larger than {MAX_MESSAGE_BYTES >> 20} MiB",
            hint="store the large part as a file and mention it: --file mention:PATH",
        )
    return data.decode("utf-8", "surrogateescape")


def walk_documents(call: Invocation, path: str) -> Iterator[tuple[int, Any]]:
    r"""Yield line number and JSON document of every line that is not blank; only `\n` ends a line.

    Raises:
        Invalid: names the line that is too long, no UTF-8 or no JSON.
    """
    with open_input(call, path) as stream:
        number = 0
        while line := stream.readline(MAX_MESSAGE_BYTES + 1):
            number += 1
            if len(line) > MAX_MESSAGE_BYTES:
                raise Invalid(f"line {number} is longer than {MAX_MESSAGE_BYTES >> 20} MiB")
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.strip():
                yield number, parse_document(line, f"line {number}")


def parse_document(data: bytes | str, what: str) -> Any:
    """Read one JSON document from outside.

    Raises:
        Invalid: names what is wrong with it.
    """
    try:
        return json.loads(data)
    except UnicodeDecodeError as error:
        raise Invalid(f"{what} is not valid UTF-8") from error
    except RecursionError as error:
        raise Invalid(f"{what} is nested too deeply") from error
    except ValueError as error:
        raise Invalid(
            f"{what} is no JSON: {error}", hint='for example: {"author": "carol", "text": "hello"}'
        ) from error
