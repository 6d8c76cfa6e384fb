"""Where the keys of a manifest stand."""

from __future__ import annotations

import pytest

from citywise.backend.packs.toml_places import Places

TEXT = '''\
# title = "no"
title = "a # b"
"quoted key" = 1
text = """
lost = 1
[lost]
"""
many = [ # one
  "x]",
  { y = 1 },
]
a.b = 1

[table]
  key = { inner = 2 }
[ table . "sub" ]
last = 'c:\\' # end
'''


@pytest.mark.parametrize(
    ("key", "place"),
    [
        (("title",), (2, 1)),
        (("quoted key",), (3, 1)),
        (("text",), (4, 1)),
        (("many",), (8, 1)),
        (("many", 1, "y"), (8, 1)),
        (("a", "b"), (12, 1)),
        (("table",), (14, 2)),
        (("table", "key"), (15, 3)),
        (("table", "key", "inner"), (15, 3)),
        (("table", "sub", "last"), (17, 1)),
        (("lost",), (1, 1)),
        ((), (1, 1)),
    ],
)
def test_a_key_stands_where_it_is_written(
    key: tuple[str | int, ...], place: tuple[int, int]
) -> None:
    found = Places(TEXT, "app.toml").location(key)
    assert (found.line, found.column) == place
