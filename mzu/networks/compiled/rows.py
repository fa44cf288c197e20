"""Layer Normalisation and softmax of the compiled network's rows and pictures, with sums in a fixed order.

Floating-point sums depend on their order in the last digit. To add one number after the other, as written, is slow: a
processor can add 16 side by side. A compiler that is allowed to reorder ("fastmath") is fast, but chooses another order
for each place where a function is used. The same seed would then give another run whenever kernels are compiled anew or
come from the cache. So the order is fixed here: number j is added to sum j % 16, then the 16 sums half to half.

Rows are C-contiguous float32 and consist of whole panels of 16 numbers.
"""

import contextlib
import math

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mzu.networks.compiled.vector_code import PANEL

_INTEGER, _FLOAT = ir.IntType(32), ir.FloatType()
_INTEGERS, _FLOATS = ir.VectorType(_INTEGER, PANEL), ir.VectorType(_FLOAT, PANEL)
_LANES = ir.Constant(_INTEGERS, list(range(PANEL)))
_LOG_2_ROUNDED = 0.693359375  # so few digits that a product with a small integer is exact
_ROUND = 1.5 * 2**23  # added to a small float32, it leaves an integer in the last digits


def _norm_relu_plain(x, scale, offset, width, epsilon, out):
    distance = x[:width] - x[:width].mean()
    normed = distance / np.sqrt(np.square(distance).mean() + epsilon) * scale[:width] + offset[:width]
    out[:width] = np.maximum(normed, 0)


@intrinsic
def _norm_relu_compiled(typing_context, x, scale, offset, width, epsilon, out):
    def codegen(context, builder, signature, arguments):
        panels = _Panels(builder, arguments[3])
        x, scale, offset, out = (_start(context, builder, signature, arguments, k) for k in (0, 1, 2, 5))
        one = ir.Constant(_FLOAT, 1)
        share = builder.fdiv(one, builder.sitofp(panels.size, _FLOAT))  # ready before the sums are: no wait for it

        def add(start, sums):
            numbers = panels.inside(start, panels.load(x, start), _floats(0))
            return [builder.fadd(sums[0], numbers)]

        mean = panels.spread(builder.fmul(panels.sums(1, add)[0], share))

        def add_square(start, sums):
            distance = builder.fsub(panels.inside(start, panels.load(x, start), mean), mean)
            return [panels.multiply_add(distance, distance, sums[0])]

        variance = builder.fmul(panels.sums(1, add_square)[0], share)
        deviation = panels.call("llvm.sqrt.f32", builder.fadd(variance, arguments[4]))
        inverse = panels.spread(builder.fdiv(one, deviation))
        with panels.each() as start:
            distance = builder.fsub(panels.load(x, start), mean)
            factor = builder.fmul(inverse, panels.load(scale, start))
            normed = panels.multiply_add(distance, factor, panels.load(offset, start))
            panels.store(panels.larger(normed, _floats(0)), out, start)
        return context.get_dummy_value()

    return types.void(x, scale, offset, types.intp, types.float32, out), codegen


# norm_relu(x, scale, offset, width, epsilon, out): Layer Normalisation over the first `width` numbers of the row x,
# then ReLU, into the row `out`, which may be x. The padding of scale and offset holds zeros, and then that of `out`.
norm_relu = _norm_relu_plain if numba.config.DISABLE_JIT else _norm_relu_compiled


def _norm_relu_picture_plain(x, positions, width, scale, offset, epsilon, places, out):
    distance = x[:positions, :width] - x[:positions, :width].mean()
    normed = distance / np.sqrt(np.square(distance).mean() + epsilon) * scale[:width] + offset[:width]
    out[places, :width], out[places, width:] = np.maximum(normed, 0), 0


@intrinsic
def _norm_relu_picture_compiled(typing_context, x, positions, width, scale, offset, epsilon, places, out):
    def codegen(context, builder, signature, arguments):
        panels, positions = _Panels(builder, arguments[2]), arguments[1]
        x, scale, offset, places, out = (_start(context, builder, signature, arguments, k) for k in (0, 3, 4, 6, 7))
        channels = _row_size(context, builder, signature, arguments, 0)
        share = builder.fdiv(ir.Constant(_FLOAT, 1), builder.sitofp(builder.mul(positions, arguments[2]), _FLOAT))

        def at(position, start):
            return builder.add(builder.mul(position, channels), start)

        def mean(add):
            """The mean over the picture of what `add` adds of the panel that begins at `start`."""
            total = panels.picture_sum(positions, lambda position, start, sums: add(at(position, start), start, sums))
            return builder.fmul(total, share)

        # The channels that are too many hold zeros, which add nothing to the first sum.
        centre = panels.spread(mean(lambda place, start, sums: builder.fadd(sums, panels.load(x, place))))

        def add_square(place, start, sums):
            distance = builder.fsub(panels.inside(start, panels.load(x, place), centre), centre)
            return panels.multiply_add(distance, distance, sums)

        deviation = panels.call("llvm.sqrt.f32", builder.fadd(mean(add_square), arguments[5]))
        inverse = panels.spread(builder.fdiv(ir.Constant(_FLOAT, 1), deviation))
        with panels.each() as start:
            factor, shift = (builder.fmul(inverse, panels.load(scale, start)), panels.load(offset, start))
            with cgutils.for_range(builder, positions) as loop:
                distance = builder.fsub(panels.load(x, at(loop.index, start)), centre)
                normed = panels.multiply_add(distance, factor, shift)
                place = builder.load(builder.gep(places, [loop.index]))
                panels.store(panels.larger(normed, _floats(0)), out, at(place, start))
        return context.get_dummy_value()

    signature = types.void(x, types.intp, types.intp, scale, offset, types.float32, places, out)
    return signature, codegen


# norm_relu_picture(x, positions, width, scale, offset, epsilon, places, out): Layer Normalisation over the first
# `width` channels of all positions of the picture x, then ReLU; position p goes to row places[p] of `out`, as wide as
# x. The channels of x that are too many hold zeros, so does the padding of scale and offset, and then that of `out`.
norm_relu_picture = _norm_relu_picture_plain if numba.config.DISABLE_JIT else _norm_relu_picture_compiled


def _expectation_plain(logits, bins):
    weights = np.exp(logits[:bins] - logits[:bins].max())
    return weights @ (np.arange(bins, dtype=np.float32) - (bins - 1) // 2) / weights.sum()


@intrinsic
def _expectation_compiled(typing_context, logits, bins):
    def codegen(context, builder, signature, arguments):
        panels = _Panels(builder, arguments[1])
        logits = _start(context, builder, signature, arguments, 0)
        lowest = _floats(-math.inf)
        largest = cgutils.alloca_once_value(builder, lowest)
        with panels.each() as start:
            numbers = panels.inside(start, panels.load(logits, start), lowest)
            builder.store(panels.larger(numbers, builder.load(largest)), largest)
        largest = panels.spread(panels.combine(builder.load(largest), panels.larger))
        middle = builder.lshr(panels.size, ir.Constant(panels.size.type, 1))  # bins is odd

        def add(start, sums):
            weights = _exponential(panels, builder.fsub(panels.load(logits, start), largest))
            weights = panels.inside(start, weights, _floats(0))
            # Counted from the middle: an expectation near 0 keeps its digits.
            first = panels.spread(builder.trunc(builder.sub(start, middle), _INTEGER))
            categories = builder.sitofp(builder.add(first, _LANES), _FLOATS)
            return [builder.fadd(sums[0], weights), panels.multiply_add(weights, categories, sums[1])]

        total, weighted = panels.sums(2, add)
        return builder.fdiv(weighted, total)

    return types.float32(logits, types.intp), codegen


# expectation(logits, bins): the mean category of softmax(logits[:bins]), over -(bins - 1) / 2 .. (bins - 1) / 2.
expectation = _expectation_plain if numba.config.DISABLE_JIT else _expectation_compiled


def _exponential(panels: "_Panels", x):
    """exp(x) for x <= 0, to about 1e-7 relative; a call to the C library would take the numbers one by one."""
    x = panels.larger(_floats(-87), x)  # the smallest result that is a normal number; NaN stays NaN
    rounded = panels.multiply_add(x, _floats(1 / math.log(2)), _floats(_ROUND))
    power = panels.builder.fsub(rounded, _floats(_ROUND))
    # x - power * log(2), as if log(2) had twice the digits.
    rest = panels.multiply_add(power, _floats(-_LOG_2_ROUNDED), x)
    rest = panels.multiply_add(power, _floats(_LOG_2_ROUNDED - math.log(2)), rest)
    series = _floats(1 / math.factorial(7))  # Taylor's; |rest| <= log(2) / 2
    for degree in range(6, -1, -1):
        series = panels.multiply_add(series, rest, _floats(1 / math.factorial(degree)))
    # 2^power by its bits: the exponent of a float32 begins at bit 23, and 127 stands for 2^0.
    exponent = panels.builder.add(panels.builder.bitcast(rounded, _INTEGERS), ir.Constant(_INTEGERS, [127] * PANEL))
    bits = panels.builder.shl(exponent, ir.Constant(_INTEGERS, [23] * PANEL))
    return panels.builder.fmul(series, panels.builder.bitcast(bits, _FLOATS))


class _Panels:
    """Writes code that goes through the first `size` numbers of rows, 16 at a time."""

    def __init__(self, builder, size):
        self.builder, self.size = builder, size

    @contextlib.contextmanager
    def each(self):
        """A loop over the panels; gives the number that each starts with."""
        bounds = (ir.Constant(self.size.type, 0), self.size, ir.Constant(self.size.type, PANEL))
        with cgutils.for_range_slice(self.builder, *bounds) as (start, _):
            yield start

    def load(self, row, start):
        return self.builder.load(self._place(row, start), align=4)

    def store(self, numbers, row, start):
        self.builder.store(numbers, self._place(row, start), align=4)

    def inside(self, start, numbers, filling):
        """The numbers of a panel, with those of `filling` where it goes beyond the first `size`."""
        left = self.spread(self.builder.trunc(self.builder.sub(self.size, start), _INTEGER))
        return self.builder.select(self.builder.icmp_signed("<", _LANES, left), numbers, filling)

    def sums(self, count, add):
        """`count` sums over all panels; add(start, sums) gives the vectors of sums with a panel's numbers added."""
        places = [cgutils.alloca_once_value(self.builder, _floats(0)) for _ in range(count)]
        with self.each() as start:
            for place, vector in zip(places, add(start, [self.builder.load(place) for place in places]), strict=True):
                self.builder.store(vector, place)
        return [self.combine(self.builder.load(place), self.builder.fadd) for place in places]

    def picture_sum(self, positions, add):
        """One number, the sum over positions and panels; add(position, start, sums) gives `sums` with a panel added."""
        four = ir.Constant(positions.type, 4)
        places = [cgutils.alloca_once_value(self.builder, _floats(0)) for _ in range(4)]
        whole = self.builder.sub(positions, self.builder.srem(positions, four))

        def step(position, start, place):
            self.builder.store(add(position, start, self.builder.load(place)), place)

        with self.each() as start:
            with cgutils.for_range_slice(self.builder, ir.Constant(positions.type, 0), whole, four) as (position, _):
                for number, place in enumerate(places):
                    step(self.builder.add(position, ir.Constant(positions.type, number)), start, place)
            with cgutils.for_range_slice(self.builder, whole, positions, ir.Constant(positions.type, 1)) as (rest, _):
                step(rest, start, places[0])
        first, second, third, fourth = (self.builder.load(place) for place in places)
        vector = self.builder.fadd(self.builder.fadd(first, second), self.builder.fadd(third, fourth))
        return self.combine(vector, self.builder.fadd)

    def combine(self, vector, operation):
        """One number of 16: the upper half is combined with the lower until one is left."""
        for half in (8, 4, 2, 1):
            vector = operation(self._pick(vector, range(half)), self._pick(vector, range(half, 2 * half)))
        return self.builder.extract_element(vector, ir.Constant(_INTEGER, 0))

    def spread(self, number):
        """The vector that holds a number 16 times."""
        vector = ir.Constant(ir.VectorType(number.type, PANEL), ir.Undefined)
        return self._pick(self.builder.insert_element(vector, number, ir.Constant(_INTEGER, 0)), [0] * PANEL)

    def multiply_add(self, a, b, c):
        """a * b + c, rounded once."""
        return self.call(f"llvm.fma.v{PANEL}f32", a, b, c)

    def larger(self, a, b):
        """Place by place the larger of a and b; b where one of them is NaN."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def call(self, name, *arguments):
        kind = ir.FunctionType(arguments[0].type, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), arguments)

    def _place(self, row, start):
        return self.builder.bitcast(self.builder.gep(row, [start]), _FLOATS.as_pointer())

    def _pick(self, vector, lanes):
        mask = ir.Constant(ir.VectorType(_INTEGER, len(lanes)), list(lanes))
        return self.builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _start(context, builder, signature, arguments, k):
    """Where the numbers of argument k, a row, lie."""
    return context.make_array(signature.args[k])(context, builder, arguments[k]).data


def _row_size(context, builder, signature, arguments, k):
    """How many numbers a row of argument k, a picture, has."""
    array = context.make_array(signature.args[k])(context, builder, arguments[k])
    return cgutils.unpack_tuple(builder, array.shape, 2)[1]


def _floats(number: float):
    return ir.Constant(_FLOATS, [float(np.float32(number))] * PANEL)
