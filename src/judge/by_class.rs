//! A few values by class, such as a size or a bin: most devices have one or two of them, for which a tree would take ten times
//! the memory.

/// Values by key, in the order of the keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ByClass<K, V>(Vec<(K, V)>);

impl<K, V> Default for ByClass<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> ByClass<K, V> {
    /// The value of a key, made if there is none yet.
    pub(super) fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.place(&key) {
            Ok(place) => place,
            Err(place) => {
                let len = self.0.len();
                if len == self.0.capacity() {
                    self.0.reserve_exact(1 + len / 4);
                }
                self.0.insert(place, (key, make()));
                place
            }
        };
        &mut self.0[place].1
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        let place = self.place(key).ok()?;
        Some(&self.0[place].1)
    }

    /// The place of a key, or the one where it is missing.
    fn place(&self, key: &K) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(key))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys with their values, the lowest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.0.iter()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }
}
