//! The proxy on the way out.

use super::too_long;
use crate::{Finding, Name, Place, Policy, limits};

pub(super) fn check(policy: &Policy, all: &mut Vec<Finding>) {
    let Some(proxy) = &policy.proxy else { return };
    if !is_host_and_port(&proxy.address) {
        let shown: String = proxy.address.escape_debug().take(80).collect();
        let what = format!("`{shown}` is no address of a proxy");
        let hint = "write `proxy.example:1080`, `192.0.2.7:1080` or `[2001:db8::7]:1080`";
        all.push(Finding::error(Place::Proxy, what, hint));
    }
    let words = [("user name", &proxy.username), ("password", &proxy.password)];
    for (what, word) in words {
        match word.as_ref().map_or(0, String::len) {
            0 if word.is_some() => {
                let hint = "leave it out if the proxy asks for none";
                all.push(Finding::error(Place::Proxy, format!("the {what} is empty"), hint));
            }
            is if is > limits::PROXY_WORD_BYTES => {
                all.push(too_long(Place::Proxy, &format!("the {what}"), is, limits::PROXY_WORD_BYTES));
            }
            _ => {}
        }
    }
    if proxy.password.is_some() && proxy.username.is_none() {
        let what = "a password without a user name";
        all.push(Finding::error(Place::Proxy, what, "give both or neither"));
    }
    let Some(tls) = &proxy.tls else { return };
    if let Some(name) = &tls.server_name
        && name.parse::<Name>().is_err()
        && name.parse::<std::net::IpAddr>().is_err()
    {
        let shown: String = name.escape_debug().take(80).collect();
        let what = format!("its certificate cannot be for `{shown}`");
        all.push(Finding::error(Place::Proxy, what, "write a host name"));
    }
    if let Some(ca) = &tls.ca {
        if ca.len() > limits::PROXY_CA_BYTES {
            all.push(too_long(Place::Proxy, "the CA certificate", ca.len(), limits::PROXY_CA_BYTES));
        } else if !ca.contains("-----BEGIN CERTIFICATE-----") {
            let what = "the CA certificate is not in PEM";
            all.push(Finding::error(Place::Proxy, what, "give it with its BEGIN CERTIFICATE line"));
        }
    }
}

/// `host:port`, with a name in canonical reach or an address.
fn is_host_and_port(text: &str) -> bool {
    if text.parse::<std::net::SocketAddr>().is_ok_and(|address| address.port() != 0) {
        return true;
    }
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    host.parse::<Name>().is_ok() && digits && port.parse::<u16>().is_ok_and(|port| port != 0)
}
