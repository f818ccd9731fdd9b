//! Natural sort order of device names.

/// Returns the sort key that orders names naturally: `sdb` before `sdaa`, `loop2` before `loop10`.
pub fn natural_key(name: &str) -> Vec<(String, usize, String)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(is_digit).unwrap_or(rest.len());
        let digits = rest[word..].find(|c| !is_digit(c)).unwrap_or(rest.len() - word);
        let (letters, number) = (&rest[..word], rest[word..word + digits].trim_start_matches('0'));
        // `sdaa` follows `sdz` as 27 follows 26, so longer words sort last; the first two letters name the driver.
        let driver = letters.char_indices().nth(2).map_or(letters.len(), |(at, _)| at);
        key.push((letters[..driver].to_owned(), letters.len(), letters.to_owned()));
        key.push((String::new(), number.len(), number.to_owned()));
        rest = &rest[word + digits..];
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names =
            ["sdaa", "vda", "sdb", "loop10", "sda10", "loop2", "sda2", "nvme10n1", "nvme2n1", "sda"];
        names.sort_by_cached_key(|name| natural_key(name));
        let expected =
            ["loop2", "loop10", "nvme2n1", "nvme10n1", "sda", "sda2", "sda10", "sdb", "sdaa", "vda"];
        assert_eq!(names, expected);
    }
}
