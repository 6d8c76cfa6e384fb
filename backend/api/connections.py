"""Who may have how many connections, and whose are closed to make room for others.

No I/O here: `backend.api.door` accepts, counts by this, and closes what this gives up.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

_HOME_BITS = 56
"""Of an IPv6 address: the rest a home chooses as it likes."""


def home(address: str) -> str:
    """As what an address is counted: an IPv4 address, or a home's network of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _HOME_BITS), strict=False))


def is_loopback(address: str) -> bool:
    """Whether a connection comes from this machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class Connection:
    """One that is open; `close` ends it while it waits for its client."""

    def __init__(self, home: str, close: Callable[[], None]) -> None:
        self.home = home
        self.close = close


class Connections:
    """Those that are open: so many of all, and of each address but a proxy's.

    A connection *waits* while its client has not sent all of a request. Where there are too
    many, the one that has waited longest makes room for a new one, of the same address, or of
    the address with most. So a new one is refused only where all others are being answered.

    Parameters
    ----------
    most, of_address:
        How many may be open in all, and from one address.
    is_proxy:
        Whether an address stands for many clients: `of_address` does not hold for it.
    """

    def __init__(
        self, most: int, of_address: int, is_proxy: Callable[[str], bool] = is_loopback
    ) -> None:
        self._most, self._of_address, self._is_proxy = most, of_address, is_proxy
        self._open: dict[str, dict[Connection, None]] = {}
        self._waiting: dict[str, dict[Connection, None]] = {}
        self._count = 0
        self._answered: dict[str, int] = {}

    def __len__(self) -> int:
        return self._count

    def open(self, address: str, close: Callable[[], None]) -> Connection | None:
        """Take in a connection, which waits; None where there is no room for it."""
        found = Connection(home(address), close)
        there = self._open.get(found.home, {})
        if len(there) >= self._of_address and not self._is_proxy(address):
            if not self._make_room(found.home):
                return None
        elif self._count >= self._most and not self._make_room(self._with_most()):
            return None
        self._open.setdefault(found.home, {})[found] = None
        self._count += 1
        self.wait(found)
        return found

    def wait(self, connection: Connection) -> None:
        """It waits from now on."""
        if connection in self._open.get(connection.home, {}):
            waiting = self._waiting.setdefault(connection.home, {})
            waiting.pop(connection, None)
            waiting[connection] = None

    def work(self, connection: Connection) -> None:
        """It is being answered from now on."""
        _take(self._waiting, connection)

    def leave(self, connection: Connection) -> None:
        """It is closed."""
        _take(self._waiting, connection)
        self._count -= _take(self._open, connection)

    def begin(self, address: str) -> bool:
        """Whether one more request may be answered of a client behind a proxy; `end` it then."""
        of = home(address)
        if self._answered.get(of, 0) >= self._of_address:
            return False
        self._answered[of] = self._answered.get(of, 0) + 1
        return True

    def end(self, address: str) -> None:
        """A request that was begun is answered."""
        of = home(address)
        self._answered[of] -= 1
        if not self._answered[of]:
            del self._answered[of]

    def _with_most(self) -> str:
        return max(self._waiting, key=lambda of: len(self._waiting[of]), default="")

    def _make_room(self, of: str) -> bool:
        """Close the connection that has waited longest; False where none waits."""
        waiting = self._waiting.get(of)
        if not waiting:
            return False
        oldest = next(iter(waiting))
        self.leave(oldest)
        oldest.close()
        return True


def _take(of: dict[str, dict[Connection, None]], connection: Connection) -> bool:
    """Take a connection out; whether it was there."""
    there = of.get(connection.home, {})
    was_there = connection in there
    there.pop(connection, None)
    if not there:
        of.pop(connection.home, None)
    return was_there
