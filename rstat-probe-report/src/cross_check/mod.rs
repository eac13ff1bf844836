//! Our longest time with IRQs off beside that of the kernel's own irqsoff tracer, window by window.
//!
//! The tracer keeps one span only: the longest since it was told to forget. So a window can be
//! compared when its longest span is one of rstat's.

mod span;
mod tally;
#[cfg(test)]
pub(crate) mod tests;

use serde::{Deserialize, Serialize};

pub use span::Span;
pub use tally::Tally;

/// Name of the tracer.
pub const TRACER: &str = "irqsoff";

/// Both agree when they are at most so far apart, ns, or a tenth of the tracer's figure. Between
/// the hardware's switch and our clock reads lie the lock function and the programs themselves.
pub const ALLOWED_NS: u64 = 20_000;

/// As many other functions are listed by name.
pub const MOST_OTHERS: usize = 5;

/// What the tracer saw and how that fits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossCheck {
    /// [`TRACER`].
    pub tracer: String,
    /// Windows, each from one reset of the tracer's maximum to the next.
    pub windows: u64,
    /// Windows whose longest span was a section of a main rstat lock.
    pub rstat_windows: u64,
    /// Of those: both agree.
    pub agreeing: u64,
    /// Of those: ours is known too roughly to tell.
    pub undecided: u64,
    /// Of those: the tracer's span is longer than all of ours.
    pub tracer_longer: u64,
    /// Of those: one of ours is longer than the tracer's.
    pub tracer_shorter: u64,
    /// The longest of the tracer's spans that was rstat's.
    pub longest: Option<Compared>,
    /// Where both are furthest apart, by what is allowed there.
    pub furthest: Option<Compared>,
    /// Longest spans of other functions, the most frequent ones first, at most [`MOST_OTHERS`].
    pub others: Vec<OtherSpans>,
    /// Why the tracer was not asked until the end of the measurement, if so.
    pub ended_early: Option<String>,
}

/// One window whose longest span was rstat's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// End of the window, ns from the start of the measurement.
    pub at_ns: u64,
    /// The tracer's span and where it was.
    #[serde(flatten)]
    pub span: Span,
    /// Our longest `irqs_off` of the window; `None` when we had none.
    pub ours: Option<Bounds>,
    /// Ours less the tracer's, ns: the least that both allow, so 0 where they overlap.
    pub difference_ns: i64,
}

/// Between what the longest value lies: the window's edge and the histogram's slots can leave it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// It is not below this, ns.
    pub low_ns: u64,
    /// It is not above this, ns.
    pub high_ns: u64,
}

/// Spans of one function that is not rstat's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherSpans {
    /// The function that switched IRQs on again.
    pub function: String,
    /// Windows whose longest span was one of these.
    pub windows: u64,
    /// The longest of them, us.
    pub longest_us: u64,
}

impl CrossCheck {
    /// Whether they agree in all windows that tell: `None` when none does.
    #[must_use]
    pub const fn agrees(&self) -> Option<bool> {
        match (self.agreeing, self.tracer_longer, self.tracer_shorter) {
            (0, 0, 0) => None,
            (_, longer, shorter) => Some(longer == 0 && shorter == 0),
        }
    }

    /// Says what is contradictory in it.
    ///
    /// # Errors
    /// A clause.
    pub fn check(&self) -> Result<(), String> {
        let sum = |counts: [u64; 4]| counts.into_iter().try_fold(0_u64, u64::checked_add);
        if sum([self.agreeing, self.undecided, self.tracer_longer, self.tracer_shorter])
            != Some(self.rstat_windows)
        {
            return Err("cross_check: the outcomes do not add up to rstat_windows".to_owned());
        }
        let others = self.others.iter().try_fold(self.rstat_windows, |sum, row| sum.checked_add(row.windows));
        if others.is_none_or(|others| others > self.windows) {
            return Err("cross_check: more spans than windows".to_owned());
        }
        let compared = [&self.longest, &self.furthest].map(Option::is_some);
        if compared != [self.rstat_windows > 0; 2] {
            return Err(
                "cross_check: longest and furthest are there when a window was rstat's, and only then"
                    .to_owned(),
            );
        }
        for compared in [&self.longest, &self.furthest].into_iter().flatten() {
            if compared.ours.is_some_and(|ours| ours.low_ns > ours.high_ns) {
                return Err("cross_check: low_ns is above high_ns".to_owned());
            }
            if compared.difference_ns != compared.span.difference_ns(compared.ours) {
                return Err("cross_check: difference_ns is not that of its two sides".to_owned());
            }
        }
        Ok(())
    }
}

/// How a window came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both are as close as can be asked for, wherever in its bounds ours is.
    Agrees,
    /// Ours can be as close, and can be farther away.
    Undecided,
    /// The tracer's span is longer than all of ours.
    TracerLonger,
    /// One of ours is longer than the tracer's.
    TracerShorter,
}

impl Compared {
    /// How it came out.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let allowed = self.span.allowed_ns();
        if self.span.most_apart_ns(self.ours) <= allowed {
            Outcome::Agrees
        } else if self.difference_ns.unsigned_abs() <= allowed {
            Outcome::Undecided
        } else if self.difference_ns > 0 {
            Outcome::TracerShorter
        } else {
            Outcome::TracerLonger
        }
    }
}
