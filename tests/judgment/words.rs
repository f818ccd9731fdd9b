//! Verdicts by name, and sets of them.

/// A verdict, the least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    Idle,
    Ok,
    Busy,
    Queueing,
    Slow,
    Saturated,
    Capped,
    Throttled,
    Stalled,
}

impl Word {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Idle, "idle"),
        (Self::Ok, "ok"),
        (Self::Busy, "busy"),
        (Self::Queueing, "queueing"),
        (Self::Slow, "slow"),
        (Self::Saturated, "saturated"),
        (Self::Capped, "capped"),
        (Self::Throttled, "throttled"),
        (Self::Stalled, "stalled"),
    ];

    /// The verdict of a name; `None` for any other name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, its_name)| *its_name == name)
            .map(|(word, _)| *word)
    }

    /// Returns whether it says that the device is the problem.
    pub(crate) fn is_trouble(self) -> bool {
        self >= Self::Slow
    }
}

/// A set of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words(u16);

impl Words {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn of(words: &[Word]) -> Self {
        Self(words.iter().fold(0, |set, word| set | 1 << *word as u8))
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn contains(self, word: Word) -> bool {
        self.0 >> word as u8 & 1 == 1
    }

    /// Returns whether it holds no other verdicts than those of another set.
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Word> {
        Word::ALL
            .into_iter()
            .map(|(word, _)| word)
            .filter(move |word| self.contains(*word))
    }

    /// Returns whether all its verdicts say that the device is the problem.
    pub(crate) fn is_surely_trouble(self) -> bool {
        !self.is_empty() && self.iter().all(Word::is_trouble)
    }

    /// Returns whether one of its verdicts says that the device is the problem.
    pub(crate) fn has_trouble(self) -> bool {
        self.iter().any(Word::is_trouble)
    }

    /// Returns the set whose least severe verdict is the more severe one.
    pub(crate) fn worse(self, other: Self) -> Self {
        let rank = |set: Self| (set.iter().next(), set.iter().last());
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }
}

impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = Word::ALL
            .iter()
            .filter(|(word, _)| self.contains(*word))
            .map(|(_, name)| *name)
            .collect();
        f.write_str(&if names.is_empty() {
            "-".to_owned()
        } else {
            names.join("/")
        })
    }
}
