//! The kernel side of the tool in three steps: [`support`] reads facts, [`plan`] decides from
//! them and touches nothing, [`session`] loads, attaches and reads.

pub(crate) mod btf;
pub(crate) mod cost;
pub(crate) mod plan;
pub(crate) mod reader;
pub(crate) mod session;
pub(crate) mod support;
