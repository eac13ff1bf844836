//! Recordings as text, JSON and CSV. Renderers write to a writer and know of no terminal.

pub mod comparison;
pub mod csv;
pub mod fleet;
pub mod foreign;
pub mod hist;
pub mod json;
pub mod text;
