"""The port of the operator's view beside the others of a server: its token and its TLS."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from longwire.admin.own_token import own_token
from longwire.admin.port import AdminPort
from longwire.admin.sources import Sources
from longwire.operations.logs import Redactor
from longwire.server.serve import ServeOptions
from longwire.wire.listeners import is_loopback

logger: Final = logging.getLogger(__name__)


@asynccontextmanager
async def admin_port(
    options: ServeOptions, sources: Sources, redactor: Redactor
) -> AsyncIterator[AdminPort | None]:
    """The operator's view, if the options ask for it; raises SettingsError where its token can't be kept."""
    if options.admin is None:
        yield None
        return
    tokens = options.admin_tokens
    if tokens is None:
        tokens, path = own_token(options.settings.data)
        redactor.hide(tokens)
        fields = {"event": "admin_token", "path": str(path)}
        logger.info("the token for /admin is in the file %s", path, extra=fields)
    certificate = None if is_loopback(options.admin.host) else options.certificate
    admin = AdminPort.at(
        options.admin,
        sources,
        tokens,
        names=options.access.names,
        refused=options.access.refused,
        tls=None if certificate is None else certificate.context,
        proxies=options.access.proxies,
    )
    try:
        yield admin
    finally:
        await admin.close()
