//! How often the verdict is wrong, with data made by seed: the level and the power that the
//! documentation promises.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::*;

const TRIALS: u64 = 1_000;

/// A normal deviate (Box and Muller 1958).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// How intervals of a run come about.
#[derive(Clone, Copy)]
struct Model {
    intervals: usize,
    /// Events of an interval, on average; bursts make it vary by a third.
    events: f64,
    /// Spread of the events of an interval, of the logarithm.
    within: f64,
    /// Spread of the intervals' medians, of the logarithm.
    between: f64,
    /// Share of the interval before that the next one inherits.
    memory: f64,
    /// Factor on every value.
    shift: f64,
}

const STORM: Model =
    Model { intervals: 60, events: 60.0, within: 0.8, between: 0.1, memory: 0.0, shift: 1.0 };

impl Model {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few microseconds")]
    fn run(self, rng: &mut ChaCha8Rng) -> Vec<Vec<u64>> {
        let mut level = normal(rng) * self.between;
        let fresh = (1.0 - self.memory * self.memory).sqrt();
        (0..self.intervals)
            .map(|_| {
                level = self.memory * level + fresh * self.between * normal(rng);
                let events = (self.events * (normal(rng) * 0.33).exp()).max(1.0) as usize;
                let value = |rng: &mut ChaCha8Rng| 8.5 + level + self.within * normal(rng);
                (0..events).map(|_| (value(rng).exp() * self.shift) as u64).collect()
            })
            .collect()
    }
}

/// Share of trials with each outcome.
fn shares(trials: u64, baseline: Model, candidate: Model) -> impl Fn(&[Outcome]) -> f64 {
    let options = Options { resamples: 20, permutations: 199, ..Options::default() };
    let mut outcomes = Vec::new();
    for seed in 0..trials {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let sides =
            [baseline, candidate].map(|model| side_of(vec![recording("web-7", &model.run(&mut rng))]));
        let options = Options { seed, ..options.clone() };
        let comparison = compare(&sides[0], &sides[1], &options, &[]).unwrap();
        outcomes.push(comparison.measures[0].verdict.outcome);
    }
    move |wanted| {
        let found = outcomes.iter().filter(|outcome| wanted.contains(outcome)).count();
        found as f64 / outcomes.len() as f64
    }
}

/// The share itself is worth knowing, not only that it is below a limit.
fn told(what: &str, share: f64) -> f64 {
    println!("{what}: {:.1} %", share * 100.0);
    share
}

const ALARMS: [Outcome; 3] = [Outcome::Better, Outcome::Worse, Outcome::Mixed];

#[test]
fn no_difference_is_rarely_called_one() {
    // The level of 5 % and its Monte Carlo error over 1,000 trials.
    let share = shares(TRIALS, STORM, STORM);
    assert!(told("false alarms, 60 independent intervals", share(&ALARMS)) <= 0.06);
    assert!(share(&[Outcome::NoDifference]) >= 0.94);
}

#[test]
fn nor_with_few_intervals_and_wide_spread() {
    let few = Model { intervals: 6, between: 0.5, ..STORM };
    let share = shares(TRIALS, few, few);
    assert!(told("false alarms, 6 intervals", share(&ALARMS)) <= 0.06);
}

#[test]
fn nor_when_one_side_has_ten_times_the_events() {
    let busy = Model { events: 100.0, ..STORM };
    let quiet = Model { events: 10.0, ..STORM };
    let share = shares(TRIALS, busy, quiet);
    assert!(told("false alarms, 100 against 10 events an interval", share(&ALARMS)) <= 0.07);
}

#[test]
fn nor_when_neighbours_are_alike() {
    let slow = Model { between: 0.3, memory: 0.7, ..STORM };
    let share = shares(TRIALS, slow, slow);
    // How alike they are is not known exactly; taken as independent it is one in three.
    assert!(told("false alarms, neighbours alike (0.7)", share(&ALARMS)) <= 0.08);
}

#[test]
fn ten_percent_in_the_body_are_found() {
    let share = shares(200, STORM, Model { shift: 1.1, ..STORM });
    assert!(told("10 % slower, found", share(&[Outcome::Worse])) >= 0.8);
    let share = shares(200, STORM, Model { shift: 1.0 / 1.1, ..STORM });
    assert!(told("10 % faster, found", share(&[Outcome::Better])) >= 0.8);
}

#[test]
fn the_trials_can_fail() {
    // Twice the level of the intervals, and nothing else: found by nearly every trial.
    let share = shares(50, STORM, Model { shift: 2.0, ..STORM });
    assert!(share(&[Outcome::Worse]) > 0.98);
}
