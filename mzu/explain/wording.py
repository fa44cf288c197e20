"""How numbers and actions are written, in text, pictures and pages."""


def number(value: float | None, digits: int = 6) -> str:
    """A number with at most that many significant digits; "-" for None."""
    if value is None:
        return "-"
    text = f"{value:.{digits}g}"
    return "0" if text == "-0" else text


def action_name(action, digits: int = 3) -> str:
    """An action: 1, or 0.25, or (0.25, -1)."""
    if not isinstance(action, list):
        return str(action)
    parts = [number(part, digits) for part in action]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def counted(count: int, what: str) -> str:
    """1 step, 2 steps."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def growth_words(shown: int, total: int) -> str:
    """How far a search has come; one of a single step has no simulations."""
    return f"after {shown} of {total} simulations" if total else "of one step, without simulations"
