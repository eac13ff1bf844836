//! Carries out a plan: loads and attaches the programs, arms them, takes snapshots, detaches.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use aya::{
    Btf, Ebpf, EbpfLoader, Endianness,
    programs::{
        FEntry, FExit, KProbe, ProgramError, RawTracePoint, fentry::FEntryLink, fexit::FExitLink,
        kprobe::KProbeLink, raw_trace_point::RawTracePointLink,
    },
};
use rstat_probe_common::wire::OpenKind;
use rstat_probe_report::Metric;

use super::{
    attempt::{self, Refused},
    cost::{self, ProgramFigures},
    plan::{AttachKind, AttachPlan, Basis, Feature, Group, NotUsed, Planned, Strategy, StrategyKind},
    reader::{Reader, Reading},
    support::Names,
};

/// Before counting begins, waits that were under way when the programs came have to be over. The
/// lock is handed on in order, so a quiet spell this long means that they are.
const SETTLED: Duration = Duration::from_millis(4);
/// A lock held for longer than this keeps nobody from measuring.
const SETTLE_LIMIT: Duration = Duration::from_millis(200);
/// Without tracepoints a wait whose begin was not seen looks like none, so this long has to do.
const SETTLED_UNSEEN: Duration = Duration::from_millis(100);
/// libbpf tries as often (`PROG_LOAD_ATTEMPTS`).
const LOAD_ATTEMPTS: u32 = 5;
/// At the end, open sections get this long to close.
const CLOSE_LIMIT: Duration = Duration::from_millis(100);

/// Choices that do not come from the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Let the programs report faults through the log.
    pub log_faults: bool,
    /// Threads that can wait or flush at the same time; the object's default when absent.
    pub threads: Option<u32>,
}

enum Link {
    RawTracepoint(#[expect(dead_code, reason = "detaches on drop")] RawTracePointLink),
    Fentry(#[expect(dead_code, reason = "detaches on drop")] FEntryLink),
    Fexit(#[expect(dead_code, reason = "detaches on drop")] FExitLink),
    Kprobe(#[expect(dead_code, reason = "detaches on drop")] KProbeLink),
}

/// What had begun and not ended when the measurement ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAtEnd {
    pub sections: u64,
    pub flushes: u64,
    pub waits: u64,
    pub cpu_locks: u64,
}

/// Loaded programs that count.
pub(crate) struct Session {
    ebpf: Ebpf,
    reader: Reader,
    links: Vec<Link>,
    attached: Vec<Planned>,
    not_used: Vec<NotUsed>,
    /// Figures just before arming, in the order of `attached`.
    baseline: Vec<ProgramFigures>,
    btf: Option<Btf>,
    kind: StrategyKind,
    features: Vec<Feature>,
    labels: bool,
    basis: BTreeMap<Metric, Basis>,
}

impl Session {
    /// Loads and attaches what `plan` says: the first strategy whose required hooks the kernel
    /// accepts, with all that it accepts of the others. Nothing is counted before
    /// [`Session::arm`], which [`Session::prepare`] goes before.
    ///
    /// # Errors
    /// The kernel accepts none; the error is that of the best one.
    pub(crate) fn start(plan: &AttachPlan, names: Option<&Names>, options: Options) -> anyhow::Result<Self> {
        attempt::start(plan, names, options)
    }

    /// Loads the programs with the constants in `loader` and attaches `groups`.
    pub(super) fn load(
        loader: &mut EbpfLoader<'_>,
        strategy: &Strategy,
        groups: &[(usize, &Group)],
        names: Option<&Names>,
    ) -> Result<Self, Refused> {
        let mut session = Self::loaded(loader, strategy, groups, names).map_err(Refused::of_everything)?;
        // Function hooks go first: a refusal then costs little.
        let (functions, others): (Vec<_>, Vec<_>) = groups.iter().partition(|(_, group)| group.is_function());
        for (index, group) in functions.into_iter().chain(others) {
            session.attach_group(group).map_err(|(planned, error)| Refused {
                group: Some(index),
                planned: Some(planned),
                error: error.context(format!("cannot attach {} to {}", planned.program, planned.hook)),
            })?;
        }
        Ok(session)
    }

    fn loaded(
        loader: &mut EbpfLoader<'_>,
        strategy: &Strategy,
        groups: &[(usize, &Group)],
        names: Option<&Names>,
    ) -> anyhow::Result<Self> {
        let mut ebpf = loader.load(attempt::OBJECT).context("cannot create the maps")?;
        let features: Vec<Feature> = groups.iter().map(|(_, group)| group.feature).collect();
        let hooks = groups.iter().flat_map(|(_, group)| &group.programs);
        let trampolines = hooks.filter(|planned| planned.attach.is_trampoline());
        let ids = trampolines.filter_map(|planned| Some((planned.hook, names?.btf_id(planned.hook)?)));
        let ids: BTreeMap<&str, u32> = ids.collect();
        let ids: Vec<(&str, u32)> = ids.into_iter().collect();
        let btf = (!ids.is_empty())
            .then(|| Btf::parse(&super::btf::excerpt(&ids), Endianness::default()))
            .transpose()?;
        Ok(Self {
            reader: Reader::take(&mut ebpf)?,
            ebpf,
            links: Vec::new(),
            attached: Vec::new(),
            not_used: Vec::new(),
            baseline: Vec::new(),
            btf,
            kind: strategy.kind,
            basis: strategy.basis_with(&features),
            labels: false,
            features,
        })
    }

    /// Attaches all programs of a group, or none.
    fn attach_group(&mut self, group: &Group) -> Result<(), (Planned, anyhow::Error)> {
        let mut links = Vec::new();
        for planned in &group.programs {
            let link = self.attach(planned).map_err(|error| (*planned, error))?;
            links.push(link);
        }
        self.links.append(&mut links);
        self.attached.extend(&group.programs);
        Ok(())
    }

    fn attach(&mut self, planned: &Planned) -> anyhow::Result<Link> {
        let program = self
            .ebpf
            .program_mut(planned.program)
            .with_context(|| format!("no program {} in the eBPF object", planned.program))?;
        Ok(match planned.attach {
            AttachKind::RawTracepoint => {
                let program: &mut RawTracePoint = program.try_into()?;
                load(|| program.load())?;
                let id = program.attach(planned.hook)?;
                Link::RawTracepoint(program.take_link(id)?)
            }
            AttachKind::Fentry => {
                let program: &mut FEntry = program.try_into()?;
                let btf = self.btf.as_ref().context("no BTF")?;
                load(|| program.load(planned.hook, btf))?;
                let id = program.attach()?;
                Link::Fentry(program.take_link(id)?)
            }
            AttachKind::Fexit => {
                let program: &mut FExit = program.try_into()?;
                let btf = self.btf.as_ref().context("no BTF")?;
                load(|| program.load(planned.hook, btf))?;
                let id = program.attach()?;
                Link::Fexit(program.take_link(id)?)
            }
            AttachKind::Kprobe | AttachKind::Kretprobe => {
                let program: &mut KProbe = program.try_into()?;
                load(|| program.load())?;
                let id = program.attach(planned.hook, 0)?;
                Link::Kprobe(program.take_link(id)?)
            }
        })
    }

    /// Notes whether sections are labelled with their lock.
    pub(super) fn set_labels(&mut self, labels: bool) {
        self.labels = labels;
    }

    /// Notes what the plan wanted and the kernel did not.
    pub(super) fn set_not_used(&mut self, not_used: Vec<NotUsed>) {
        self.not_used = not_used;
    }

    /// Waits for a good moment to start. Readings stay at zero until [`Session::arm`].
    pub(crate) fn prepare(&mut self) -> anyhow::Result<()> {
        self.settle()?;
        self.baseline = self.figures()?;
        Ok(())
    }

    /// Starts counting.
    pub(crate) fn arm(&mut self) -> anyhow::Result<()> {
        self.reader.set_armed(true)
    }

    /// Waits until no wait is left that began before the programs were there.
    fn settle(&mut self) -> anyhow::Result<()> {
        if self.kind != StrategyKind::Tracepoints {
            thread::sleep(SETTLED_UNSEEN);
            return Ok(());
        }
        let begin = Instant::now();
        let (mut seen, mut quiet_since) = (self.reader.unknown_waits()?, Instant::now());
        while quiet_since.elapsed() < SETTLED && begin.elapsed() < SETTLE_LIMIT {
            thread::sleep(Duration::from_millis(1));
            let now_seen = self.reader.unknown_waits()?;
            if now_seen != seen {
                (seen, quiet_since) = (now_seen, Instant::now());
            }
        }
        Ok(())
    }

    /// Stops counting new sections, lets open ones close, detaches, and takes the last reading.
    /// Returns it with what was still open.
    pub(crate) fn finish(&mut self) -> anyhow::Result<(Reading, OpenAtEnd)> {
        self.reader.set_armed(false)?;
        let begin = Instant::now();
        while self.reader.open_sections(OpenKind::Main)? > 0 && begin.elapsed() < CLOSE_LIMIT {
            thread::sleep(Duration::from_millis(1));
        }
        // Begins go before ends, so that nothing begins that cannot end any more.
        while self.links.pop().is_some() {}
        let mut reading = self.read_maps()?;
        loop {
            // A program may still run for a moment after its hook is gone.
            thread::sleep(Duration::from_millis(1));
            let mut again = self.read_maps()?;
            if again.updates == reading.updates || begin.elapsed() > 2 * CLOSE_LIMIT {
                let open = OpenAtEnd {
                    sections: self.reader.open_sections(OpenKind::Main)?,
                    flushes: self.reader.close_flushes(&mut again),
                    waits: self.reader.open_waits(),
                    cpu_locks: self.reader.open_sections(OpenKind::Cpu)?,
                };
                again.sections += open.sections;
                return Ok((self.with_flushes(again), open));
            }
            reading = again;
        }
    }

    /// Reads the counters as they are now.
    pub(crate) fn read(&mut self) -> anyhow::Result<Reading> {
        let reading = self.read_maps()?;
        Ok(self.with_flushes(reading))
    }

    /// Counts the flushes that the flush function's programs timed, too, where no tracepoint did.
    fn with_flushes(&self, mut reading: Reading) -> Reading {
        if self.kind != StrategyKind::Tracepoints {
            reading.flushes += reading.flush_by_function.count();
        }
        reading
    }

    fn read_maps(&mut self) -> anyhow::Result<Reading> {
        let functions = self.has(Feature::Flush) || self.serves("flush_return");
        let mut reading = self.reader.read(self.has(Feature::CpuLocks), functions)?;
        if !self.has(Feature::Bound) {
            reading.unseen_hold_ns = None;
        }
        Ok(reading)
    }

    /// Runs that the kernel skipped since arming and that lose something. Those of the flush
    /// function do not where the tracepoints stand in for a skipped entry or return. Programs on
    /// functions that take any lock may have been skipped for another one.
    ///
    /// `None` where the kernel does not count them (before 5.12).
    pub(crate) fn recursion_misses(&self) -> anyhow::Result<Option<u64>> {
        let misses = |figures: &ProgramFigures| figures.recursion_misses.unwrap_or(0);
        let figures = self.figures()?;
        if figures.iter().all(|figures| figures.recursion_misses.is_none()) {
            return Ok(None);
        }
        let lossy = self.attached.iter().zip(figures.iter().zip(&self.baseline));
        let stands_in = |planned: &Planned| {
            self.kind == StrategyKind::Tracepoints && planned.program.starts_with("flush_")
        };
        let lost = lossy
            .filter(|(planned, _)| !stands_in(planned))
            .map(|(_, (now, then))| misses(now).saturating_sub(misses(then)));
        Ok(Some(lost.sum()))
    }

    /// The kernel's figures, in the order of [`Session::attached`].
    pub(crate) fn figures(&self) -> anyhow::Result<Vec<ProgramFigures>> {
        self.attached
            .iter()
            .map(|planned| {
                let program = self.ebpf.program(planned.program).context("program vanished")?;
                cost::figures(program)
            })
            .collect()
    }

    /// What is attached.
    pub(crate) fn attached(&self) -> &[Planned] {
        &self.attached
    }

    /// What is not, and why.
    pub(crate) fn not_used(&self) -> &[NotUsed] {
        &self.not_used
    }

    /// The way of measuring that the kernel accepted.
    pub(crate) fn strategy(&self) -> StrategyKind {
        self.kind
    }

    /// Whether programs of this feature are attached.
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// Whether sections are labelled with their lock.
    pub(crate) fn labels(&self) -> bool {
        self.labels
    }

    /// What each metric rests on.
    pub(crate) fn basis(&self) -> &BTreeMap<Metric, Basis> {
        &self.basis
    }

    /// The eBPF object, for the logger.
    pub(crate) fn ebpf(&mut self) -> &mut Ebpf {
        &mut self.ebpf
    }

    fn serves(&self, program: &str) -> bool {
        self.attached.iter().any(|planned| planned.program == program)
    }
}

/// The verifier gives up while a signal is pending (`bpf_check` in kernel/bpf/verifier.c), which
/// says nothing of the program.
fn load(mut attempt: impl FnMut() -> Result<(), ProgramError>) -> Result<(), ProgramError> {
    for _ in 0..LOAD_ATTEMPTS {
        match attempt() {
            Err(ProgramError::LoadError { io_error, .. })
                if io_error.kind() == std::io::ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
    attempt()
}
