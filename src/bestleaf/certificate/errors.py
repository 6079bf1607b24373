"""Why a certificate does not hold."""


class RefusedError(Exception):
    """A certificate that does not hold, with the reason."""


MALFORMED = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    ZeroDivisionError,
)  # what reading a certificate may raise in which parts are missing or of another kind


def need(fine: bool, reason: str) -> None:
    """Refuse the certificate for a reason, unless a condition is met."""
    if not fine:
        raise RefusedError(reason)
