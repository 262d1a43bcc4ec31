//! `hood secret set`. The value never stands in an argument, where everybody on the machine could read it.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Read};

use anyhow::{Context as _, Result};
use zeroize::Zeroizing;

use crate::cli::SetSecretArguments;
use crate::commands::Context;
use crate::exit::{Exit, Hinted};
use crate::limits::SECRET_INPUT;
use crate::terminal::read_hidden;

pub(crate) async fn run(context: &Context, arguments: SetSecretArguments) -> Result<Exit> {
    let client = context.client()?;
    let value = if io::stdin().is_terminal() {
        read_hidden(&format!("Value of `{}`: ", arguments.name))?
    } else {
        read_input(io::stdin().lock())?
    };
    if value.is_empty() {
        let message = format!("nothing came on standard input for the secret `{}`", arguments.name);
        return Err(Hinted::new(message, "pipe its value in, or type it when asked").into());
    }
    let metadata: BTreeMap<_, _> = arguments.metadata.into_iter().collect();
    let metadata = (!metadata.is_empty()).then_some(metadata);
    let secret = client.set_secret(&arguments.name, &value, metadata.as_ref()).await?;
    if context.json {
        context.printer.json(&secret)?;
    } else {
        context.printer.note(&format!("`{}` has version {}", secret.name, secret.current_version));
    }
    Ok(Exit::Done)
}

/// All of it, but for a line end.
fn read_input(input: impl Read) -> Result<Zeroizing<String>> {
    let mut value = Zeroizing::new(String::new());
    let read = input.take(SECRET_INPUT + 1).read_to_string(&mut value);
    read.context("cannot read the value from standard input as text")?;
    if value.len() as u64 > SECRET_INPUT {
        let message = format!("a secret has at most {} KiB", SECRET_INPUT >> 10);
        return Err(Hinted::new(message, "put what is larger into a file of the sandbox").into());
    }
    if value.ends_with('\n') {
        value.pop();
        if value.ends_with('\r') {
            value.pop();
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_left_out() {
        let read = |text: &str| read_input(text.as_bytes()).unwrap().to_string();
        assert_eq!([read("a\n"), read("a\r\n"), read("a\n\n"), read("a")], ["a", "a", "a\n", "a"]);
        assert!(read_input(&[0xff][..]).is_err());
        assert!(read_input("x".repeat(SECRET_INPUT as usize + 1).as_bytes()).is_err());
    }
}
