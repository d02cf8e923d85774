"""Wide vectors for the compiled kernels.

Numba's automatic vectoriser leaves most of the machine idle here, so the kernels speak of vectors
explicitly. A vector is one LLVM value of WIDTH doubles, wider than any register; LLVM cuts it into as
many zmm, ymm or NEON registers as it needs. WIDTH is chosen so that four of them, one for each row of
a tile, fill the registers without spilling: 32 doubles where there are 32 registers of 512 bits, 8
elsewhere. The source is the same on every machine.

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
    "broadcast",
    "exp2",
    "exp2_clamped",
    "fma",
    "load",
    "multiply",
    "store",
    "subtract",
    "zero",
]


def _host_has_avx512() -> bool:
    if config.CPU_NAME:  # the user compiles for another machine than this one
        return "avx512" in (config.CPU_FEATURES or "") or "skylake-avx512" in config.CPU_NAME
    return bool(llvmlite.binding.get_host_cpu_features().get("avx512f", False))


WIDTH = 32 if _host_has_avx512() else 8

# 2**f = sum c_k f**k on |f| <= 1/2 with error below 5e-16; tools/exp2_coefficients.py makes them.
EXP2_COEFFICIENTS = (
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
)

# Adding 1.5 * 2**52 to a small double rounds it to an integer and leaves that integer in the low bits.
_ROUND = 1.5 * 2.0**52
# 2**-1023 comes out of the bit arithmetic below as exactly 0.
LOWEST = -1023.0


def aligned_zeros(size: int) -> np.ndarray:
    """Return zeros that start at a cache line: a vector load that straddles two lines costs double.

    Examples
    --------
    >>> aligned_zeros(5).ctypes.data % 64
    0
    """
    buffer = np.zeros(size + 8)
    start = -buffer.ctypes.data % 64 // 8
    return buffer[start : start + size]


class VectorType(types.Type):
    """The Numba type of a vector of WIDTH doubles."""

    def __init__(self) -> None:
        super().__init__(name=f"float64x{WIDTH}")


vector = VectorType()
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
_INTEGERS = ir.VectorType(ir.IntType(64), WIDTH)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _DOUBLES)


def _constant(value):
    return ir.Constant(_DOUBLES, [ir.Constant(ir.DoubleType(), value)] * WIDTH)


def _splat(builder, scalar):
    undefined = ir.Constant(_DOUBLES, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    one = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, zeros)


def _element(context, builder, signature, args):
    """Return the address of args[0][args[1]]; the index is taken as it is, without Python's wrap-around."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


def _intrinsic_of_llvm(builder, name, args):
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_DOUBLES, [_DOUBLES] * len(args)), f"llvm.{name}.v{WIDTH}f64"
    )
    return builder.call(function, args)


@intrinsic
def load(typing_context, array, index):
    """Return array[index : index + WIDTH]."""

    def code(context, builder, signature, args):
        address = builder.bitcast(_element(context, builder, signature, args), _DOUBLES.as_pointer())
        value = builder.load(address)
        value.align = 8
        return value

    return vector(array, types.intp), code


@intrinsic
def broadcast(typing_context, array, index):
    """Return array[index] in every place."""

    def code(context, builder, signature, args):
        return _splat(builder, builder.load(_element(context, builder, signature, args)))

    return vector(array, types.intp), code


@intrinsic
def store(typing_context, array, index, value):
    """Set array[index : index + WIDTH] = value."""

    def code(context, builder, signature, args):
        address = builder.bitcast(_element(context, builder, signature, args), _DOUBLES.as_pointer())
        builder.store(args[2], address).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), code


@intrinsic
def fma(typing_context, a, b, c):
    """Return a * b + c, rounded once."""

    def code(context, builder, signature, args):
        return _intrinsic_of_llvm(builder, "fma", args)

    return vector(vector, vector, vector), code


@intrinsic
def add(typing_context, a, b):
    """Return a + b."""

    def code(context, builder, signature, args):
        return builder.fadd(*args)

    return vector(vector, vector), code


@intrinsic
def subtract(typing_context, a, b):
    """Return a - b."""

    def code(context, builder, signature, args):
        return builder.fsub(*args)

    return vector(vector, vector), code


@intrinsic
def multiply(typing_context, a, b):
    """Return a * b."""

    def code(context, builder, signature, args):
        return builder.fmul(*args)

    return vector(vector, vector), code


@intrinsic
def absolute(typing_context, a):
    """Return |a|."""

    def code(context, builder, signature, args):
        return _intrinsic_of_llvm(builder, "fabs", args)

    return vector(vector), code


def _exp2_code(builder, u):
    t = builder.fadd(u, _constant(_ROUND))
    f = builder.fsub(u, builder.fsub(t, _constant(_ROUND)))
    power = _constant(EXP2_COEFFICIENTS[-1])
    for coefficient in EXP2_COEFFICIENTS[-2::-1]:
        power = _intrinsic_of_llvm(builder, "fma", [power, f, _constant(coefficient)])
    exponent = builder.shl(
        builder.bitcast(t, _INTEGERS), ir.Constant(_INTEGERS, [ir.Constant(ir.IntType(64), 52)] * WIDTH)
    )
    return builder.bitcast(builder.add(builder.bitcast(power, _INTEGERS), exponent), _DOUBLES)


@intrinsic
def exp2(typing_context, u):
    """Return 2**u for -1022 <= u <= 1022 to about 5e-16 relative, and exactly 0 for u = LOWEST.

    u is split into the nearest integer t and the rest f; a polynomial gives 2**f, and t is added to its
    exponent bits.
    """

    def code(context, builder, signature, args):
        return _exp2_code(builder, args[0])

    return vector(vector), code


@intrinsic
def exp2_clamped(typing_context, u):
    """Return 2**u for any u <= 1022, exactly 0 below LOWEST."""

    def code(context, builder, signature, args):
        lowest = _constant(LOWEST)
        return _exp2_code(
            builder, builder.select(builder.fcmp_ordered(">", args[0], lowest), args[0], lowest)
        )

    return vector(vector), code


@intrinsic
def zero(typing_context):
    """Return a vector of zeros."""

    def code(context, builder, signature, args):
        return _constant(0.0)

    return vector(), code


if config.DISABLE_JIT:

    def load(array, index):
        return array[index : index + WIDTH].copy()

    def broadcast(array, index):
        return np.full(WIDTH, array[index])

    def store(array, index, value):
        array[index : index + WIDTH] = value

    def fma(a, b, c):
        return a * b + c

    def zero():
        return np.zeros(WIDTH)

    def exp2_clamped(u):
        return np.where(u > LOWEST, np.exp2(u), 0.0)

    exp2 = exp2_clamped
    add, subtract, multiply, absolute = np.add, np.subtract, np.multiply, np.abs
