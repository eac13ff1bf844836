//! Carries out a plan: loads and attaches the programs, arms them, takes snapshots, detaches.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use aya::{
    Btf, Ebpf, EbpfLoader, Endianness,
    programs::{
        FEntry, FExit, RawTracePoint, fentry::FEntryLink, fexit::FExitLink,
        raw_trace_point::RawTracePointLink,
    },
};
use rstat_probe_common::wire::OpenKind;

use super::{
    btf,
    cost::{self, ProgramFigures},
    plan::{AttachKind, AttachPlan, Group, NotUsed, Planned},
    reader::{Reader, Reading},
};

/// The eBPF object, built from source by build.rs.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/rstat-probe"));

/// Before counting begins, waits that were under way when the programs came have to be over. The
/// lock is handed on in order, so a quiet spell this long means that they are.
const SETTLED: Duration = Duration::from_millis(4);
/// A lock held for longer than this keeps nobody from measuring.
const SETTLE_LIMIT: Duration = Duration::from_millis(200);
/// At the end, open sections get this long to close.
const CLOSE_LIMIT: Duration = Duration::from_millis(100);

/// `warn` in aya-log's numbering (aya_log_common::Level).
const LOG_WARNINGS: u8 = 2;

/// The program on the entry of the flush function.
const FLUSH_ENTRY: &str = "flush_entry";

/// Choices that do not come from the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Let the programs report faults through the log.
    pub log_faults: bool,
    /// Threads that can wait or flush at the same time; the object's default when absent.
    pub threads: Option<u32>,
    /// Leave the flush function alone, whatever the plan says.
    pub tracepoints_only: bool,
}

enum Link {
    RawTracepoint(#[expect(dead_code, reason = "detaches on drop")] RawTracePointLink),
    Fentry(#[expect(dead_code, reason = "detaches on drop")] FEntryLink),
    Fexit(#[expect(dead_code, reason = "detaches on drop")] FExitLink),
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
    flush_btf: Option<Btf>,
}

impl Session {
    /// Loads and attaches what `plan` says. Nothing is counted before [`Session::arm`], which [`Session::prepare`] goes before.
    pub(crate) fn start(plan: &AttachPlan, options: Options) -> anyhow::Result<Self> {
        let log_level = if options.log_faults { LOG_WARNINGS } else { 0 };
        let offsets = if options.log_faults { plan.offsets } else { None };
        let (kn, id) = offsets.map_or((0, 0), |offsets| (offsets.cgroup_kn, offsets.kernfs_node_id));
        // One loader for both attempts: making one parses the kernel's BTF, like it or not.
        let mut loader = EbpfLoader::new();
        loader
            .btf(None) // nothing to relocate
            .override_global("FIRST_CPU", &plan.first_cpu, true)
            .override_global("LAST_CPU", &plan.last_cpu, true)
            .override_global("CGROUP_KN", &kn, true)
            .override_global("KERNFS_NODE_ID", &id, true)
            .override_global("AYA_LOG_LEVEL", &log_level, true);
        if let Some(threads) = options.threads {
            loader.map_max_entries("WAIT_STARTS", threads).map_max_entries("FLUSH_STARTS", threads);
        }
        let mut not_used = plan.not_used.clone();
        // Which programs look after the flush is a constant in the others, so a kernel that
        // refuses function hooks costs a second load without them.
        let mut session = None;
        if !options.tracepoints_only && plan.groups.iter().any(Group::is_function) {
            session = Self::load(&mut loader, plan, true, &mut not_used)?;
        }
        let mut session = match session {
            Some(session) => session,
            None => Self::load(&mut loader, plan, false, &mut not_used)?
                .context("function hooks attached against the plan")?,
        };
        session.not_used = not_used;
        Ok(session)
    }

    /// `None` when function hooks were asked for and refused.
    fn load(
        loader: &mut EbpfLoader<'_>,
        plan: &AttachPlan,
        functions: bool,
        not_used: &mut Vec<NotUsed>,
    ) -> anyhow::Result<Option<Self>> {
        static NO_YES: [u8; 2] = [0, 1];
        loader.override_global("FLUSH_BY_FUNCTION", &NO_YES[usize::from(functions)], true);
        let mut ebpf = loader.load(OBJECT).context("cannot create the maps")?;
        let mut session = Self {
            reader: Reader::take(&mut ebpf)?,
            ebpf,
            links: Vec::new(),
            attached: Vec::new(),
            not_used: Vec::new(),
            baseline: Vec::new(),
            flush_btf: None,
        };
        session.flush_btf = match (plan.flush_function_id, plan.flush_function()) {
            (Some(id), Some(name)) if functions => {
                Some(Btf::parse(&btf::excerpt(name, id), Endianness::default())?)
            }
            _ => None,
        };
        // Function hooks go first: a refusal then costs little.
        let (of_functions, others): (Vec<_>, Vec<_>) = plan.groups.iter().partition(|g| g.is_function());
        for group in of_functions.into_iter().chain(others) {
            let is_function = group.is_function();
            if is_function && !functions {
                continue;
            }
            if let Err(refused) = session.attach_group(group) {
                if group.required {
                    return Err(refused.error).with_context(|| {
                        format!("cannot attach {} to {}", refused.planned.program, refused.planned.hook)
                    });
                }
                not_used.push(NotUsed {
                    hook: refused.planned.hook.to_owned(),
                    attach: refused.planned.attach,
                    reason: format!("the kernel refused it: {}", root_cause(&refused.error)),
                });
                if is_function {
                    return Ok(None);
                }
            }
        }
        Ok(Some(session))
    }

    /// Attaches all programs of a group, or none.
    fn attach_group(&mut self, group: &Group) -> Result<(), Refused> {
        let mut links = Vec::new();
        for planned in &group.programs {
            let link = self.attach(planned).map_err(|error| Refused { planned: *planned, error })?;
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
                program.load()?;
                let id = program.attach(planned.hook)?;
                Link::RawTracepoint(program.take_link(id)?)
            }
            AttachKind::Fentry => {
                let program: &mut FEntry = program.try_into()?;
                program.load(planned.hook, self.flush_btf.as_ref().context("no BTF")?)?;
                let id = program.attach()?;
                Link::Fentry(program.take_link(id)?)
            }
            AttachKind::Fexit => {
                let program: &mut FExit = program.try_into()?;
                program.load(planned.hook, self.flush_btf.as_ref().context("no BTF")?)?;
                let id = program.attach()?;
                Link::Fexit(program.take_link(id)?)
            }
        })
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
        let mut reading = self.read()?;
        loop {
            // A program may still run for a moment after its hook is gone.
            thread::sleep(Duration::from_millis(1));
            let again = self.read()?;
            if again.updates == reading.updates || begin.elapsed() > 2 * CLOSE_LIMIT {
                let mut again = again;
                let open = OpenAtEnd {
                    sections: self.reader.open_sections(OpenKind::Main)?,
                    flushes: self.reader.close_flushes(&mut again),
                    waits: self.reader.open_waits(),
                    cpu_locks: self.reader.open_sections(OpenKind::Cpu)?,
                };
                return Ok((again, open));
            }
            reading = again;
        }
    }

    /// Reads the counters as they are now.
    pub(crate) fn read(&mut self) -> anyhow::Result<Reading> {
        self.reader.read(self.serves("cpu_locked"), self.times_functions())
    }

    /// Runs that the kernel skipped since arming and that lose something. Those of the flush
    /// function do not: its tracepoints stand in for a skipped entry or return.
    pub(crate) fn recursion_misses(&self) -> anyhow::Result<u64> {
        let misses = |figures: &ProgramFigures| figures.recursion_misses.unwrap_or(0);
        let figures = self.figures()?;
        let lossy = self.attached.iter().zip(figures.iter().zip(&self.baseline));
        Ok(lossy
            .filter(|(planned, _)| planned.attach == AttachKind::RawTracepoint)
            .map(|(_, (now, then))| misses(now) - misses(then))
            .sum())
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

    /// Whether function hooks time the flush.
    pub(crate) fn times_functions(&self) -> bool {
        self.serves(FLUSH_ENTRY)
    }

    /// The eBPF object, for the logger.
    pub(crate) fn ebpf(&mut self) -> &mut Ebpf {
        &mut self.ebpf
    }

    fn serves(&self, program: &str) -> bool {
        self.attached.iter().any(|planned| planned.program == program)
    }
}

struct Refused {
    planned: Planned,
    error: anyhow::Error,
}

fn root_cause(error: &anyhow::Error) -> String {
    error.root_cause().to_string()
}
