"""What `check` says of durations (docs/casp.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reasoning.test_check import findings

HEAD = """#prefix e : <http://e.org/>.
#from stream <s> [time 30m step 5m].
#held p/1. #last p/1 1h.
p(X) :- e_p(X,_).
#show r/1. #show since_p/2. #show last_p/2.
"""
RULES = {
    "r(X) :- since_p(X,T), now(N), N-T >= 900.": None,
    "r(X) :- since_p(X,T), now(N), N-T >= 90000.": None,
    "r(X) :- last_p(X,T), now(N), N-T >= 3600.": None,
    "r(X) :- last_p(X,T), now(N), N-T > 3600.": ("never-over", "forgets what lies back more"),
    "r(X) :- last_p(X,T), now(N), N >= T+2*h.": ("never-over", "`#last p/1 1h`"),
    "r(X) :- last_p(X,T), now(N), T < N-3600.": ("never-over", "this asks for 3601s"),
    "r(X) :- last_p(X,T), now(N), N-T < 3600.": None,
    "r(X) :- since_p(X,T), now(N), T-N >= 900.": ("never-over", "turn the difference round"),
    "r(X) :- since_p(X,T), now(N), N < T.": ("never-over", "turn the difference round"),
    "r(X) :- since_p(X,T), now(N), N-T >= 900, N-T < 600.":
        ("never-over", "no duration is both at least 15m and at most 599s"),
    "r(X) :- since_p(X,T), now(N), 600 <= N-T <= 900.": None,
    "r(X) :- since_p(X,T), now(N), 900 <= N-T <= 600.": ("never-over", "at least 15m"),
    "r(X) :- since_p(X,T), now(N), not N-T >= 900, N-T > 5000.": None,
    "r(X) :- since_p(X,T), now(N), e_d(X,D), N-T >= D.": None,
    "r(X) :- e_p(X,_,T), now(N), N-T >= 1800.": None,
    "r(X) :- e_p(X,_,T), now(N), N-T >= 1801.": ("short-window", "items of 1801s ago, only of 30m"),
    "r(X) :- e_p(X,_,_), N = #count { T : e_p(X,_,T) }, N > 6.": None,
    "r(X) :- e_p(X,_,_), #count { T : e_p(X,_,T) } >= 7.": None,
    "r(X) :- e_p(X,_,_), #count { T : e_p(X,_,T) } >= 6.": ("closed-window", "holds 7, not 6"),
    "r(X) :- e_p(X,_,_), 6 <= #count { T,V : e_p(X,V,T) }.": ("closed-window", "every 5m"),
    "r(X) :- e_p(X,_,_), 6 = #count { V : e_p(X,V,T) }.": None,
}  # fmt: skip


@pytest.mark.parametrize(("rule", "wanted"), RULES.items(), ids=list(RULES))
def test_check_finds_durations_that_cannot_be_over_and_windows_that_hold_one_more(
    tmp_path: Path, rule: str, wanted: tuple[str, str] | None
) -> None:
    found = findings(tmp_path, f"#const h = 3600.\n{HEAD}{rule}\n")
    if wanted is None:
        assert found == []
    else:
        (one,) = found
        assert one.startswith("7:")
        assert f"warning {wanted[0]}: " in one
        assert wanted[1] in one


def test_beside_other_streams_a_window_holds_what_it_held_up_to_a_step_ago(tmp_path: Path) -> None:
    text = HEAD + "#from stream <t> [time 1m step 1m]. r(X) :- e_p(X,_,T), now(N), N-T >= {}."
    assert findings(tmp_path, text.replace("{}", "2100")) == []
    assert "short-window" in findings(tmp_path, text.replace("{}", "2101"))[0]


def test_of_count_windows_nobody_knows_how_far_they_reach(tmp_path: Path) -> None:
    text = HEAD.replace("[time 30m step 5m]", "[count 9 step 1]")
    assert findings(tmp_path, text + "r(X) :- e_p(X,_,T), now(N), N-T >= 999999.") == []


def test_times_that_are_kept_for_ever_are_warned_of(tmp_path: Path) -> None:
    found = findings(tmp_path, HEAD.replace(" 1h", "") + "r(X) :- last_p(X,_), since_p(X,_).")
    assert ["unbounded-history" in line for line in found] == [True]


def test_what_only_directives_look_at_is_used(tmp_path: Path) -> None:
    assert findings(tmp_path, HEAD + "r(X) :- last_p(X,_), since_p(X,_).") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#held q/1. r(X) :- since_q(X,_).", "unknown-predicate: nothing derives `q/1`"),
        ("#held r/1. r(X) :- p(X).", "no rule looks at `since_r/2`; remove the line"),
        ("r(X) :- p(X), since_r(X,_).", "nothing derives `since_r/2`; declare `#held r/1.`"),
        ("r(X) :- p(X), last_r(X,_).", "nothing derives `last_r/2`; declare `#last r/1 1d.`"),
    ],
)
def test_check_finds_directives_that_are_missing_or_superfluous(
    tmp_path: Path, text: str, said: str
) -> None:
    head = HEAD + "r(X) :- since_p(X,_), last_p(X,_).\n"
    (one,) = findings(tmp_path, head + text)
    assert said in one
