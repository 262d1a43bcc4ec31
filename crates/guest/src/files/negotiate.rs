//! Which encoding an answer has: `Accept-Encoding`.

use http::{HeaderMap, header};

/// What the client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) gzip: bool,
    pub(super) identity: bool,
}

/// Reads RFC 9110's weights: `identity` is accepted unless it is excluded, by name or by `*`; gzip only by name, and
/// not where the client would rather have the bytes as they are.
pub(super) fn accepted(headers: &HeaderMap) -> Accepted {
    let (mut gzip, mut identity, mut any) = (None, None, None);
    for value in headers.get_all(header::ACCEPT_ENCODING) {
        for item in value.to_str().unwrap_or_default().split(',') {
            let (coding, parameters) = item.split_once(';').unwrap_or((item, ""));
            let weight = parameters
                .split(';')
                .find_map(|parameter| parameter.trim().strip_prefix("q="))
                .map_or(1.0, |q| q.trim().parse().unwrap_or(0.0));
            match coding.trim().to_ascii_lowercase().as_str() {
                "gzip" | "x-gzip" => gzip = Some(weight),
                "identity" => identity = Some(weight),
                "*" => any = Some(weight),
                _ => {}
            }
        }
    }
    let zip: f32 = gzip.unwrap_or(0.0);
    Accepted {
        gzip: zip > 0.0 && identity.is_none_or(|plain| zip >= plain),
        identity: identity.or(any).is_none_or(|plain: f32| plain > 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, gzip: bool, identity: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, value.parse().unwrap());
        assert_eq!(accepted(&headers), Accepted { gzip, identity }, "{value}");
    }

    #[test]
    fn encodings_are_weighed() {
        check("", false, true);
        check("gzip", true, true);
        check("gzip, deflate, br, zstd", true, true);
        check("GZIP;q=0.5, identity;q=0.9", false, true);
        check("gzip;q=0", false, true);
        check("identity;q=0", false, false);
        check("br, *;q=0", false, false);
        check("gzip, identity;q=0", true, false);
    }
}
