"""A slow reference: logic programs, windows and requests as the thesis defines them.

It shares no code with the engines it judges: `programs` are its values and their text,
`grounding` and `answers` Definitions 2.9-2.14, `windows` and `requests` 4.1-4.7 (docs/casp.md).
"""

from tests.reasoning.reference.windows import count_window, in_order, ticks, time_window

__all__ = ["count_window", "in_order", "ticks", "time_window"]
