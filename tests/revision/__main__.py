"""Ten thousand cases against the definitions, or a part of them:

    nice python -m tests.revision            # all 10,000, the better part of an hour
    nice python -m tests.revision 400 10000  # goes on where it was ended

Every line tells how far it has come; a case that disagrees is told with its seed, and the run goes
on.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from citywise.reasoning import ReasoningError
from tests.revision.defined import assert_defined

_TOLD = 100


def main(first: int, end: int) -> int:
    """How many cases disagree."""
    wrong = runs = 0
    with TemporaryDirectory() as folder:
        for seed in range(first, end):
            try:
                runs += assert_defined(seed, Path(folder))
            except (AssertionError, ReasoningError) as error:
                wrong += 1
                print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
            if (seed + 1) % _TOLD == 0 or seed + 1 == end:
                print(f"{seed + 1}: {runs} runs, {wrong} cases disagree", flush=True)
    return wrong


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.revision", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("first", type=int, nargs="?", default=0, help="seed of the first case (0)")
    parser.add_argument("end", type=int, nargs="?", default=10_000, help="before which it ends")
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    sys.exit(bool(main(chosen.first, chosen.end)))
