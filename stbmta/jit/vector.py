"""Wide vectors for the compiled kernels.

Numba's automatic vectoriser leaves most of the machine idle here, so the kernels speak of vectors
explicitly. A vector is one LLVM value of WIDTH numbers, wider than any register; LLVM cuts it into as
many zmm, ymm or NEON registers as it needs. WIDTH is chosen so that four vectors of doubles, one for each
row of a tile, fill the registers without spilling: 32 where there are 32 registers of 512 bits, 8
elsewhere. Vectors of single precision have as many numbers and take half the registers, so the source
is the same for both and on every machine: the type of the array that is loaded decides.

With the JIT switched off (NUMBA_DISABLE_JIT=1) the same names are plain NumPy functions on slices of
WIDTH numbers, so that the kernels can be traced line by line.
"""

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

__all__ = [
    "EXP2_COEFFICIENTS",
    "LOWEST",
    "WIDTH",
    "absolute",
    "add",
    "aligned_zeros",
    "at_least",
    "broadcast",
    "exp2",
    "exp2_clamped",
    "fma",
    "load",
    "multiply",
    "store",
    "subtract",
    "widen",
    "zero",
    "zeros_like",
]


def _host_has_avx512() -> bool:
    if config.CPU_NAME:  # the user compiles for another machine than this one
        return "avx512" in (config.CPU_FEATURES or "") or "skylake-avx512" in config.CPU_NAME
    return bool(llvmlite.binding.get_host_cpu_features().get("avx512f", False))


WIDTH = 32 if _host_has_avx512() else 8

# 2**f = sum c_k f**k on |f| <= 1/2 with error below 5e-16 (double), 6e-9 (single precision);
# tools/exp2_coefficients.py makes them.
EXP2_COEFFICIENTS = {
    np.dtype(np.float64): (
        1.0,
        0.6931471805599462,
        0.24022650695910075,
        0.05550410866465167,
        0.009618129107618665,
        0.0013333558200794592,
        0.00015403530424776529,
        1.5252672924850737e-05,
        1.3215451633221434e-06,
        1.0205905413765595e-07,
        7.070977866508138e-09,
    ),
    np.dtype(np.float32): (
        1.0,
        0.6931471880262288,
        0.24022650760568126,
        0.05550357114219078,
        0.009618082557277852,
        0.0013390863364671234,
        0.0001545316294512069,
    ),
}

# The smallest exponents: 2**-1023 comes out of the bit arithmetic of exp2 as exactly 0, as does 2**-127
# in single precision.
LOWEST = {np.dtype(np.float64): -1023.0, np.dtype(np.float32): -127.0}


def aligned_zeros(size: int, dtype: np.dtype | type = np.float64) -> np.ndarray:
    """Return zeros that start at a cache line: a vector load that straddles two lines costs double.

    Examples
    --------
    >>> aligned_zeros(5).ctypes.data % 64
    0
    """
    itemsize = np.dtype(dtype).itemsize
    buffer = np.zeros(size + 64 // itemsize, dtype)
    start = -buffer.ctypes.data % 64 // itemsize
    return buffer[start : start + size]


# ---------------------------------------------------------------------- the type


class VectorType(types.Type):
    """The Numba type of a vector of WIDTH numbers."""

    def __init__(self, dtype: types.Float) -> None:
        self.dtype = np.dtype(dtype.name)
        super().__init__(name=f"{dtype.name}x{WIDTH}")


_VECTORS = {types.float64: VectorType(types.float64), types.float32: VectorType(types.float32)}
_DOUBLE, _SINGLE = _VECTORS[types.float64], _VECTORS[types.float32]


def _numbers(kind: VectorType) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType() if kind is _DOUBLE else ir.FloatType(), WIDTH)


def _integers(kind: VectorType) -> ir.VectorType:
    return ir.VectorType(ir.IntType(8 * kind.dtype.itemsize), WIDTH)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _numbers(fe_type))


def _constant(kind, value):
    numbers = _numbers(kind)
    return ir.Constant(numbers, [ir.Constant(numbers.element, value)] * WIDTH)


def _call(builder, name, kind, args):
    """Call an intrinsic function of LLVM on vectors."""
    numbers = _numbers(kind)
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(numbers, [numbers] * len(args)),
        f"llvm.{name}.v{WIDTH}f{8 * kind.dtype.itemsize}",
    )
    return builder.call(function, args)


# ---------------------------------------------------------------------- memory


def _element(context, builder, signature, args):
    """Return the address of args[0][args[1]]; the index is taken as it is, without Python's wrap-around."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


@intrinsic
def load(typing_context, array, index):
    """Return array[index : index + WIDTH]."""
    kind = _VECTORS[array.dtype]

    def code(context, builder, signature, args):
        address = builder.bitcast(_element(context, builder, signature, args), _numbers(kind).as_pointer())
        value = builder.load(address)
        value.align = kind.dtype.itemsize
        return value

    return kind(array, types.intp), code


@intrinsic
def broadcast(typing_context, array, index):
    """Return array[index] in every place."""
    kind = _VECTORS[array.dtype]

    def code(context, builder, signature, args):
        undefined = ir.Constant(_numbers(kind), ir.Undefined)
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        scalar = builder.load(_element(context, builder, signature, args))
        one = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(one, undefined, zeros)

    return kind(array, types.intp), code


@intrinsic
def store(typing_context, array, index, value):
    """Set array[index : index + WIDTH] = value."""
    kind = _VECTORS[array.dtype]

    def code(context, builder, signature, args):
        address = builder.bitcast(_element(context, builder, signature, args), _numbers(kind).as_pointer())
        builder.store(args[2], address).align = kind.dtype.itemsize
        return context.get_dummy_value()

    return types.void(array, types.intp, kind), code


@intrinsic
def zero(typing_context):
    """Return a vector of double zeros: where sums start."""

    def code(context, builder, signature, args):
        return _constant(_DOUBLE, 0.0)

    return _DOUBLE(), code


@intrinsic
def zeros_like(typing_context, a):
    """Return zeros of the precision of a."""

    def code(context, builder, signature, args):
        return _constant(a, 0.0)

    return a(a), code


@intrinsic
def widen(typing_context, a):
    """Return a in double precision."""

    def code(context, builder, signature, args):
        return args[0] if a is _DOUBLE else builder.fpext(args[0], _numbers(_DOUBLE))

    return _DOUBLE(a), code


# ---------------------------------------------------------------------- arithmetic


@intrinsic
def fma(typing_context, a, b, c):
    """Return a * b + c, rounded once."""

    def code(context, builder, signature, args):
        return _call(builder, "fma", a, args)

    return a(a, a, a), code


@intrinsic
def add(typing_context, a, b):
    """Return a + b."""

    def code(context, builder, signature, args):
        return builder.fadd(*args)

    return a(a, a), code


@intrinsic
def subtract(typing_context, a, b):
    """Return a - b."""

    def code(context, builder, signature, args):
        return builder.fsub(*args)

    return a(a, a), code


@intrinsic
def multiply(typing_context, a, b):
    """Return a * b."""

    def code(context, builder, signature, args):
        return builder.fmul(*args)

    return a(a, a), code


@intrinsic
def absolute(typing_context, a):
    """Return |a|."""

    def code(context, builder, signature, args):
        return _call(builder, "fabs", a, args)

    return a(a), code


@intrinsic
def at_least(typing_context, a, b):
    """Return an integer whose bit c tells whether a >= b in place c."""

    def code(context, builder, signature, args):
        bits = builder.bitcast(builder.fcmp_ordered(">=", *args), ir.IntType(WIDTH))
        return bits if WIDTH == 32 else builder.zext(bits, ir.IntType(32))

    return types.uint32(a, a), code


def _exp2_code(builder, kind, u):
    """Split u into the nearest integer t and the rest f; a polynomial gives 2**f, and t moves its exponent."""
    mantissa = np.finfo(kind.dtype).nmant
    # Adding this to a small number rounds it to an integer and leaves that integer in the low bits.
    rounding = _constant(kind, 1.5 * 2.0**mantissa)
    t = builder.fadd(u, rounding)
    f = builder.fsub(u, builder.fsub(t, rounding))
    coefficients = EXP2_COEFFICIENTS[kind.dtype]
    power = _constant(kind, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        power = _call(builder, "fma", kind, [power, f, _constant(kind, coefficient)])
    integers = _integers(kind)
    shift = ir.Constant(integers, [ir.Constant(integers.element, mantissa)] * WIDTH)
    exponent = builder.shl(builder.bitcast(t, integers), shift)
    return builder.bitcast(builder.add(builder.bitcast(power, integers), exponent), _numbers(kind))


@intrinsic
def exp2(typing_context, u):
    """Return 2**u for u between LOWEST + 1 and -LOWEST - 1, and exactly 0 for u = LOWEST.

    The relative error is about 5e-16, in single precision 1e-7.
    """

    def code(context, builder, signature, args):
        return _exp2_code(builder, u, args[0])

    return u(u), code


@intrinsic
def exp2_clamped(typing_context, u):
    """Return 2**u for any u up to -LOWEST - 1, exactly 0 below LOWEST."""

    def code(context, builder, signature, args):
        lowest = _constant(u, LOWEST[u.dtype])
        above = builder.fcmp_ordered(">", args[0], lowest)
        return _exp2_code(builder, u, builder.select(above, args[0], lowest))

    return u(u), code


if config.DISABLE_JIT:

    def load(array, index):
        return array[index : index + WIDTH].copy()

    def broadcast(array, index):
        return np.full(WIDTH, array[index])

    def store(array, index, value):
        array[index : index + WIDTH] = value

    def zero():
        return np.zeros(WIDTH)

    zeros_like = np.zeros_like

    def widen(a):
        return a.astype(np.float64)

    def fma(a, b, c):
        return a * b + c

    def at_least(a, b):
        return np.uint32(sum(1 << c for c in np.flatnonzero(a >= b).tolist()))

    def exp2_clamped(u):
        return np.where(u > LOWEST[u.dtype], np.exp2(u), u.dtype.type(0.0))

    exp2 = exp2_clamped
    add, subtract, multiply, absolute = np.add, np.subtract, np.multiply, np.abs
