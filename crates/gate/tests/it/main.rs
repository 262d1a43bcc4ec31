//! The gate by its handle, with its listeners on the loopback interface.

mod intercept;
