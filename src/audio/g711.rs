//! The two codes of telephony, eight bits a sample (ITU-T G.711), in WAV and SPHERE.

/// The largest magnitude of mu-law.
pub(super) const MU_LAW_FULL_SCALE: f32 = 32124.0 / 32768.0;
/// The largest magnitude of A-law.
pub(super) const A_LAW_FULL_SCALE: f32 = 32256.0 / 32768.0;

/// ITU-T G.711: of the complement, a sign, an exponent of 3 bits and a mantissa of 4.
pub(super) fn mu_law(byte: u8) -> i16 {
    let byte = !byte;
    let magnitude = ((i16::from(byte & 0x0F) << 3) + 132) << ((byte >> 4) & 7);
    if byte & 0x80 == 0 { magnitude - 132 } else { 132 - magnitude }
}

/// ITU-T G.711: every other bit is inverted; sign, exponent and mantissa as above.
pub(super) fn a_law(byte: u8) -> i16 {
    let byte = byte ^ 0x55;
    let (exponent, mantissa) = ((byte >> 4) & 7, i16::from(byte & 0x0F) << 4);
    let magnitude = match exponent {
        0 => mantissa + 8,
        _ => (mantissa + 264) << (exponent - 1),
    };
    if byte & 0x80 == 0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the tables in ITU-T G.711, in units of 16 bits.
    #[test]
    fn mu_law_and_a_law_are_those_of_g_711() {
        for (byte, value) in
            [(0xFF, 0), (0x7F, 0), (0x80, 32_124), (0x00, -32_124), (0x8F, 16_764), (0xEF, 132), (0xFE, 8)]
        {
            assert_eq!(mu_law(byte), value, "{byte:02X}");
        }
        for (byte, value) in [(0xD5, 8), (0x55, -8), (0xAA, 32_256), (0x2A, -32_256), (0x80, 5504), (0xC5, 264)] {
            assert_eq!(a_law(byte), value, "{byte:02X}");
        }
    }
}
