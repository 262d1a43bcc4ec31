//! The data file, read and checked.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::compile::clause_length;

/// Whose filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The guest: what its payload may do, and `clone3`.
    Guest,
    /// Commands and contexts.
    Payload,
}

/// Whether the template lets programs make user namespaces of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nested {
    Closed,
    Open,
}

/// What to answer a call with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Allow,
    /// This errno; 0 pretends success.
    Errno(u16),
}

/// What to answer, looking at arguments too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) clauses: Vec<(Vec<Condition>, Action)>,
    pub(crate) otherwise: Action,
}

/// One look at one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The low half is one of these.
    Is(u8, Vec<u32>),
    /// The low half has any of these bits.
    Bits(u8, u32),
    /// The whole argument is not null.
    Set(u8),
}

/// The filter as a table: call number → rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) rules: BTreeMap<u32, Rule>,
    /// Numbers above it get ENOSYS.
    pub(crate) newest: u32,
}

/// The data file does not say what it should; a fault of the build, not of the host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProfileError {
    #[error("seccomp data: {0}")]
    Toml(#[from] toml::de::Error),
    #[error("seccomp data: no system call is called `{0}`")]
    UnknownCall(String),
    #[error("seccomp data: `{0}` is listed twice")]
    Twice(String),
    #[error("seccomp data: `{0}` is not an action")]
    UnknownAction(String),
    #[error("seccomp data: a condition of `{0}` cannot be read")]
    BadCondition(String),
    #[error(
        "seccomp data: a clause of `{0}` takes more than {MAX_CLAUSE} instructions: split it into several clauses"
    )]
    LongClause(String),
    #[error("seccomp data: the program has {0} instructions, at most {max} are loaded", max = super::MAX_INSTRUCTIONS)]
    TooLong(usize),
}

/// Instructions of one clause: each of its tests jumps to the clause's end, and a jump reaches no further.
const MAX_CLAUSE: usize = u8::MAX as usize;

pub(super) const EPERM: u16 = 1;
pub(super) const ENOSYS: u16 = 38;
const NUMBERS: &str = include_str!("../../data/syscalls-x86_64.txt");
const SHIPPED: &str = include_str!("../../data/seccomp.toml");

#[derive(Deserialize)]
struct File {
    allow: BTreeMap<String, String>,
    enosys: BTreeMap<String, String>,
    guest: BTreeMap<String, String>,
    #[serde(default)]
    nested: NestedCalls,
    conditional: Vec<Conditional>,
}

#[derive(Default, Deserialize)]
struct NestedCalls {
    allow: String,
    enosys: String,
}

#[derive(Deserialize)]
struct Conditional {
    call: String,
    clauses: Vec<Clause>,
    otherwise: String,
}

#[derive(Deserialize)]
struct Clause {
    r#if: Vec<Vec<toml::Value>>,
    then: String,
}

impl Profile {
    /// The filter in this crate's data.
    pub(crate) fn shipped(who: Who, nested: Nested) -> Result<Self, ProfileError> {
        Self::parse(SHIPPED, who, nested)
    }

    /// Every known call that no list names is refused with EPERM.
    pub(super) fn parse(text: &str, who: Who, nested: Nested) -> Result<Self, ProfileError> {
        let file: File = toml::from_str(text)?;
        let numbers = numbers();
        let newest = numbers.values().copied().max().unwrap_or(0);
        let mut named: BTreeMap<&str, Rule> = BTreeMap::new();
        let plain = |action| Rule { clauses: Vec::new(), otherwise: action };
        let lists = file.allow.values().map(|list| (list, Action::Allow));
        let lists = lists.chain(file.enosys.values().map(|list| (list, Action::Errno(ENOSYS))));
        for (list, action) in lists {
            for name in list.split_whitespace() {
                if named.insert(name, plain(action)).is_some() {
                    return Err(ProfileError::Twice(name.to_owned()));
                }
            }
        }
        for conditional in &file.conditional {
            if named.insert(&conditional.call, conditional.rule()?).is_some() {
                return Err(ProfileError::Twice(conditional.call.clone()));
            }
        }
        if who == Who::Guest {
            for name in file.guest.values().flat_map(|list| list.split_whitespace()) {
                named.insert(name, plain(Action::Allow));
            }
        }
        if nested == Nested::Open {
            let lists = [(&file.nested.allow, Action::Allow), (&file.nested.enosys, Action::Errno(ENOSYS))];
            for (list, action) in lists {
                named.extend(list.split_whitespace().map(|name| (name, plain(action))));
            }
        }
        let mut rules: BTreeMap<u32, Rule> =
            numbers.values().map(|&number| (number, plain(Action::Errno(EPERM)))).collect();
        for (name, rule) in named {
            let number = numbers.get(name).ok_or_else(|| ProfileError::UnknownCall(name.to_owned()))?;
            rules.insert(*number, rule);
        }
        Ok(Self { rules, newest })
    }
}

impl Conditional {
    fn rule(&self) -> Result<Rule, ProfileError> {
        let clauses = self
            .clauses
            .iter()
            .map(|clause| {
                let conditions = clause
                    .r#if
                    .iter()
                    .map(|c| condition(c).ok_or_else(|| ProfileError::BadCondition(self.call.clone())))
                    .collect::<Result<Vec<_>, _>>()?;
                if clause_length(&conditions) > MAX_CLAUSE {
                    return Err(ProfileError::LongClause(self.call.clone()));
                }
                Ok((conditions, action(&clause.then)?))
            })
            .collect::<Result<Vec<_>, ProfileError>>()?;
        Ok(Rule { clauses, otherwise: action(&self.otherwise)? })
    }
}

fn condition(parts: &[toml::Value]) -> Option<Condition> {
    let argument = u8::try_from(parts.first()?.as_integer()?).ok().filter(|n| *n < 6)?;
    let values = parts
        .iter()
        .skip(2)
        .map(|v| v.as_integer().and_then(|n| u32::try_from(n).ok()))
        .collect::<Option<Vec<_>>>()?;
    match (parts.get(1)?.as_str()?, values.as_slice()) {
        ("is", [_, ..]) => Some(Condition::Is(argument, values)),
        ("bits", [bits]) => Some(Condition::Bits(argument, *bits)),
        ("set", []) => Some(Condition::Set(argument)),
        _ => None,
    }
}

fn action(name: &str) -> Result<Action, ProfileError> {
    Ok(match name {
        "allow" => Action::Allow,
        "success" => Action::Errno(0),
        "EPERM" => Action::Errno(EPERM),
        "ENOSYS" => Action::Errno(ENOSYS),
        "EPROTONOSUPPORT" => Action::Errno(93),
        "EAFNOSUPPORT" => Action::Errno(97),
        other => return Err(ProfileError::UnknownAction(other.to_owned())),
    })
}

fn numbers() -> BTreeMap<&'static str, u32> {
    NUMBERS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, number)| Some((name, number.trim().parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_data_is_sound() {
        let payload = Profile::shipped(Who::Payload, Nested::Closed).expect("valid data");
        assert!(payload.rules.len() > 370);
        assert_eq!(payload.newest, 469);
    }

    #[test]
    fn mistakes_in_the_data_are_named() {
        let base = "[enosys]\n[guest]\nconditional = []\n[allow]\n";
        let broken = "conditional = []\n[enosys]\n[guest]\n[allow]\na = \"read raed\"\n";
        assert!(
            matches!(Profile::parse(broken, Who::Payload, Nested::Closed), Err(ProfileError::UnknownCall(n)) if n == "raed")
        );
        let twice = "conditional = []\n[enosys]\n[guest]\n[allow]\na = \"read\"\nb = \"read\"\n";
        assert!(
            matches!(Profile::parse(twice, Who::Payload, Nested::Closed), Err(ProfileError::Twice(n)) if n == "read")
        );
        assert!(Profile::parse(base, Who::Payload, Nested::Closed).is_err());
    }

    #[test]
    fn a_template_that_opens_namespaces_opens_nothing_else() {
        let closed = Profile::shipped(Who::Payload, Nested::Closed).expect("valid data");
        let open = Profile::shipped(Who::Payload, Nested::Open).expect("valid data");
        let differ: Vec<u32> =
            closed.rules.keys().copied().filter(|n| closed.rules[n] != open.rules[n]).collect();
        // clone, pivot_root, mount, umount2, sethostname, setdomainname, unshare, setns, and the newer mount calls.
        let expected = [56, 155, 165, 166, 170, 171, 272, 308, 428, 429, 430, 431, 432, 433, 442];
        assert_eq!(differ, expected);
    }

    #[test]
    fn a_clause_is_no_longer_than_a_jump_reaches() {
        let with_values = |count: u32| {
            let values = (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
            format!(
                "conditional = [{{ call = \"socket\", otherwise = \"EPERM\", \
                 clauses = [{{ if = [[0, \"is\", {values}]], then = \"allow\" }}] }}]\n[allow]\n[enosys]\n[guest]\n"
            )
        };
        assert!(Profile::parse(&with_values(253), Who::Payload, Nested::Closed).is_ok());
        let refused = Profile::parse(&with_values(254), Who::Payload, Nested::Closed);
        assert!(matches!(refused, Err(ProfileError::LongClause(call)) if call == "socket"));
    }
}
