"""The matrix product of the compiled network as vector code.

`add_product` keeps a tile of the result in vector registers, as every fast BLAS does. Why not BLAS itself: its overhead
for 32 x 64 matrices costs half the time, it packs the same weights in every call, and its threads fight with ours. The
weights are packed once instead, into panels of 16 columns.
"""

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mzu.compilation import kernel_part, never_inline

PANEL = 16  # columns of one panel: one AVX-512 register, two of AVX2


def padded(size: int) -> int:
    """`size` rounded up to whole panels."""
    return -(-size // PANEL) * PANEL


def pack(weights: np.ndarray, depth: int) -> np.ndarray:
    """Weights [inputs, outputs] as panels [padded(outputs) / 16, depth, 16], zeros where there is no weight."""
    panels = np.zeros((padded(weights.shape[1]) // PANEL, depth, PANEL), np.float32)
    pack_into(panels, weights)
    return panels


def pack_into(panels: np.ndarray, weights: np.ndarray) -> None:
    """Writes weights [inputs, outputs] to panels [., depth, 16] that hold zeros."""
    inputs, outputs = weights.shape
    whole, rest = divmod(outputs, PANEL)
    columns = weights[:, : whole * PANEL].reshape(inputs, whole, PANEL)
    panels[:whole, :inputs] = columns.transpose(1, 0, 2)
    if rest:
        panels[whole, :inputs, :rest] = weights[:, whole * PANEL :]


def _tile(rows: int, panels: int):
    """Makes the function `tile(x, i, weights, p, out)`, compiled to straight vector code.

    It adds to out[i : i + rows] the product of x[i : i + rows] with `panels` panels from number p on. x [R, depth] and
    out [R, columns] are C-contiguous float32. The loop over `depth` is the only one left at run time: each step loads
    one vector of weights per panel, spreads one number of x per row over a vector, and multiplies and adds.
    """

    @intrinsic
    def tile(typing_context, x, i, weights, p, out):
        signature = types.void(x, types.intp, weights, types.intp, out)

        def codegen(context, builder, signature, arguments):
            vector = ir.VectorType(ir.FloatType(), PANEL)
            number = ir.IntType(64)

            def array(k):
                return context.make_array(signature.args[k])(context, builder, arguments[k])

            def constant(value):
                return ir.Constant(number, value)

            def address(pointer, offset, as_vector=False):
                element = builder.gep(pointer, [offset])
                return builder.bitcast(element, vector.as_pointer()) if as_vector else element

            x, weights, out = array(0), array(2), array(4)
            depth = cgutils.unpack_tuple(builder, x.shape, 2)[1]
            columns = cgutils.unpack_tuple(builder, out.shape, 2)[1]
            row = [builder.add(arguments[1], constant(r)) for r in range(rows)]
            panel = [builder.mul(builder.add(arguments[3], constant(q)), constant(PANEL)) for q in range(panels)]
            x_row = [address(x.data, builder.mul(row[r], depth)) for r in range(rows)]
            weight_panel = [address(weights.data, builder.mul(panel[q], depth)) for q in range(panels)]

            # The sums start from what `out` holds (a bias, a residual) and stay in registers until the end.
            places = [(r, q) for r in range(rows) for q in range(panels)]
            target, total = {}, {}
            for r, q in places:
                offset = builder.add(builder.mul(row[r], columns), panel[q])
                target[r, q] = address(out.data, offset, as_vector=True)
                total[r, q] = cgutils.alloca_once_value(builder, builder.load(target[r, q], align=4))
            multiply_add = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{PANEL}f32"
            )
            undefined = ir.Constant(vector, ir.Undefined)
            first = ir.Constant(ir.VectorType(ir.IntType(32), PANEL), [0] * PANEL)
            with cgutils.for_range(builder, depth) as loop:
                at = builder.mul(loop.index, constant(PANEL))
                weight = [builder.load(address(weight_panel[q], at, as_vector=True), align=4) for q in range(panels)]
                for r in range(rows):
                    scalar = builder.load(address(x_row[r], loop.index))
                    spread = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
                    spread = builder.shuffle_vector(spread, undefined, first)
                    for q in range(panels):
                        summed = builder.call(multiply_add, [spread, weight[q], builder.load(total[r, q])])
                        builder.store(summed, total[r, q])
            for place in places:
                builder.store(builder.load(total[place]), target[place], align=4)
            return context.get_dummy_value()

        return signature, codegen

    return tile


# The more sums a tile holds, the more multiply-adds are under way at once, and the less is read for each. AVX2 has
# registers for 8 vectors of 8 sums beside what is read, AVX-512 for 16 of 16. How a tile is cut changes no digit: every
# sum runs over `depth` in the same order.
WIDE = bool(llvm.get_host_cpu_features().get("avx512f"))
_tile_4x4 = _tile(4, 4)
_tile_4x2 = _tile(4, 2)
_tile_4x1 = _tile(4, 1)
_tile_1x4 = _tile(1, 4)
_tile_1x2 = _tile(1, 2)
_tile_1x1 = _tile(1, 1)


@kernel_part
def _add_product_tiled(x, weights, out):
    never_inline()
    rows, panels = x.shape[0], weights.shape[0]
    whole_rows = rows - rows % 4
    p = 0
    while p < panels:
        left = panels - p
        if WIDE and left >= 4:
            for i in range(0, whole_rows, 4):
                _tile_4x4(x, i, weights, p, out)
            p += 4
        elif WIDE and left >= 2:
            for i in range(0, whole_rows, 4):
                _tile_4x2(x, i, weights, p, out)
            p += 2
        else:
            for i in range(0, whole_rows, 4):
                _tile_4x1(x, i, weights, p, out)
            p += 1
    for i in range(whole_rows, rows):
        p = 0
        while p < panels:
            left = panels - p
            if left >= 4:
                _tile_1x4(x, i, weights, p, out)
                p += 4
            elif left >= 2:
                _tile_1x2(x, i, weights, p, out)
                p += 2
            else:
                _tile_1x1(x, i, weights, p, out)
                p += 1


def _add_product_plain(x, weights, out):
    for row, total in zip(x, out, strict=True):  # row by row: what a row gives must not depend on its neighbours
        total += (row @ weights).ravel()


# out [R, columns] += x [R, depth] @ weights, for weights packed by `pack`; columns = 16 * number of panels.
add_product = _add_product_plain if numba.config.DISABLE_JIT else _add_product_tiled
