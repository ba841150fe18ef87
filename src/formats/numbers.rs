//! Numbers from bytes: as many as a header promises, in memory that grows with what is there and not with the promise.

use std::io::{self, Read};

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 1 << 16;

/// Reads `count` numbers of `N` bytes each; fewer when `input` ends before.
///
/// # Errors
/// What `input` refuses.
pub(super) fn read<const N: usize, T>(
    input: &mut impl Read,
    count: usize,
    decode: impl Fn([u8; N]) -> T,
) -> io::Result<Vec<T>> {
    let mut numbers = Vec::new();
    let mut block = Vec::with_capacity(count.min(BLOCK_BYTES / N) * N);
    while numbers.len() < count {
        let wanted = (count - numbers.len()).min(BLOCK_BYTES / N) * N;
        block.clear();
        input.by_ref().take(wanted as u64).read_to_end(&mut block)?;
        numbers.extend(block.as_chunks::<N>().0.iter().map(|&bytes| decode(bytes)));
        if block.len() < wanted {
            break;
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_takes_no_memory() {
        let bytes: Vec<u8> = (0..200_003u32).map(|value| value as u8).collect();
        let all = read(&mut bytes.as_slice(), usize::MAX, u32::from_le_bytes).unwrap();
        assert_eq!((all.len(), all[49_999]), (50_000, u32::from_le_bytes([60, 61, 62, 63])));
        let mut rest = bytes.as_slice();
        assert_eq!(read(&mut rest, 30_000, u32::from_le_bytes).unwrap(), all[..30_000]);
        assert_eq!(rest.len(), 80_003);
    }
}
