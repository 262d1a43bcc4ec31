//! Values on the command line, and what a sandbox's text may do to the terminal that shows it.
#![no_main]

// `hood` is a program, not a library; these two files stand alone.
#[path = "../../crates/hood/src/terminal/escape.rs"]
mod escape;
#[path = "../../crates/hood/src/cli/values.rs"]
mod values;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(memory) = text.parse::<values::Memory>() {
        assert!(memory.mib > 0);
    }
    if let Ok(time) = values::duration(text) {
        assert!(time.as_secs() > 0);
    }
    if let Ok((name, value)) = values::pair(text) {
        assert_eq!(format!("{name}={value}"), text);
    }
    if let Ok(wall) = values::spared_wall(text) {
        assert_eq!(values::spared_wall(&wall.to_string()), Ok(wall));
    }
    assert!(!escape::escape(text).chars().any(escape::is_dangerous));
    let shown = escape::escape_lines(text);
    assert!(shown.split('\n').all(|line| !line.chars().any(escape::is_dangerous)));
    assert_eq!(shown.split('\n').count(), text.split('\n').count());
});
