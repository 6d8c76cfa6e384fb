"""Listing 6.1 over LUBM data: the results that an independent run of it gave."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import ndiff
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.citybench.answers import EXAMPLES, evaluations, only, printed, write

VARIANTS = {
    "listed_inputs_only": "listing61.casp",
    "plus_researchInterest": "listing61_with_interests.casp",
}
SIZES = [1000, 5000, pytest.param(10_000, marks=pytest.mark.long)]


def lines(folder: Path, size: int) -> Iterator[dict[str, Any]]:
    """The first lines of the file as triples that all arrive at time 0."""
    with gzip.open(folder / "lubm1_seed0.nt.gz", "rt", encoding="utf-8") as file:
        for line in islice(file, size):
            subject, predicate, value = line.removesuffix(" .\n").split(" ", 2)
            yield {"t": 0, "s": subject, "p": predicate, "o": value}


def expected(folder: Path, size: int, variant: str) -> dict[str, dict[str, Any]]:
    for line in (folder / "expected_listing61.jsonl").read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if (run["first_n_triples"], run["variant"]) == (size, variant):
            results = run["results"]
            assert isinstance(results, dict)
            return results
    raise LookupError(f"{size} lines, {variant}")


def digests(atoms: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Per predicate the number of atoms and the hash of `argument TAB argument` lines."""
    pairs: dict[str, list[str]] = defaultdict(list)
    for atom in atoms:
        predicate, arguments = atom.removesuffix('")').split('("')
        pairs[predicate].append(arguments.replace('","', "\t"))
    return {
        predicate: {
            "count": len(found),
            "sha256": hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()[:16],
        }
        for predicate, found in pairs.items()
    }


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("size", SIZES)
def test_the_results_are_the_expected_ones(
    data_pack: Path, tmp_path: Path, size: int, variant: str
) -> None:
    folder = data_pack / "lubm"
    stream = write(lines(folder, size), tmp_path / "universities.jsonl")
    (evaluation,) = evaluations(EXAMPLES / "lubm" / VARIANTS[variant], stream, until=3)
    assert evaluation.time == 3
    assert digests(only(evaluation)) == expected(folder, size, variant)


def test_the_variants_differ_in_one_input_only() -> None:
    texts = [(EXAMPLES / "lubm" / name).read_text(encoding="utf-8") for name in VARIANTS.values()]
    listed, more = (text[text.index("#input") :].splitlines() for text in texts)
    changes = [line for line in ndiff(listed, more) if not line.startswith("  ")]
    assert changes == ["+ #input uniben_researchInterest/2 ;"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_command_line_gives_the_expected_results(
    data_pack: Path, tmp_path: Path, variant: str
) -> None:
    stream = write(lines(data_pack / "lubm", 1000), tmp_path / "universities.jsonl")
    program = EXAMPLES / "lubm" / VARIANTS[variant]
    (line,) = printed(program, "--stream", stream, "--until", 3)
    assert line["t"] == 3
    (atoms,) = line["answer_sets"]
    assert digests(atoms) == expected(data_pack / "lubm", 1000, variant)
