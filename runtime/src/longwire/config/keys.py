"""The table of keys: everything that can be set, with its option, variable, default and meaning.

Options and variables that were there before the file keep their names, which is why some are named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from functools import partial
from typing import Any, Final

from longwire.config import kinds
from longwire.config.key import Key
from longwire.contract.envelopes import command_words
from longwire.declared import declared
from longwire.guard.grants import Scopes
from longwire.guard.origins import Origins
from longwire.guard.proxies import parse_network
from longwire.operations.logs import FORMATS, LEVELS

# The groups of options in --help, in order.
LISTEN: Final = "where to listen (several at once are fine; port 0 takes any free port)"
ACCESS: Final = "access"
WORK: Final = "work"
SESSIONS: Final = "sessions of Streamable HTTP"
CLUSTER: Final = "several nodes that share sessions (needs the extra 'cluster' and Redis or Valkey)"
LIMITS: Final = "limits"
LOGS: Final = "logs, on stderr"
WORKERS: Final = "methods in worker processes (Streamable HTTP only)"
GROUPS: Final = (LISTEN, ACCESS, WORK, SESSIONS, WORKERS, CLUSTER, LIMITS, LOGS)

_COUNT: Final = kinds.whole(most=1 << 24)
_BYTES: Final = kinds.whole(256, metavar="BYTES")
_MANY_BYTES: Final = kinds.whole(1 << 20, 1 << 60, "BYTES")
_SECONDS: Final = kinds.seconds()

_mcp: Final = partial(Key, section="mcp", group=SESSIONS)
_auth: Final = partial(Key, section="auth", group=ACCESS)
_limits: Final = partial(Key, section="limits", group=LIMITS)
_store: Final = partial(Key, section="store", group=SESSIONS)
_listen: Final = partial(Key, section="server", group=LISTEN)
_work: Final = partial(Key, section="server", group=WORK)
_logs: Final = partial(Key, section="server", group=LOGS)
_admin: Final = partial(Key, section="admin", group=LISTEN)


def _prefixed(
    prefix: str, section: str, group: str, name: str, kind: kinds.Kind, help: str, **more: Any
) -> Key:
    flag, setting = f"--{prefix}-{name.replace('_', '-')}", f"{prefix}_{name}"
    return Key(name, kind, help, section, group, **{"setting": setting, "flag": flag, **more})


_cluster: Final = partial(_prefixed, "cluster", "cluster", CLUSTER)
_workers: Final = partial(_prefixed, "worker", "workers", WORKERS)
# The variable of the clients' token, which has a name that the product chooses.
TOKEN: Final = "{token}"

# fmt: off
RUNTIME_KEYS: Final[tuple[Key, ...]] = (
    _mcp("max_sessions", _COUNT, "sessions at once", setting="max_sessions"),
    _mcp("max_sessions_per_principal", _COUNT, "sessions of one token or address",
        setting="max_sessions_each"),
    _mcp("session_safe_seconds", kinds.seconds(zero=True), "seconds after its beginning or last use in which "
        "a session doesn't end for another", setting="safe_idle"),
    _mcp("session_ttl_seconds", _SECONDS, "seconds until a session without requests ends",
        setting="idle_timeout"),
    _mcp("max_pending_messages", _COUNT, "messages that wait for a session's client, or can be sent again",
        setting="max_pending"),
    _mcp("max_pending_bytes", _BYTES, "bytes of these messages, of one session", setting="max_pending_bytes"),
    _mcp("send_timeout_seconds", _SECONDS, "seconds that a call waits until the store and its client take "
        "what it sends; then it fails", setting="send_timeout"),
    _mcp("keepalive_seconds", _SECONDS, "seconds between comments on a silent event stream",
        setting="heartbeat"),
    _mcp("client_timeout_seconds", _SECONDS, "seconds that a client may take to answer the server",
        setting="client_timeout"),
    _mcp("capability_policy", kinds.one_of("warn", "drop", "error"), "requests to a client that didn't "
        "declare the capability: send them with a warning, drop them, or fail the call",
        setting="capability_policy", aliases=("sampling_capability_policy",)),
    _mcp("allowed_origins", kinds.texts("URL", lambda origin: Origins.parse([origin])),
        "pages that may use the server, as https://HOST[:PORT]; without any: pages of this machine",
        setting="allowed_origins", group=ACCESS),
    _auth("token_file", kinds.FILE, "a file with the token that HTTP clients have to send, or with one for "
        "each of them"),
    # Without an option, because every user of the machine can read command lines.
    _auth("token", kinds.text("TOKEN"), "the token itself, where there is no file", flag=None, variable=TOKEN,
        secret=True),
    _auth("hook", kinds.text("MODULE:FUNCTION"), "a Python function that says who sends a request",
        setting="hook", flag="--auth-hook"),
    _auth("hook_cache_seconds", kinds.seconds(zero=True), "seconds that an answer of the hook is remembered",
        setting="hook_seconds", flag="--auth-hook-cache-seconds"),
    _auth("oauth_issuer", kinds.text("URL"), "the authorization server whose access tokens (signed JWTs) are "
        "accepted"),
    _auth("oauth_jwks", kinds.FILE_OR_URL, "its public keys: a JWK Set in a file, or at an https URL"),
    _auth("oauth_resource", kinds.text("URL"), "the URL that clients know this server by, as in "
        "https://mcp.example/mcp"),
    _auth("oauth_audience", kinds.texts("NAME"), "the audiences of tokens for this server; without any: "
        "oauth_resource", default=()),
    _auth("scopes", kinds.named_lists("SCOPE=TOOL[,TOOL]", Scopes.parse), "the tools that a scope opens; "
        "patterns such as list_* are fine, and so are resource:URI, prompt:NAME and method:NAME",
        setting="scopes", flag="--scope"),
    _auth("allow_host", kinds.texts("NAME"), "a further name that HTTP clients may call this server by",
        default=()),
    _auth("trusted_proxies", kinds.texts("NETWORK", parse_network), "the address or network of a proxy that "
        "says in X-Forwarded-For or Forwarded whom it speaks for", default=(), flag="--trusted-proxy"),
    _limits("rate", kinds.RATE, "requests of one token or address, as in 60/min", setting="rate"),
    _limits("tools", kinds.named_rates("TOOL=RATE"), "calls of one tool by one token or address",
        setting="tool_rates", flag="--tool-rate"),
    _limits("max_calls", _COUNT, "requests in flight", setting="calls"),
    _limits("max_calls_per_client", _COUNT, "requests in flight of one client", setting="calls_each"),
    _limits("max_subscriptions", _COUNT, "open subscriptions", setting="streams"),
    _limits("max_subscriptions_per_principal", _COUNT, "open subscriptions of one token or address",
        setting="streams_each"),
    _limits("max_connections", _COUNT, "clients of one endpoint; an HTTP port takes four times as many",
        setting="connections"),
    _limits("max_connections_per_principal", _COUNT, "event streams at /sse of one token or address",
        setting="connections_each"),
    _limits("max_message_bytes", _BYTES, "bytes of one message", setting="body"),
    _limits("max_headers", _COUNT, "header lines of a request", setting="max_headers"),
    _limits("max_header_line_bytes", _BYTES, "bytes of one header line", setting="max_header_line"),
    _limits("max_head_bytes", _BYTES, "bytes of all header lines together", setting="max_head"),
    _limits("head_timeout_seconds", _SECONDS, "seconds for the header lines of a request",
        setting="head_timeout"),
    _limits("idle_connection_seconds", _SECONDS, "seconds that an HTTP connection without a request stays "
        "open", setting="keep_alive"),
    _limits("read_timeout_seconds", _SECONDS, "seconds for a message that has begun to arrive",
        setting="read_timeout"),
    _limits("write_timeout_seconds", _SECONDS, "seconds that a client may leave its answers unread",
        setting="write_timeout"),
    _store("sessions", kinds.STORE, "where sessions and their messages are kept: memory, or sqlite:PATH, "
        "which outlives a restart", setting="store", flag="--store", variable="{}STORE"),
    _cluster("redis", kinds.REDIS, "the Redis or Valkey server that all nodes use"),
    _cluster("node", kinds.text("LABEL"), "this node's label, with which the ids of its sessions begin: 1 to "
        "16 of a-z 0-9"),
    _cluster("peers", kinds.ADDRESS, "where the port for the other nodes listens", setting=None),
    _cluster("address", kinds.text("URL"), "where the other nodes reach that port, as http://HOST:PORT"),
    _cluster("secret_file", kinds.FILE, "a file with the secret that all nodes share, 32 characters or more"),
    _cluster("prefix", kinds.text("NAME"), "what the keys in Redis begin with; clusters that share a Redis "
        "have different ones"),
    _workers("method_workers", kinds.whole(0, 1024), "processes that run the methods; 0: the server itself "
        "does", setting="method_workers", flag="--method-workers"),
    _workers("command", kinds.text("COMMAND", command_words), "a program that is such a worker, instead of "
        "the product's own; {socket} stands for its socket"),
    _workers("sockets", kinds.texts("PATH"), "the Unix socket of a worker that somebody else runs",
        flag="--worker-socket"),
    _workers("queue", _COUNT, "calls that may wait for a worker"),
    _workers("queue_seconds", _SECONDS, "seconds that a call may wait for a worker"),
    _workers("call_seconds", _SECONDS, "seconds that a worker may take for a call, whatever progress it "
        "tells of"),
    _workers("ping_seconds", _SECONDS,
        "seconds of silence after which a worker is asked whether it is alive"),
    _workers("silent_seconds", _SECONDS, "seconds without a sign of life, after a ping, in which a worker "
        "that runs calls is not replaced yet"),
    _workers("max_requests", kinds.whole(0), "calls, or a few more, after which a worker is replaced; 0: "
        "never"),
    _workers("affinity", kinds.one_of("auto", "none", "session"), "whether all calls of a session go to one "
        "worker; auto: as the worker says"),
    _workers("environment", kinds.texts("NAME"), "a variable that such a program gets although it is the "
        "server's own or looks like a secret"),
    _listen("stdio", kinds.SWITCH, "stdin and stdout (the default, unless another is asked for)",
        default=False),
    _listen("uds", kinds.PLACE, "a Unix socket, for you alone"),
    _listen("http", kinds.ADDRESS, "Streamable HTTP at /mcp"),
    _listen("sse", kinds.ADDRESS, "HTTP+SSE at /sse, for older clients"),
    _listen("metrics", kinds.ADDRESS, "figures for Prometheus at /metrics"),
    _listen("tls_certificate", kinds.PLACE, "a PEM file: clients then use HTTPS; the metrics and admin ports "
        "stay HTTP on this machine", setting="tls_certificate"),
    _listen("tls_key", kinds.PLACE, "the PEM file of its key, if it isn't in the same file",
        setting="tls_key"),
    _listen("framing", kinds.one_of("auto", "lines", "content-length"), "how messages on stdin and stdout "
        "are separated; auto: as from the client", default="auto"),
    _work("grace", kinds.seconds(zero=True), "seconds that work may continue after SIGTERM", setting="grace"),
    _work("data", kinds.PLACE, "where jobs and reports are kept", setting="data", metavar="DIR",
        variable="{}DATA", default_text="a folder in `$XDG_DATA_HOME`"),
    _logs("log_level", kinds.one_of(*LEVELS), "how much is logged", default="info"),
    _logs("log_format", kinds.one_of(*FORMATS), "for machines or for people", default="json"),
    _admin("listen", kinds.ADDRESS, "the operator's view at /admin; on another HOST than this machine with "
        "TLS only", flag="--admin", variable="{}ADMIN"),
    _admin("token_file", kinds.FILE, "a file with the token of operators, or with one for each; without it "
        "one is made in the data folder", group=ACCESS, flag="--admin-token-file"),
)
# fmt: on


def keys() -> tuple[Key, ...]:
    """The keys of the runtime and those of the declared product."""
    return RUNTIME_KEYS + declared().keys()


def sections() -> tuple[str, ...]:
    """The sections of the file, in order."""
    return tuple(dict.fromkeys(key.section for key in keys()))


def default_of(key: Key, environ: Mapping[str, str]) -> Any:
    """The value that counts where a key is set nowhere."""
    if key.setting is None:
        return key.default
    product = declared()
    if key.setting == "data":
        return product.data_folder({k: v for k, v in environ.items() if k != product.data_variable})
    field = product.settings().__dataclass_fields__[key.setting]
    return field.default if field.default_factory is MISSING else field.default_factory()
