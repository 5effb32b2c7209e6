"""Who may open a session: what an authenticator is, and two of them.

An authenticator decides; what is sent and appended follows elsewhere.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from canvass.transport.client_messages import challenge_response


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The client may open a session."""

    encoded_principal: bytes


@dataclass(frozen=True, slots=True)
class Challenged:
    """The client has to answer something first."""

    encoded_challenge: bytes


@dataclass(frozen=True, slots=True)
class Rejected:
    """The client may not open a session."""


Decision: TypeAlias = Authenticated | Challenged | Rejected


class Authenticator(Protocol):
    """Decides about clients, on the leader."""

    def on_connect(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """Decide about a client that connects."""
        ...

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """Decide about a client that has answered a challenge."""
        ...

    def may_administer(self, encoded_principal: bytes) -> bool:
        """Decide whether a client that was let in may ask something of the cluster itself."""
        ...


class AcceptEveryone:
    """Lets every client in, by the name that it gives."""

    def on_connect(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        del session_id
        return Authenticated(encoded_credentials)

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        del session_id, encoded_credentials
        return Rejected()

    def may_administer(self, encoded_principal: bytes) -> bool:
        """See `Authenticator`."""
        del encoded_principal
        return True


class SharedSecret:
    """Lets those in who know a secret; it is not sent.

    Parameters
    ----------
    secret
        What clients have to know.
    nonce
        Gives bytes that nobody can foresee.
    administrators
        The names of those that may ask something of the cluster itself; all, if None.
    """

    def __init__(
        self,
        secret: bytes,
        nonce: Callable[[], bytes],
        administrators: frozenset[bytes] | None = None,
    ) -> None:
        self._secret, self._nonce, self._administrators = secret, nonce, administrators
        self._asked: dict[int, tuple[bytes, bytes]] = {}

    def on_connect(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        challenge = self._nonce()
        self._asked[session_id] = encoded_credentials, challenge
        return Challenged(challenge)

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes) -> Decision:
        """See `Authenticator`."""
        name, challenge = self._asked.pop(session_id, (b"", b""))
        expected = challenge_response(self._secret, name, challenge)
        if challenge and hmac.compare_digest(expected, encoded_credentials):
            return Authenticated(name)
        return Rejected()

    def may_administer(self, encoded_principal: bytes) -> bool:
        """See `Authenticator`."""
        return self._administrators is None or encoded_principal in self._administrators
