"""A short text as a QR code, by ISO/IEC 18004: bytes, versions 1 to 5, correction level L, mask 0.

These versions have one block of code words and no version number, which keeps this short; 106
bytes are enough for an address. Readers take any mask.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError

_DATA_WORDS = (19, 34, 55, 80, 108)
"""Bytes that carry data, of versions 1 to 5 at level L."""
_CORRECTION_WORDS = (7, 10, 15, 20, 26)
"""Bytes that correct errors, of the same versions."""
_HEADER_BYTES = 2
"""Mode, length and end of the text take so many bytes of the data."""
MOST_BYTES = _DATA_WORDS[-1] - _HEADER_BYTES
_BYTE_MODE = "0100"
_END = "0000"
_PADDING = (0xEC, 0x11)
_FORMAT = "111011111000100"
"""Level L with mask 0, as the standard's table of formats has it."""
_FIELD_POLYNOMIAL = 0x11D
_UNSET = 2
_TIMING = 6
"""Row and column of the dotted lines."""


def qr_modules(text: str) -> NDArray[np.bool_]:
    """The squares of the code without its quiet zone, True where dark; shape (size, size).

    Args:
        text: At most `MOST_BYTES` bytes in UTF-8.

    Raises:
        InputError: If the text is longer.
    """
    data = text.encode()
    version = _smallest_version(len(data))
    words = _data_words(data, _DATA_WORDS[version - 1])
    words += _correction_words(words, _CORRECTION_WORDS[version - 1])
    modules = _fixed_patterns(version)
    _place(modules, "".join(f"{word:08b}" for word in words))
    return modules.astype(np.bool_)


def qr_svg(text: str) -> str:
    """The code as an SVG image, four squares of white around it.

    Raises:
        InputError: If the text is longer than a code holds.
    """
    modules = qr_modules(text)
    quiet = 4
    size = len(modules) + 2 * quiet
    squares = []
    for row, column in np.argwhere(modules):
        squares.append(f"M{column + quiet} {row + quiet}h1v1h-1z")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img" '
        f'aria-label="QR code of the address" shape-rendering="crispEdges">'
        f'<rect width="{size}" height="{size}" fill="#fff"/><path d="{"".join(squares)}"/></svg>'
    )


def _smallest_version(length: int) -> int:
    """The version that holds so many bytes."""
    for version, words in enumerate(_DATA_WORDS, start=1):
        if length <= words - _HEADER_BYTES:
            return version
    raise InputError(
        f"a QR code holds an address of up to {MOST_BYTES} bytes here, but this has {length}"
    )


def _data_words(data: bytes, count: int) -> list[int]:
    """The text with its mode, its length and its padding: so many bytes."""
    bits = f"{_BYTE_MODE}{len(data):08b}" + "".join(f"{byte:08b}" for byte in data) + _END
    words = []
    for start in range(0, len(bits), 8):
        words.append(int(bits[start : start + 8], 2))
    padding = 0
    while len(words) < count:
        words.append(_PADDING[padding % 2])
        padding += 1
    return words


def _product(left: int, right: int) -> int:
    """Of two elements of the field of 256."""
    product = 0
    while right:
        if right & 1:
            product ^= left
        left <<= 1
        if left & 0x100:
            left ^= _FIELD_POLYNOMIAL
        right >>= 1
    return product


def _generator(degree: int) -> list[int]:
    """Coefficients of (x - 1)(x - 2)(x - 4)..., the highest first; the leading 1 is left out."""
    coefficients = [1]
    root = 1
    for _ in range(degree):
        shifted = [*coefficients, 0]
        for place, coefficient in enumerate(coefficients):
            shifted[place + 1] ^= _product(coefficient, root)
        coefficients = shifted
        root = _product(root, 2)
    return coefficients[1:]


def _correction_words(words: list[int], count: int) -> list[int]:
    """The Reed-Solomon code of the words: the rest of their division by the generator."""
    generator = _generator(count)
    remainder = [0] * count
    for word in words:
        factor = word ^ remainder[0]
        remainder = [*remainder[1:], 0]
        for place, coefficient in enumerate(generator):
            remainder[place] ^= _product(coefficient, factor)
    return remainder


def _fixed_patterns(version: int) -> NDArray[np.uint8]:
    """All squares that no text changes; the others are `_UNSET`."""
    size = 17 + 4 * version
    modules = np.full((size, size), _UNSET, dtype=np.uint8)
    for place in range(size):
        modules[_TIMING, place] = place % 2 == 0
        modules[place, _TIMING] = place % 2 == 0
    for row, column in ((0, 0), (0, size - 7), (size - 7, 0)):
        _draw_finder(modules, row, column)
    if version > 1:
        centre = size - 7
        modules[centre - 2 : centre + 3, centre - 2 : centre + 3] = 1
        modules[centre - 1 : centre + 2, centre - 1 : centre + 2] = 0
        modules[centre, centre] = 1
    _draw_format(modules)
    return modules


def _draw_finder(modules: NDArray[np.uint8], row: int, column: int) -> None:
    """The square in a corner, with the light line around it."""
    modules[max(row - 1, 0) : row + 8, max(column - 1, 0) : column + 8] = 0
    modules[row : row + 7, column : column + 7] = 1
    modules[row + 1 : row + 6, column + 1 : column + 6] = 0
    modules[row + 2 : row + 5, column + 2 : column + 5] = 1


def _draw_format(modules: NDArray[np.uint8]) -> None:
    """Level and mask, twice, and the one square that is always dark."""
    size = len(modules)
    bits = [int(bit) for bit in _FORMAT]
    beside_the_corner = [0, 1, 2, 3, 4, 5, 7, 8]
    for place, bit in zip(beside_the_corner, bits[:8], strict=True):
        modules[8, place] = bit
    for place, bit in zip([7, 5, 4, 3, 2, 1, 0], bits[8:], strict=True):
        modules[place, 8] = bit
    for place, bit in enumerate(bits[:7]):
        modules[size - 1 - place, 8] = bit
    for place, bit in enumerate(bits[7:]):
        modules[8, size - 8 + place] = bit
    modules[size - 8, 8] = 1


def _place(modules: NDArray[np.uint8], bits: str) -> None:
    """Fill the unset squares with the bits: two columns at a time, up and down from the right."""
    size = len(modules)
    columns = [column for column in range(size - 1, 0, -2) if column > _TIMING]
    columns += [5, 3, 1]
    upwards = True
    position = 0
    for right in columns:
        rows = range(size - 1, -1, -1) if upwards else range(size)
        for row in rows:
            for column in (right, right - 1):
                if modules[row, column] != _UNSET:
                    continue
                bit = 0
                if position < len(bits):
                    bit = int(bits[position])
                modules[row, column] = bit ^ ((row + column) % 2 == 0)
                position += 1
        upwards = not upwards
