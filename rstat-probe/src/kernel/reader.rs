//! Reads the maps and sums the CPUs. Copies are taken while the CPUs write; a copy is used only
//! when no update fell into it, see `rstat_probe_common::wire`.

use anyhow::Context as _;
use aya::{
    Ebpf, Pod,
    maps::{HashMap, MapData, PerCpuArray},
};
use rstat_probe_common::{
    slots::SLOTS,
    wire::{
        CpuLockStats, FlushStart, FlushStats, LockStats, SectionStats, WaitKey, WaitKind, WaitStats,
        WireHistogram,
    },
};
use rstat_probe_report::histogram::Histogram;

/// Copies to try before a busy CPU keeps its previous copy until the next snapshot.
const TRIES: usize = 100;

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

/// One per-CPU map and the last whole copy of every possible CPU.
struct PerCpu<V: Bracketed> {
    map: PerCpuArray<MapData, V>,
    copies: Vec<V>,
}

impl<V: Bracketed> PerCpu<V> {
    fn take(ebpf: &mut Ebpf, name: &str) -> anyhow::Result<Self> {
        let map = ebpf.take_map(name).with_context(|| format!("no map {name} in the eBPF object"))?;
        Ok(Self { map: PerCpuArray::try_from(map)?, copies: Vec::new() })
    }

    /// Takes new copies. A CPU that was busy at every try keeps its old copy: its newest events
    /// then show in the next snapshot, whole.
    fn refresh(&mut self) -> anyhow::Result<()> {
        let mut fresh: Vec<bool> = Vec::new();
        for _ in 0..TRIES {
            let values = self.map.get(&0, 0).context("cannot read a map")?;
            if self.copies.is_empty() {
                self.copies = vec![V::zeroed(); values.len()];
            }
            fresh.resize(values.len(), false);
            for ((fresh, copy), value) in fresh.iter_mut().zip(&mut self.copies).zip(values.iter()) {
                if !*fresh && value.untouched() {
                    *copy = *value;
                    *fresh = true;
                }
            }
            if fresh.iter().all(|fresh| *fresh) {
                break;
            }
        }
        Ok(())
    }

    fn sum(&self, field: impl Fn(&V) -> u64) -> u64 {
        self.copies.iter().map(field).sum()
    }

    fn histogram(&self, field: impl Fn(&V) -> &WireHistogram) -> anyhow::Result<Histogram> {
        let mut slots = [0u64; SLOTS];
        let (mut sum, mut overflow, mut max, mut min_inverted, mut count) = (0u128, 0, 0, 0, 0);
        for copy in &self.copies {
            let histogram = field(copy);
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
        .context("the maps contradict themselves")
    }
}

/// Sections of the per-CPU locks that could not be paired.
fn unpaired(lock: &LockStats) -> u64 {
    lock.wait_start_missing + lock.task_mismatch + lock.section_overwritten + lock.clock_backwards
}

/// The maps of a session.
pub(crate) struct Reader {
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
    pub sections: u64,
    pub contended: u64,
    pub yields: u64,
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
    pub flush_end_missing: u64,
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
            waits: PerCpuArray::try_from(map("WAITS")?)?,
            flush_starts: HashMap::try_from(map("FLUSH_STARTS")?)?,
            wait_starts: HashMap::try_from(map("WAIT_STARTS")?)?,
            sections: PerCpu::take(ebpf, "SECTIONS")?,
            cpu_locks: PerCpu::take(ebpf, "CPU_LOCKS")?,
            flushes: PerCpu::take(ebpf, "FLUSHES")?,
        })
    }

    /// Reads everything. `cpu_locks` and `functions` say whether those programs run.
    pub(crate) fn read(&mut self, cpu_locks: bool, functions: bool) -> anyhow::Result<Reading> {
        self.sections.refresh()?;
        if cpu_locks || self.cpu_locks.copies.is_empty() {
            self.cpu_locks.refresh()?;
        }
        if functions || self.flushes.copies.is_empty() {
            self.flushes.refresh()?;
        }
        let main = self.wait_losses(&[WaitKind::Main])?;
        let per_cpu = self.wait_losses(&[WaitKind::Cpu, WaitKind::CpuFastpath])?;
        let (sections, cpu_locks, flushes) = (&self.sections, &self.cpu_locks, &self.flushes);
        let flush_map_full = sections.sum(|s| s.flush_map_full) + flushes.sum(|s| s.map_full);
        Ok(Reading {
            irqs_off: sections.histogram(|s| &s.irqs_off)?,
            lock_wait: sections.histogram(|s| &s.lock_wait)?,
            lock_hold: sections.histogram(|s| &s.lock_hold)?,
            flush_by_tracepoint: sections.histogram(|s| &s.flush)?,
            flush_by_function: flushes.histogram(|s| &s.flush)?,
            cpu_lock_wait: cpu_locks.histogram(|s| &s.wait)?,
            cpu_lock_hold: cpu_locks.histogram(|s| &s.hold)?,
            sections: sections.sum(|s| s.lock.acquisitions),
            contended: sections.sum(|s| s.lock.contended),
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
            flush_end_missing: sections.sum(|s| s.flush_end_missing),
            clock_backwards: sections.sum(|s| s.lock.clock_backwards) + flushes.sum(|s| s.clock_backwards),
            cpu_lock_unpaired: cpu_locks.sum(|s| unpaired(&s.lock)) + per_cpu.map_full + per_cpu.overwritten,
            updates: sections.sum(|s| s.updates_ended)
                + cpu_locks.sum(|s| s.updates_ended)
                + flushes.sum(|s| s.updates_ended),
        })
    }

    /// Contended acquisitions without a known begin of the wait, before the measurement.
    pub(crate) fn unknown_waits(&mut self) -> anyhow::Result<u64> {
        self.sections.refresh()?;
        Ok(self.sections.sum(|s| s.lock.unknown_waits_before))
    }

    /// Sections that are open now.
    pub(crate) fn open_sections(&mut self) -> anyhow::Result<u64> {
        self.sections.refresh()?;
        Ok(self.sections.sum(|s| u64::from(s.lock.open.start != 0)))
    }

    /// Per-CPU locks that were held at the last reading.
    pub(crate) fn open_cpu_locks(&self) -> u64 {
        self.cpu_locks.sum(|s| u64::from(s.lock.open.start != 0))
    }

    /// Once nothing is attached any more: adds the flushes whose return was not seen to `reading`
    /// and returns the number of those that had not ended.
    pub(crate) fn close_flushes(&self, reading: &mut Reading) -> u64 {
        let mut open = 0;
        for start in self.flush_starts.iter().filter_map(Result::ok).map(|(_, start)| start) {
            let lasted = start.last_release.saturating_sub(start.start);
            let ended = if start.has_section != 0 { lasted } else { start.unreturned };
            if ended != 0 {
                reading.flush_by_function.record(ended);
                reading.flush_end_missing += 1;
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
