/// The module that an app imports: records in a local file, sync with a server, and settings.
///
/// Downloads, maps and packs of data are modules of their own: `BothyCache`, `BothyGeo` and `BothyPacks`.
@_exported public import BothyHTTP
@_exported public import BothySettings
@_exported public import BothyStore
@_exported public import BothySync
@_exported public import BothyUI

extension SettingsContainer {
  /// Stores settings beside the records of a synced store.
  ///
  /// A group whose `recordType` is in the store's schema is a record of that type, and is synced.
  public convenience init(_ store: SyncedStore) { self.init(store.store) }
}
