"""A real, small provider of OpenID Connect: who signs in is whom the test says, without a form.

The code flow with PKCE, as OpenID Connect Core 1.0 has it: discovery, an endpoint to authorise at,
one for tokens, and the keys that they are signed with.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, CLIENT_SECRET = "e-fold", "known to both"
HOUR = 3600


class Provider:
    """Its state, and what it answers."""

    def __init__(self, redirect_uri: str) -> None:
        self.person: Mapping[str, object] = {}
        """Claims of whoever signs in next."""
        self.issuer = ""
        self._redirect_uri = redirect_uri
        self._key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        self._codes: dict[str, tuple[Mapping[str, object], dict[str, str]]] = {}

    @property
    def metadata(self) -> dict[str, object]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }

    @property
    def keys(self) -> dict[str, object]:
        return {"keys": [self._key.as_dict(private=False)]}

    def authorise(self, asked: dict[str, str]) -> str:
        """Where the browser goes next, with a code."""
        assert asked["client_id"] == CLIENT
        assert asked["redirect_uri"] == self._redirect_uri
        assert asked["response_type"] == "code"
        assert "openid" in asked["scope"].split()
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self._codes[code] = (dict(self.person), asked)
        return f"{self._redirect_uri}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, given: dict[str, str], authorization: str) -> dict[str, object] | None:
        """The tokens for a code; None if something does not fit. A code counts once."""
        known = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET.replace(' ', '+')}".encode()).decode()
        plain = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
        person, asked = self._codes.pop(given["code"], ({}, {}))
        verifier = hashlib.sha256(given["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).decode().rstrip("=")
        if authorization.removeprefix("Basic ") not in (known, plain):
            return None
        if not asked or challenge != asked["code_challenge"]:
            return None
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + HOUR,
            "nonce": asked["nonce"],
            **person,
        }
        return {
            "access_token": secrets.token_urlsafe(),
            "token_type": "Bearer",
            "expires_in": HOUR,
            "id_token": jwt.encode({"alg": "RS256", "kid": "one"}, claims, self._key),
        }


@contextmanager
def provider(redirect_uri: str) -> Iterator[Provider]:
    """One that listens on this machine until the block ends.

    Args:
        redirect_uri: of its only client.
    """
    state = Provider(redirect_uri)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            if address.path == "/.well-known/openid-configuration":
                self._json(state.metadata)
            elif address.path == "/jwks":
                self._json(state.keys)
            elif address.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", state.authorise(_single(address.query)))
                self.end_headers()
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            found = state.token(_single(body), self.headers.get("Authorization", ""))
            self._json(found or {"error": "invalid_grant"}, 200 if found else 400)

        def _json(self, content: Mapping[str, object], status: int = 200) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _single(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}
