//! What the eBPF programs and user space agree on: the wire types in [`wire`] and the slot
//! arithmetic in [`slots`]. Nothing here allocates, reads a clock or knows about aya (but for the
//! `Pod` marks behind the feature `user`).
#![no_std]

pub mod slots;
pub mod wire;
