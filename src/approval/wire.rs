//! SSH's length-prefixed strings (RFC 4251 section 5), read strictly. In: bytes from outside. Out: slices of them, or
//! nothing when a length does not fit.
//!
//! Not here: what the strings mean (`key`, `sshsig`).

/// Reads fields one after the other; never past the end, never allocating.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }
    /// The next `count` bytes as they are.
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }
    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }
    /// A big-endian 32-bit number.
    pub(super) fn number(&mut self) -> Option<u32> {
        let bytes: [u8; 4] = self.take(4)?.try_into().ok()?;
        Some(u32::from_be_bytes(bytes))
    }
    /// A 32-bit length and that many bytes.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }
    /// Fails when anything is left: trailing bytes would be an unsigned place to hide things in.
    pub(super) fn end(self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }
}

/// Appends a string with its length. Callers pass what came from a bounded document, far below 2^32 bytes.
pub(crate) fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read_back_and_nothing_is_read_past_the_end() {
        let mut bytes = Vec::new();
        put_string(&mut bytes, b"abc");
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.string(), Some(&b"abc"[..]));
        assert_eq!(reader.byte(), None);
        assert_eq!(reader.end(), Some(()));
        for cut in 0..bytes.len() {
            assert_eq!(Reader::new(&bytes[..cut]).string(), None, "{cut}");
        }
        assert_eq!(Reader::new(&[255, 255, 255, 255, 1]).string(), None);
        assert_eq!(Reader::new(&[1]).end(), None);
    }
}
