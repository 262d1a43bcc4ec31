//! A certificate from a public authority, by ACME (RFC 8555), for the domain and every name below it.
//!
//! A wildcard is given for the DNS-01 challenge only, so the server's own name server (`dns.rs`) answers it: the domain, or
//! its `_acme-challenge`, must be delegated to it. What comes of it are two files, which are read again when they change
//! (`tls/files.rs`); until the first comes, the server's own authority stands in.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Identifier, NewAccount, NewOrder,
    OrderStatus, RetryPolicy,
};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};

use crate::limits::{ACME_AGAIN, ACME_AGAIN_LONGEST, ACME_LOOK, ACME_RENEW};

/// What `hood serve` is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acme {
    /// Where the authority writes to when something is wrong.
    pub(crate) email: String,
    /// The authority's directory.
    pub(crate) directory: String,
    /// An authority to believe for the directory's own certificate, instead of this host's roots.
    pub(crate) root: Option<PathBuf>,
}

/// What the name server says below `_acme-challenge`.
#[derive(Debug, Clone, Default)]
pub(super) struct Challenges(Arc<Mutex<Vec<String>>>);

/// Where account, key and chain lie. A folder for each authority and domain: what was got for one is not another's.
#[derive(Debug, Clone)]
pub(super) struct Place {
    dir: PathBuf,
}

impl Acme {
    /// The largest public authority's directory, when none is named.
    pub(crate) fn default_directory() -> String {
        instant_acme::LetsEncrypt::Production.url().to_owned()
    }
}

impl Challenges {
    pub(super) fn values(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn add(&self, value: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Place {
    /// In the server's data directory.
    pub(super) fn new(data_dir: &Path, acme: &Acme, domain: &str) -> Self {
        let safe = |text: &str| -> String {
            text.chars()
                .map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' })
                .collect()
        };
        let dir = data_dir.join("acme").join(safe(&acme.directory)).join(safe(domain));
        Self { dir }
    }

    pub(super) fn chain(&self) -> PathBuf {
        self.dir.join("chain.pem")
    }

    pub(super) fn key(&self) -> PathBuf {
        self.dir.join("key.pem")
    }

    fn account(&self) -> PathBuf {
        self.dir.join("account.json")
    }

    /// Whether there is no certificate, or one that is old enough to be renewed.
    fn is_due(&self) -> bool {
        let made = fs::metadata(self.chain()).and_then(|found| found.modified());
        let age = made.ok().and_then(|made| SystemTime::now().duration_since(made).ok());
        age.is_none_or(|age| age > ACME_RENEW)
    }

    fn write(&self, path: &Path, text: &str) -> Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let temporary = path.with_extension("new");
        let mut file =
            fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        fs::rename(&temporary, path).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Gets a certificate when it is due, for as long as the server runs. What fails is tried again, later each time.
pub(super) async fn keep(acme: Acme, domain: String, place: Place, challenges: Challenges) {
    let mut again = ACME_AGAIN;
    loop {
        if !place.is_due() {
            tokio::time::sleep(ACME_LOOK).await;
            continue;
        }
        let got = get(&acme, &domain, &place, &challenges).await;
        challenges.clear();
        match got {
            Ok(()) => {
                tracing::info!(domain, "the server has a certificate from the authority");
                again = ACME_AGAIN;
            }
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(domain, error, again_in = ?again, "no certificate from the authority");
                tokio::time::sleep(again).await;
                again = (again * 2).min(ACME_AGAIN_LONGEST);
            }
        }
    }
}

async fn get(acme: &Acme, domain: &str, place: &Place, challenges: &Challenges) -> Result<()> {
    let account = account(acme, place).await?;
    let names = [domain.to_owned(), format!("*.{domain}")];
    let identifiers = [Identifier::Dns(names[0].clone()), Identifier::Dns(names[1].clone())];
    let mut order =
        account.new_order(&NewOrder::new(&identifiers)).await.context("the authority takes no order")?;
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.context("the authority shows no authorization")?;
        match authorization.status {
            AuthorizationStatus::Pending => {}
            AuthorizationStatus::Valid => continue,
            other => bail!("an authorization is {other:?}"),
        }
        let mut challenge = authorization
            .challenge(ChallengeType::Dns01)
            .context("the authority offers no DNS-01 challenge")?;
        // Both names have theirs at the same place, and both stay there until the end.
        challenges.add(challenge.key_authorization().dns_value());
        challenge.set_ready().await.context("the authority does not take up the challenge")?;
    }
    let status = order.poll_ready(&patience()).await.context("the challenge was not met in time")?;
    if status != OrderStatus::Ready {
        bail!(
            "the authority has not found what `_acme-challenge.{domain}` should say (the order is {status:?}): is the \
             domain delegated to this server's `--dns` address?"
        );
    }
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    let request = params.serialize_request(&key)?;
    order.finalize_csr(request.der()).await.context("the authority does not sign")?;
    let chain = order.poll_certificate(&patience()).await.context("the authority gives no certificate")?;
    // The chain last: it says that the pair is whole.
    place.write(&place.key(), &key.serialize_pem())?;
    place.write(&place.chain(), &chain)
}

fn patience() -> RetryPolicy {
    RetryPolicy::new().timeout(Duration::from_secs(120))
}

/// The account of an earlier run, or a new one.
async fn account(acme: &Acme, place: &Place) -> Result<Account> {
    let builder = || match &acme.root {
        Some(root) => {
            Account::builder_with_root(root).with_context(|| format!("cannot use {}", root.display()))
        }
        None => Account::builder().context("cannot speak to the authority"),
    };
    if let Ok(text) = fs::read_to_string(place.account()) {
        let credentials: AccountCredentials = serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged; remove it", place.account().display()))?;
        return builder()?
            .from_credentials(credentials)
            .await
            .context("the authority does not know the account");
    }
    let contact = format!("mailto:{}", acme.email);
    let new = NewAccount { contact: &[&contact], terms_of_service_agreed: true, only_return_existing: false };
    let (account, credentials) = builder()?
        .create(&new, acme.directory.clone(), None)
        .await
        .context("the authority gives no account")?;
    place.write(&place.account(), &serde_json::to_string(&credentials)?)?;
    Ok(account)
}
