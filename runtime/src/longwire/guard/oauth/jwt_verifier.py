"""Checks access tokens that are signed JWTs: their form, signature, issuer, audience and times."""

from __future__ import annotations

import math
import re
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import jwt
from mcp.server.auth.provider import AccessToken

from longwire.foreign_json import parse_strictly
from longwire.guard.grants import Rejected, Undecided
from longwire.guard.oauth.key_sources import ALGORITHMS, FileKeys, UrlKeys, checked_id

LEEWAY: Final = 60.0  # seconds that clocks may differ by
LONGEST: Final = 8192  # characters of a token; more than most proxies pass on
_FORM: Final = re.compile(r"([A-Za-z0-9_-]{1,2048})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)", re.ASCII)
_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})  # others are no access tokens
_TIMES: Final = ("exp", "nbf", "iat")
_LATEST: Final = 1e12  # seconds since 1970
_MOST_AUDIENCES: Final = 100
_LONGEST_NAME: Final = 255  # characters of a subject or a client's id
# Claims that only tokens for other purposes have: logout (RFC 8417), and identity (OpenID Connect).
_FOREIGN: Final = ("events", "at_hash", "c_hash")
# What claims about the purpose of a token may not be (as in Keycloak), or have to be (as in Cognito).
_OTHER_KINDS: Final = frozenset({"refresh", "offline", "id", "logout"})
_ACCESS_USES: Final = frozenset({"access", "access_token"})
_SCOPE: Final = re.compile(r"[!#-\[\]-~]{1,128}", re.ASCII)

_MALFORMED: Final = Rejected("the token is no JWT")
_ALGORITHM: Final = Rejected("the token is signed with an algorithm that isn't accepted")
_KIND: Final = Rejected("the token is no access token")
_OTHER_ISSUER: Final = Rejected("the token is of another issuer")
_UNFIT_KEY: Final = Rejected("the token names no key that fits its algorithm")
_UNKNOWN_KEY: Final = Rejected("the token is signed with a key that its issuer doesn't publish")
_FORGED: Final = Rejected("the signature of the token is wrong")
_OTHER_USE: Final = Rejected("the token is no access token", authentic=True)
_BOUND: Final = Rejected(
    "the token is bound to a key of its client (cnf), of which this server can't check a proof: "
    "ask for a bearer token",
    authentic=True,
)
_CLAIMS: Final = Rejected("the token has claims that are missing or of the wrong kind", authentic=True)
_NO_KEYS: Final = Undecided(
    "the keys of the authorization server can't be had: try again later", 5, word="keys"
)

# Times are looked at here, by this object's clock.
_OPTIONS: Final[Any] = {
    "require": ["exp", "iss", "aud"],
    **dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat", "verify_sub", "verify_jti"), False),
}
# PyJWT's errors about tokens whose signature is right. Its other errors are about the signature.
_PROBLEMS: Final[Mapping[type[jwt.PyJWTError], Rejected]] = {
    jwt.ExpiredSignatureError: Rejected("the token has expired", authentic=True),
    jwt.ImmatureSignatureError: Rejected("the token is not valid yet", authentic=True),
    jwt.InvalidAudienceError: Rejected("the token is for another audience", authentic=True),
    jwt.InvalidIssuerError: Rejected("the token is of another issuer", authentic=True),
    jwt.MissingRequiredClaimError: _CLAIMS,
}


class Verifier:
    """Checks tokens; this base takes tokens of any form, and `decide` is asked about each."""

    version: object = None  # answers hold as long as this is the same object
    signed: bool = False  # whether tokens prove themselves, so that none can be guessed

    def takes(self, token: str) -> bool:
        return True

    def lasts(self, access: AccessToken) -> float:
        """Until when an answer holds, in seconds since 1970."""
        raise NotImplementedError

    def reload(self) -> None:
        """Read the keys again, if there are any."""

    def verify(self, token: str) -> AccessToken | Rejected | Undecided | None:
        """The verdict on a token, if it is known at once; None: `decide` has to be asked."""
        return None

    async def decide(self, token: str) -> AccessToken | Rejected | Undecided:
        raise NotImplementedError


class JwtVerifier(Verifier):
    """The tokens of one issuer for one or more audiences, which all mean this server."""

    signed = True

    def __init__(
        self,
        issuer: str,
        audiences: Collection[str],
        source: FileKeys | UrlKeys,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._issuer = issuer
        self._audiences = frozenset(audiences)
        self._source = source
        self._wall = wall

    @property
    def version(self) -> object:  # type: ignore[override]
        return self._source.keys

    def takes(self, token: str) -> bool:
        return token.count(".") == 2

    def lasts(self, access: AccessToken) -> float:
        return LEEWAY + (access.expires_at or 0)

    def reload(self) -> None:
        self._source.reload()

    def verify(self, token: str) -> AccessToken | Rejected | Undecided | None:
        if len(token) > LONGEST or (form := _FORM.fullmatch(token)) is None:
            return _MALFORMED
        try:
            header, claims = _object(form[1]), _object(form[2])
            key_id = checked_id(header.get("kid"))
        except ValueError:
            return _MALFORMED
        algorithm = header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            return _ALGORITHM
        if str(header.get("typ", "JWT")).lower() not in _TYPES or "crit" in header:
            return _KIND
        if claims.get("iss") != self._issuer:  # before the key: a stranger's token needs no fetch
            return _OTHER_ISSUER
        keys = self._source.keys
        if keys is None:
            return None if self._source.may_know_more else _NO_KEYS
        found = keys.find(key_id, algorithm)
        if found is None:
            return None if self._source.may_know_more else _UNKNOWN_KEY
        if not found:
            return _UNFIT_KEY
        checked = (self._checked(token, claims, key.public, algorithm) for key in found)
        return next((one for one in checked if one is not _FORGED), _FORGED)

    async def decide(self, token: str) -> AccessToken | Rejected | Undecided:
        found = self.verify(token)
        if found is None:
            await self._source.refresh()
            found = self.verify(token)
        if found is None:  # it took so long that the next attempt is due
            found = _NO_KEYS if self._source.keys is None else _UNKNOWN_KEY
        return found

    def _checked(
        self, token: str, claims: Mapping[str, Any], key: Any, algorithm: str
    ) -> AccessToken | Rejected:
        try:
            jwt.decode(token, key, [algorithm], _OPTIONS, audience=self._audiences, issuer=self._issuer)
        except jwt.PyJWTError as error:
            return _PROBLEMS.get(type(error), _FORGED)
        except (ValueError, TypeError):  # such as a signature of an impossible length
            return _FORGED
        return self._granted(token, claims)

    def _granted(self, token: str, claims: Mapping[str, Any]) -> AccessToken | Rejected:
        """The token of claims whose signature, issuer and audience are right."""
        if not _is_for_access(claims):
            return _OTHER_USE
        if "cnf" in claims:
            return _BOUND
        audiences = claims["aud"]
        if isinstance(audiences, list) and len(audiences) > _MOST_AUDIENCES:
            return _CLAIMS
        if not all(_is_time(claims[name]) for name in _TIMES if name in claims):
            return _CLAIMS
        now = self._wall()
        if now >= claims["exp"] + LEEWAY:
            return _PROBLEMS[jwt.ExpiredSignatureError]
        if now < max(claims.get("nbf", 0), claims.get("iat", 0)) - LEEWAY:
            return _PROBLEMS[jwt.ImmatureSignatureError]
        subject = claims.get("sub")
        client = claims.get("client_id", claims.get("azp"))
        names = [given for given in (subject, client) if given is not None]
        if not names or not all(map(_is_name, names)):
            return _CLAIMS
        own = [audiences] if isinstance(audiences, str) else audiences
        return AccessToken(
            token=token,
            client_id=client or "",
            scopes=_scopes(claims),
            expires_at=int(claims["exp"]),
            resource=next(entry for entry in own if entry in self._audiences),
            subject=subject,
            claims=dict(claims),
        )


def _object(part: str) -> dict[str, Any]:
    """The JSON object in a part of a token; raises ValueError, also for members that come twice."""
    found = parse_strictly(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def _is_time(given: object) -> bool:
    if not isinstance(given, int | float) or isinstance(given, bool):
        return False
    return math.isfinite(given) and 0 <= given < _LATEST


def _is_name(given: object) -> bool:
    if not isinstance(given, str) or not 0 < len(given) <= _LONGEST_NAME:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in given)  # halves of a letter


def _is_for_access(claims: Mapping[str, Any]) -> bool:
    """Whether nothing in a token says that it is for something else."""
    if any(name in claims for name in _FOREIGN) or str(claims.get("typ", "")).lower() in _OTHER_KINDS:
        return False
    return str(claims.get("token_use", "access")).lower() in _ACCESS_USES


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token: `scope` is a text (RFC 9068), `scp` of some servers a text or a list."""
    given = claims.get("scope", claims.get("scp", ""))
    words = given.split(" ") if isinstance(given, str) else given if isinstance(given, list) else []
    return [word for word in words if isinstance(word, str) and _SCOPE.fullmatch(word)]
