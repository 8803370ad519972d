"""The options that every command accepts, before or after its name, as data for the parser, help and completion."""

COLOR_CHOICES = ("auto", "always", "never")
SECRET_CHOICES = ("refuse", "redact", "allow")


class GlobalOption:
    """One option: `key` is its name in `Invocation.configure`; `value` is a placeholder, None for a switch.

    `is_optional` is True if the value may be left out, and needs `=`. `repeated` options are lists, switches a number.
    `reads_past` is True if only commands that read an earlier state of the store accept it.
    """

    __slots__ = ("choices", "help", "is_optional", "key", "names", "reads_past", "repeated", "value")

    def __init__(
        self,
        *names: str,
        key: str,
        help: str,  # noqa: A002  the usual name in parsers
        value: str | None = None,
        choices: tuple[str, ...] = (),
        repeated: bool = False,
        is_optional: bool = False,
        reads_past: bool = False,
    ) -> None:
        self.names = names
        self.key = key
        self.help = help
        self.value = value
        self.choices = choices
        self.repeated = repeated
        self.is_optional = is_optional
        self.reads_past = reads_past

    @property
    def label(self) -> str:
        """The names and the value, as in help: `-q, --quiet`, `--json[=FIELDS]`."""
        value = "" if self.value is None else f"[={self.value}]" if self.is_optional else f" {self.value}"
        return ", ".join(self.names) + value


HELP = GlobalOption("-h", "--help", key="help", help="Show help and exit")
VERSION = GlobalOption("-V", "--version", key="version", help="Show the version and exit")

GLOBAL_OPTIONS = (
    GlobalOption("-C", key="directories", value="DIR", repeated=True, help="Run as if started in DIR"),
    GlobalOption("--store", key="store", value="PATH", help="Use this store"),
    GlobalOption("-c", key="settings", value="KEY=VALUE", repeated=True, help="Set a setting for this run"),
    GlobalOption(
        "--at",
        key="at_operation",
        value="WHEN",
        reads_past=True,
        help="Read the store as it was: an operation or a time",
    ),
    GlobalOption("--json", key="json", value="FIELDS", is_optional=True, help="Print JSON, errors included"),
    GlobalOption("--format", key="template", value="FORM", help="A form, or a template: '{id} {title}'"),
    GlobalOption("-z", key="nul", help="End rows with NUL"),
    GlobalOption("--as", key="actor", value="NAME", help="Act as this agent or person (default: you)"),
    GlobalOption("--dry-run", key="dry_run", help="Print what would happen, change nothing"),
    GlobalOption("--secrets", key="secrets", value="HOW", choices=SECRET_CHOICES,
                 help="At a secret: refuse (default), redact or allow"),
    GlobalOption("-y", "--yes", key="yes", help="Answer yes"),
    GlobalOption("--no-input", key="no_input", help="Never ask; fail instead"),
    GlobalOption("-q", "--quiet", key="quiet", help="Only results and errors"),
    GlobalOption("-v", "--verbose", key="verbose", repeated=True,
                 help="All notes, and the store; -vv: timings, tracebacks"),
    GlobalOption("--color", key="color", value="WHEN", choices=COLOR_CHOICES, help="auto, always or never"),
    GlobalOption("--no-pager", key="no_pager", help="Do not use a pager"),
    HELP,
    VERSION,
)  # fmt: skip
