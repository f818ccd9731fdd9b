//! A map of few entries in little memory.

/// The most entries whose keys are all compared. Up to this number, that takes less time than a binary search, whose
/// branches the CPU cannot predict.
const MAX_COMPARED_KEYS: usize = 16;

/// A sorted vector of entries, with hardly any capacity for more of them. A B-tree has space for eleven in each node,
/// which wastes most of the memory if a device has many maps of one to three entries.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::analysis) struct SmallMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + Ord, V> SmallMap<K, V> {
    pub(in crate::analysis) fn len(&self) -> usize {
        self.0.len()
    }

    /// The entries, in the order of their keys.
    pub(in crate::analysis) fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    /// The keys, in their order.
    pub(in crate::analysis) fn keys(&self) -> impl DoubleEndedIterator<Item = K> {
        self.0.iter().map(|(key, _)| *key)
    }

    /// The values, in the order of their keys.
    pub(in crate::analysis) fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// The value of a key; `None` if it has none.
    pub(in crate::analysis) fn get(&self, key: K) -> Option<&V> {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// The value of a key, inserted with its default if it had none.
    pub(in crate::analysis) fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let place = self.place(key).unwrap_or_else(|place| {
            if self.0.len() == self.0.capacity() {
                self.0.reserve_exact(1 + self.0.len() / 8);
            }
            self.0.insert(place, (key, V::default()));
            place
        });
        &mut self.0[place].1
    }

    /// Removes an entry, if there is one with this key.
    pub(in crate::analysis) fn remove(&mut self, key: K) {
        if let Ok(place) = self.place(key) {
            self.0.remove(place);
        }
    }

    /// Removes the entry with the last key.
    pub(in crate::analysis) fn pop_last(&mut self) {
        self.0.pop();
    }

    /// Removes the entries with keys after this one, and frees their memory.
    pub(in crate::analysis) fn truncate_after(&mut self, key: K) {
        if self.0.last().is_some_and(|(last, _)| *last > key) {
            self.0.retain(|(other, _)| *other <= key);
            self.0.shrink_to_fit();
        }
    }

    /// The index of a key as `Ok`, or the index at which it would be inserted as `Err`.
    fn place(&self, key: K) -> Result<usize, usize> {
        let place = match self.0.as_slice() {
            entries if entries.len() <= MAX_COMPARED_KEYS => {
                entries.iter().map(|(other, _)| usize::from(*other < key)).sum()
            }
            // Fast path: keys that are times arrive in order.
            [before @ .., (last, _)] if *last <= key => before.len() + usize::from(*last < key),
            entries => entries.partition_point(|(other, _)| *other < key),
        };
        let has_key = self.0.get(place).is_some_and(|(found, _)| *found == key);
        if has_key { Ok(place) } else { Err(place) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_take_only_their_own_memory() {
        let mut map: SmallMap<i32, u32> = SmallMap::default();
        for key in [5, -3, 9, 5, 0] {
            *map.get_or_default(key) += 1;
        }
        assert_eq!(
            map.iter().map(|(key, count)| (key, *count)).collect::<Vec<_>>(),
            [(-3, 1), (0, 1), (5, 2), (9, 1)]
        );
        assert_eq!((map.len(), map.0.capacity()), (4, 4));
        assert_eq!((map.get(5), map.get(6)), (Some(&2), None));
        map.remove(-3);
        map.remove(-4);
        map.truncate_after(6);
        assert_eq!((map.keys().collect::<Vec<_>>(), map.0.capacity()), (vec![0, 5], 2));
        map.pop_last();
        assert_eq!(map.values().collect::<Vec<_>>(), [&1]);
    }
    #[test]
    fn entries_are_those_of_a_tree_however_many_there_are() {
        let mut map: SmallMap<u32, u32> = SmallMap::default();
        let mut expected = std::collections::BTreeMap::new();
        for step in 0_u32..2000 {
            let key = step.wrapping_mul(2_654_435_761) % (5 + step / 40);
            match step % 7 {
                5 => {
                    map.remove(key);
                    expected.remove(&key);
                }
                6 if step % 5 == 0 => {
                    map.pop_last();
                    expected.pop_last();
                }
                _ => {
                    *map.get_or_default(key) += step;
                    *expected.entry(key).or_default() += step;
                }
            }
            assert_eq!((map.get(key), map.len()), (expected.get(&key), expected.len()));
        }
        assert!(map.iter().map(|(key, value)| (key, *value)).eq(expected));
    }
}
