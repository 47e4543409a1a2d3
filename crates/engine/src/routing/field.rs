//! Arithmetic modulo the Mersenne prime 2^61 - 1.

const PRIME: u64 = (1 << 61) - 1;

/// The remainder of a product of two remainders, or of any 64-bit word: 2^61 leaves 1, so high bits are added to low.
pub(super) fn reduce(value: u128) -> u64 {
    let folded = (value as u64 & PRIME) + (value >> 61) as u64;
    if folded >= PRIME { folded - PRIME } else { folded }
}

pub(super) fn add(a: u64, b: u64) -> u64 {
    reduce(u128::from(a + b))
}

pub(super) fn multiply(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) * u128::from(b))
}

/// By Fermat's little theorem, `a`^(p - 2).
pub(super) fn inverse(a: u64) -> u64 {
    let (mut result, mut square, mut exponent) = (1, a, PRIME - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, square);
        }
        square = multiply(square, square);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_add_up_exactly() {
        // 1/3 + 1/6 = 1/2
        assert_eq!(add(inverse(3), inverse(6)), inverse(2));
        assert_eq!(multiply(48, inverse(48)), 1);
    }

    #[test]
    fn folding_leaves_the_remainder() {
        let largest = u128::from(PRIME - 1);
        for value in [0, 1, u128::from(PRIME), u128::from(PRIME) + 1, u128::from(u64::MAX), largest * largest] {
            assert_eq!(u128::from(reduce(value)), value % u128::from(PRIME));
        }
    }
}
