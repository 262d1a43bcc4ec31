//! Volumes: made, found, mounted, removed.

use std::sync::Arc;

use hood_driver_api::{Bytes, Files, Mount, VolumeId};

use super::create::access_token;
use super::{Engine, MountAsk, Shared};
use crate::volume::{Volume, check_name, check_paths};
use crate::{CreateError, LookupError, TeamId, limits};

impl Engine {
    /// Makes an empty volume.
    pub async fn make_volume(
        &self,
        team: &TeamId,
        name: &str,
        size: Option<Bytes>,
    ) -> Result<Volume, LookupError> {
        check_name(name)?;
        let size = size.unwrap_or(limits::VOLUME);
        let (least, most) = (limits::MIN_DISK, self.shared.config.max_resources.disk);
        if size < least || size > most {
            let bounds = format!("{least} to {most}");
            return Err(LookupError::OutOfBounds { field: "size", bounds, given: size.to_string() });
        }
        let shared = self.shared.clone();
        let (team, name) = (team.clone(), name.to_owned());
        self.shared.finished(async move { shared.new_volume(team, name, size).await }).await
    }

    /// A team's volumes, oldest first.
    pub fn volumes(&self, team: &TeamId) -> Vec<Arc<Volume>> {
        self.shared.volumes.of(team)
    }

    /// A team's volume, by id or name.
    pub fn find_volume(&self, team: &TeamId, reference: &str) -> Result<Arc<Volume>, LookupError> {
        let found = self.shared.volumes.find(team, reference);
        found.ok_or_else(|| LookupError::UnknownVolume(reference.to_owned()))
    }

    /// A volume, whoever owns it: for its files, where its own token decides.
    pub fn volume(&self, id: &str) -> Option<Arc<Volume>> {
        self.shared.volumes.get(&id.parse().ok()?)
    }

    /// The files of a volume.
    pub async fn open_volume(&self, id: &VolumeId) -> Result<Arc<dyn Files>, LookupError> {
        self.shared.driver.open_volume(id).await.map_err(LookupError::Driver)
    }

    /// Removes a volume with all that is in it, unless a living sandbox has it.
    pub async fn delete_volume(&self, team: &TeamId, reference: &str) -> Result<(), LookupError> {
        let volume = self.find_volume(team, reference)?;
        let shared = self.shared.clone();
        self.shared.finished(async move { shared.drop_volume(&volume).await }).await
    }
}

impl Shared {
    async fn new_volume(&self, team: TeamId, name: String, size: Bytes) -> Result<Volume, LookupError> {
        let _turn = self.volumes.turn.lock().await;
        if self.volumes.find(&team, &name).is_some() {
            return Err(LookupError::VolumeExists(name));
        }
        if self.volumes.len() >= limits::VOLUMES {
            return Err(LookupError::TooManyVolumes { limit: limits::VOLUMES });
        }
        let mut bytes = [0; 20];
        self.entropy.fill(&mut bytes);
        let volume = Volume {
            id: VolumeId::from_random(bytes),
            team,
            name,
            token: access_token(&*self.entropy),
            created_at: self.clock.now(),
            size,
        };
        self.timely(limits::CAPTURE, self.driver.make_volume(&volume.id, size))
            .await
            .map_err(LookupError::Driver)?;
        if let Err(error) = self.bounded("writing a volume", self.store.insert_volume(&volume)).await {
            // A write that was given up on as too slow may come through: this one comes after it.
            let undone = self.store.remove_volume(&volume.id);
            if let Err(error) = self.bounded("forgetting a volume", undone).await {
                tracing::warn!(volume = %volume.id, %error, "a volume that is not there may be remembered");
            }
            self.clear_away(&volume.id).await;
            return Err(LookupError::Store(error));
        }
        self.volumes.put([volume.clone()]);
        Ok(volume)
    }

    async fn drop_volume(&self, volume: &Volume) -> Result<(), LookupError> {
        let _turn = self.volumes.turn.lock().await;
        let living = self.table.all_living();
        let user = living.iter().find(|record| record.mounts.iter().any(|mount| mount.volume == volume.id));
        if let Some(user) = user {
            return Err(LookupError::VolumeInUse { name: volume.name.clone(), by: user.id.clone() });
        }
        let removal = self.store.remove_volume(&volume.id);
        self.bounded("forgetting a volume", removal).await.map_err(LookupError::Store)?;
        self.volumes.remove(&volume.id);
        self.clear_away(&volume.id).await;
        Ok(())
    }

    /// What cannot be removed now the next start removes: nobody remembers it.
    async fn clear_away(&self, id: &VolumeId) {
        if let Err(error) = self.timely(limits::DESTROY, self.driver.remove_volume(id)).await {
            tracing::warn!(volume = %id, %error, "a volume was not removed; the next start will do it");
        }
    }

    /// What a new sandbox is to have. The caller holds the volumes' turn until the sandbox is among the living.
    pub(super) fn mounts(&self, team: &TeamId, asked: &[MountAsk]) -> Result<Vec<Mount>, CreateError> {
        let paths: Vec<_> = asked.iter().map(|mount| mount.path.as_str()).collect();
        check_paths(&paths).map_err(CreateError::Mounts)?;
        let mount = |ask: &MountAsk| {
            let volume = self.volumes.find(team, &ask.volume);
            let volume = volume.ok_or_else(|| CreateError::UnknownVolume(ask.volume.clone()))?;
            Ok(Mount { volume: volume.id.clone(), path: ask.path.clone() })
        };
        asked.iter().map(mount).collect()
    }
}
