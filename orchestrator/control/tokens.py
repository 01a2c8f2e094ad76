"""Bootstrap tokens: derived, never stored. Whoever knows the installation's key can check one."""

import hmac


def bootstrap_token(key: bytes, intent: str) -> str:
    """The token of the instance that this intent launches: HMAC-SHA-256, in hex."""
    return hmac.new(key, intent.encode(), "sha256").hexdigest()


def is_bootstrap_token(key: bytes, intent: str, token: str) -> bool:
    """Whether `token` is that intent's. Takes the same time whatever is wrong with it."""
    return hmac.compare_digest(bootstrap_token(key, intent).encode(), token.encode())
