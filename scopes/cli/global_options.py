"""The options that every command takes, before and after the verb, as data for the parser, help and completion."""

COLOR_CHOICES = ("auto", "always", "never")


class GlobalOption:
    """`names` as typed, `key` as Invocation calls it; without `value` it is a switch, with `repeated` it adds up."""

    __slots__ = ("choices", "help", "key", "names", "repeated", "value")

    def __init__(
        self,
        *names: str,
        key: str,
        help: str,  # noqa: A002  the word of every parser for it
        value: str | None = None,
        choices: tuple[str, ...] = (),
        repeated: bool = False,
    ) -> None:
        self.names = names
        self.key = key
        self.help = help
        self.value = value
        self.choices = choices
        self.repeated = repeated


HELP = GlobalOption("-h", "--help", key="help", help="Show help and do nothing")

GLOBAL_OPTIONS = (
    GlobalOption("-C", key="directories", value="DIRECTORY", repeated=True, help="Run as if started in DIRECTORY"),
    GlobalOption("--store", key="store", value="PATH", help="Use the store at PATH"),
    GlobalOption("-c", key="settings", value="KEY=VALUE", repeated=True, help="Set a configuration value for this run"),
    GlobalOption("--json", key="json", help="Print JSON, errors included"),
    GlobalOption("-q", "--quiet", key="quiet", help="Print only what was asked for and errors"),
    GlobalOption("-v", "--verbose", key="verbose", help="Say more about what is done"),
    GlobalOption("--color", key="color", value="WHEN", choices=COLOR_CHOICES, help="Color the output"),
    GlobalOption("--no-pager", key="no_pager", help="Do not use a pager"),
    GlobalOption("--no-hints", key="no_hints", help="Leave out the hints about next steps"),
    GlobalOption("--no-input", key="no_input", help="Never ask; fail where an answer is needed"),
    GlobalOption("--yes", key="yes", help="Answer every question with yes"),
    HELP,
)
