"""Names of variables made by passes, and the names the user wrote for them."""


def made_name(name: str, number: int) -> str:
    """Return a variable name no user can write: `made_name("y", 2)` is `_y'2`."""
    return f"_{written_name(name)}'{number}"


def written_name(name: str) -> str:
    """Return the name as the user wrote it: `written_name("_y'2")` is `y`."""
    if "'" not in name:
        return name
    return name[1 : name.index("'")]
