"""What both parts of the stub refuse with."""

import re
from decimal import Decimal


class Refused(ValueError):
    """A code and a message. All else that cannot be read, be it JSON or UTF-8, is a ValueError too."""


def insist(holds, message, code="invalid_request"):
    if not holds:
        raise Refused(code, message)


def decimal(text):
    """Rates, and amounts in addresses, have no pattern in the document, and Decimal would take "NaN" and "1e9" too."""
    insist(re.fullmatch("[0-9]+([.][0-9]+)?", text), "decimal text was expected")
    return Decimal(text)
