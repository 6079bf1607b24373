"""Why a certificate does not hold."""


class RefusedError(Exception):
    """A certificate that does not hold, with the reason."""
