"""What is sent to other machines arrives whole, and only what they can have is sent."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from citywise.backend.pipeline import bundle
from citywise.backend.pipeline.bundle import Bundle, BundleError
from citywise.backend.pipeline.requests import find
from citywise.reasoning.languages.casp.parsing import parse_file
from citywise.reasoning.rdf.knowledge import background

PROGRAM = """#prefix c : <http://example.org/>.
#from stream <http://example.org/s> [time 1s step 1s].
#from <{}>.
near(X) :- c_reading(X,_), c_by(X,"c_harbour").
"""
KNOWLEDGE = "@prefix c: <http://example.org/> . c:a c:by c:harbour ."


def request_with(folder: Path, knowledge: str) -> Path:
    """A request `rules/near.casp` that names a knowledge base, which is written too."""
    rules = folder / "rules"
    rules.mkdir()
    file = rules / knowledge
    file.parent.mkdir(exist_ok=True)
    file.write_text(KNOWLEDGE)
    path = rules / "near.casp"
    path.write_text(PROGRAM.format(knowledge))
    return path


def sent(packed: Bundle, folder: Path) -> Path:
    """A folder on another machine where the bundle has arrived."""
    folder.mkdir()
    (folder / packed.file_name).write_bytes(packed.data)
    return folder


@pytest.mark.parametrize("knowledge", ["base.ttl", "kb/base.ttl", "../kb/base.ttl"])
def test_a_request_arrives_with_its_knowledge_base_where_it_names_it(
    tmp_path: Path, knowledge: str
) -> None:
    path = request_with(tmp_path, knowledge)
    packed = bundle.pack(path)
    expected = background(parse_file(path)).text
    arrivals = sent(packed, tmp_path / "executor")
    path.unlink()
    (path.parent / knowledge).unlink()
    found = bundle.source(packed.text, arrivals)
    assert found.is_relative_to(arrivals)
    assert background(parse_file(found)).text == expected == 'c_by("c_a","c_harbour").\n'


def test_the_same_content_is_the_same_bundle_and_other_knowledge_another(tmp_path: Path) -> None:
    path = request_with(tmp_path, "base.ttl")
    first = bundle.pack(path)
    os.utime(path, (0, 0))
    assert bundle.pack(path) == first
    (path.parent / "base.ttl").write_text(KNOWLEDGE.replace("c:a ", "c:b "))
    assert bundle.pack(path).digest != first.digest


def test_our_own_requests_are_packed() -> None:
    packed = bundle.pack(find("traffic_jam"))
    assert packed.text == f"bundle:{packed.digest}/traffic_jam.casp"


def test_a_path_stands_for_itself() -> None:
    assert bundle.source("rules/near.casp") == Path("rules/near.casp")


def test_a_knowledge_base_by_absolute_path_is_refused_with_what_to_write(tmp_path: Path) -> None:
    base = tmp_path / "base.ttl"
    base.write_text(KNOWLEDGE)
    path = tmp_path / "near.casp"
    path.write_text(PROGRAM.format(base))
    with pytest.raises(BundleError, match=r"near\.casp: `#from <.*absolute path.*relative"):
        bundle.pack(path)


def test_a_bundle_that_is_missing_or_was_changed_on_the_way_is_refused(tmp_path: Path) -> None:
    packed = bundle.pack(request_with(tmp_path, "base.ttl"))
    with pytest.raises(BundleError, match="has not arrived"):
        bundle.source(packed.text, tmp_path)
    arrivals = sent(packed, tmp_path / "executor")
    (arrivals / packed.file_name).write_bytes(packed.data[:-1])
    with pytest.raises(BundleError, match="not the one that was sent"):
        bundle.source(packed.text, arrivals)


def test_of_two_processes_that_unpack_a_bundle_at_once_the_slower_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = bundle.pack(request_with(tmp_path, "base.ttl"))
    arrivals = sent(packed, tmp_path / "executor")
    unpack = bundle._unpacked.__wrapped__

    def overtaken(**more: object) -> str:
        monkeypatch.undo()
        unpack(arrivals, packed.digest)
        return tempfile.mkdtemp(dir=arrivals)

    monkeypatch.setattr(tempfile, "mkdtemp", overtaken)
    assert unpack(arrivals, packed.digest) == arrivals / packed.digest
    assert {path.name for path in arrivals.iterdir()} == {packed.digest, packed.file_name}


HIDDEN = """
import sys
sys.meta_path = [found for found in sys.meta_path if "Editable" not in str(found)]
sys.path.insert(1, "{0}")
"""
GUARDED = """
from citywise import reasoning
from citywise.reasoning.engines.clingo.guard import GuardedEngine
from citywise.reasoning.model.engine import WindowFacts
from citywise.reasoning.languages.casp.parsing import parse
engine = GuardedEngine(parse("p(X) :- q(X)."))
print(reasoning.__file__, engine.answer_sets(WindowFacts("q(1)."))[0].atoms)
engine.close()
"""
SOURCE = """
import citywise.backend.pipeline.source
import citywise.backend.pipeline.worker
print(citywise.backend.pipeline.source.__file__)
"""


def run_from(archive: str, program: str, folder: Path) -> str:
    """What a program prints that finds our packages in an archive and nowhere else."""
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN.format(archive) + program],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_guarded_engine_runs_from_our_code_as_a_zip_by_a_relative_path(tmp_path: Path) -> None:
    """As Spark has it on an executor: the zip lies in the working directory."""
    archive = bundle.code(tmp_path).name
    assert (
        run_from(archive, GUARDED, tmp_path)
        == f"{archive}/citywise/reasoning/__init__.py ('p(1)',)"
    )


@pytest.mark.slow
def test_the_code_that_is_sent_has_all_that_executors_import(tmp_path: Path) -> None:
    archive = str(bundle.code(tmp_path))
    assert run_from(archive, SOURCE, tmp_path) == f"{archive}/citywise/backend/pipeline/source.py"
