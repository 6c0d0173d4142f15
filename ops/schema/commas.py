"""Lists between commas, as samples, signatures and examples of schemas have them."""


def split(text: str) -> list[str]:
    """The parts of `text` between commas outside of brackets and quotes, trimmed; empty ones are left out.

    >>> split("f32[2, 3], 'a,b', [1, 2]")
    ['f32[2, 3]', "'a,b'", '[1, 2]']
    """
    parts, depth, start, quote = [], 0, 0, ""
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]
