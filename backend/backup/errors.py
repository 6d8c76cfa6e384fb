"""What can be wrong with a backup."""

from __future__ import annotations

from citywise.backend.errors import CitywiseError


class BackupError(CitywiseError):
    """A backup cannot be made, read or restored; the message says why and what to do."""


class DamagedBackupError(BackupError):
    """A backup is cut short, or is not what was written."""


class PassphraseError(BackupError):
    """The passphrase is missing or wrong."""
