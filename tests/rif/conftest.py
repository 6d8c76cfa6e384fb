"""The W3C's cases of RIF Core, where the data pack is at hand."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

SYNTAXES = {"xml": (".rif", ".rdf"), "presentation": (".rifps", ".ttl")}


@pytest.fixture(scope="session")
def suite(data_pack: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `{syntax}/Core/{kind}/{case}` of files, the graphs of one syntax in each."""
    root = tmp_path_factory.mktemp("rif")
    for syntax, suffixes in SYNTAXES.items():
        unpack(data_pack / "rif" / "rif_core_tests.tar.gz", root / syntax, suffixes)
    return root


def unpack(path: Path, folder: Path, suffixes: tuple[str, ...]) -> None:
    """Write those files of an archive into a folder (Python before 3.11.4 has no safe way)."""
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            if member.name.endswith(suffixes) and (content := archive.extractfile(member)):
                file = folder / member.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())
