//! The context kernels, as the binary carries them.

/// Path beneath the repository's `kernels/` folder, and content; sorted by path.
pub(crate) const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

#[cfg(test)]
mod tests {
    #[test]
    fn only_what_a_sandbox_needs_is_carried() {
        for (path, _) in super::FILES {
            assert!(!path.contains("__pycache__") && !path.contains("tests/"), "{path}");
            assert!(!path.starts_with('/') && !path.contains(".."), "{path}");
        }
        assert!(super::FILES.is_sorted_by_key(|(path, _)| std::path::Path::new(path)));
    }
}
