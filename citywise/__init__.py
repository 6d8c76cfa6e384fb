"""Smart-city applications by reasoning over live streams.

In a checkout the packages are links to the folders at its root; an installed package has them,
and the data that lie at the root, as folders of its own.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        if name != "__version__":
            raise AttributeError(f"module `citywise` has no attribute `{name}`")
        from importlib.metadata import version  # takes longer than most that is done here

        return version("citywise")
