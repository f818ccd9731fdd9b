//! Numbers as bytes: small numbers take few.

/// Appends a whole number, seven bits at a time.
pub(super) fn put_u64(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number in full.
pub(super) fn put_f64(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Reads the numbers in the order in which they were appended. Past the end, numbers are zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl ByteReader<'_> {
    pub(super) fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(super) fn u64(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8();
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    pub(super) fn f64(&mut self) -> f64 {
        let Some((bytes, rest)) = self.0.split_first_chunk() else { return 0.0 };
        self.0 = rest;
        f64::from_le_bytes(*bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were() {
        let whole = [0, 1, 127, 128, 300, 1 << 32, u64::MAX];
        let mut bytes = Vec::new();
        whole.iter().for_each(|value| put_u64(*value, &mut bytes));
        put_f64(-0.1, &mut bytes);
        assert_eq!(bytes.len(), 1 + 1 + 1 + 2 + 2 + 5 + 10 + 8);
        let mut reader = ByteReader(&bytes);
        whole.iter().for_each(|value| assert_eq!(reader.u64(), *value));
        assert_eq!(reader.f64(), -0.1);
        assert_eq!((reader.u8(), reader.u64(), reader.f64()), (0, 0, 0.0));
    }
}
