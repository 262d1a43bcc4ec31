//! Filter data: how calls are asked (a line of numbers each: the call's, then its arguments, in hexadecimal), an empty
//! line, the data. What is not refused must compile to a program that the kernel loads and that does what the data says.
#![no_main]

use hood_driver_native::fuzz::{Ask, holds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let (asks, text) = data.split_once("\n\n").unwrap_or(("", data));
    let asks: Vec<_> = asks.lines().take(64).map(ask).collect();
    holds(text, false, &asks);
    holds(text, true, &asks);
});

fn ask(line: &str) -> Ask {
    let mut numbers = line.split_whitespace().map(|number| u64::from_str_radix(number, 16).unwrap_or(0));
    let number = numbers.next().unwrap_or(0) as u32;
    Ask { number, args: [(); 6].map(|()| numbers.next().unwrap_or(0)) }
}
