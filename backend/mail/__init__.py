"""Letters to people: their addresses, what is waiting to be sent, and how it leaves.

The web process and apps only write down what is to be sent; the notifier sends it.
"""

from citywise.backend.mail.letters import put_of_app as put_of_app
from citywise.backend.mail.transport import NoServerError as NoServerError
from citywise.backend.mail.transport import RefusedError as RefusedError
from citywise.backend.mail.transport import ServerError as ServerError
from citywise.backend.mail.transport import addressed as addressed
from citywise.backend.mail.transport import connected as connected
from citywise.backend.mail.transport import hand_over as hand_over
from citywise.backend.mail.wording import Asked as Asked
from citywise.backend.mail.wording import Written as Written
