//! The kernel side of the tool in three steps: [`support`] reads facts, [`plan`] decides from
//! them and touches nothing, [`session`] loads, attaches and reads.

mod attempt;
pub(crate) mod btf;
mod btf_blob;
pub(crate) mod cost;
pub(crate) mod facts_saved;
mod formats;
mod kallsyms;
mod locks;
mod name_set;
mod names;
#[cfg(test)]
mod object_tests;
pub(crate) mod plan;
pub(crate) mod reader;
pub(crate) mod session;
pub(crate) mod support;
pub(crate) mod trampoline;
