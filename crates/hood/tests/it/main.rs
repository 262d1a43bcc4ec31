//! The repository's pages against the code.

mod limits_page;
