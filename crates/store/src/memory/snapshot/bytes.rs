//! Numbers in bytes, little end first, and a reader that never passes the end.

use super::SnapshotError;

/// What is said of a snapshot whose records do not add up.
const CUT: SnapshotError = SnapshotError::Malformed("a record of it ends too early");

/// Reads bytes from the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, bytes: usize) -> Result<&'a [u8], SnapshotError> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(CUT)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], SnapshotError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, SnapshotError> {
        self.array().map(|[byte]| *byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, SnapshotError> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    pub(super) fn u64(&mut self) -> Result<u64, SnapshotError> {
        self.array().map(|bytes| u64::from_le_bytes(*bytes))
    }

    pub(super) fn u128(&mut self) -> Result<u128, SnapshotError> {
        self.array().map(|bytes| u128::from_le_bytes(*bytes))
    }

    /// Reads a number of things that each take so many bytes at least.
    pub(super) fn count(&mut self, least: usize) -> Result<usize, SnapshotError> {
        let count = usize::try_from(self.u32()?).map_err(|_| CUT)?;
        // A number that cannot be true reserves no memory.
        if count.checked_mul(least).is_none_or(|bytes| bytes > self.0.len()) {
            return Err(CUT);
        }
        Ok(count)
    }
}

/// Writes the number of things; past 2^32 there are none so many.
pub(super) fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}
