"""Files that only their owner may read, and that are whole at every moment."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace(file: Path, content: bytes) -> None:
    """Write a file anew; whoever reads it meanwhile has the old one or the new one."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(handle, "wb") as output:
            output.write(content)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
