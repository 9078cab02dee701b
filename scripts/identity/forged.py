"""Tokens that a server must refuse: changed, unsigned, signed with the wrong key, or signed by the provider with wrong claims."""

import base64
import hashlib
import hmac
import json


def coded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(token, index):
    """The header (0) or the claims (1) of a token."""
    text = token.split(".")[index]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def joined(header, claims):
    return f"{coded(json.dumps(header).encode())}.{coded(json.dumps(claims).encode())}"


def signed(key, header, claims):
    """A token signed with a key of joserfc by the algorithm of the header."""
    from joserfc import jws
    registry = jws.JWSRegistry(algorithms=list(jws.JWSRegistry.algorithms))
    registry.strict_check_header = False
    return jws.serialize_compact(header, json.dumps(claims).encode(), key, registry=registry)


def by_secret(secret, header, claims):
    """A token with an HMAC, as those who hold the public key alone can make it."""
    text = joined(header | {"alg": "HS256"}, claims)
    return f"{text}.{coded(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"


def forgeries(token, key, address):
    """Yields what was done to a token, the token that came of it, and the server's reason to refuse it.

    `key` is the provider's private key, and `address` is one of the attacker's.
    """
    from joserfc.jwk import RSAKey
    header, claims = part(token, 0), part(token, 1)
    first, second, third = token.split(".")
    stranger = RSAKey.generate_key(2048, auto_kid=True)
    public = key.as_dict(private=False)
    pem = key.as_pem(private=False)

    yield "another issuer", signed(key, header, claims | {"iss": "https://id.example.org"}), "issuer"
    yield "an issuer with a slash", signed(key, header, claims | {"iss": claims["iss"] + "/"}), "issuer"
    yield "no issuer", signed(key, header, {name: claims[name] for name in claims if name != "iss"}), "issuer"
    yield "no audience", signed(key, header, {name: claims[name] for name in claims if name != "aud"}), "audience"
    yield "no end", signed(key, header, {name: claims[name] for name in claims if name != "exp"}), "claims"
    yield "its end an hour ago", signed(key, header, claims | {"exp": claims["iat"] - 3600}), "expired"
    yield "its begin in an hour", signed(key, header, claims | {"nbf": claims["iat"] + 3600}), "notYet"
    yield "a group for a name", signed(key, header, claims | {"sub": "group:team"}), "claims"
    yield "all spaces for a name", signed(key, header, claims | {"sub": "*"}), "claims"

    yield "another name", f"{first}.{coded(json.dumps(claims | {'sub': 'bob'}).encode())}.{third}", "signature"
    middle = len(third) // 2
    other = third[:middle] + ("A" if third[middle] != "A" else "B") + third[middle + 1:]
    yield "a changed signature", f"{first}.{second}.{other}", "signature"
    yield "half of the signature", f"{first}.{second}.{third[:middle]}", "signature"
    yield "no signature", f"{first}.{second}.", "malformed"
    yield "alg none without a signature", joined(header | {"alg": "none"}, claims) + ".", "malformed"
    yield "alg none with a signature", f"{joined(header | {'alg': 'none'}, claims)}.{third}", "algorithm"
    for name, secret in [("PEM", pem), ("PEM without a line end", pem.strip()), ("JWK", json.dumps(public).encode()),
                         ("modulus", public["n"].encode())]:
        yield f"HS256 by the public key as {name}", by_secret(secret, header, claims), "algorithm"
    yield "HS256 without kid", by_secret(pem, {"typ": "JWT"}, claims), "algorithm"

    name = {"kid": header["kid"], "alg": "RS256"}
    yield "a stranger's key under the provider's kid", signed(stranger, name, claims), "signature"
    unknown = {"kid": stranger.kid, "alg": "RS256"}
    yield "a stranger's key in the header", signed(
        stranger, unknown | {"jwk": stranger.as_dict(private=False)}, claims), "signature"
    yield "a stranger's address of keys", signed(
        stranger, unknown | {"jku": address, "x5u": address}, claims), "signature"
    yield "an extension that has to be understood", signed(
        key, header | {"crit": ["b64"], "b64": True}, claims), "malformed"
