//! The built-in loads: they make the kernel flush cgroup statistics, each in a cgroup of its own that goes with it.

mod cgroup;
mod charge;
mod charger;
mod cpus;
mod dirtier;
mod dirtiers;
mod ending;
mod hierarchy;
mod hogs;
mod latency;
mod measured;
mod memcg;
mod memory;
mod mounts;
mod open_files;
mod pair;
mod priority;
mod readers;
mod result_file;
mod sendfile;
mod sendfile_worker;
mod signals;
mod stat_reader;
mod target;
#[cfg(test)]
mod tests;
mod window;
mod worker;

pub(crate) use cgroup::try_lock;
pub(crate) use charge::{ChargeOptions, charge};
pub(crate) use ending::RESULT_FILE_VARIABLE;
pub(crate) use hogs::{HogsOptions, run as hogs};
pub(crate) use result_file::write_result;
pub(crate) use sendfile::{SendfileOptions, sendfile};
pub(crate) use signals::stop_flag_on_signals;
pub(crate) use stat_reader::{
    BesideOptions, StatFile, StatReaderOptions, built_in_load_default, run as stat_reader,
};
pub(crate) use worker::{WORKER, worker_main};
