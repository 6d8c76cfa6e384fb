"""Which keys belong to a log: without them all that is sealed in it reads as removed.

The log's folder names its keys by their random id. So a disk that is not mounted, or a backup
that was put back without them, is an error, and does not make the ingest drop for good what
stands of everybody.
"""

from __future__ import annotations

from pathlib import Path

from citywise.backend.ingest.frames import LogError
from citywise.backend.ingest.keyring import Keyring, beside

MARK = "keyring"
"""A file in the log's folder with the id of its keys."""


def check(folder: Path, ring: Keyring) -> None:
    """Raise `LogError` where the keys beside a log (`ring`) are missing, or another log's."""
    mark = folder / MARK
    if not mark.exists():
        return
    wanted, found = mark.read_text().strip(), ring.identity()
    if found == wanted:
        return
    wrong = "are missing" if found is None else f"({found}) are another log's"
    raise LogError(
        f"{folder}: the keys in {beside(folder)} {wrong}, and without its own ({wanted}) nothing "
        "that is sealed in the log can be read. Is their disk mounted, and were they restored "
        f"with the log? Put them back; or, to forget for good all that is sealed, delete {mark}"
    )


def settle(folder: Path, ring: Keyring) -> None:
    """Bind a log that is checked to the keys beside it; an empty ring if there are none."""
    if not (folder / MARK).exists():
        fresh = folder / f"{MARK}.new"
        fresh.write_text(f"{ring.made_identity()}\n")
        fresh.replace(folder / MARK)
