//! Memory for the warm interpreter's objects: Python's arenas one behind the other, so that they lie in whole huge
//! pages and a fork copies one entry where it would copy 512 (reference `walls.md` 9.1).
//!
//! `kernels/python/hood_kernel/pages.py` hands these two to `PyObject_SetArenaAllocator`. Python calls them under its
//! lock. In the nursery's forks they go on serving: they are no more than `mmap` and `munmap`.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::calls;

/// How much room there is for arenas side by side; past it they lie where the kernel puts them.
const ROOM: u64 = 64 << 30;

const HUGE: u64 = 2 << 20;

/// Where the next one goes; 0 before the first.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// `alloc` of a `PyObjectArenaAllocator`: null when there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn hood_arena_alloc(_: *mut c_void, size: usize) -> *mut c_void {
    let size = size as u64;
    let next = match NEXT.load(Ordering::Relaxed) {
        0 => room(),
        next => next,
    };
    let at = calls::map(next, size);
    if at < 0 {
        return null_mut();
    }
    let at = at as u64;
    // Where it was not to be had, whatever is there ends too, some day.
    NEXT.store(if at == next { next + size } else { next }, Ordering::Relaxed);
    at as *mut c_void
}

/// `free` of a `PyObjectArenaAllocator`.
///
/// # Safety
/// Nobody uses the `size` bytes at `at` any more; they came from `mmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hood_arena_free(_: *mut c_void, at: *mut c_void, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { calls::unmap(at as u64, size as u64) };
}

/// The start of free address space. Nothing is kept there: the kernel fills it from its other end.
fn room() -> u64 {
    let start = calls::reserve(ROOM);
    if start < 0 {
        return 0;
    }
    // SAFETY: just reserved, and nobody knows of it.
    unsafe { calls::unmap(start as u64, ROOM) };
    (start as u64).next_multiple_of(HUGE)
}
