//! Programs of our own: the least that hooks can cost, and the witness of how long sections last.

use anyhow::Context as _;
use aya::{
    Ebpf, include_bytes_aligned,
    maps::PerCpuArray,
    programs::{RawTracePoint, raw_trace_point::RawTracePointLink},
};
use rstat_probe_common::slots::{SLOTS, slot_high, slot_low};

/// The hooks, with the names that programs have for them.
const HOOKS: [(&str, &str); 3] = [
    ("contended", "cgroup_rstat_lock_contended"),
    ("locked", "cgroup_rstat_locked"),
    ("unlock", "cgroup_rstat_unlock"),
];

/// The programs, loaded.
pub(crate) struct Own(Ebpf);

impl Own {
    pub(crate) fn load() -> anyhow::Result<Self> {
        let mut ebpf = Ebpf::load(include_bytes_aligned!(concat!(env!("OUT_DIR"), "/cost")))?;
        for (name, program) in ebpf.programs_mut() {
            let program: &mut RawTracePoint = program.try_into()?;
            program.load().with_context(|| format!("the kernel refuses {name}"))?;
        }
        Ok(Self(ebpf))
    }

    /// Attaches the programs of a kind to all hooks.
    pub(crate) fn attach(&mut self, kind: &str) -> anyhow::Result<Vec<RawTracePointLink>> {
        HOOKS.iter().map(|(name, _)| self.attach_one(&format!("{kind}_{name}"))).collect()
    }

    /// Ids of the programs of a kind.
    pub(crate) fn ids(&self, kind: &str) -> anyhow::Result<Vec<u32>> {
        let programs = self.0.programs().filter(|(name, _)| name.split('_').next() == Some(kind));
        programs.map(|(_, program)| Ok(program.info()?.id())).collect()
    }

    /// Attaches one program.
    pub(crate) fn attach_one(&mut self, name: &str) -> anyhow::Result<RawTracePointLink> {
        let hook = HOOKS.iter().find(|(of, _)| name.ends_with(of)).context("no such hook")?.1;
        let program = self.0.program_mut(name).with_context(|| format!("no program {name}"))?;
        let program: &mut RawTracePoint = program.try_into()?;
        let id = program.attach(hook).with_context(|| format!("cannot attach to {hook}"))?;
        Ok(program.take_link(id)?)
    }

    /// Sections that the witness has timed so far, by slot.
    pub(crate) fn witnessed(&self) -> anyhow::Result<Vec<u64>> {
        let map = self.0.map("WITNESS").context("no map WITNESS")?;
        let cpus = PerCpuArray::<_, [u64; SLOTS]>::try_from(map)?.get(&0, 0)?;
        let mut slots = vec![0; SLOTS];
        for cpu in cpus.iter() {
            slots.iter_mut().zip(cpu).for_each(|(sum, count)| *sum += count);
        }
        Ok(slots)
    }
}

/// The median of what was counted between two readings, ns, interpolated inside its slot.
pub(crate) fn median(before: &[u64], after: &[u64]) -> Option<f64> {
    let counts: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let half = counts.iter().sum::<u64>() as f64 / 2.0;
    let mut below = 0.0;
    for (slot, count) in counts.iter().enumerate() {
        let count = *count as f64;
        if count > 0.0 && below + count >= half {
            let (low, high) = (slot_low(slot) as f64, slot_high(slot) as f64);
            return Some(low + (high - low) * (half - below) / count);
        }
        below += count;
    }
    None
}
