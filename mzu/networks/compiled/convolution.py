"""The 3x3 convolution of the compiled network as vector code, for pictures of at most 16x16 positions.

A picture lies in a frame of zeros: [(height + 2) * (width + 2), channels], channels innermost. The three positions of
a row that a kernel sees at once are then neighbours in memory, so a convolution is three matrix products with
3 * channels inputs each, one for each row of the kernel, and nothing is copied together for it (im2col). The frame
stands for the padding. Tiles of 6 positions and 16 output channels stay in vector registers until all 9 * channels
inputs are added.
"""

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mzu.compilation import kernel_part, never_inline
from mzu.networks.compiled.vector_code import PANEL, WIDE

# Positions of one tile, as many sums as there are registers for: AVX2 has them for 12 vectors of 8 sums beside what is
# read, AVX-512 for many more of 16. Results have so many rows that tiles are whole; nobody reads those behind the last.
TILE_POSITIONS = 12 if WIDE else 6


@intrinsic
def _tile(typing_context, framed, starts, p, row, weights, panel, out):
    """Adds to out[p : p + TILE_POSITIONS] what the convolution gives there, in the 16 channels of one panel."""
    signature = types.void(framed, starts, types.intp, types.intp, weights, types.intp, out)

    def codegen(context, builder, signature, arguments):
        vector = ir.VectorType(ir.FloatType(), PANEL)
        number = ir.IntType(64)

        def array(k):
            return context.make_array(signature.args[k])(context, builder, arguments[k])

        def constant(value):
            return ir.Constant(number, value)

        def as_vector(pointer):
            return builder.bitcast(pointer, vector.as_pointer())

        framed, starts, weights, out = array(0), array(1), array(4), array(6)
        channels = cgutils.unpack_tuple(builder, framed.shape, 2)[1]
        columns = cgutils.unpack_tuple(builder, out.shape, 2)[1]
        inputs = builder.mul(channels, constant(3))  # of one row of the kernel
        positions = [builder.add(arguments[2], constant(r)) for r in range(TILE_POSITIONS)]
        corners = [builder.load(builder.gep(starts.data, [position])) for position in positions]
        seen = [
            cgutils.alloca_once_value(builder, builder.gep(framed.data, [builder.mul(corner, channels)]))
            for corner in corners
        ]
        first_column = builder.mul(arguments[5], constant(PANEL))
        panel_size = builder.mul(inputs, constant(3))
        kernel_row = cgutils.alloca_once_value(
            builder, builder.gep(weights.data, [builder.mul(first_column, panel_size)])
        )
        # The sums start from what `out` holds (a bias, a residual) and stay in registers until the end.
        targets = [
            as_vector(builder.gep(out.data, [builder.add(builder.mul(position, columns), first_column)]))
            for position in positions
        ]
        totals = [cgutils.alloca_once_value(builder, builder.load(target, align=4)) for target in targets]
        multiply_add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{PANEL}f32"
        )
        undefined = ir.Constant(vector, ir.Undefined)
        same = ir.Constant(ir.VectorType(ir.IntType(32), PANEL), [0] * PANEL)
        next_row = builder.mul(arguments[3], channels)
        with cgutils.for_range(builder, constant(3)):
            pixels = [builder.load(pointer) for pointer in seen]
            weight_row = builder.load(kernel_row)
            with cgutils.for_range(builder, inputs) as loop:
                at = builder.mul(loop.index, constant(PANEL))
                weight = builder.load(as_vector(builder.gep(weight_row, [at])), align=4)
                for pixel, total in zip(pixels, totals, strict=True):
                    scalar = builder.load(builder.gep(pixel, [loop.index]))
                    spread = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
                    spread = builder.shuffle_vector(spread, undefined, same)
                    builder.store(builder.call(multiply_add, [spread, weight, builder.load(total)]), total)
            for pointer, pixel in zip(seen, pixels, strict=True):
                builder.store(builder.gep(pixel, [next_row]), pointer)
            builder.store(builder.gep(weight_row, [builder.mul(inputs, constant(PANEL))]), kernel_row)
        for total, target in zip(totals, targets, strict=True):
            builder.store(builder.load(total), target, align=4)
        return context.get_dummy_value()

    return signature, codegen


@kernel_part
def _add_convolution_tiled(framed, starts, row, weights, out):
    never_inline()
    for panel in range(weights.shape[0]):
        for p in range(0, starts.shape[0], TILE_POSITIONS):
            _tile(framed, starts, p, row, weights, panel, out)


def _add_convolution_plain(framed, starts, row, weights, out):
    offsets = np.add.outer(row * np.arange(3), np.arange(3)).ravel()
    seen = framed[starts[:, None] + offsets].reshape(len(starts), -1)
    out[: len(starts)] += np.moveaxis(seen @ weights, 0, 1).reshape(len(starts), -1)


# out [Q, columns] += the 3x3 convolution of `framed` [frame, channels] at Q positions, with weights packed by
# `vector_code.pack` from [9 * channels, columns]. starts [Q] says where in the frame the upper left corner of what each
# position sees lies, `row` how many positions a row of the frame has; Q is a multiple of TILE_POSITIONS.
add_convolution = _add_convolution_plain if numba.config.DISABLE_JIT else _add_convolution_tiled


def frame_positions(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """starts [Q] for `add_convolution`, and where in the frame each of the picture's positions lies [height * width].

    The rows that fill the last tile see what the last position sees.

    >>> starts, inside = frame_positions(1, 2)
    >>> starts[:2].tolist(), inside.tolist()
    ([0, 1], [5, 6])
    """
    rows, columns = np.divmod(np.arange(height * width), width)
    starts = rows * (width + 2) + columns
    filling = -len(starts) % TILE_POSITIONS
    return np.pad(starts, (0, filling), mode="edge"), starts + width + 3
