"""What accounts may be called, and when two names are one.

The profile follows RFC 8265 (UsernameCaseMapped): NFKC, case folded, no blanks inside.
"""

from __future__ import annotations

import re
import unicodedata

from citywise.backend.people.errors import PeopleError

LONGEST = 40
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me", "Zl", "Zp", "Zs"})
"""Categories of what shows nothing by itself: control and format characters, what marks others,
blanks, and what no alphabet has."""
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters, and a pattern of dots, that are blanks by another name."""
_NAME = re.compile(r"[^\W_](?:[\w.\-' ]*[^\W_])?")


def is_seen(text: str) -> bool:
    """Whether there is anything in a text that people can see."""
    return any(s not in _FILLERS and unicodedata.category(s) not in _UNSEEN for s in text)


def checked(name: str) -> str:
    """A name as it is kept: normal form, blanks trimmed.

    Raises `PeopleError` for what cannot be a name.
    """
    text = " ".join(unicodedata.normalize("NFKC", name).split())
    if not 2 <= len(text) <= LONGEST or not _NAME.fullmatch(text) or not is_seen(text):
        raise PeopleError(
            "name",
            f"expected 2 to {LONGEST} letters, digits and . - _ ' or blanks, beginning and "
            "ending with a letter or digit",
            "name-form",
        )
    if len(_scripts(text)) > 1:
        raise PeopleError(
            "name",
            "letters of several alphabets look alike; write the name in one of them",
            "name-alphabets",
        )
    return text


def key(name: str) -> str:
    """What two names share that are the same to a person: case and blanks do not count."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", "".join(folded.split()))


def _scripts(text: str) -> set[str]:
    """The alphabets of a text's letters, as the first word of their Unicode names."""
    return {unicodedata.name(sign, "?").split()[0] for sign in text if sign.isalpha()}
