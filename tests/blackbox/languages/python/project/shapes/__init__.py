from .circle import name as _name


def area(width, height):
    assert _name
    return width * height
