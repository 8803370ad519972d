"""Display options of commands (`--graph`, `--stat`, `--raw`): a Result holds data only, a View knows how to show it."""

from __future__ import annotations

from typing import NamedTuple


class ViewOptions(NamedTuple):
    """The display options of one command. Each is read by the renderers of one verb and ignored by all others."""

    graph: bool = False  # log: draw the branches to the left of the messages
    oneline: bool = False  # log: one line per message
    full: bool = False  # log: fold nothing
    screen: bool = False  # log: only the newest turns that fit a terminal
    signatures: bool = False  # log: a column with the state of each signature; cat: also if there is none
    lines: bool = False  # append --jsonl: no hint after each message
    raw: bool = False  # cat: the stored line of JSON, byte for byte
    stat: bool = False  # diff: counts only
    around: bool = False  # search: a column with the offset of each row from its hit
    show_origin: bool = False  # config list: the level of each value
    details: bool = False  # show: id, session, directory; usage: prices
    layout: str = "markdown"  # context: markdown, messages or json
    explain: bool = False  # context: why each turn and file was kept or dropped
    stats: bool = False  # context: how much of the budget is used
    past: bool = False  # list: the list of an earlier time
    origin: bool = False  # facts show: the cycle that added a fact
    ended: bool = False  # inbox: a column with what the request of a message has ended by
    preview: bool = False  # history: also the size of the block


DEFAULT_OPTIONS = ViewOptions()
