import BothySettings
import BothySync

extension SettingsContainer {
  /// Stores settings beside the records of a synced store.
  ///
  /// A group whose `recordType` is in the store's schema is a record of that type, and is synced.
  public convenience init(_ store: SyncedStore) { self.init(store.store) }
}
