//! What the runners said: each has its own way to count.

use std::fmt;
use std::ops::AddAssign;

/// Tests by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// Whose summary it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    Nextest,
    CargoTest,
    Unittest,
    Pytest,
    NodeTest,
    /// A line `N passed, N failed, N skipped`.
    Plain,
}

impl Runner {
    /// The counts in a runner's output, or `None` when it never came to its summary.
    pub(crate) fn counts(self, output: &str) -> Option<Counts> {
        let lines = || output.lines().rev();
        match self {
            Self::Nextest => {
                let summary =
                    lines().find(|line| line.contains("tests run:") || line.contains("test run:"))?;
                Some(Counts::of(&pairs(summary.split_once("run:")?.1)))
            }
            Self::CargoTest => {
                let all: Vec<_> = lines().filter(|line| line.starts_with("test result:")).collect();
                (!all.is_empty()).then(|| Counts::of(&all.into_iter().flat_map(pairs).collect::<Vec<_>>()))
            }
            Self::Unittest => unittest(output),
            Self::Pytest => {
                let is_summary = |line: &&str| line.contains(" in ") && !pairs(line).is_empty();
                let ends = ["passed", "failed", "error", "skipped", "no tests ran"];
                let summary =
                    lines().filter(is_summary).find(|line| ends.iter().any(|end| line.contains(end)))?;
                Some(Counts::of(&pairs(summary)))
            }
            Self::NodeTest => {
                let marked = |line: &str| line.starts_with("# ") || line.starts_with("ℹ ");
                let turned = lines().filter(|line| marked(line)).filter_map(|line| {
                    let mut words = line.split_whitespace().skip(1);
                    Some((words.next()?, words.next()?.parse().ok()?))
                });
                let all: Vec<_> = turned.map(|(word, count)| (count, word)).collect();
                all.iter().any(|(_, word)| *word == "pass").then(|| Counts::of(&all))
            }
            Self::Plain => {
                let summary = lines().find(|line| line.contains(" passed, ") && line.contains(" failed"))?;
                Some(Counts::of(&pairs(summary)))
            }
        }
    }
}

impl Counts {
    fn of(pairs: &[(u64, &str)]) -> Self {
        let mut counts = Self::default();
        for (count, word) in pairs {
            match *word {
                "passed" | "pass" | "xpassed" => counts.passed += count,
                "failed" | "fail" | "error" | "errors" | "timed" | "exec" | "cancelled" => {
                    counts.failed += count;
                }
                "skipped" | "ignored" | "xfailed" | "todo" => counts.skipped += count,
                _ => {}
            }
        }
        counts
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// Every number that is followed by a word.
fn pairs(line: &str) -> Vec<(u64, &str)> {
    let words: Vec<_> = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.windows(2).filter_map(|pair| Some((pair[0].parse().ok()?, pair[1]))).collect()
}

/// `Ran 12 tests in 3.4s`, then `OK (skipped=1)` or `FAILED (failures=1, errors=2)`.
fn unittest(output: &str) -> Option<Counts> {
    let ran = output.lines().rev().find(|line| line.starts_with("Ran "))?;
    let (ran, _) = pairs(ran).into_iter().next()?;
    let is_verdict = |line: &&str| line.starts_with("OK") || line.starts_with("FAILED");
    let verdict = output.lines().rev().find(is_verdict)?;
    let of = |name: &str| {
        let value =
            verdict.split(['(', ',', ')']).find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse::<u64>().ok()).unwrap_or_default()
    };
    let failed = of("failures") + of("errors");
    let skipped = of("skipped");
    // Failures of subtests count on top of their test.
    Some(Counts { passed: ran.saturating_sub(failed + skipped), failed, skipped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(runner: Runner, output: &str, expected: Option<(u64, u64, u64)>) {
        let expected = expected.map(|(passed, failed, skipped)| Counts { passed, failed, skipped });
        assert_eq!(runner.counts(output), expected);
    }

    #[test]
    fn each_runner_is_understood() {
        let nextest =
            "     Summary [   5.2s] 131 tests run: 123 passed (1 slow), 5 failed, 3 timed out, 2 skipped\n";
        check(Runner::Nextest, nextest, Some((123, 8, 2)));
        let cargo =
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        check(Runner::CargoTest, &cargo.repeat(2), Some((6, 0, 2)));
        check(Runner::Unittest, "Ran 9 tests in 1.2s\n\nOK (skipped=2)\n", Some((7, 0, 2)));
        check(Runner::Unittest, "Ran 9 tests in 1.2s\n\nFAILED (failures=1, errors=2)\n", Some((6, 3, 0)));
        check(Runner::Pytest, "= 1 failed, 22 passed, 1 skipped, 1 error in 3.21s =\n", Some((22, 2, 1)));
        check(Runner::Pytest, "22 passed in 63.21s (0:01:03)\n", Some((22, 0, 0)));
        let node = "ℹ tests 9\nℹ suites 0\nℹ pass 6\nℹ fail 1\nℹ cancelled 1\nℹ skipped 1\nℹ todo 0\n";
        check(Runner::NodeTest, node, Some((6, 2, 1)));
        check(Runner::NodeTest, &node.replace('ℹ', "#"), Some((6, 2, 1)));
        check(Runner::Plain, "44 passed, 1 failed, 2 skipped\n", Some((44, 1, 2)));
    }

    #[test]
    fn a_runner_that_broke_off_has_no_counts() {
        for runner in [Runner::Nextest, Runner::CargoTest, Runner::Unittest, Runner::Pytest, Runner::NodeTest]
        {
            check(runner, "Traceback (most recent call last):\nKilled\n", None);
        }
    }

    #[test]
    fn the_closing_line_names_skipped_tests_only_when_there_are_some() {
        let counts = Counts { passed: 3, failed: 0, skipped: 0 };
        assert_eq!(counts.to_string(), "3 passed, 0 failed");
        assert_eq!(Counts { skipped: 2, ..counts }.to_string(), "3 passed, 0 failed, 2 skipped");
    }
}
