"""Table of models: context window, encoding and token factor of each; settings extend it.

A name in the table matches every model whose name begins with it; the longest match wins. The settings
`scopes.model.<name>.window`, `.encoding` and `.factor` change a row or add one. Windows are as published by providers.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from shlex import quote
from typing import NamedTuple

from scopes.errors import Invalid
from scopes.store.config import MODEL_SETTING, Setting
from scopes.tokens.encodings import DEFAULT_ENCODING, ENCODINGS

_NUMBER_HINT = "for example: 200000 or 1.2"


class Model(NamedTuple):
    """A family of models.

    `factor` is the number of the model's tokens for 100 tokens of `encoding`. Counts are exact only if it is 100: other
    providers do not publish their encodings. A factor that is not `fixed` (set by the user) is replaced by the one that
    is measured from a conversation, if any.
    """

    name: str
    window: int
    encoding: str = DEFAULT_ENCODING
    factor: int = 100
    fixed: bool = False


MODELS = (
    Model("gpt-5", 400_000),
    Model("gpt-4.1", 1_047_576),
    Model("gpt-4o", 128_000),
    Model("gpt-4-turbo", 128_000, "cl100k_base"),
    Model("gpt-4-32k", 32_768, "cl100k_base"),
    Model("gpt-4", 8_192, "cl100k_base"),
    Model("gpt-3.5-turbo", 16_385, "cl100k_base"),
    Model("o1", 200_000),
    Model("o3", 200_000),
    Model("o4-mini", 200_000),
    Model("claude", 200_000, factor=130),
    Model("gemini", 1_048_576, factor=110),
)


def resolve_model(name: str, settings: Iterable[Setting] = ()) -> Model:
    """Return the row for a model name; a provider prefix, as in `openai/gpt-4o`, is ignored.

    Raises:
        Invalid: no row matches, or a setting has an invalid value.
    """
    table = {model.name: model for model in MODELS}
    for setting in settings:
        match = MODEL_SETTING.fullmatch(setting.key)
        if match is not None:
            family = match["name"].lower()
            table[family] = _with_setting(table.get(family) or Model(family, 0), match["field"].lower(), setting)
    model = name.rpartition("/")[2].lower()
    matching = [family for family in table if model.startswith(family) and table[family].window]
    if model and matching:
        return table[max(matching, key=len)]
    similar = difflib.get_close_matches(model, table, n=3) or sorted(table)
    hint = f"known: {', '.join(similar)}; add it: scopes config set scopes.model.{quote(model or 'NAME')}.window 200000"
    raise Invalid(f"{name!a} is not a model with a known window", hint=hint)


def _with_setting(row: Model, field: str, setting: Setting) -> Model:
    if field == "encoding":
        if setting.value not in ENCODINGS:
            raise Invalid(
                f"{setting.value!a} is not a known encoding ({setting.key})", hint=f"known: {', '.join(ENCODINGS)}"
            )
        return row._replace(encoding=setting.value)
    try:
        number = round(float(setting.value) * 100) if field == "factor" else int(setting.value)
    except (ValueError, OverflowError) as error:
        raise Invalid(f"{setting.value!a} is not a number ({setting.key})", hint=_NUMBER_HINT) from error
    if not 0 < number < 10**12:
        raise Invalid(f"{setting.value!a} is out of range ({setting.key})", hint=_NUMBER_HINT)
    return row._replace(factor=number, fixed=True) if field == "factor" else row._replace(window=number)
