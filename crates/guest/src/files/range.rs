//! `Range`: one range of bytes of a file whose size is known.

/// What part of the file is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// From this byte on, so many.
    Bytes {
        start: u64,
        length: u64,
    },
    /// No byte of the file is in the range.
    Outside,
}

/// Reads the header's value. Several ranges, and what is not a range, mean the whole file (RFC 9110, 14.2).
pub(super) fn part(value: &str, size: u64) -> Part {
    let Some((first, last)) = value.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-'))
    else {
        return Part::Whole;
    };
    let number = |text: &str| -> Option<u64> {
        (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (number(first.trim()), number(last.trim())) {
        (Some(start), Some(end)) if start > end => Part::Whole,
        (Some(start), end) if end.is_some() || last.trim().is_empty() => {
            if start >= size {
                return Part::Outside;
            }
            let end = end.unwrap_or(u64::MAX).min(size - 1);
            Part::Bytes { start, length: end - start + 1 }
        }
        (None, Some(suffix)) if first.trim().is_empty() => {
            if suffix == 0 || size == 0 {
                return Part::Outside;
            }
            let length = suffix.min(size);
            Part::Bytes { start: size - length, length }
        }
        _ => Part::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Part) {
        assert_eq!(part(value, 10), expected, "{value}");
    }

    #[test]
    fn ranges_are_read() {
        check("bytes=2-4", Part::Bytes { start: 2, length: 3 });
        check("bytes=2-", Part::Bytes { start: 2, length: 8 });
        check("bytes=-3", Part::Bytes { start: 7, length: 3 });
        check("bytes=-30", Part::Bytes { start: 0, length: 10 });
        check("bytes=9-99999999999999999999999", Part::Bytes { start: 9, length: 1 });
        check("bytes=10-", Part::Outside);
        check("bytes=-0", Part::Outside);
        check("bytes=4-2", Part::Whole);
        check("bytes=0-1,3-4", Part::Whole);
        check("bytes=x-", Part::Whole);
        check("lines=1-2", Part::Whole);
        assert_eq!(part("bytes=0-", 0), Part::Outside);
    }
}
