"""The options that every command accepts, before or after its name, as data for the parser, help and completion."""

COLOR_CHOICES = ("auto", "always", "never")


class GlobalOption:
    """One option: `key` is its name in `Invocation.configure`; `value` is a placeholder, None for a switch.

    `reads_past` is True if only commands that read an earlier state of the store accept it.
    """

    __slots__ = ("choices", "help", "key", "names", "reads_past", "repeated", "value")

    def __init__(
        self,
        *names: str,
        key: str,
        help: str,  # noqa: A002  the usual name in parsers
        value: str | None = None,
        choices: tuple[str, ...] = (),
        repeated: bool = False,
        reads_past: bool = False,
    ) -> None:
        self.names = names
        self.key = key
        self.help = help
        self.value = value
        self.choices = choices
        self.repeated = repeated
        self.reads_past = reads_past


HELP = GlobalOption("-h", "--help", key="help", help="Show help and exit")

GLOBAL_OPTIONS = (
    GlobalOption("-C", key="directories", value="DIRECTORY", repeated=True, help="Run as if started in DIRECTORY"),
    GlobalOption("--store", key="store", value="PATH", help="Use the store at PATH"),
    GlobalOption("-c", key="settings", value="KEY=VALUE", repeated=True, help="Override a setting for this run"),
    GlobalOption(
        "--at-operation",
        key="at_operation",
        value="OPERATION",
        reads_past=True,
        help="Read the store as it was after an operation: an id, @{2} or a time",
    ),
    GlobalOption("--json", key="json", help="Print JSON, errors included"),
    GlobalOption("--fields", key="fields", value="NAMES", help="Print only these fields; without NAMES, list them"),
    GlobalOption(
        "--format", key="template", value="TEMPLATE", help="Print each row by a template of its fields: '{id}'"
    ),
    GlobalOption("-z", key="nul", help="End each row with NUL instead of newline"),
    GlobalOption("--porcelain", key="porcelain", value="VERSION", choices=("v1",), help="Print rows as in a pipe"),
    GlobalOption("-q", "--quiet", key="quiet", help="Print only results and errors"),
    GlobalOption("-v", "--verbose", key="verbose", help="Also print which store is used, on standard error"),
    GlobalOption("--debug", key="debug", help="Print the traceback of an error and timings to standard error"),
    GlobalOption("--color", key="color", value="WHEN", choices=COLOR_CHOICES, help="When to color the output"),
    GlobalOption("--no-pager", key="no_pager", help="Do not use a pager"),
    GlobalOption("--no-hints", key="no_hints", help="Do not print hints about next steps"),
    GlobalOption("--no-input", key="no_input", help="Never ask; fail if an answer is needed"),
    GlobalOption("--yes", key="yes", help="Answer every question with yes"),
    HELP,
)
