"""Ranges of Unicode characters that cannot be seen or that deceive, to be put between `[` and `]` of a pattern."""

IGNORABLE = (  # default-ignorable: zero widths, joiners, fillers, tags, variation selectors; and annotation marks
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
DIRECTION_AND_SEPARATORS = r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
WIDE_SPACES = r"\u1680\u2000-\u200a\u202f\u205f\u3000"
INVISIBLE = IGNORABLE + DIRECTION_AND_SEPARATORS + WIDE_SPACES
PICTOGRAPHS = r"\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"  # what emoji sequences consist of
JOINED_LETTERS = (  # Arabic, Syriac and Indian scripts, whose spelling needs joiners and non-joiners between letters
    r"\u0620-\u065f\u066e-\u06ff\u0710-\u077f\u08a0-\u08ff\u0900-\u0dff"
)
