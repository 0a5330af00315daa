//! The `purser` binary. Its code is in [`purser::commands`]: here it would be compiled a second time.

use std::process::ExitCode;

/// A call makes hundreds of small allocations on one thread and frees many of them on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    purser::system::disable_huge_pages();
    purser::commands::run()
}
