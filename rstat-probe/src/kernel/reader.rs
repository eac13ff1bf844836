//! Reads the maps and sums the CPUs.
//!
//! The programs write one of two buffers. A reading turns them to the other one, lets programs
//! that are in the middle of an update finish, and copies the buffer at rest: what it says is true
//! for one moment, the turn, however busy the CPUs are.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use aya::{
    Ebpf, Pod,
    maps::{Array, HashMap, MapData, PerCpuArray},
};
use rstat_probe_common::{
    slots::SLOTS,
    wire::{
        BUFFERS, Control, CpuLockStats, FlushStart, FlushStats, LockStats, OpenKind, OpenSection, SUBSYSTEMS,
        SectionStats, SubsystemStats, WaitKey, WaitKind, WaitStats, WireHistogram,
    },
};
use rstat_probe_report::histogram::Histogram;

/// A program that had seen the old buffer is through after this, unless its CPU was taken away.
const REST: Duration = Duration::from_micros(100);
/// If it was, this is how long to wait for it; what it still writes shows in the next reading but
/// one.
const REST_LIMIT: Duration = Duration::from_millis(20);

/// What the maps say cannot be.
const CONTRADICTION: &str = "the maps contradict themselves";

/// A map value with an update bracket.
trait Bracketed: Pod {
    fn untouched(&self) -> bool;
    fn zeroed() -> Self;
}

macro_rules! bracketed {
    ($($value:ty),+) => {
        $(impl Bracketed for $value {
            fn untouched(&self) -> bool {
                self.updates_begun == self.updates_ended
            }
            fn zeroed() -> Self {
                // SAFETY: Pod: integers only, zero is a value.
                unsafe { std::mem::zeroed() }
            }
        })+
    };
}
bracketed!(SectionStats, CpuLockStats, FlushStats);

/// One per-CPU map, and the last whole copy of each buffer of every possible CPU.
struct PerCpu<V: Bracketed> {
    map: PerCpuArray<MapData, V>,
    copies: [Vec<V>; BUFFERS as usize],
}

impl<V: Bracketed> PerCpu<V> {
    fn take(ebpf: &mut Ebpf, name: &str) -> anyhow::Result<Self> {
        let map = ebpf.take_map(name).with_context(|| format!("no map {name} in the eBPF object"))?;
        Ok(Self { map: PerCpuArray::try_from(map)?, copies: [Vec::new(), Vec::new()] })
    }

    /// Copies `buffer`, which the programs have just turned away from.
    fn refresh(&mut self, buffer: u32) -> anyhow::Result<()> {
        let begin = Instant::now();
        let copies = &mut self.copies[buffer as usize];
        let mut fresh: Vec<bool> = Vec::new();
        loop {
            let values = self.map.get(&buffer, 0).context("cannot read a map")?;
            copies.resize(values.len(), V::zeroed());
            fresh.resize(values.len(), false);
            for ((fresh, copy), value) in fresh.iter_mut().zip(&mut *copies).zip(values.iter()) {
                if !*fresh && value.untouched() {
                    *copy = *value;
                    *fresh = true;
                }
            }
            if fresh.iter().all(|fresh| *fresh) || begin.elapsed() > REST_LIMIT {
                return Ok(());
            }
            thread::sleep(REST);
        }
    }

    fn copies(&self) -> impl Iterator<Item = &V> {
        self.copies.iter().flatten()
    }

    fn sum(&self, field: impl Fn(&V) -> u64) -> u64 {
        self.copies().map(field).sum()
    }

    fn histogram(&self, field: impl Fn(&V) -> &WireHistogram) -> anyhow::Result<Histogram> {
        let mut slots = [0u64; SLOTS];
        let (mut sum, mut overflow, mut max, mut min_inverted, mut count) = (0u128, 0, 0, 0, 0);
        for histogram in self.copies().map(field) {
            for (total, slot) in slots.iter_mut().zip(&histogram.slots) {
                *total += slot;
                count += slot;
            }
            sum += u128::from(histogram.sum);
            overflow += histogram.overflow;
            max = max.max(histogram.max);
            min_inverted = min_inverted.max(histogram.min_inverted);
        }
        count += overflow;
        let extremes = (count > 0).then_some((u64::MAX - min_inverted, max));
        Histogram::from_parts(
            &slots,
            overflow,
            sum,
            extremes.map(|(min, _)| min),
            extremes.map(|(_, max)| max),
        )
        .context(CONTRADICTION)
    }
}

impl PerCpu<SectionStats> {
    fn subsystems(&self) -> [SubsystemStats; SUBSYSTEMS] {
        let mut sums = [SubsystemStats { sections: 0, contended: 0, hold: 0, hold_max: 0 }; SUBSYSTEMS];
        for copy in self.copies() {
            for (sum, part) in sums.iter_mut().zip(&copy.subsystems) {
                sum.sections += part.sections;
                sum.contended += part.contended;
                sum.hold += part.hold;
                sum.hold_max = sum.hold_max.max(part.hold_max);
            }
        }
        sums
    }
}

/// Sections of the per-CPU locks that could not be paired.
fn unpaired(lock: &LockStats) -> u64 {
    lock.wait_start_missing + lock.task_mismatch + lock.section_overwritten + lock.clock_backwards
}

/// The maps of a session.
pub(crate) struct Reader {
    control: Array<MapData, Control>,
    /// What `control` holds.
    state: Control,
    open: PerCpuArray<MapData, OpenSection>,
    open_by_thread: HashMap<MapData, u32, OpenSection>,
    sections: PerCpu<SectionStats>,
    cpu_locks: PerCpu<CpuLockStats>,
    flushes: PerCpu<FlushStats>,
    waits: PerCpuArray<MapData, WaitStats>,
    flush_starts: HashMap<MapData, u32, FlushStart>,
    wait_starts: HashMap<MapData, WaitKey, u64>,
}

/// Everything the maps say, summed over the CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub irqs_off: Histogram,
    pub lock_wait: Histogram,
    pub lock_hold: Histogram,
    pub flush_by_tracepoint: Histogram,
    pub flush_by_function: Histogram,
    pub cpu_lock_wait: Histogram,
    pub cpu_lock_hold: Histogram,
    /// Acquisitions whose section has ended, recorded or lost.
    pub sections: u64,
    /// Those of them that had to wait.
    pub contended: u64,
    pub yields: u64,
    /// Flushes that ended, from [`Reader::read`] those that the programs on sections counted.
    pub flushes: u64,
    pub open_at_start: u64,
    pub flush_open_at_start: u64,
    pub cpu_locks_open_at_start: u64,
    pub wait_start_missing: u64,
    pub wait_map_full: u64,
    pub wait_overwritten: u64,
    pub section_overwritten: u64,
    pub task_mismatch: u64,
    pub flush_map_full: u64,
    pub unseen_returns: u64,
    pub unseen_entries: u64,
    pub section_unseen: u64,
    pub inferred_ends: u64,
    /// `None` when nothing bounds it.
    pub unseen_hold_ns: Option<u64>,
    /// By lock, in the order of [`SectionStats::subsystems`].
    pub subsystems: [SubsystemStats; SUBSYSTEMS],
    pub clock_backwards: u64,
    pub cpu_lock_unpaired: u64,
    /// Finished updates, to see whether anything still moves.
    pub updates: u64,
}

impl Reader {
    /// Takes the maps out of `ebpf`.
    pub(crate) fn take(ebpf: &mut Ebpf) -> anyhow::Result<Self> {
        let mut map = |name: &str| ebpf.take_map(name).with_context(|| format!("no map {name}"));
        Ok(Self {
            control: Array::try_from(map(".bss")?)?,
            state: Control { armed: 0, buffer: 0 },
            open: PerCpuArray::try_from(map("OPEN")?)?,
            open_by_thread: HashMap::try_from(map("OPEN_BY_THREAD")?)?,
            waits: PerCpuArray::try_from(map("WAITS")?)?,
            flush_starts: HashMap::try_from(map("FLUSH_STARTS")?)?,
            wait_starts: HashMap::try_from(map("WAIT_STARTS")?)?,
            sections: PerCpu::take(ebpf, "SECTIONS")?,
            cpu_locks: PerCpu::take(ebpf, "CPU_LOCKS")?,
            flushes: PerCpu::take(ebpf, "FLUSHES")?,
        })
    }

    /// Starts or stops counting.
    pub(crate) fn set_armed(&mut self, armed: bool) -> anyhow::Result<()> {
        self.set_control(Control { armed: u32::from(armed), ..self.state })
    }

    fn set_control(&mut self, state: Control) -> anyhow::Result<()> {
        self.state = state;
        self.control.set(0, state, 0).context("cannot write a map")
    }

    /// Turns the programs to the other buffer; returns the one at rest.
    fn turn(&mut self) -> anyhow::Result<u32> {
        let at_rest = self.state.buffer;
        self.set_control(Control { buffer: (at_rest + 1) % BUFFERS, ..self.state })?;
        thread::sleep(REST);
        Ok(at_rest)
    }

    /// Reads everything as it was at the turn. `cpu_locks` and `functions` say whether those
    /// programs run.
    pub(crate) fn read(&mut self, cpu_locks: bool, functions: bool) -> anyhow::Result<Reading> {
        let at_rest = self.turn()?;
        self.sections.refresh(at_rest)?;
        if cpu_locks {
            self.cpu_locks.refresh(at_rest)?;
        }
        if functions {
            self.flushes.refresh(at_rest)?;
        }
        let main = self.wait_losses(&[WaitKind::Main])?;
        let per_cpu = self.wait_losses(&[WaitKind::Cpu, WaitKind::CpuFastpath])?;
        let (sections, cpu_locks, flushes) = (&self.sections, &self.cpu_locks, &self.flushes);
        let flush_map_full = sections.sum(|s| s.flush_map_full);
        // Part of two metrics each: read once.
        let (plain, waited) = (sections.histogram(|s| &s.plain)?, sections.histogram(|s| &s.lock_hold)?);
        let lock_hold = plain.merge(&waited).context(CONTRADICTION)?;
        Ok(Reading {
            irqs_off: plain.merge(&sections.histogram(|s| &s.irqs_off)?).context(CONTRADICTION)?,
            lock_wait: sections.histogram(|s| &s.lock_wait)?,
            sections: lock_hold.count() + sections.sum(|s| s.lock.lost + s.lock.overwritten),
            contended: waited.count()
                + sections.sum(|s| s.lock.lost_contended + s.lock.overwritten_contended),
            lock_hold,
            flush_by_tracepoint: sections.histogram(|s| &s.flush)?,
            flush_by_function: flushes.histogram(|s| &s.flush)?,
            cpu_lock_wait: cpu_locks.histogram(|s| &s.wait)?,
            cpu_lock_hold: cpu_locks.histogram(|s| &s.hold)?,
            yields: sections.sum(|s| s.yields),
            flushes: sections.sum(|s| s.flushes),
            open_at_start: sections.sum(|s| s.lock.open_at_start),
            cpu_locks_open_at_start: cpu_locks.sum(|s| s.lock.open_at_start),
            // A flush whose begin found the map full ends without a begin too: that one is lost,
            // and counted as such, not open at the start.
            flush_open_at_start: sections.sum(|s| s.flush_open_at_start).saturating_sub(flush_map_full),
            wait_start_missing: sections.sum(|s| s.lock.wait_start_missing),
            wait_map_full: main.map_full,
            wait_overwritten: main.overwritten,
            section_overwritten: sections.sum(|s| s.lock.section_overwritten),
            task_mismatch: sections.sum(|s| s.lock.task_mismatch),
            flush_map_full,
            unseen_returns: sections.sum(|s| s.unseen_returns),
            unseen_entries: sections.sum(|s| s.unseen_entries),
            section_unseen: sections.sum(|s| s.lock.section_unseen),
            inferred_ends: sections.sum(|s| s.inferred_ends),
            unseen_hold_ns: Some(sections.sum(|s| s.unseen_hold)),
            subsystems: sections.subsystems(),
            clock_backwards: sections.sum(|s| s.lock.clock_backwards) + flushes.sum(|s| s.clock_backwards),
            cpu_lock_unpaired: cpu_locks.sum(|s| unpaired(&s.lock)) + per_cpu.map_full + per_cpu.overwritten,
            updates: sections.sum(|s| s.updates_ended)
                + cpu_locks.sum(|s| s.updates_ended)
                + flushes.sum(|s| s.updates_ended),
        })
    }

    /// Contended acquisitions without a known begin of the wait, before the measurement.
    pub(crate) fn unknown_waits(&mut self) -> anyhow::Result<u64> {
        let at_rest = self.turn()?;
        self.sections.refresh(at_rest)?;
        Ok(self.sections.sum(|s| s.lock.unknown_waits_before))
    }

    /// Sections on a lock of `kind` that are open now.
    pub(crate) fn open_sections(&self, kind: OpenKind) -> anyhow::Result<u64> {
        let open = self.open.get(&(kind as u32), 0).context("cannot read a map")?;
        let on_cpus = open.iter().filter(|section| section.start != 0).count();
        let by_threads = match kind {
            OpenKind::Main => self.open_by_thread.keys().filter_map(Result::ok).count(),
            OpenKind::Cpu => 0,
        };
        Ok((on_cpus + by_threads) as u64)
    }

    /// Once nothing is attached any more: adds the flushes whose return was not seen to `reading`
    /// and returns the number of those that had not ended.
    pub(crate) fn close_flushes(&self, reading: &mut Reading) -> u64 {
        let begun = self.sections.sum(|s| s.flushes_begun);
        let mut open = begun.saturating_sub(self.sections.sum(|s| s.flushes_closed));
        for start in self.flush_starts.iter().filter_map(Result::ok).map(|(_, start)| start) {
            let lasted = start.last_release.saturating_sub(start.start);
            if start.unreturned != 0 {
                reading.flush_by_function.record(start.unreturned);
                reading.unseen_returns += 1;
            }
            // One that was about to return at the end has ended for all that matters here.
            if start.has_section != 0 && lasted != 0 {
                reading.flush_by_function.record(lasted);
            } else if start.has_section != 0 {
                open += 1;
            }
        }
        open
    }

    /// Waits that are open now.
    pub(crate) fn open_waits(&self) -> u64 {
        self.wait_starts.keys().filter_map(Result::ok).count() as u64
    }

    fn wait_losses(&self, kinds: &[WaitKind]) -> anyhow::Result<WaitStats> {
        let mut sum = WaitStats { map_full: 0, overwritten: 0 };
        for kind in kinds {
            for stats in self.waits.get(&(*kind as u32), 0).context("cannot read a map")?.iter() {
                sum.map_full += stats.map_full;
                sum.overwritten += stats.overwritten;
            }
        }
        Ok(sum)
    }
}
