//! Empty on purpose: gives Cargo a library target to track, so that the binary crate is rebuilt
//! when the programs change.
#![no_std]
